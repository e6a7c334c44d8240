//! Half-duplex channel with perfect arbitration: one frame at a time, and no time or frames lost to
//! contention. It is the upper bound of every real medium access.

use super::{Direction, Medium, StationQueues, Stream, check_rate};
use crate::config_check::{Checked, check_span};
use crate::element::Output;
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HalfDuplexConfig {
    #[serde(rename = "bps")]
    pub rate: Rate,
    /// Pause before a radio sends that was not the last sender.
    #[serde(rename = "turnaround_ps")]
    pub turnaround: Span,
}

impl HalfDuplexConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        check_rate(self.rate)?;
        check_span("turnaround_ps", self.turnaround)
    }
}

/// The transmitting radio: the network's (`None`) or a station's.
type Transmitter = Option<u32>;

/// Backlogged streams share the channel by round robin, packet by packet. After a change of the
/// transmitting radio, a frame starts at least `turnaround` after the end of the previous one.
pub struct HalfDuplex {
    config: HalfDuplexConfig,
    queues: StationQueues,
    sending: Option<FrameOnAir>,
    /// The last transmitting radio and the end of its frame.
    last: Option<(Transmitter, Time)>,
    /// The stream that is served next.
    next_stream: usize,
}

#[derive(Clone, Copy)]
struct FrameOnAir {
    done: Time,
    /// Transmission time, turnaround excluded.
    air: Span,
    stream: Stream,
    packet: Packet,
}

impl HalfDuplex {
    /// With one queue per stream, in the order of [`Stream::index`].
    pub fn new(config: HalfDuplexConfig, queues: impl IntoIterator<Item = AnyQueue>) -> HalfDuplex {
        HalfDuplex { config, queues: StationQueues::new(queues).sharing_capacity(), sending: None, last: None, next_stream: 0 }
    }

    fn start(&mut self, now: Time, stream: Stream, packet: Packet) {
        let radio = (stream.direction == Direction::Up).then_some(stream.station);
        let from = match self.last {
            Some((last, end)) if last != radio => now.max(end + self.config.turnaround),
            _ => now,
        };
        let air = self.queues.scaled(stream.station, self.config.rate.time_to_send(u32::from(packet.len)));
        let done = from + air;
        self.queues.of(stream).set_sending(now, true);
        self.sending = Some(FrameOnAir { done, air, stream, packet });
        self.last = Some((radio, done));
        self.next_stream = (stream.index() + 1) % self.queues.len();
    }

    fn start_next(&mut self, now: Time, out: &mut Output<'_>) {
        // A queue may drop all packets instead of returning one; then the next stream is served.
        while let Some(stream) = self.queues.next_waiting(self.next_stream) {
            if let Some(packet) = self.queues.of(stream).dequeue(now, out) {
                return self.start(now, stream, packet);
            }
        }
    }
}

impl Medium for HalfDuplex {
    fn queues(&self) -> &StationQueues {
        &self.queues
    }
    fn queues_mut(&mut self) -> &mut StationQueues {
        &mut self.queues
    }

    fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        if self.sending.is_some() || !self.queues.is_served(stream.station) {
            self.queues.of(stream).enqueue(now, packet, out);
        } else if let Some(packet) = self.queues.of(stream).pass(now, packet, out) {
            self.start(now, stream, packet);
        }
    }

    fn advance(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some(FrameOnAir { done, air, stream, packet }) = self.sending.filter(|s| s.done <= now) {
            self.queues.add_sending(stream.direction, air);
            let queue = self.queues.of(stream);
            queue.set_sending(done, false);
            queue.forward(stream, packet, out);
            self.sending = None;
            self.start_next(done, out);
        }
    }

    fn next(&self) -> Time {
        self.sending.map_or(Time::NEVER, |s| s.done)
    }
    fn in_service(&self) -> u64 {
        u64::from(self.sending.is_some())
    }

    /// A frame in transmission is completed.
    fn station_leaves(&mut self, _now: Time, _station: u32, _out: &mut Output<'_>) {}

    fn station_arrives(&mut self, now: Time, _station: u32, out: &mut Output<'_>) {
        if self.sending.is_none() {
            self.start_next(now, out);
        }
    }
}
