//! One station's place at one fixed-rate link: its droptail queue and what is known of its future.
//!
//! In a first-in-first-out queue before a fixed rate, a packet's whole future is known when it arrives: it starts when the one before
//! it ends (Lindley's recursion). So a stage may be told of arrivals that lie ahead of the present, in their order.

use super::Framing;
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::Limit;
use crate::ring::Ring;
use crate::units::{Rate, Span, Time};

/// What all stations of one link share. `rate` none is infinitely fast.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    pub rate: Option<Rate>,
    pub delay: Span,
    pub limit: Limit,
    pub framing: Framing,
}

pub struct Stage {
    /// When the last accepted packet will have been sent.
    free_at: Time,
    /// Packets wait, or somebody watches: nothing may go by unnoticed.
    noting: bool,
    /// Accepted and not yet begun: by the latest arrival, or by the present where somebody watches.
    queue: Ring<Waiting>,
    /// How many of them will have begun by the latest arrival.
    begun: usize,
    /// Bytes of the others.
    bytes: u64,
    watch: Option<Box<Watch>>,
}

#[derive(Clone, Copy)]
struct Waiting {
    since: Time,
    starts: Time,
    len: u16,
    wire_len: u16,
}

/// What a watched stage has done up to the present.
#[derive(Default)]
struct Watch {
    meter: LinkMeter,
    /// When the last packet begun will have been sent.
    busy_until: Time,
    /// Sending time still ahead when the meter was last brought up to date.
    owed: Span,
    /// Drops and departures that still lie ahead.
    drops: Ring<Time>,
    leaving: Ring<Time>,
    delivered: u64,
}

/// What sending a packet takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sending {
    /// IP length in bytes.
    pub len: u16,
    pub wire_len: u16,
    pub service: Span,
}

impl Stage {
    pub fn new(watched: bool) -> Stage {
        let watch = watched.then(Box::default);
        Stage { free_at: Time::ZERO, noting: watched, queue: Ring::new(), begun: 0, bytes: 0, watch }
    }

    /// A packet arrives at `at`, not before `now` and not before the one before it. When it reaches the far end; none if it is dropped.
    #[inline]
    pub fn accept(&mut self, terms: &Terms, now: Time, at: Time, packet: &Sending) -> Option<Time> {
        if self.free_at <= at && !self.noting {
            // Idle and unwatched, as most are most of the time.
            self.free_at = at + packet.service;
        } else if !self.note(terms, now, at, packet) {
            return None;
        }
        Some(self.free_at + terms.delay)
    }

    /// Takes a packet where others wait or somebody watches, unless there is no room.
    fn note(&mut self, terms: &Terms, now: Time, at: Time, packet: &Sending) -> bool {
        if self.watch.is_some() {
            self.advance(terms, now);
        }
        self.catch_up(at);
        let starts = self.free_at.max(at);
        let waiting = (self.queue.len() - self.begun) as u64;
        if starts > at && !terms.limit.admits(waiting, self.bytes, packet.len) {
            self.note_drop(now, at);
            return false;
        }
        self.free_at = starts + packet.service;
        if starts > at {
            self.bytes += u64::from(packet.len);
        } else if self.watch.is_some() {
            self.begun += 1;
        } else {
            self.noting = false;
            return true;
        }
        self.noting = true;
        self.queue.push_back(Waiting { since: at, starts, len: packet.len, wire_len: packet.wire_len });
        if let Some(watch) = &mut self.watch {
            watch.leaving.push_back(self.free_at + terms.delay);
        }
        true
    }

    fn note_drop(&mut self, now: Time, at: Time) {
        if let Some(watch) = &mut self.watch {
            if at <= now {
                watch.meter.drops += 1;
            } else {
                watch.drops.push_back(at);
            }
        }
    }

    /// What begins by `at` takes no room from an arrival then.
    #[inline]
    fn catch_up(&mut self, at: Time) {
        while let Some(next) = self.queue.get(self.begun).filter(|next| next.starts <= at) {
            self.bytes -= u64::from(next.len);
            if self.watch.is_some() {
                self.begun += 1;
            } else {
                self.queue.pop_front();
            }
        }
    }

    /// Brings the watch to the present: what begins, is dropped or arrives by `now` has done so.
    fn advance(&mut self, terms: &Terms, now: Time) {
        let Some(watch) = &mut self.watch else { return };
        while let Some(next) = self.queue.front().copied().filter(|next| next.starts <= now) {
            self.queue.pop_front();
            match self.begun.checked_sub(1) {
                Some(begun) => self.begun = begun,
                None => self.bytes -= u64::from(next.len),
            }
            watch.begin(&next, terms.service(next.wire_len));
        }
        while watch.drops.front().is_some_and(|&at| at <= now) {
            watch.drops.pop_front();
            watch.meter.drops += 1;
        }
        while watch.leaving.front().is_some_and(|&at| at <= now) {
            watch.leaving.pop_front();
            watch.delivered += 1;
        }
    }

    /// As just before `now`: what happens exactly then has not happened yet.
    fn advance_before(&mut self, terms: &Terms, now: Time) {
        if now > Time::ZERO {
            self.advance(terms, Time(now.0 - 1));
        }
    }

    /// The meter, up to date just before `now`.
    pub fn meter(&mut self, terms: &Terms, now: Time) -> Option<&mut LinkMeter> {
        self.advance_before(terms, now);
        let watch = self.watch.as_deref_mut()?;
        let counted_to = watch.meter.counted_to();
        watch.meter.packet_time += self.queue.iter().map(|w| u128::from((now - w.since.max(counted_to)).0)).sum::<u128>();
        watch.meter.integrate(now, 0, false);
        // What it has begun to send and not sent lies ahead of `now` without a gap.
        watch.meter.busy = watch.meter.busy + watch.owed;
        watch.owed = watch.busy_until - now;
        watch.meter.busy = watch.meter.busy - watch.owed;
        Some(&mut watch.meter)
    }

    /// The queue just before `now`.
    pub fn sample(&mut self, terms: &Terms, now: Time) -> Option<QueueSample> {
        self.advance_before(terms, now);
        let watch = self.watch.as_deref()?;
        let here = || self.queue.iter().filter(|w| w.since < now);
        Some(watch.meter.sample(here().count() as u64, here().map(|w| u64::from(w.len)).sum()))
    }

    /// Packets that reached the far end before `now`.
    pub fn delivered(&mut self, terms: &Terms, now: Time) -> u64 {
        self.advance_before(terms, now);
        self.watch.as_ref().map_or(0, |watch| watch.delivered)
    }
}

impl Watch {
    fn begin(&mut self, packet: &Waiting, service: Span) {
        self.meter.begin(packet.starts - packet.since);
        self.meter.sent_bytes += u64::from(packet.wire_len);
        self.meter.packet_time += u128::from((packet.starts - packet.since.max(self.meter.counted_to())).0);
        self.meter.busy = self.meter.busy + service;
        self.busy_until = packet.starts + service;
    }
}

impl Terms {
    fn service(&self, wire_len: u16) -> Span {
        self.rate.map_or(Span::ZERO, |rate| rate.time_to_send(u32::from(wire_len)))
    }

    pub(super) fn sending(&self, packet: &Packet) -> Sending {
        let wire_len = self.framing.wire_len(packet);
        Sending { len: packet.len, wire_len, service: self.service(wire_len) }
    }
}
