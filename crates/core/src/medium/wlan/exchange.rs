//! A frame exchange, from the start of transmission until the medium is idle again: a frame and its
//! response, or a collision.

use super::ampdu::FrameLoad;
use super::dcf_station::FrameSource;
use super::{Format, Wlan};
use crate::element::{DropReason, Output};
use crate::medium::Stream;
use crate::units::{Span, Time};

/// The exchange in progress.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    phase: Phase,
    /// End of the phase.
    due: Time,
    /// Its transmissions; the list is kept, so that an exchange allocates no memory.
    transmissions: Vec<Transmission>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// The medium is idle.
    #[default]
    Idle,
    /// A single station transmits. At the end of its frame the receiver responds if it can.
    Frame,
    Response,
    /// Several stations transmit.
    Collision,
}

#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    station: usize,
    stream: Stream,
    load: FrameLoad,
    /// Air time of the frame's bytes.
    body: Span,
    uses_rts: bool,
    /// End of what it sends without a response: an RTS, or a frame without RTS.
    ends: Time,
}

impl Exchange {
    /// End of the phase in progress; `None` while the medium is idle.
    #[inline]
    pub fn due(&self) -> Option<Time> {
        (self.phase != Phase::Idle).then_some(self.due)
    }

    #[inline]
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// True if this station transmits in the exchange.
    pub fn has(&self, station: usize) -> bool {
        !self.is_idle() && self.transmissions.iter().any(|transmission| transmission.station == station)
    }
}

impl Wlan {
    /// The back-offs of one or several stations end now.
    pub(super) fn start_exchange(&mut self, now: Time, out: &mut Output<'_>) {
        self.exchange.transmissions.clear();
        let mut all_active = true;
        for place in 0..self.active.len() {
            let number = self.active[place];
            let station = &mut self.stations[number];
            let sends = station.sends_at(&self.config) <= now;
            station.backoff.freeze(now, self.config.slot);
            all_active &= station.is_active();
            if sends && let Some(stream) = station.current {
                let transmission = self.build_frame(number, stream, now, out);
                self.exchange.transmissions.push(transmission);
            }
        }
        if !all_active {
            let stations = &self.stations;
            self.active.retain(|&number| stations[number].is_active());
        }
        let Exchange { phase, due, transmissions } = &mut self.exchange;
        if let [transmission] = &transmissions[..] {
            *phase = Phase::Frame;
            *due = transmission.ends;
            // RTS and CTS; the ACK is counted on reception.
            let mut control = 0;
            if transmission.uses_rts {
                let format = self.config.data.at_speed(self.queues.speed(transmission.stream.station));
                *due = now + self.config.rts_cts() + format.air_of(transmission.body);
                control = 2;
            }
            self.queues.of(transmission.stream).count_control(control);
        } else {
            *phase = Phase::Collision;
            *due = transmissions.iter().map(|transmission| transmission.ends).max().unwrap_or(now);
        }
    }

    /// Frame format of a stream.
    fn format(&self, stream: Stream) -> Format {
        self.config.data.at_speed(self.queues.speed(stream.station))
    }

    /// Fills the frame and calculates its air time.
    fn build_frame(&mut self, station: usize, stream: Stream, now: Time, out: &mut Output<'_>) -> Transmission {
        let format = self.format(stream);
        let window = &mut self.windows[stream.index()];
        while window.has_room(&self.config, &format) {
            let Some(packet) = self.queues.dequeue(now, stream, out) else { break };
            window.push(packet);
        }
        self.queues.of(stream).set_sending(now, true);
        let load = window.load(&self.config, &format);
        let uses_rts = self.config.uses_rts(load.bytes);
        let body = format.body(load.bytes);
        let air = if uses_rts { self.config.rts() } else { format.air_of(body) };
        Transmission { station, stream, load, body, uses_rts, ends: now + air }
    }

