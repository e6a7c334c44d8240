//! A quantity that changes at given times: in steps, or linearly from one to the next. Rates, delays
//! and mean losses share it.

use crate::config_check::{Checked, check_span, ensure};
use crate::config_form::is_default;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleConfig<V> {
    /// Times from the start of the run and the values from then on, the first at 0.
    pub steps: Vec<(Span, V)>,
    /// The schedule begins again after this time; absent: the last value stays.
    #[serde(default = "Option::default", rename = "repeat_ps", skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Span>,
    /// Between two times the value changes linearly, also from the last one to the first of the next
    /// repetition.
    #[serde(default, skip_serializing_if = "is_default")]
    pub linear: bool,
}

/// A value between two others.
pub trait Interpolate: Copy {
    /// At `part` of `whole` of the way from `self` to `to`.
    fn towards(self, to: Self, part: u64, whole: u64) -> Self;
}

impl Interpolate for Span {
    /// To the nearest picosecond below.
    fn towards(self, to: Span, part: u64, whole: u64) -> Span {
        let difference = u128::from(self.0.abs_diff(to.0)) * u128::from(part) / u128::from(whole.max(1));
        let difference = u64::try_from(difference).unwrap_or(u64::MAX);
        Span(if self < to { self.0 + difference } else { self.0 - difference })
    }
}

impl Interpolate for f64 {
    fn towards(self, to: f64, part: u64, whole: u64) -> f64 {
        self + (to - self) * (part as f64 / whole.max(1) as f64)
    }
}

impl<V> ScheduleConfig<V> {
    /// Returns the error in the times, if any.
    pub fn check_times(&self) -> Checked {
        let steps = &self.steps;
        ensure(steps.first().is_some_and(|first| first.0 == Span::ZERO), || "the schedule's first step is not at 0".into())?;
        ensure(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), || "the schedule's times do not increase".into())?;
        let last = steps.last().map_or(Span::ZERO, |last| last.0);
        check_span("steps", last)?;
        check_span("repeat_ps", self.repeat.unwrap_or(Span::ZERO))?;
        ensure(self.repeat.is_none_or(|repeat| repeat > last), || format!("repeat_ps is not after the last step, {}", last.0))
    }
}

impl<V: Copy> ScheduleConfig<V> {
    /// From each step to the next one: start and end, and the values there. The last one ends with the
    /// repetition, or never.
    pub fn pieces(&self) -> impl Iterator<Item = (Span, Span, V, V)> + '_ {
        let steps = &self.steps;
        steps.iter().enumerate().map(move |(at, &(start, value))| {
            let next = steps.get(at + 1).copied();
            let end = next.map_or(self.repeat.unwrap_or(Span::MAX), |next| next.0);
            let after = next.or(steps.first().copied().filter(|_| self.repeat.is_some()));
            (start, end, value, after.filter(|_| self.linear).map_or(value, |next| next.1))
        })
    }

    /// The time since the start of the repetition.
    pub fn within(&self, at: Time) -> Span {
        Span(self.repeat.map_or(at.0, |repeat| at.0 % repeat.0))
    }
}

impl<V: Interpolate> ScheduleConfig<V> {
    /// The value at a time, of a schedule that has been checked.
    pub fn at(&self, now: Time) -> V {
        let within = self.within(now);
        let index = self.steps.partition_point(|step| step.0 <= within).saturating_sub(1);
        let (start, value) = self.steps[index];
        if !self.linear {
            return value;
        }
        let (end, next) = match (self.steps.get(index + 1), self.repeat) {
            (Some(&next), _) => next,
            (None, Some(repeat)) => (repeat, self.steps[0].1),
            (None, None) => return value,
        };
        value.towards(next, within.0 - start.0, end.0 - start.0)
    }
}

impl ScheduleConfig<Span> {
    /// A delay: each a span that fits.
    pub fn check_delay(&self) -> Checked {
        self.check_times()?;
        self.steps.iter().try_for_each(|step| check_span("delay_schedule.steps", step.1))
    }

    /// Over a repetition; without one that of the last step.
    pub fn mean(&self) -> Span {
        Span(libm::round(mean(self, |delay| delay.0 as f64)) as u64)
    }
}

