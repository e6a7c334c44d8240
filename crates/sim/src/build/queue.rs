//! The queue of a hop from its plan.

use crate::plan::Acks;
use ackclock_core::Rate;
use ackclock_core::queue::ack::{AckAwareQueue, AckFilter};
use ackclock_core::queue::{AnyQueue, DropFrom, DropTail, DropTailConfig, Limit, Order, QueueConfig};
use ackclock_core::rng::Rng;

/// A queue with its handling of ACKs. `rate` is the approximate service rate; none where it is
/// unknown. Without a queue in the plan: droptail without limit.
pub fn build(config: Option<QueueConfig>, acks: Option<Acks>, rate: Option<Rate>, mut rng: Rng) -> AnyQueue {
    let order = if acks.is_some_and(|acks| acks.first) { Order::AcksFirst } else { Order::Arrival };
    let queue = match config {
        Some(queue) => queue.build(order, rate, rng.fork()),
        None => DropTail::new(DropTailConfig { order, ..Limit::NONE.into() }).into(),
    };
    let Some(acks) = acks.filter(|acks| acks.filter.is_some() || acks.drop == DropFrom::Front) else { return queue };
    let mut path = AckAwareQueue::new(queue);
    if let Some(filter) = acks.filter {
        path = path.with_filter(AckFilter::new(filter, rng.fork()));
    }
    if acks.drop == DropFrom::Front {
        path = path.drop_acks_from_front();
    }
    path.into()
}
