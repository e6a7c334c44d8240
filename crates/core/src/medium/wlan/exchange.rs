//! A frame exchange, from the start of transmission until the medium is idle again: a frame and its
//! response, or a collision.

use super::ampdu::FrameLoad;
use super::dcf_station::FrameSource;
use super::{Format, Wlan};
use crate::element::{DropReason, Output};
use crate::medium::Stream;
use crate::units::{Span, Time};

/// The transmissions of an exchange and its end.
#[derive(Clone, Debug)]
pub struct Exchange {
    transmissions: Vec<Transmission>,
    /// End of the data frame, until it is reached; then the receiver responds if it can.
    arrives: Option<Time>,
    /// The medium is idle again.
    pub ends: Time,
}

#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    station: usize,
    stream: Stream,
    load: FrameLoad,
    uses_rts: bool,
    /// End of what it sends without a response: an RTS, or a frame without RTS.
    ends: Time,
}

impl Exchange {
    #[inline]
    pub fn due(&self) -> Time {
        self.arrives.unwrap_or(self.ends)
    }

    /// True if this station transmits in the exchange.
    pub fn has(&self, station: usize) -> bool {
        self.transmissions.iter().any(|transmission| transmission.station == station)
    }
}

impl Wlan {
    /// The back-offs of one or several stations end now.
    pub(super) fn start_exchange(&mut self, now: Time, out: &mut Output<'_>) {
        let mut transmissions = std::mem::take(&mut self.transmissions);
        transmissions.clear();
        let mut all_active = true;
        for place in 0..self.active.len() {
            let number = self.active[place];
            let station = &mut self.stations[number];
            let sends = station.sends_at(&self.config) <= now;
            station.backoff.freeze(now, self.config.slot);
            all_active &= station.is_active();
            if sends && let Some(stream) = station.current {
                transmissions.push(self.build_frame(number, stream, now, out));
            }
        }
        if !all_active {
            let stations = &self.stations;
            self.active.retain(|&number| stations[number].is_active());
        }
        let mut exchange = Exchange { arrives: None, ends: now, transmissions };
        exchange.ends = exchange.transmissions.iter().map(|transmission| transmission.ends).max().unwrap_or(now);
        if let [transmission] = exchange.transmissions[..] {
            exchange.arrives = Some(if transmission.uses_rts {
                now + self.config.rts_cts() + self.format(transmission.stream).air(transmission.load.bytes)
            } else {
                transmission.ends
            });
            // RTS and CTS; the ACK is counted on reception.
            self.queues.of(transmission.stream).count_control(if transmission.uses_rts { 2 } else { 0 });
        }
        self.exchange = Some(exchange);
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
        let air = if uses_rts { self.config.rts() } else { format.air(load.bytes) };
        Transmission { station, stream, load, uses_rts, ends: now + air }
    }

    /// The exchange's due time is reached.
    pub(super) fn on_due(&mut self, out: &mut Output<'_>) {
        let Some(mut exchange) = self.exchange.take() else { return };
        let Some(now) = exchange.arrives.take() else {
            let single = exchange.transmissions.len() == 1;
            return self.finish(exchange, single, out);
        };
        let transmission = exchange.transmissions[0];
        let share = self.config.frame_error[transmission.stream.direction as usize];
        let errors = &mut self.errors;
        let window = &mut self.windows[transmission.stream.index()];
        let received = window.receive(transmission.load, || share <= 0.0 || !errors.chance(share));
        let answered = received > 0;
        if answered {
            let body = self.format(transmission.stream).body(transmission.load.bytes);
            let sent = Span(body.0 / u64::from(transmission.load.packets.max(1)) * u64::from(received));
            self.queues.add_sending(transmission.stream.direction, sent);
        }
        self.deliver(transmission.stream, out);
        if answered {
            self.queues.of(transmission.stream).count_control(1);
            exchange.ends = now + self.response;
            self.exchange = Some(exchange);
        } else {
            exchange.ends = now;
            self.finish(exchange, false, out);
        }
    }

    fn deliver(&mut self, stream: Stream, out: &mut Output<'_>) {
        while let Some(packet) = self.windows[stream.index()].deliver() {
            self.queues.of(stream).forward(stream, packet, out);
        }
    }

    /// The medium is idle again: transmitters draw new back-offs, and all counters resume after an
    /// interframe space.
    fn finish(&mut self, exchange: Exchange, answered: bool, out: &mut Output<'_>) {
        let (now, single) = (exchange.ends, exchange.transmissions.len() == 1);
        self.idle_from = now + if answered { self.config.difs } else { self.config.eifs };
        for &number in &self.active {
            self.stations[number].backoff.resume(self.idle_from);
        }
        for &transmission in &exchange.transmissions {
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
        self.transmissions = exchange.transmissions;
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
        self.deliver(transmission.stream, out);
        let mut frames = FrameSource { queues: &mut self.queues, windows: &mut self.windows };
        let station = &mut self.stations[transmission.station];
        station.load(transmission.station, now, &mut frames, out);
        if !self.active.contains(&transmission.station) {
            self.active.push(transmission.station);
        }
    }
}
