//! A DCF station: the access point with all downlink streams, or a station with its uplink stream.

use super::ampdu::BlockAckWindow;
use super::{DcfBackoff, WlanConfig};
use crate::element::Output;
use crate::medium::{Direction, StationQueues, Stream};
use crate::rng::Rng;
use crate::units::Time;

/// The access point is 0, station s is s + 1.
pub fn dcf_station_of(stream: Stream) -> usize {
    match stream.direction {
        Direction::Down => 0,
        Direction::Up => stream.station as usize + 1,
    }
}

#[derive(Clone, Debug)]
pub struct DcfStation {
    pub backoff: DcfBackoff,
    /// Stream of the next frame; `None` without backlog.
    pub current: Option<Stream>,
    /// Time since which it has a frame.
    pub ready: Time,
    /// Unanswered RTS of this frame.
    pub unanswered: u32,
    /// The access point's next station in round-robin order.
    next_station: u32,
}

impl DcfStation {
    pub fn new(config: &WlanConfig) -> DcfStation {
        DcfStation { backoff: DcfBackoff::new(config), current: None, ready: Time::ZERO, unanswered: 0, next_station: 0 }
    }

    /// Start of its transmission, if the medium stays idle.
    pub fn sends_at(&self, config: &WlanConfig) -> Time {
        if self.current.is_none() { Time::NEVER } else { self.backoff.sends_at(self.ready, config.slot) }
    }

    /// True with a frame to send or a pending back-off.
    pub fn is_active(&self) -> bool {
        self.current.is_some() || !self.backoff.is_over()
    }

    /// Selects the next frame. The access point serves stations by round robin; a stream's
    /// retransmission precedes its other packets.
    pub fn load(&mut self, number: usize, now: Time, frames: &mut FrameSource<'_>, out: &mut Output<'_>) {
        self.ready = now;
        if self.current.is_some_and(|stream| frames.has_frame(stream, now, out)) {
            return;
        }
        self.unanswered = 0;
        self.current = match number {
            0 => self.next_downlink(now, frames, out),
            _ => {
                let uplink = Stream::new(number as u32 - 1, Direction::Up);
                frames.has_frame(uplink, now, out).then_some(uplink)
            }
        };
    }

    fn next_downlink(&mut self, now: Time, frames: &mut FrameSource<'_>, out: &mut Output<'_>) -> Option<Stream> {
        let stations = frames.queues.stations();
        for step in 0..stations {
            let station = (self.next_station + step) % stations;
            let stream = Stream::new(station, Direction::Down);
            if frames.has_frame(stream, now, out) {
                self.next_station = (station + 1) % stations;
                return Some(stream);
            }
        }
        frames.first_shared(now, out)
    }

    /// The frame was acknowledged; the access point may serve another station next.
    pub fn on_ack(&mut self, config: &WlanConfig, rng: &mut Rng) {
        self.current = None;
        self.unanswered = 0;
        self.backoff.reset(config);
        self.backoff.draw(rng);
    }

    /// The frame was not acknowledged. With `given_up` it is not retransmitted.
    pub fn on_failure(&mut self, config: &WlanConfig, rng: &mut Rng, given_up: bool) {
        if given_up {
            self.current = None;
            self.unanswered = 0;
            self.backoff.reset(config);
        } else {
            self.backoff.widen(config);
        }
        self.backoff.draw(rng);
    }
}

/// Source of frames: queues and block ACK windows.
pub struct FrameSource<'a> {
    pub queues: &'a mut StationQueues,
    pub windows: &'a mut [BlockAckWindow],
}

impl FrameSource<'_> {
    /// Moves the first packet of the shared queue into its stream's window, as the frame to send.
    fn first_shared(&mut self, now: Time, out: &mut Output<'_>) -> Option<Stream> {
        let stream = self.queues.first_shared(now, out)?;
        let packet = self.queues.dequeue(now, stream, out)?;
        self.windows[stream.index()].push(packet);
        Some(stream)
    }

    /// True if the stream has a frame to send, dequeued if necessary. The queue may drop all
    /// packets instead.
    fn has_frame(&mut self, stream: Stream, now: Time, out: &mut Output<'_>) -> bool {
        if !self.queues.is_served(stream.station) {
            return false;
        }
        let window = &mut self.windows[stream.index()];
        if window.is_empty()
            && !self.queues.is_shared(stream)
            && self.queues.waiting_in(stream) > 0
            && let Some(packet) = self.queues.of(stream).dequeue(now, out)
        {
            window.push(packet);
        }
        !window.is_empty()
    }
}
