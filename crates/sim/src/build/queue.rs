//! The queue of a hop from its plan.

use crate::plan::{HopDirection, Queue};
use ackclock_core::queue::ack::{AckAwareQueue, AckFilter};
use ackclock_core::queue::{
    AnyQueue, AqmSignal, Cake, CakeConfig, CoDel, CoDelConfig, CoDelParameters, DropFrom, DropTail, DualPi2, DualPi2Config,
    FqCoDel, FqCoDelConfig, Limit, Order, Pie, PieConfig, Red, RedConfig,
};
use ackclock_core::rng::Rng;
use ackclock_core::{Rate, Span};

/// Null is unlimited.
pub fn limit(packets: Option<u64>, bytes: Option<u64>) -> Limit {
    Limit { packets: packets.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) }
}

/// The queue of one direction of a hop, with its handling of ACKs. `rate` is the approximate
/// service rate; none where it is unknown. Without a queue in the plan: droptail without limit.
pub fn build(config: Option<&HopDirection>, rate: Option<Rate>, mut rng: Rng) -> AnyQueue {
    let acks = config.and_then(|config| config.acks);
    let order = if acks.is_some_and(|acks| acks.first) { Order::AcksFirst } else { Order::Arrival };
    let queue = config.and_then(|config| config.queue).map_or_else(
        || DropTail::new(Limit::NONE).in_order(order).into(),
        |queue| plain(queue, QueueContext { order, rate, rng: rng.fork() }),
    );
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

/// What a queue needs beside its plan.
struct QueueContext {
    order: Order,
    rate: Option<Rate>,
    rng: Rng,
}

fn plain(queue: Queue, context: QueueContext) -> AnyQueue {
    let QueueContext { order, rate, rng } = context;
    match queue {
        Queue::Droptail { packets, bytes, mark, drop } => {
            DropTail::new(limit(packets, bytes)).drop_from(drop).mark_beyond(mark).in_order(order).into()
        }
        Queue::Red { .. } => red(queue, order, rate, rng),
        Queue::CoDel { packets, bytes, target_ps, interval_ps, mtu, signal } => {
            let control = codel_parameters(target_ps, interval_ps, mtu, signal);
            CoDel::new(CoDelConfig { limit: limit(packets, bytes), control, order }).into()
        }
        Queue::FqCoDel { packets, bytes, flows, quantum, target_ps, interval_ps, mtu, signal } => {
            let control = codel_parameters(target_ps, interval_ps, mtu, signal);
            FqCoDel::new(FqCoDelConfig { control, flows, quantum, limit: packets, memory: bytes, order }, rng).into()
        }
        Queue::Cake { packets, bytes, flows, quantum, target_ps, interval_ps, mtu, signal, hosts } => {
            let control = for_rate(codel_parameters(target_ps, interval_ps, mtu, signal), rate, mtu);
            Cake::new(CakeConfig { control, flows, quantum, limit: packets, memory: bytes, hosts, order }, rng).into()
        }
        Queue::Pie { packets, bytes, target_ps, update_ps, alpha, beta, burst_ps, signal, mark_up_to, mean_packet } => {
            let config = PieConfig {
                limit: limit(packets, bytes),
                target: Span(target_ps),
                update: Span(update_ps),
                alpha,
                beta,
                burst: Span(burst_ps),
                signal,
                mark_up_to,
                mean_packet: u64::from(mean_packet),
                order,
            };
            Pie::new(config, rng).into()
        }
        Queue::DualPi2 { packets, bytes, target_ps, update_ps, alpha, beta, coupling, step_ps, overload, classic_share } => {
            DualPi2::new(DualPi2Config {
                limit: limit(packets, bytes),
                target: Span(target_ps),
                update: Span(update_ps),
                alpha,
                beta,
                coupling,
                step: Span(step_ps),
                overload,
                classic_share,
            })
            .into()
        }
    }
}

fn red(queue: Queue, order: Order, rate: Option<Rate>, rng: Rng) -> AnyQueue {
    let Queue::Red { packets, bytes, amount, min, max, weight, max_p, gentle, signal, only, mean_packet } = queue else {
        return DropTail::new(Limit::NONE).into();
    };
    let config = RedConfig {
        limit: limit(packets, bytes),
        amount,
        min,
        max,
        weight,
        max_p,
        gentle,
        signal,
        candidates: only,
        mean_packet: f64::from(mean_packet),
        service: rate.map_or(Span::ZERO, |rate| rate.time_to_send(mean_packet)),
        order,
    };
    Red::new(config, rng).into()
}

fn codel_parameters(target_ps: u64, interval_ps: u64, mtu: u32, signal: AqmSignal) -> CoDelParameters {
    CoDelParameters { target: Span(target_ps), interval: Span(interval_ps), mtu: u64::from(mtu), signal }
}

/// CAKE's target is at least the serialization time of 1.5 packets, its interval at least two
/// targets (Høiland-Jørgensen, Täht and Morton 2018, section III).
fn for_rate(control: CoDelParameters, rate: Option<Rate>, mtu: u32) -> CoDelParameters {
    let packet = rate.map_or(Span::ZERO, |rate| rate.time_to_send(mtu));
    let target = control.target.max(Span(packet.0.saturating_mul(3) / 2));
    CoDelParameters { target, interval: control.interval.max(target.saturating_mul(2)), ..control }
}
