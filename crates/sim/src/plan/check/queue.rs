//! Checks of a queue.

use super::super::{Acks, Queue};
use super::{Checked, ensure, fraction, span};
use ackclock_core::queue::ack::AckReconstructorConfig;
use ackclock_core::queue::{QueueUnit, Threshold};

pub fn check(queue: &Queue) -> Checked {
    match *queue {
        Queue::Droptail { mark: Some(Threshold::Time { time }), .. } => span("queue.mark.ps", time.0),
        Queue::Droptail { .. } => Ok(()),
        Queue::Red { packets, bytes, amount, min, max, weight, max_p, mean_packet, .. } => {
            has_room(packets, bytes)?;
            ensure(min > 0.0 && max > min && max.is_finite(), || {
                format!("queue.min is {min} and queue.max {max}: both must be above 0, max above min")
            })?;
            ensure(weight > 0.0 && weight <= 1.0, || format!("queue.weight is {weight}: it must be above 0 and up to 1"))?;
            ensure(amount == QueueUnit::Packets || mean_packet > 0, || "queue.mean_packet is 0".into())?;
            fraction("queue.max_p", max_p)
        }
        Queue::CoDel { packets, bytes, target_ps, interval_ps, .. } => {
            has_room(packets, bytes)?;
            codel(target_ps, interval_ps)
        }
        Queue::FqCoDel { packets, bytes, flows, quantum, target_ps, interval_ps, .. }
        | Queue::Cake { packets, bytes, flows, quantum, target_ps, interval_ps, .. } => {
            has_room(Some(packets), Some(bytes))?;
            ensure((1..=65_536).contains(&flows), || format!("queue.flows is {flows}: it must lie between 1 and 65536"))?;
            ensure(quantum >= 64, || format!("queue.quantum is {quantum}: at least 64 bytes are needed"))?;
            codel(target_ps, interval_ps)
        }
        Queue::Pie { packets, bytes, target_ps, update_ps, alpha, beta, burst_ps, mark_up_to, .. } => {
            has_room(packets, bytes)?;
            span("queue.burst_ps", burst_ps)?;
            fraction("queue.mark_up_to", mark_up_to)?;
            pi_controller(target_ps, update_ps, alpha, beta)
        }
        Queue::DualPi2 { packets, bytes, target_ps, update_ps, alpha, beta, coupling, step_ps, overload, classic_share } => {
            has_room(packets, bytes)?;
            span("queue.step_ps", step_ps)?;
            fraction("queue.overload", overload)?;
            ensure(coupling > 0.0 && coupling.is_finite(), || format!("queue.coupling is {coupling}: it must be above 0"))?;
            ensure((0.0..1.0).contains(&classic_share), || {
                format!("queue.classic_share is {classic_share}: it must lie between 0 and below 1")
            })?;
            pi_controller(target_ps, update_ps, alpha, beta)
        }
    }
}

/// An AQM queue must be able to hold a packet.
fn has_room(packets: Option<u64>, bytes: Option<u64>) -> Checked {
    ensure(packets != Some(0) && bytes != Some(0), || "the queue's limit is 0: only a droptail queue may have that limit".into())
}

fn codel(target_ps: u64, interval_ps: u64) -> Checked {
    span("queue.target_ps", target_ps)?;
    ensure(interval_ps > 0, || "queue.interval_ps is 0".into())?;
    span("queue.interval_ps", interval_ps)
}

fn pi_controller(target_ps: u64, update_ps: u64, alpha: f64, beta: f64) -> Checked {
    span("queue.target_ps", target_ps)?;
    // Each update is an event of the run; a shorter interval would dominate the run time.
    ensure(update_ps >= 1_000_000, || format!("queue.update_ps is {update_ps}: at least 1000000 (1 us) is needed"))?;
    span("queue.update_ps", update_ps)?;
    let gains = alpha >= 0.0 && beta >= 0.0 && alpha.is_finite() && beta.is_finite();
    ensure(gains, || format!("queue.alpha is {alpha} and queue.beta {beta}: both must be 0 or more"))
}

pub fn check_acks(acks: &Acks, queue: Option<Queue>) -> Checked {
    ensure(!(acks.first && matches!(queue, Some(Queue::DualPi2 { .. }))), || {
        "acks.first with a dualpi2 queue: only one of them is possible".into()
    })?;
    let Some(filter) = acks.filter else { return Ok(()) };
    ensure(filter.keep > 0, || "acks.filter.keep is 0: it must be at least 1".into())?;
    fraction("acks.filter.probability", filter.probability)
}

pub fn check_reconstruction(reconstruction: &AckReconstructorConfig) -> Checked {
    ensure(reconstruction.every > 0, || "reconstruct.every is 0 bytes".into())?;
    span("reconstruct.within_ps", reconstruction.within.0)
}
