//! Queues. A queue is passive: a link dequeues packets when it can transmit.

pub mod ack;
mod cake;
mod cobalt;
mod codel;
mod config;
mod droptail;
mod drr;
mod dualpi2;
mod fifo;
mod fifo_queue;
mod fq_codel;
mod pie;
mod red;

pub use cake::*;
pub use codel::{CoDel, CoDelConfig, CoDelParameters};
pub use config::*;
pub use droptail::*;
pub use dualpi2::*;
pub use fifo::*;
pub use fq_codel::*;
pub use pie::*;
pub use red::*;

use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::units::{Rate, Time};
use ack::AckAwareQueue;
use fifo_queue::SingleFifo;
use serde::{Deserialize, Serialize};

/// A packet queue with a drop policy.
pub trait Queue {
    /// Enqueues a packet, or drops it or others through `out`.
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>);
    /// A packet arrives while the link is idle and the queue is empty. It does not queue, so a
    /// limit cannot drop it.
    fn pass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        self.enqueue(now, packet, out);
        self.dequeue(now, out).map(|(_, packet)| packet)
    }
    /// The next packet and its enqueue time. Active queue management may drop others before it.
    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)>;
    /// The packet that the next dequeue returns, where it is known: not of a queue that drops packets
    /// or chooses a flow on departure.
    fn peek(&self) -> Option<&Packet> {
        None
    }
    /// The link has another rate: a queue whose parameters follow from it changes them.
    fn set_rate(&mut self, _rate: Rate) {}
    fn packets(&self) -> u64;
    fn bytes(&self) -> u64;
    /// True if the packet fits.
    fn has_room(&self, packet: &Packet) -> bool;
    /// Calls `change` with the FIFO that would hold this packet.
    fn with_fifo(&mut self, packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>));
}

/// Marks the packet if ECN is enabled and it is ECT, otherwise drops it. Returns false if dropped.
fn mark_or_drop(signal: AqmSignal, packet: &mut Packet, out: &mut Output<'_>) -> bool {
    if signal == AqmSignal::Mark && out.mark(packet) {
        return true;
    }
    out.drop(*packet, DropReason::Early);
    false
}

/// How active queue management signals congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AqmSignal {
    /// Mark ECN-capable packets (RFC 3168); drop others.
    Mark,
    Drop,
}

macro_rules! any_queue {
    ($($kind:ident),* $(,)?) => {
        /// Every kind of queue.
        #[derive(Debug)]
        pub enum AnyQueue {
            DropTail(DropTail),
            $($kind(Box<$kind>),)*
        }

        impl Queue for AnyQueue {
            #[inline]
            fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
                match self { AnyQueue::DropTail(q) => q.enqueue(now, packet, out), $(AnyQueue::$kind(q) => q.enqueue(now, packet, out),)* }
            }
            #[inline]
            fn pass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
                match self { AnyQueue::DropTail(q) => q.pass(now, packet, out), $(AnyQueue::$kind(q) => q.pass(now, packet, out),)* }
            }
            #[inline]
            fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
                match self { AnyQueue::DropTail(q) => q.dequeue(now, out), $(AnyQueue::$kind(q) => q.dequeue(now, out),)* }
            }
            fn peek(&self) -> Option<&Packet> {
                match self { AnyQueue::DropTail(q) => q.peek(), $(AnyQueue::$kind(q) => q.peek(),)* }
            }
            fn set_rate(&mut self, rate: Rate) {
                match self { AnyQueue::DropTail(q) => q.set_rate(rate), $(AnyQueue::$kind(q) => q.set_rate(rate),)* }
            }
            #[inline]
            fn packets(&self) -> u64 {
                match self { AnyQueue::DropTail(q) => q.packets(), $(AnyQueue::$kind(q) => q.packets(),)* }
            }
            #[inline]
            fn bytes(&self) -> u64 {
                match self { AnyQueue::DropTail(q) => q.bytes(), $(AnyQueue::$kind(q) => q.bytes(),)* }
            }
            fn has_room(&self, packet: &Packet) -> bool {
                match self { AnyQueue::DropTail(q) => q.has_room(packet), $(AnyQueue::$kind(q) => q.has_room(packet),)* }
            }
            fn with_fifo(&mut self, packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>)) {
                match self { AnyQueue::DropTail(q) => q.with_fifo(packet, out, change), $(AnyQueue::$kind(q) => q.with_fifo(packet, out, change),)* }
            }
        }

        impl From<DropTail> for AnyQueue {
            fn from(q: DropTail) -> AnyQueue { AnyQueue::DropTail(q) }
        }
        $(impl From<$kind> for AnyQueue {
            fn from(q: $kind) -> AnyQueue { AnyQueue::$kind(Box::new(q)) }
        })*
    };
}

/// Calls with the queue as its own type: what is called is compiled for each kind, and the kind is
/// found once.
macro_rules! with_queue {
    ($any:expr, $queue:ident => $call:expr) => {
        $crate::queue::with_queue!(@of $any, $queue, $call, Red, CoDel, FqCoDel, Cake, Pie, DualPi2, AckAwareQueue)
    };
    (@of $any:expr, $queue:ident, $call:expr, $($kind:ident),*) => {
        match $any {
            $crate::queue::AnyQueue::DropTail($queue) => $call,
            $($crate::queue::AnyQueue::$kind($queue) => { let $queue = &mut **$queue; $call })*
        }
    };
}
pub(crate) use with_queue;

any_queue!(Red, CoDel, FqCoDel, Cake, Pie, DualPi2, AckAwareQueue);
