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

pub struct LindleyQueue {
    /// End of the transmission of the last accepted packet.
    free_at: Time,
    /// Packets are queued, or a meter is attached: the fast path does not apply.
    tracked: bool,
    /// Packets accepted and not yet started, as of the latest arrival; with a meter, as of now.
    queue: Ring<Waiting>,
    /// Number of packets of `queue` that have started by the latest arrival.
    started: usize,
    /// IP bytes of the other packets of `queue`.
    bytes: u64,
    metering: Option<Box<LindleyMeter>>,
}

#[derive(Clone, Copy)]
struct Waiting {
    since: Time,
    starts: Time,
    len: u16,
    wire_len: u16,
}

/// Statistics up to now.
#[derive(Default)]
struct LindleyMeter {
    meter: LinkMeter,
    /// End of the transmission of the last started packet.
    busy_until: Time,
    /// Transmission time still ahead when the meter was last brought up to date.
    unsent: Span,
    /// Drops and departures in the future.
    drops: Ring<Time>,
    departures: Ring<Time>,
    delivered: u64,
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
    pub fn new(metered: bool) -> LindleyQueue {
        let metering = metered.then(Box::default);
        LindleyQueue { free_at: Time::ZERO, tracked: metered, queue: Ring::new(), started: 0, bytes: 0, metering }
    }

    /// Accepts a packet that arrives at `at`, in order of time and not before `now`. Returns its
    /// arrival time at the end of the link; `None` if it is dropped.
    #[inline]
    pub fn accept(&mut self, config: &LinkConfig, now: Time, at: Time, packet: &TransmissionCost) -> Option<Time> {
        if self.free_at <= at && !self.tracked {
            // Fast path: idle and without a meter.
            self.free_at = at + packet.service;
        } else if !self.track(config, now, at, packet) {
            return None;
        }
        Some(self.free_at + config.delay)
    }

    /// Accepts a packet if packets are queued or a meter is attached. Returns false if it is
    /// dropped.
    fn track(&mut self, config: &LinkConfig, now: Time, at: Time, packet: &TransmissionCost) -> bool {
        if self.metering.is_some() {
            self.advance(config, now);
        }
        self.catch_up(at);
        let starts = self.free_at.max(at);
        let waiting = (self.queue.len() - self.started) as u64;
        if starts > at && !config.limit.admits(waiting, self.bytes, packet.len) {
            self.track_drop(now, at);
            return false;
        }
        self.free_at = starts + packet.service;
        if starts > at {
            self.bytes += u64::from(packet.len);
        } else if self.metering.is_some() {
            self.started += 1;
        } else {
            self.tracked = false;
            return true;
        }
        self.tracked = true;
        self.queue.push_back(Waiting { since: at, starts, len: packet.len, wire_len: packet.wire_len });
        if let Some(metering) = &mut self.metering {
            metering.departures.push_back(self.free_at + config.delay);
        }
        true
    }

    fn track_drop(&mut self, now: Time, at: Time) {
        if let Some(metering) = &mut self.metering {
            if at <= now {
                metering.meter.drops += 1;
            } else {
                metering.drops.push_back(at);
            }
        }
    }

    /// Removes the packets whose transmission starts by `at`; they free their space in the queue.
    #[inline]
    fn catch_up(&mut self, at: Time) {
        while let Some(next) = self.queue.get(self.started).filter(|next| next.starts <= at) {
            self.bytes -= u64::from(next.len);
            if self.metering.is_some() {
                self.started += 1;
            } else {
                self.queue.pop_front();
            }
        }
    }

    /// Brings the statistics up to `now`, inclusive.
    fn advance(&mut self, config: &LinkConfig, now: Time) {
        let Some(metering) = &mut self.metering else { return };
        while let Some(next) = self.queue.front().copied().filter(|next| next.starts <= now) {
            self.queue.pop_front();
            match self.started.checked_sub(1) {
                Some(started) => self.started = started,
                None => self.bytes -= u64::from(next.len),
            }
            metering.begin(&next, config.service(next.wire_len));
        }
        while metering.drops.front().is_some_and(|&at| at <= now) {
            metering.drops.pop_front();
            metering.meter.drops += 1;
        }
        while metering.departures.front().is_some_and(|&at| at <= now) {
            metering.departures.pop_front();
            metering.delivered += 1;
        }
    }

    /// Brings the statistics up to just before `now`.
    fn advance_before(&mut self, config: &LinkConfig, now: Time) {
        if now > Time::ZERO {
            self.advance(config, Time(now.0 - 1));
        }
    }

    /// The meter, up to date just before `now`.
    pub fn meter(&mut self, config: &LinkConfig, now: Time) -> Option<&mut LinkMeter> {
        self.advance_before(config, now);
        let metering = self.metering.as_deref_mut()?;
        let counted_to = metering.meter.counted_to();
        metering.meter.packet_time += self.queue.iter().map(|w| u128::from((now - w.since.max(counted_to)).0)).sum::<u128>();
        metering.meter.integrate(now, 0, false);
        // The link is busy without a gap from `now` until `busy_until`.
        metering.meter.busy = metering.meter.busy + metering.unsent;
        metering.unsent = metering.busy_until - now;
        metering.meter.busy = metering.meter.busy - metering.unsent;
        Some(&mut metering.meter)
    }

    /// State of the queue just before `now`.
    pub fn sample(&mut self, config: &LinkConfig, now: Time) -> Option<QueueSample> {
        self.advance_before(config, now);
        let metering = self.metering.as_deref()?;
        let here = || self.queue.iter().filter(|w| w.since < now);
        Some(metering.meter.sample(here().count() as u64, here().map(|w| u64::from(w.len)).sum()))
    }

    /// Packets that reached the end of the link before `now`.
    pub fn delivered(&mut self, config: &LinkConfig, now: Time) -> u64 {
        self.advance_before(config, now);
        self.metering.as_ref().map_or(0, |metering| metering.delivered)
    }
}

impl LindleyMeter {
    fn begin(&mut self, packet: &Waiting, service: Span) {
        self.meter.begin(packet.starts - packet.since);
        self.meter.sent_bytes += u64::from(packet.wire_len);
        self.meter.packet_time += u128::from((packet.starts - packet.since.max(self.meter.counted_to())).0);
        self.meter.busy = self.meter.busy + service;
        self.busy_until = packet.starts + service;
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
