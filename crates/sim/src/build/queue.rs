//! From a plan's queue to the core's.

use crate::plan::{self, DropFrom, Mark};
use ackclock_core::Span;
use ackclock_core::queue::{self, AnyQueue, DropTail, Limit, Threshold};

/// Null is unlimited.
pub fn limit(packets: Option<u64>, bytes: Option<u64>) -> Limit {
    Limit { packets: packets.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) }
}

/// A missing queue is a droptail without limit.
pub fn build(queue: Option<plan::Queue>) -> AnyQueue {
    match queue {
        None => AnyQueue::DropTail(DropTail::new(Limit::NONE)),
        Some(plan::Queue::Droptail { packets, bytes, mark, drop }) => {
            let from = match drop {
                DropFrom::Tail => queue::DropFrom::Tail,
                DropFrom::Front => queue::DropFrom::Front,
            };
            let tail = DropTail::new(limit(packets, bytes)).drop_from(from);
            AnyQueue::DropTail(tail.mark_beyond(mark.map(threshold)))
        }
    }
}

fn threshold(mark: Mark) -> Threshold {
    match mark {
        Mark::Packets { packets } => Threshold::Packets(packets),
        Mark::Bytes { bytes } => Threshold::Bytes(bytes),
        Mark::Time { ps } => Threshold::Time(Span(ps)),
    }
}
