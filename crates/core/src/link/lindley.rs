//! A droptail queue before a fixed-rate link, computed by Lindley's recursion.
//!
//! In a FIFO queue before a fixed rate, the departure time of a packet is known on arrival: its
//! transmission starts when the previous one ends. The queue therefore accepts arrivals in the
//! future, in order of time.

use super::Framing;
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::Limit;
use crate::ring::Ring;
use crate::units::{Rate, Span, Time};

/// Configuration of a link, shared by its clients. Without a `rate` it is infinitely fast.
#[derive(Clone, Copy, Debug)]
pub struct LinkConfig {
    pub rate: Option<Rate>,
    pub delay: Span,
    pub limit: Limit,
    pub framing: Framing,
}

/// What every packet needs is in the first cache line: with thousands of clients, each with a queue,
/// cache misses dominate.
#[repr(C, align(64))]
pub struct LindleyQueue {
    /// End of the transmission of the last accepted packet.
    free_at: Time,
    /// End of the transmission of each accepted packet that was not at the end of the link when the ring
    /// was last full, or the meter read.
    ends: Ring<Time>,
    /// Packets before those.
    delivered: u64,
    /// Wire length of the last accepted packet.
    wire_len: u16,
    /// Packets were waiting at the latest arrival: the fast path does not apply.
    waits: bool,
    /// Packets that had to wait and are not in the meter.
    queue: Ring<Waiting>,
    /// Number of packets of `queue` that have started by the latest arrival.
    started: usize,
    /// IP bytes of the other packets of `queue`.
    bytes: u64,
    metering: Box<LindleyMeter>,
}

#[derive(Clone, Copy)]
struct Waiting {
    since: Time,
    starts: Time,
    len: u16,
}

/// Statistics up to some time. Packets enter them when they are read, many at once: on its arrival only
/// the end of a packet's transmission is noted, and its wait if it has to wait.
#[derive(Default)]
struct LindleyMeter {
    meter: LinkMeter,
    /// Packets in `meter`, of all since the start of the run.
    begun: u64,
    /// By the number of the first packet of another wire length: the length of those before it.
    lengths: Ring<(u64, u16)>,
    /// End of the transmission of the last packet in `meter`, or an earlier time where that is past.
    busy_until: Time,
    /// Transmission time still ahead when the meter was last brought up to date.
    unsent: Span,
    /// Drops in the future.
    drops: Ring<Time>,
}

/// Lengths and transmission time of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransmissionCost {
    /// IP length in bytes.
    pub len: u16,
    pub wire_len: u16,
    pub service: Span,
}

impl LindleyQueue {
    pub fn new() -> LindleyQueue {
        LindleyQueue {
            free_at: Time::ZERO,
            ends: Ring::new(),
            delivered: 0,
            wire_len: 0,
            waits: false,
            queue: Ring::new(),
            started: 0,
            bytes: 0,
            metering: Box::default(),
        }
    }

    /// Accepts a packet that arrives at `at`, in order of time and not before `now`. Returns its
    /// arrival time at the end of the link; `None` if it is dropped.
    #[inline]
    pub fn accept(&mut self, config: &LinkConfig, now: Time, at: Time, packet: &TransmissionCost) -> Option<Time> {
        if self.free_at <= at && !self.waits {
            // Fast path: the link is idle.
            self.free_at = at + packet.service;
        } else if !self.track(config, now, at, packet) {
            return None;
        }
        if self.wire_len != packet.wire_len {
            self.change_length(packet.wire_len);
        }
        if !self.ends.push_within(self.free_at) {
            self.push_when_full(config, now);
        }
        Some(self.free_at + config.delay)
    }

    /// Accepts a packet if packets are queued. Returns false if it is dropped.
    fn track(&mut self, config: &LinkConfig, now: Time, at: Time, packet: &TransmissionCost) -> bool {
        self.catch_up(at);
        let starts = self.free_at.max(at);
        let waiting = (self.queue.len() - self.started) as u64;
        if starts > at && !config.limit.admits(waiting, self.bytes, packet.len) {
            self.metering.drop_at(now, at);
            return false;
        }
        self.free_at = starts + packet.service;
        self.waits = starts > at;
        if self.waits {
            self.bytes += u64::from(packet.len);
            let entry = Waiting { since: at, starts, len: packet.len };
            if !self.queue.push_within(entry) {
                self.advance(config, now);
                self.queue.make_room(entry);
                self.queue.push_back(entry);
            }
        }
        true
    }

    /// Takes note of the packets whose transmission starts by `at`; they free their space in the queue.
    #[inline]
    fn catch_up(&mut self, at: Time) {
        while let Some(next) = self.queue.get(self.started).filter(|next| next.starts <= at) {
            self.bytes -= u64::from(next.len);
            self.started += 1;
        }
    }

    /// Makes room in `ends`. Of packets of one length those that are at the end of the link need not be
    /// in the meter: their number says enough.
    #[cold]
    fn push_when_full(&mut self, config: &LinkConfig, now: Time) {
        if self.metering.lengths.is_empty() {
            self.deliver(config, now);
        } else {
            self.advance(config, now);
        }
        self.ends.make_room(self.free_at);
        self.ends.push_back(self.free_at);
    }