impl ScheduleConfig<f64> {
    /// A share of packets in each step.
    pub fn check_shares(&self) -> Checked {
        self.check_times()?;
        self.steps.iter().try_for_each(|step| crate::config_check::check_fraction("loss.mean", step.1))
    }

    /// Over a repetition; without one that of the last step.
    pub fn mean(&self) -> f64 {
        mean(self, |share| share)
    }

    pub fn max(&self) -> f64 {
        self.steps.iter().map(|step| step.1).fold(0.0, f64::max)
    }
}

/// Over a repetition; without one that of the last step. A linear change has the mean of its ends.
fn mean<V: Copy>(schedule: &ScheduleConfig<V>, number: impl Fn(V) -> f64) -> f64 {
    match schedule.repeat {
        Some(repeat) => {
            let area = |(start, end, from, to): (Span, Span, V, V)| (end.0 - start.0) as f64 * (number(from) + number(to)) / 2.0;
            schedule.pieces().map(area).sum::<f64>() / repeat.0 as f64
        }
        None => schedule.steps.last().map_or(0.0, |last| number(last.1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000_000;

    fn delays(linear: bool, repeat: Option<u64>) -> ScheduleConfig<Span> {
        let steps = vec![(Span(0), Span(20 * S)), (Span(10 * S), Span(30 * S))];
        ScheduleConfig { steps, repeat: repeat.map(Span::from_secs), linear }
    }

    fn at(schedule: &ScheduleConfig<Span>, seconds: u64) -> u64 {
        schedule.at(Time(seconds * S)).0 / S
    }

    #[test]
    fn value_is_that_of_the_last_step_or_between_two_steps_when_linear() {
        let steps = delays(false, None);
        assert_eq!([0, 9, 10, 99].map(|t| at(&steps, t)), [20, 20, 30, 30]);
        assert_eq!(steps.at(Time(10 * S - 1)), Span(20 * S), "until just before the step");
        let linear = delays(true, None);
        assert_eq!([0, 3, 9, 10, 99].map(|t| at(&linear, t)), [20, 23, 29, 30, 30]);
        let again = delays(true, Some(20));
        assert_eq!([0, 10, 14, 19, 20, 23, 50].map(|t| at(&again, t)), [20, 30, 26, 21, 20, 23, 30]);
        let stepped = delays(false, Some(15));
        assert_eq!([14, 15, 24, 25, 30].map(|t| at(&stepped, t)), [30, 20, 20, 30, 20]);
    }

    #[test]
    fn mean_is_over_a_repetition_or_of_the_last_step() {
        assert_eq!(delays(false, None).mean(), Span(30 * S));
        assert_eq!(delays(false, Some(15)).mean(), Span((20 * 10 + 30 * 5) * S / 15));
        assert_eq!(delays(true, Some(20)).mean(), Span(25 * S));
        let shares = ScheduleConfig { steps: vec![(Span(0), 0.0), (Span(S), 0.5)], repeat: Some(Span(4 * S)), linear: false };
        assert_eq!((shares.mean(), shares.max(), shares.check_shares()), (0.375, 0.5, Ok(())));
    }

    #[test]
    fn schedule_is_refused_when_its_steps_are_no_schedule() {
        let schedule = |steps: &[(u64, u64)], repeat: Option<u64>| {
            let steps = steps.iter().map(|&(at, delay)| (Span::from_secs(at), Span(delay))).collect();
            ScheduleConfig { steps, repeat: repeat.map(Span::from_secs), linear: false }.check_delay()
        };
        for (wrong, message) in [
            (schedule(&[], None), "the schedule's first step is not at 0"),
            (schedule(&[(1, 5)], None), "the schedule's first step is not at 0"),
            (schedule(&[(0, 5), (0, 6)], None), "the schedule's times do not increase"),
            (schedule(&[(0, 5), (5, 6)], Some(5)), "repeat_ps is not after the last step, 5000000000000"),
        ] {
            assert_eq!(wrong, Err(message.to_owned()));
        }
        assert_eq!(schedule(&[(0, 0)], None), Ok(()));
        assert!(schedule(&[(0, u64::MAX)], None).is_err() && schedule(&[(0, 5), (200 * 86_400, 6)], None).is_err());
        let above_one = ScheduleConfig { steps: vec![(Span(0), 1.5)], repeat: None, linear: false };
        assert!(above_one.check_shares().is_err());
    }
}
