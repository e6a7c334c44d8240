//! What a router may do to ACKs: a wrapper around any queue. Everything here looks at headers only, simulated or real.
//!
//! Acks-first scheduling is the order of the line itself: [`super::Order::AcksFirst`].

mod filter;
mod heard;
mod reconstruct;

pub use filter::{Duplicates, Filter, FilterSettings, SackGuard, Survivor};
pub use reconstruct::{Reconstruct, ReconstructSettings};

use super::{AnyQueue, Fifo, Queue, Waiting};
use crate::element::{Cause, Out};
use crate::packet::{Kind, Packet};
use crate::units::Time;

/// A queue whose ACKs are looked after.
#[derive(Debug)]
pub struct AckPath {
    inner: AnyQueue,
    filter: Option<Filter>,
    /// An ACK that finds no room takes that of the oldest one (Lakshman, Madhow and Suter, INFOCOM 1997).
    from_front: bool,
}

impl AckPath {
    pub fn new(inner: AnyQueue) -> AckPath {
        AckPath { inner, filter: None, from_front: false }
    }

    pub fn filtered(self, filter: Filter) -> AckPath {
        AckPath { filter: Some(filter), ..self }
    }

    pub fn drop_acks_from_front(self) -> AckPath {
        AckPath { from_front: true, ..self }
    }

    /// Makes the oldest ACK of the line give way.
    fn make_room(&mut self, packet: &Packet, out: &mut Out<'_>) {
        self.inner.with_line(packet, out, &mut |line, out| {
            let oldest = line.acks().next().map(|(place, _)| place);
            if let Some(packet) = oldest.and_then(|place| line.take_ack(place)) {
                out.drop(packet, Cause::QueueFull);
            }
        });
    }

    fn enqueue_ack(&mut self, now: Time, mut packet: Packet, out: &mut Out<'_>) {
        let mut guarded = false;
        if let (Some(filter), Some(view)) = (&mut self.filter, out.arena.tcp(&packet)) {
            guarded = filter.hear(&view);
            let waiting = self.inner.packets();
            let mut freed = None;
            self.inner.with_line(&packet, out, &mut |line, out| freed = filter.purge(waiting, &view, line, out));
            filter.mark_duplicates(&view, &mut packet, out);
            if let Some(place) = freed.filter(|_| filter.survivor() == Survivor::Head) {
                let waiting = Waiting { since: now, packet, guarded };
                return self.inner.with_line(&packet, out, &mut |line, _| line.put_ack(place, waiting));
            }
        }
        if self.from_front && !self.inner.has_room(&packet) {
            self.make_room(&packet, out);
        }
        self.inner.enqueue(now, packet, out);
        if guarded {
            self.inner.with_line(&packet, out, &mut |line, _| {
                let mut newest = line.acks().rev();
                if let Some((_, waiting)) = newest.find(|(_, waiting)| waiting.packet.id == packet.id) {
                    waiting.guarded = true;
                }
            });
        }
    }
}

impl Queue for AckPath {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        if packet.kind.has(Kind::PURE_ACK) { self.enqueue_ack(now, packet, out) } else { self.inner.enqueue(now, packet, out) }
    }

    fn pass(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) -> Option<Packet> {
        if let (Some(filter), Some(view)) = (&mut self.filter, out.arena.tcp(&packet).filter(|view| view.is_pure_ack())) {
            filter.hear(&view);
        }
        self.inner.pass(now, packet, out)
    }

    fn dequeue(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)> {
        self.inner.dequeue(now, out)
    }
    fn packets(&self) -> u64 {
        self.inner.packets()
    }
    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }
    fn has_room(&self, packet: &Packet) -> bool {
        self.inner.has_room(packet)
    }
    fn with_line(&mut self, packet: &Packet, out: &mut Out<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Out<'_>)) {
        self.inner.with_line(packet, out, change);
    }
}
