//! Recorded link: a list of transmission opportunities of up to 1500 bytes each, as recorded on
//! cellular links.
//!
//! The format is mahimahi's: each line is a time in milliseconds and stands for one opportunity;
//! equal lines are several opportunities; the list repeats with its last time as the period. A link
//! may start at any time of the recording. An opportunity is lost if the queue is empty, and so is the part that a packet leaves unused,
//! unless another packet is queued. A packet uses only opportunities strictly after its arrival.

use super::Framing;
use crate::element::{Element, Output, Port, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::{AnyQueue, Queue};
use crate::time_account::TimeAccount;
use crate::units::{Span, Time};
use std::sync::Arc;

/// Bytes per opportunity.
pub const OPPORTUNITY_BYTES: u32 = 1500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    #[error("a recorded rate needs at least one opportunity")]
    Empty,
    #[error("opportunity {line} is earlier than the previous one")]
    Unsorted {
        /// Counted from 1.
        line: usize,
    },
    #[error("the last opportunity is at 0 ms, but its time is the repetition period")]
    NoPeriod,
}

/// The opportunities of all repetitions, numbered from 0 at the beginning of the recording.
struct Opportunities {
    times_ms: Arc<[u64]>,
    period_ms: u64,
    /// Time of the recording at which the link starts.
    start: Span,
}

impl Opportunities {
    fn new(times_ms: Arc<[u64]>) -> Result<Opportunities, TraceError> {
        let period_ms = *times_ms.last().ok_or(TraceError::Empty)?;
        if let Some(i) = times_ms.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(TraceError::Unsorted { line: i + 2 });
        }
        if period_ms == 0 {
            return Err(TraceError::NoPeriod);
        }
        Ok(Opportunities { times_ms, period_ms, start: Span::ZERO })
    }

    /// Number of opportunities at or before `t`.
    fn until(&self, t: Time) -> u64 {
        self.until_recorded(t.0.saturating_add(self.start.0))
    }

    /// Number of opportunities at or before a time of the recording, in ps.
    fn until_recorded(&self, ps: u64) -> u64 {
        let ms = ps / Span::from_ms(1).0;
        let rest = ms % self.period_ms;
        let within = self.times_ms.partition_point(|&at| at <= rest);
        (ms / self.period_ms).saturating_mul(self.times_ms.len() as u64) + within as u64
    }

    /// Number of opportunities before `t`.
    fn before(&self, t: Time) -> u64 {
        t.0.saturating_add(self.start.0).checked_sub(1).map_or(0, |ps| self.until_recorded(ps))
    }

    fn time_of(&self, number: u64) -> Time {
        let n = self.times_ms.len() as u64;
        let start = (number / n).saturating_mul(self.period_ms);
        let ms = start.saturating_add(self.times_ms[(number % n) as usize]);
        match ms.checked_mul(Span::from_ms(1).0) {
            Some(ps) => Time(ps.saturating_sub(self.start.0)),
            None => Time::NEVER,
        }
    }
}

pub struct TraceLink {
    opportunities: Opportunities,
    framing: Framing,
    queue: AnyQueue,
    /// The packet in transmission and its remaining bytes.
    sending: Option<(Packet, u32)>,
    /// The next opportunity while packets are queued.
    next: u64,
    due: Time,
    /// Packets wait for the next opportunity since this time.
    waiting_since: Time,
    meter: LinkMeter,
}

impl TraceLink {
    /// Opportunities at `times_ms`, sorted, of 1500 bytes on the link each.
    pub fn new(times_ms: Arc<[u64]>, framing: Framing, queue: AnyQueue) -> Result<TraceLink, TraceError> {
        let opportunities = Opportunities::new(times_ms)?;
        let (due, waiting_since, meter) = (Time::NEVER, Time::ZERO, LinkMeter::default());
        Ok(TraceLink { opportunities, framing, queue, sending: None, next: 0, due, waiting_since, meter })
    }

    /// The same link from this time of the recording on, which lies within its period.
    pub fn starting_at(mut self, start: Span) -> TraceLink {
        self.opportunities.start = start;
        self
    }

