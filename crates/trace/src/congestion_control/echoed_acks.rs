//! The sender's log from a capture that is not at the sender, by timestamps: a segment echoes the TSval
//! of the newest ACK that its sender had received, so that the ACKs up to it stand before the segment.
//! Times are those at the capture.

use super::flight_log::{FlightEntry, FlightEvent};
use crate::decode::{Flags, Segment};
use std::collections::VecDeque;

/// An ACK that no segment has echoed yet.
#[derive(Clone, Copy, Debug)]
struct PendingAck {
    tsval: u32,
    /// TSval of the segment that it answers.
    echo: u32,
    ack: u32,
    /// Bytes above it that it reports as received.
    sacked: u32,
    marked: bool,
}

#[derive(Clone, Debug, Default)]
pub struct EchoedAcks {
    pending: VecDeque<PendingAck>,
    /// The first byte that the sender knows not to be acknowledged, and the one after the highest sent.
    una: u32,
    next: u32,
    sacked: u32,
    has_begun: bool,
    /// The first TSval of the sender and its time; the unit of its TSvals in nanoseconds, zero before it
    /// is known.
    first: Option<(u32, i64)>,
    tick: i64,
}

/// ACKs without an echo that are kept: a window of tiny segments.
const MAX_PENDING: usize = 1 << 16;
/// Time after which the tick is measured.
const TICK_SPAN: i64 = 1_000_000_000;
/// Ticks of hosts, nanoseconds.
const TICKS: [i64; 4] = [1_000, 1_000_000, 4_000_000, 10_000_000];

fn diff(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

impl EchoedAcks {
    /// A packet of the receiver.
    pub fn on_ack(&mut self, _at: i64, s: &Segment<'_>) {
        let Some(timestamps) = s.options.timestamps else { return };
        if !s.flags.has(Flags::ACK) || s.flags.has(Flags::SYN) || self.pending.len() >= MAX_PENDING {
            return;
        }
        let above = |&(left, right): &(u32, u32)| if diff(s.ack, left) >= 0 { right.wrapping_sub(left) } else { 0 };
        let sacked = s.options.sack().iter().map(above).sum();
        let marked = s.flags.has(Flags::ECE);
        self.pending.push_back(PendingAck { tsval: timestamps.value, echo: timestamps.echo, ack: s.ack, sacked, marked });
    }

    /// A segment of the sender: first the ACKs that it had received.
    #[expect(clippy::too_many_arguments, reason = "the facts of a segment")]
    pub fn on_data(
        &mut self,
        at: i64,
        s: &Segment<'_>,
        event: FlightEvent,
        mss: u32,
        window: u32,
        entries: &mut Vec<FlightEntry>,
    ) {
        let Some(timestamps) = s.options.timestamps else { return };
        if !self.has_begun {
            (self.una, self.next, self.has_begun) = (s.seq, s.seq, true);
        }
        self.measure_tick(at, timestamps.value);
        while let Some(ack) = self.pending.front().copied().filter(|ack| diff(ack.tsval, timestamps.echo) >= 0) {
            self.pending.pop_front();
            let acked = diff(self.una, ack.ack).max(0) as u32;
            self.una = self.una.wrapping_add(acked);
            self.sacked = ack.sacked;
            let is_newest = self.pending.front().is_none_or(|next| diff(next.tsval, timestamps.echo) < 0);
            let ticks = diff(ack.echo, timestamps.value);
            let rtt_us = if is_newest && ticks > 0 { (i64::from(ticks) * self.tick / 1000) as u32 } else { 0 };
            entries.push(self.entry(at, FlightEvent::Acked, ack.marked, acked, rtt_us, mss, window));
        }
        // What was lost before it was sent before it.
        let new = diff(self.next, s.seq.wrapping_add(s.payload)).max(0) as u32;
        self.next = self.next.wrapping_add(new);
        let bytes = if event == FlightEvent::Sent { new } else { s.payload };
        entries.push(self.entry(at, event, s.flags.has(Flags::CWR), bytes, 0, mss, window));
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of an entry")]
    fn entry(&self, at: i64, event: FlightEvent, marked: bool, bytes: u32, rtt_us: u32, mss: u32, window: u32) -> FlightEntry {
        let outstanding = diff(self.una, self.next).max(0) as u32;
        let in_flight = outstanding.saturating_sub(self.sacked);
        FlightEntry { at, event, marked, window_full: outstanding + mss > window, bytes, in_flight, rtt_us }
    }

    fn measure_tick(&mut self, at: i64, tsval: u32) {
        let Some((first, since)) = self.first else {
            self.first = Some((tsval, at));
            return;
        };
        if self.tick == 0 && at - since >= TICK_SPAN {
            let measured = (at - since) / i64::from(diff(first, tsval)).max(1);
            // A queue that grows or drains stretches the time between arrivals.
            let stretched = |tick: &i64| (measured.max(1) as f64 / *tick as f64).ln().abs();
            self.tick = TICKS.into_iter().min_by(|a, b| stretched(a).total_cmp(&stretched(b))).unwrap_or(measured);
        }
    }
}
