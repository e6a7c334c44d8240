//! Queues with one line: how packets come and go is theirs, what waits is the line's to say.

use super::{Fifo, Limit, Queue};
use crate::element::Out;
use crate::packet::Packet;
use crate::units::Time;

/// The three acts of a [`Queue`], by the same rules, and the line that they work on.
pub trait OneLine {
    /// [`Queue::enqueue`]
    fn take_in(&mut self, now: Time, packet: Packet, out: &mut Out<'_>);
    /// [`Queue::pass`]
    fn let_by(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) -> Option<Packet>;
    /// [`Queue::dequeue`]
    fn give(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)>;
    /// What waits, and how much may.
    fn line(&self) -> (&Fifo, Limit);
    fn line_mut(&mut self) -> &mut Fifo;
}

impl<T: OneLine> Queue for T {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        self.take_in(now, packet, out);
    }
    fn pass(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) -> Option<Packet> {
        self.let_by(now, packet, out)
    }
    fn dequeue(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)> {
        self.give(now, out)
    }
    fn packets(&self) -> u64 {
        self.line().0.packets()
    }
    fn bytes(&self) -> u64 {
        self.line().0.bytes()
    }
    fn has_room(&self, packet: &Packet) -> bool {
        let (line, limit) = self.line();
        limit.admits(line.packets(), line.bytes(), packet.len)
    }
    fn with_line(&mut self, _packet: &Packet, out: &mut Out<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Out<'_>)) {
        change(self.line_mut(), out);
    }
}