    /// Packets from the next one on have another wire length.
    #[cold]
    fn change_length(&mut self, wire_len: u16) {
        let number = self.delivered + self.ends.len() as u64;
        if number > self.metering.begun {
            self.metering.lengths.push_back((number, self.wire_len));
        }
        self.wire_len = wire_len;
    }

    /// Brings the statistics up to `now`, inclusive.
    fn advance(&mut self, config: &LinkConfig, now: Time) {
        let metering = &mut *self.metering;
        let mut waited = 0;
        while let Some(next) = self.queue.front().copied().filter(|next| next.starts <= now) {
            self.queue.take_front();
            match self.started.checked_sub(1) {
                Some(started) => self.started = started,
                None => self.bytes -= u64::from(next.len),
            }
            metering.meter.wait(next.since, next.starts);
            waited += 1;
        }
        let begun = metering.begin_until(config, now, (self.delivered, &self.ends), self.wire_len);
        metering.meter.queue_delay.add_zeros(begun - waited);
        while metering.drops.front().is_some_and(|&at| at <= now) {
            metering.drops.pop_front();
            metering.meter.drops += 1;
        }
        self.deliver(config, now);
    }

    /// Counts the packets that are at the end of the link by `now`.
    fn deliver(&mut self, config: &LinkConfig, now: Time) {
        let arrived = self.ends.partition_point(0..self.ends.len(), |&end| end + config.delay <= now);
        self.ends.drop_front(arrived);
        self.delivered += arrived as u64;
    }

    /// Brings the statistics up to just before `now`.
    fn advance_before(&mut self, config: &LinkConfig, now: Time) {
        if now > Time::ZERO {
            self.advance(config, Time(now.0 - 1));
        }
    }

    /// The meter, up to date just before `now`.
    pub fn meter(&mut self, config: &LinkConfig, now: Time) -> &mut LinkMeter {
        self.advance_before(config, now);
        let metering = &mut *self.metering;
        let counted_to = metering.meter.counted_to();
        metering.meter.packet_time += self.queue.iter().map(|w| u128::from((now - w.since.max(counted_to)).0)).sum::<u128>();
        metering.meter.integrate(now, 0, false);
        // The link is busy without a gap from `now` until `busy_until`.
        metering.meter.busy = metering.meter.busy + metering.unsent;
        metering.unsent = metering.busy_until - now;
        metering.meter.busy = metering.meter.busy - metering.unsent;
        &mut metering.meter
    }

    /// State of the queue just before `now`.
    pub fn sample(&mut self, config: &LinkConfig, now: Time) -> QueueSample {
        self.advance_before(config, now);
        let here = || self.queue.iter().filter(|w| w.since < now);
        self.metering.meter.sample(here().count() as u64, here().map(|w| u64::from(w.len)).sum())
    }

    /// Packets that reached the end of the link before `now`.
    pub fn delivered(&mut self, config: &LinkConfig, now: Time) -> u64 {
        self.advance_before(config, now);
        self.delivered
    }
}

impl LindleyMeter {
    fn drop_at(&mut self, now: Time, at: Time) {
        if at <= now {
            self.meter.drops += 1;
        } else {
            self.drops.push_back(at);
        }
    }

    /// Counts the packets whose transmission starts by `now`, and returns their number. `ends` follow
    /// `delivered` packets, and `wire_len` is the length of the last.
    fn begin_until(&mut self, config: &LinkConfig, now: Time, (delivered, ends): (u64, &Ring<Time>), wire_len: u16) -> u64 {
        let before = self.begun;
        loop {
            let change = self.lengths.front().copied();
            let (to, wire_len) = change.unwrap_or((delivered + ends.len() as u64, wire_len));
            let service = config.service(wire_len);
            let place = |number: u64| number.saturating_sub(delivered) as usize;
            let ahead = ends.partition_point(place(self.begun)..place(to), |end| end.0 - service.0 <= now.0);
            let packets = (delivered + ahead as u64).saturating_sub(self.begun);
            self.meter.sent_packets += packets;
            self.meter.sent_bytes += packets * u64::from(wire_len);
            self.meter.busy = self.meter.busy + service.saturating_mul(packets);
            self.begun += packets;
            self.busy_until = ahead.checked_sub(1).and_then(|last| ends.get(last)).map_or(self.busy_until, |&end| end);
            if change.is_none() || self.begun < to {
                return self.begun - before;
            }
            self.lengths.pop_front();
        }
    }
}

impl LinkConfig {
    fn service(&self, wire_len: u16) -> Span {
        self.rate.map_or(Span::ZERO, |rate| rate.time_to_send(u32::from(wire_len)))
    }

    pub(super) fn sending(&self, packet: &Packet) -> TransmissionCost {
        let wire_len = self.framing.wire_len(packet);
        TransmissionCost { len: packet.len, wire_len, service: self.service(wire_len) }
    }
}
