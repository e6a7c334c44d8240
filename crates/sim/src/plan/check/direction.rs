//! Checks of one direction of a hop.

use super::super::{Handover, HopDirection, Jitter, Loss, RatePlan, curve};
use super::{Checked, MAX_SPAN_PS, check_shape, ensure, fraction, queue, span};
use ackclock_core::queue::QueueConfig;

pub fn check(config: &HopDirection) -> Checked {
    match (&config.rate, config.queue) {
        (Some(RatePlan::Fixed { bps: 0 }), _) => return Err("the rate is 0 b/s".into()),
        (Some(RatePlan::Trace { .. }), Some(QueueConfig::DropTail(config)))
            if config.limit.packets == 0 || config.limit.bytes == 0 =>
        {
            return Err("the queue's limit is 0: a recorded rate needs a queue".into());
        }
        (Some(RatePlan::Trace { times_ms }), _) => check_trace(times_ms)?,
        _ => {}
    }
    config.queue.map_or(Ok(()), |queue| queue::check(&queue))?;
    config.acks.map_or(Ok(()), |acks| queue::check_acks(&acks, config.queue))?;
    config.reconstruct.map_or(Ok(()), |reconstruction| queue::check_reconstruction(&reconstruction))?;
    span("delay_ps", config.delay_ps)?;
    config.loss.as_ref().map_or(Ok(()), check_loss)?;
    config.jitter.as_ref().map_or(Ok(()), check_jitter)?;
    config.duplicate.map_or(Ok(()), |d| fraction("duplicate.mean", d.mean))?;
    if let Some(reorder) = config.reorder {
        fraction("reorder.mean", reorder.mean)?;
        span("reorder.delay_ps", reorder.delay_ps)?;
    }
    config.handover.map_or(Ok(()), |handover| check_handover(&handover))?;
    let mut last_end = 0;
    for outage in &config.outage {
        let message = || {
            format!(
                "an outage from {} to {} ps: outages must be in order without overlap, start_ps below end_ps",
                outage.start_ps, outage.end_ps
            )
        };
        ensure(outage.start_ps >= last_end && outage.start_ps < outage.end_ps, message)?;
        last_end = outage.end_ps;
    }
    Ok(())
}

/// A path that lasts no longer than the gap carries no packet.
fn check_handover(handover: &Handover) -> Checked {
    span("handover.every_ps", handover.every_ps)?;
    span("handover.first_ps", handover.first_ps)?;
    span("handover.high_ps", handover.high_ps)?;
    ensure(handover.gap_ps < handover.every_ps, || "handover.gap_ps is not shorter than handover.every_ps".into())?;
    ensure(handover.low_ps <= handover.high_ps, || "handover.low_ps is above handover.high_ps".into())?;
    fraction("handover.loss", handover.loss)
}

fn check_trace(times_ms: &[u64]) -> Checked {
    ensure(times_ms.last().is_some_and(|&t| t > 0), || "the recorded rate has no opportunity after 0 ms".into())?;
    let sorted = times_ms.windows(2).all(|pair| pair[0] <= pair[1]);
    ensure(sorted && times_ms.last() <= Some(&(MAX_SPAN_PS / 1_000_000_000)), || {
        "the recorded rate's times are not in order".into()
    })
}

fn check_loss(loss: &Loss) -> Checked {
    match *loss {
        Loss::Bernoulli { mean } => fraction("loss.mean", mean),
        Loss::GilbertElliott { good_ps, bad_ps, loss_good, loss_bad } => {
            ensure(good_ps > 0 && bad_ps > 0, || "loss.good_ps and loss.bad_ps must be above 0".into())?;
            span("loss.good_ps", good_ps)?;
            span("loss.bad_ps", bad_ps)?;
            fraction("loss.loss_good", loss_good)?;
            fraction("loss.loss_bad", loss_bad)
        }
        Loss::Signal { ref fading, step_ps, ref points } => {
            ensure(step_ps > 0, || "loss.step_ps is 0: it must be above 0".into())?;
            span("loss.step_ps", step_ps)?;
            fading.process().map(drop)?;
            curve(points).map(drop)
        }
        Loss::List { ref packets } => {
            ensure(packets.iter().all(|&p| p > 0), || "loss.packets has 0: packets are numbered from 1".into())
        }
    }
}

fn check_jitter(jitter: &Jitter) -> Checked {
    match *jitter {
        Jitter::Uniform { low_ps, high_ps, .. } => {
            span("jitter.high_ps", high_ps)?;
            ensure(low_ps <= high_ps, || format!("jitter.low_ps {low_ps} is above jitter.high_ps {high_ps}"))
        }
        Jitter::Normal { mean_ps, sd_ps, .. } => span("jitter.mean_ps", mean_ps).and_then(|()| span("jitter.sd_ps", sd_ps)),
        Jitter::Exponential { mean_ps, .. } => span("jitter.mean_ps", mean_ps),
        Jitter::Pareto { mean_ps, shape, .. } => span("jitter.mean_ps", mean_ps).and_then(|()| check_shape(shape)),
    }
}
