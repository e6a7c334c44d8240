//! Checks of one direction of a hop.

use super::super::{HopDirection, RatePlan, ShaperPlan};
use super::acks;
use ackclock_core::Span;
use ackclock_core::config_check::{Checked, MAX_SPAN, check_span, ensure};
use ackclock_core::impairment::OutageConfig;
use ackclock_core::queue::QueueConfig;

pub fn check(config: &HopDirection) -> Checked {
    match (&config.rate, config.queue) {
        (Some(RatePlan::Fixed { bps: 0 }), _) => return Err("the rate is 0 b/s".into()),
        (Some(RatePlan::Trace { .. }), Some(QueueConfig::DropTail(config)))
            if config.limit.packets == 0 || config.limit.bytes == 0 =>
        {
            return Err("the queue's limit is 0: a recorded rate needs a queue".into());
        }
        (Some(RatePlan::Schedule(schedule)), _) => schedule.check()?,
        (Some(RatePlan::Slots(slots)), _) => slots.check()?,
        (Some(RatePlan::Trace { times_ms, start }), _) => check_trace(times_ms, *start)?,
        _ => {}
    }
    config.mtu.map_or(Ok(()), |mtu| mtu.check())?;
    config.policer.map_or(Ok(()), |policer| policer.check())?;
    config.shaper.as_ref().map_or(Ok(()), |shaper| check_shaper(shaper).map_err(|message| format!("shaper: {message}")))?;
    config.queue.map_or(Ok(()), |queue| queue.check())?;
    config.acks.map_or(Ok(()), |acks| acks::check_acks(&acks, config.queue))?;
    config.reconstruct.map_or(Ok(()), |reconstruction| acks::check_reconstruction(&reconstruction))?;
    check_span("delay_ps", config.delay)?;
    config.delay_schedule.as_ref().map_or(Ok(()), |delay| delay.check_delay())?;
    config.loss.as_ref().map_or(Ok(()), |loss| loss.check())?;
    config.jitter.map_or(Ok(()), |jitter| jitter.check())?;
    config.duplicate.map_or(Ok(()), |duplicate| duplicate.check())?;
    config.reorder.map_or(Ok(()), |reorder| reorder.check())?;
    config.handover.map_or(Ok(()), |handover| handover.check())?;
    OutageConfig::check(&config.outage)
}

fn check_shaper(shaper: &ShaperPlan) -> Checked {
    shaper.config.check()?;
    if let Some(autorate) = &shaper.autorate {
        autorate.check(shaper.config.rate)?;
        ensure(shaper.config.peak.is_none(), || "autorate: a shaper with peak_bps has one rate".into())?;
    }
    shaper.queue.map_or(Ok(()), |queue| queue.check())?;
    shaper.acks.map_or(Ok(()), |acks| acks::check_acks(&acks, shaper.queue))
}

fn check_trace(times_ms: &[u64], start: Option<Span>) -> Checked {
    ensure(times_ms.last().is_some_and(|&t| t > 0), || "the recorded rate has no opportunity after 0 ms".into())?;
    let sorted = times_ms.windows(2).all(|pair| pair[0] <= pair[1]);
    ensure(sorted && times_ms.last() <= Some(&(MAX_SPAN.0 / 1_000_000_000)), || {
        "the recorded rate's times are not in order".into()
    })?;
    ensure(times_ms.last().zip(start).is_none_or(|(&end, start)| start < Span::from_ms(end)), || {
        "start_ps: the recorded rate starts after its end".into()
    })
}