    /// The exchange's due time is reached.
    pub(super) fn on_due(&mut self, out: &mut Output<'_>) {
        let now = self.exchange.due;
        match self.exchange.phase {
            Phase::Idle => {}
            Phase::Frame => self.receive(now, out),
            Phase::Response => self.finish(now, true, out),
            Phase::Collision => self.finish(now, false, out),
        }
    }

    /// The data frame of a single station ends.
    fn receive(&mut self, now: Time, out: &mut Output<'_>) {
        let Transmission { stream, load, body, .. } = self.exchange.transmissions[0];
        let share = self.config.frame_error[stream.direction as usize];
        let errors = &mut self.errors;
        let received = self.windows[stream.index()].receive(load, || share <= 0.0 || !errors.chance(share));
        if received == 0 {
            return self.finish(now, false, out);
        }
        self.queues.add_sending(stream.direction, Span(body.0 / u64::from(load.packets.max(1)) * u64::from(received)));
        self.deliver(stream, out);
        self.queues.of(stream).count_control(1);
        self.exchange.phase = Phase::Response;
        self.exchange.due = now + self.response;
    }

    fn deliver(&mut self, stream: Stream, out: &mut Output<'_>) {
        while let Some(packet) = self.windows[stream.index()].deliver() {
            self.queues.of(stream).forward(stream, packet, out);
        }
    }

    /// The medium is idle again: transmitters draw new back-offs, and all counters resume after an
    /// interframe space.
    fn finish(&mut self, now: Time, answered: bool, out: &mut Output<'_>) {
        let single = self.exchange.phase != Phase::Collision;
        self.exchange.phase = Phase::Idle;
        self.idle_from = now + if answered { self.config.difs } else { self.config.eifs };
        for &number in &self.active {
            self.stations[number].backoff.resume(self.idle_from);
        }
        for place in 0..self.exchange.transmissions.len() {
            let transmission = self.exchange.transmissions[place];
            self.queues.of(transmission.stream).set_sending(now, false);
            let from = if answered {
                self.idle_from
            } else {
                let sent = if single { now } else { transmission.ends };
                // The missing response is a CTS after an RTS, else an ACK.
                let rts = transmission.uses_rts && !single;
                (sent + self.config.timeout(rts)).max(now) + self.config.difs
            };
            self.finish_transmission(transmission, answered, single, now, out);
            self.stations[transmission.station].backoff.resume(from);
        }
    }

    /// Handles the end of the exchange for one transmission.
    fn finish_transmission(&mut self, transmission: Transmission, answered: bool, single: bool, now: Time, out: &mut Output<'_>) {
        let station = &mut self.stations[transmission.station];
        let window = &mut self.windows[transmission.stream.index()];
        if answered {
            station.on_ack(&self.config, &mut self.backoffs);
        }
        let mut lost = Vec::new();
        if transmission.uses_rts && !single {
            station.unanswered += 1;
            if station.unanswered >= self.config.short_retries {
                lost.extend(window.take_first());
            }
        } else if !window.is_empty() {
            if !single {
                window.mark_lost(transmission.load);
            }
            while let Some(packet) = window.take_expired(self.config.retry_limit(transmission.load.bytes)) {
                lost.push(packet);
            }
        }
        let given_up = !lost.is_empty();
        for packet in lost {
            self.queues.of(transmission.stream).drop(packet, DropReason::Retries, out);
        }
        if !answered {
            station.on_failure(&self.config, &mut self.backoffs, given_up);
        }
        if given_up {
            // Packets behind one that is given up need not wait for it.
            self.deliver(transmission.stream, out);
        }
        let mut frames = FrameSource { queues: &mut self.queues, windows: &mut self.windows };
        let station = &mut self.stations[transmission.station];
        station.load(transmission.station, now, &mut frames, out);
        if !self.active.contains(&transmission.station) {
            self.active.push(transmission.station);
        }
    }
}
