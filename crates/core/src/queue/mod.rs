//! Where packets wait. A queue is passive: a link takes from it what it can send.

mod droptail;
mod fifo;

pub use droptail::{DropFrom, DropTail, Limit, Threshold};
pub use fifo::{Fifo, Waiting};

use crate::element::Out;
use crate::packet::Packet;
use crate::units::Time;

/// A waiting room with a policy.
pub trait Queue {
    /// Takes a packet in, or drops it (or another) through `out`.
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>);
    /// A packet finds the link idle and nobody waiting. A limit on what waits cannot drop it: it does not wait.
    fn pass(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) -> Option<Packet>;
    /// The next packet to send and when it was enqueued, if any; an active queue management may drop others on the way.
    fn dequeue(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)>;
    fn packets(&self) -> u64;
    fn bytes(&self) -> u64;
}

/// Every kind of queue.
#[derive(Debug)]
pub enum AnyQueue {
    DropTail(DropTail),
}

impl Queue for AnyQueue {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        match self {
            AnyQueue::DropTail(q) => q.enqueue(now, packet, out),
        }
    }
    fn pass(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) -> Option<Packet> {
        match self {
            AnyQueue::DropTail(q) => q.pass(now, packet, out),
        }
    }
    fn dequeue(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)> {
        match self {
            AnyQueue::DropTail(q) => q.dequeue(now, out),
        }
    }
    fn packets(&self) -> u64 {
        match self {
            AnyQueue::DropTail(q) => q.packets(),
        }
    }
    fn bytes(&self) -> u64 {
        match self {
            AnyQueue::DropTail(q) => q.bytes(),
        }
    }
}
