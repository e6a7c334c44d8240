//! Checks of a queue.

use super::super::Acks;
use ackclock_core::Span;
use ackclock_core::config_check::{Checked, check_fraction, check_span, ensure};
use ackclock_core::queue::ack::AckReconstructorConfig;
use ackclock_core::queue::{
    CakeConfig, CoDelParameters, DualPi2Config, FqCoDelConfig, Limit, PieConfig, QueueConfig, QueueUnit, RedConfig, Threshold,
};

pub fn check(queue: &QueueConfig) -> Checked {
    match queue {
        QueueConfig::DropTail(config) => match config.mark {
            Some(Threshold::Time { time }) => check_span("queue.mark.ps", time),
            _ => Ok(()),
        },
        QueueConfig::Red(config) => check_red(config),
        QueueConfig::CoDel(config) => {
            has_room(config.limit)?;
            check_codel(&config.control)
        }
        QueueConfig::FqCoDel(FqCoDelConfig { control, flows, quantum, limit, memory, .. })
        | QueueConfig::Cake(CakeConfig { control, flows, quantum, limit, memory, .. }) => {
            has_room(Limit { packets: *limit, bytes: *memory })?;
            ensure((1..=65_536).contains(flows), || format!("queue.flows is {flows}: it must lie between 1 and 65536"))?;
            ensure(*quantum >= 64, || format!("queue.quantum is {quantum}: at least 64 bytes are needed"))?;
            check_codel(control)
        }
        QueueConfig::Pie(PieConfig { limit, target, update, alpha, beta, burst, mark_up_to, .. }) => {
            has_room(*limit)?;
            check_span("queue.burst_ps", *burst)?;
            check_fraction("queue.mark_up_to", *mark_up_to)?;
            pi_controller(*target, *update, *alpha, *beta)
        }
        QueueConfig::DualPi2(config) => check_dualpi2(config),
    }
}

fn check_red(config: &RedConfig) -> Checked {
    let RedConfig { limit, amount, min, max, weight, max_p, mean_packet, .. } = *config;
    has_room(limit)?;
    ensure(min > 0.0 && max > min && max.is_finite(), || {
        format!("queue.min is {min} and queue.max {max}: both must be above 0, max above min")
    })?;
    ensure(weight > 0.0 && weight <= 1.0, || format!("queue.weight is {weight}: it must be above 0 and up to 1"))?;
    ensure(amount == QueueUnit::Packets || mean_packet > 0, || "queue.mean_packet is 0".into())?;
    check_fraction("queue.max_p", max_p)
}

fn check_dualpi2(config: &DualPi2Config) -> Checked {
    let DualPi2Config { limit, target, update, alpha, beta, coupling, step, overload, classic_share } = *config;
    has_room(limit)?;
    check_span("queue.step_ps", step)?;
    check_fraction("queue.overload", overload)?;
    ensure(coupling > 0.0 && coupling.is_finite(), || format!("queue.coupling is {coupling}: it must be above 0"))?;
    ensure((0.0..1.0).contains(&classic_share), || {
        format!("queue.classic_share is {classic_share}: it must lie between 0 and below 1")
    })?;
    pi_controller(target, update, alpha, beta)
}

/// An AQM queue must be able to hold a packet.
fn has_room(limit: Limit) -> Checked {
    let message = || "the queue's limit is 0: only a droptail queue may have that limit".into();
    ensure(limit.packets > 0 && limit.bytes > 0, message)
}

fn check_codel(control: &CoDelParameters) -> Checked {
    check_span("queue.target_ps", control.target)?;
    ensure(control.interval > Span::ZERO, || "queue.interval_ps is 0".into())?;
    check_span("queue.interval_ps", control.interval)
}

fn pi_controller(target: Span, update: Span, alpha: f64, beta: f64) -> Checked {
    check_span("queue.target_ps", target)?;
    // Each update is an event of the run; a shorter interval would dominate the run time.
    ensure(update >= Span::from_us(1), || format!("queue.update_ps is {}: at least 1000000 (1 us) is needed", update.0))?;
    check_span("queue.update_ps", update)?;
    let gains = alpha >= 0.0 && beta >= 0.0 && alpha.is_finite() && beta.is_finite();
    ensure(gains, || format!("queue.alpha is {alpha} and queue.beta {beta}: both must be 0 or more"))
}

pub fn check_acks(acks: &Acks, queue: Option<QueueConfig>) -> Checked {
    ensure(!(acks.first && matches!(queue, Some(QueueConfig::DualPi2(_)))), || {
        "acks.first with a dualpi2 queue: only one of them is possible".into()
    })?;
    let Some(filter) = acks.filter else { return Ok(()) };
    ensure(filter.keep > 0, || "acks.filter.keep is 0: it must be at least 1".into())?;
    check_fraction("acks.filter.probability", filter.probability)
}

pub fn check_reconstruction(reconstruction: &AckReconstructorConfig) -> Checked {
    ensure(reconstruction.every > 0, || "reconstruct.every is 0 bytes".into())?;
    check_span("reconstruct.within_ps", reconstruction.within)
}
