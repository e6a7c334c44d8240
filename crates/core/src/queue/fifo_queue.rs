//! Queues with one fifo: how packets come and go is theirs, what waits is the fifo's to say.

use super::{Fifo, Limit, Queue};
use crate::element::Output;
use crate::packet::Packet;
use crate::units::Time;

/// The three acts of a [`Queue`], by the same rules, and the fifo that they work on.
pub trait SingleFifo {
    /// [`Queue::enqueue`]
    fn admit(&mut self, now: Time, packet: Packet, out: &mut Output<'_>);
    /// [`Queue::pass`]
    fn bypass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet>;
    /// [`Queue::dequeue`]
    fn take_next(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)>;
    /// What waits, and how much may.
    fn fifo(&self) -> (&Fifo, Limit);
    fn fifo_mut(&mut self) -> &mut Fifo;
}

impl<T: SingleFifo> Queue for T {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        self.admit(now, packet, out);
    }
    fn pass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        self.bypass(now, packet, out)
    }
    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        self.take_next(now, out)
    }
    fn packets(&self) -> u64 {
        self.fifo().0.packets()
    }
    fn bytes(&self) -> u64 {
        self.fifo().0.bytes()
    }
    fn has_room(&self, packet: &Packet) -> bool {
        let (fifo, limit) = self.fifo();
        limit.admits(fifo.packets(), fifo.bytes(), packet.len)
    }
    fn with_fifo(&mut self, _packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>)) {
        change(self.fifo_mut(), out);
    }
}
