//! Router-side ACK handling: a wrapper around any queue. It reads headers only, simulated or real.
//!
//! ACKs-first scheduling is a service order of the FIFO: [`super::Order::AcksFirst`].

mod filter;
mod last_ack;
mod reconstruct;

pub use filter::{AckFilter, AckFilterConfig, Duplicates, SackGuard, Survivor};
pub use reconstruct::{AckReconstructor, AckReconstructorConfig};

use super::{AnyQueue, Fifo, Queue, QueuedPacket};
use crate::element::{DropReason, Output};
use crate::packet::{Kind, Packet};
use crate::units::{Rate, Time};

/// A queue with ACK filtering or ACK drop-from-front.
#[derive(Debug)]
pub struct AckAwareQueue {
    inner: AnyQueue,
    filter: Option<AckFilter>,
    /// An ACK that finds the queue full replaces the oldest queued ACK (Lakshman, Madhow and Suter,
    /// INFOCOM 1997).
    drops_acks_from_front: bool,
}

impl AckAwareQueue {
    pub fn new(inner: AnyQueue) -> AckAwareQueue {
        AckAwareQueue { inner, filter: None, drops_acks_from_front: false }
    }

    pub fn with_filter(self, filter: AckFilter) -> AckAwareQueue {
        AckAwareQueue { filter: Some(filter), ..self }
    }

    pub fn drop_acks_from_front(self) -> AckAwareQueue {
        AckAwareQueue { drops_acks_from_front: true, ..self }
    }

    /// Drops the oldest ACK of the FIFO.
    fn make_room(&mut self, packet: &Packet, out: &mut Output<'_>) {
        self.inner.with_fifo(packet, out, &mut |fifo, out| {
            let oldest = fifo.acks().next().map(|(index, _)| index);
            if let Some(packet) = oldest.and_then(|index| fifo.remove_ack(index)) {
                out.drop(packet, DropReason::QueueFull);
            }
        });
    }

    fn enqueue_ack(&mut self, now: Time, mut packet: Packet, out: &mut Output<'_>) {
        let mut guarded = false;
        if let (Some(filter), Some(view)) = (&mut self.filter, out.arena.tcp(&packet)) {
            guarded = filter.record(&view);
            let waiting = self.inner.packets();
            let mut freed = None;
            self.inner.with_fifo(&packet, out, &mut |fifo, out| freed = filter.purge(waiting, &view, fifo, out));
            filter.mark_duplicates(&view, &mut packet, out);
            if let Some(index) = freed.filter(|_| filter.survivor() == Survivor::Head) {
                let waiting = QueuedPacket { since: now, packet, guarded };
                return self.inner.with_fifo(&packet, out, &mut |fifo, _| fifo.insert_ack(index, waiting));
            }
        }
        if self.drops_acks_from_front && !self.inner.has_room(&packet) {
            self.make_room(&packet, out);
        }
        self.inner.enqueue(now, packet, out);
        if guarded {
            self.inner.with_fifo(&packet, out, &mut |fifo, _| {
                let mut newest = fifo.acks().rev();
                if let Some((_, waiting)) = newest.find(|(_, waiting)| waiting.packet.id == packet.id) {
                    waiting.guarded = true;
                }
            });
        }
    }
}

impl Queue for AckAwareQueue {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        if packet.kind.has(Kind::PURE_ACK) { self.enqueue_ack(now, packet, out) } else { self.inner.enqueue(now, packet, out) }
    }

    fn pass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        if let (Some(filter), Some(view)) = (&mut self.filter, out.arena.tcp(&packet).filter(|view| view.is_pure_ack())) {
            filter.record(&view);
        }
        self.inner.pass(now, packet, out)
    }

    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        self.inner.dequeue(now, out)
    }
    fn peek(&self) -> Option<&Packet> {
        self.inner.peek()
    }
    fn set_rate(&mut self, rate: Rate) {
        self.inner.set_rate(rate);
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
    fn with_fifo(&mut self, packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>)) {
        self.inner.with_fifo(packet, out, change);
    }
}