    fn idle(&self) -> bool {
        self.sending.is_none() && self.queue.packets() == 0
    }

    /// Uses the opportunities of one instant for queued packets, and accounts for the wait for them:
    /// the used part of their bytes is that part of the wait, the rest is overhead.
    fn use_opportunities(&mut self, now: Time, out: &mut Output<'_>) {
        let first = self.next;
        let mut used = 0;
        while !self.idle() && self.due == now {
            used += u64::from(self.send_in_opportunity(now, out));
            self.next += 1;
            self.due = self.opportunities.time_of(self.next);
        }
        let end = if self.idle() { self.opportunities.until(now) } else { self.next };
        if self.idle() {
            self.due = Time::NEVER;
        }
        let offered = end.saturating_sub(first).max(1) * u64::from(OPPORTUNITY_BYTES);
        let wait = now - self.waiting_since;
        let used = Span((u128::from(wait.0) * u128::from(used) / u128::from(offered)) as u64);
        let time = &mut self.meter.time;
        time.occupied = time.occupied + wait;
        time.sending = time.sending + used;
        time.add_full(used);
        self.waiting_since = now;
    }

    /// Bytes of the opportunity that queued packets use.
    fn send_in_opportunity(&mut self, now: Time, out: &mut Output<'_>) -> u32 {
        let mut room = OPPORTUNITY_BYTES;
        while let Some((mut packet, remaining)) = self.sending.take().or_else(|| self.begin_next(now, out)) {
            let sent = remaining.min(room);
            room -= sent;
            self.meter.sent_bytes += u64::from(sent);
            if sent < remaining {
                self.sending = Some((packet, remaining - sent));
                break;
            }
            packet.wire_len = packet.len;
            out.forward(Port(0), packet);
            if room == 0 {
                break;
            }
        }
        OPPORTUNITY_BYTES - room
    }

    fn begin_next(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Packet, u32)> {
        let (since, mut packet) = self.queue.dequeue(now, out)?;
        self.meter.begin(now - since);
        packet.wire_len = self.framing.wire_len(&packet);
        Some((packet, u32::from(packet.wire_len)))
    }

    fn integrate(&mut self, now: Time) {
        self.meter.integrate(now, self.queue.packets(), self.sending.is_some());
    }
}

impl Element for TraceLink {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        // Opportunities due now are used first, in whatever order the driver calls.
        self.wake(now, out);
        self.integrate(now);
        let was_idle = self.idle();
        let before = out.counts.signals();
        self.queue.enqueue(now, packet, out);
        self.meter.count(before, out.counts.signals());
        if was_idle && !self.idle() {
            self.waiting_since = now;
            self.next = self.opportunities.until(now);
            self.due = self.opportunities.time_of(self.next);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        if self.due > now {
            return;
        }
        let before = out.counts.signals();
        while self.due <= now && self.due != Time::NEVER {
            let at = self.due;
            self.integrate(at);
            self.use_opportunities(at, out);
        }
        self.meter.count(before, out.counts.signals());
    }

    fn due(&self) -> Time {
        self.due
    }

    fn occupancy(&self) -> u64 {
        self.queue.packets() + u64::from(self.sending.is_some())
    }

    fn meter(&mut self, now: Time, _queue: QueueId) -> Option<&mut LinkMeter> {
        self.integrate(now);
        let opportunities = self.opportunities.before(now) - self.opportunities.before(self.meter.since);
        self.meter.offered_bytes = Some(opportunities.saturating_mul(u64::from(OPPORTUNITY_BYTES)));
        Some(&mut self.meter)
    }

    fn time(&mut self, now: Time, queue: QueueId) -> Option<&mut TimeAccount> {
        // An opportunity of this millisecond may still be due: the wait for it counts then.
        self.meter(now, queue).map(|meter| &mut meter.time)
    }

    fn sample(&mut self, _now: Time, _queue: QueueId) -> Option<QueueSample> {
        Some(self.meter.sample(self.queue.packets(), self.queue.bytes()))
    }
}
