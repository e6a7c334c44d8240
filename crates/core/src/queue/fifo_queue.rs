//! Queues with a single FIFO.

use super::{Fifo, Limit, Queue};
use crate::element::Output;
use crate::packet::Packet;
use crate::units::Time;

/// The operations of a [`Queue`] that differ between queues with a single FIFO. The rest follows
/// from the FIFO and its limit.
pub trait SingleFifo {
    /// A departure may drop the first packet, so that the next one is not known before.
    const DROPS_ON_DEPARTURE: bool = false;

    /// [`Queue::enqueue`]
    fn admit(&mut self, now: Time, packet: Packet, out: &mut Output<'_>);
    /// [`Queue::pass`]
    fn bypass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet>;
    /// [`Queue::dequeue`]
    fn take_next(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)>;
    /// The FIFO and its limit.
    fn fifo(&self) -> (&Fifo, Limit);
    fn fifo_mut(&mut self) -> &mut Fifo;
}

impl<T: SingleFifo> Queue for T {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        self.admit(now, packet, out);
    }
    #[inline]
    fn pass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        self.bypass(now, packet, out)
    }
    #[inline]
    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        self.take_next(now, out)
    }
    fn peek(&self) -> Option<&Packet> {
        self.fifo().0.first().filter(|_| !T::DROPS_ON_DEPARTURE).map(|first| &first.packet)
    }
    #[inline]
    fn packets(&self) -> u64 {
        self.fifo().0.packets()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.fifo().0.bytes()
    }
    #[inline]
    fn has_room(&self, packet: &Packet) -> bool {
        let (fifo, limit) = self.fifo();
        limit.admits(fifo.packets(), fifo.bytes(), packet.len)
    }
    fn with_fifo(&mut self, _packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>)) {
        change(self.fifo_mut(), out);
    }
}
