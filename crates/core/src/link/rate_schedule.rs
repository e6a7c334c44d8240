//! A rate that changes at given times: in steps, or linearly from one to the next.
//!
//! The unit of work is the bit-picosecond per second, so that a packet in service goes on at the new
//! rate without rounding: it ends when the integral of the rate has grown by its bits.

use crate::config_check::{Checked, ensure};
use crate::schedule::ScheduleConfig;
use crate::units::{PS_PER_S, Time};

/// Rates in bits per second; a rate of 0 sends nothing.
pub type RateScheduleConfig = ScheduleConfig<u64>;

/// More is no rate of a link, and would overflow the integral.
pub(super) const MAX_BPS: u64 = 100_000_000_000_000;

impl RateScheduleConfig {
    pub fn check(&self) -> Checked {
        self.check_times()?;
        let steps = &self.steps;
        ensure(steps.iter().any(|step| step.1 > 0), || "the schedule has no rate above 0".into())?;
        ensure(steps.iter().all(|step| step.1 <= MAX_BPS), || format!("a rate of the schedule is above {MAX_BPS} b/s"))
    }

    /// Bits per second, over a repetition; without one that of the last step.
    pub fn mean_bps(&self) -> f64 {
        match self.repeat {
            Some(repeat) => RateSchedule::new(self).total as f64 / repeat.0 as f64,
            None => self.steps.last().map_or(0.0, |last| last.1 as f64),
        }
    }
}

/// From a step to the next one, or to the end of the repetition.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    length: u64,
    from_bps: u64,
    to_bps: u64,
    /// Work done before it, since the start of the schedule.
    before: u128,
}

impl Piece {
    /// Work of its first `x` picoseconds, to a whole unit.
    fn work(&self, x: u64) -> u128 {
        let (x, constant) = (u128::from(x), u128::from(self.from_bps.min(self.to_bps)));
        if self.from_bps == self.to_bps {
            return constant * x;
        }
        // The slope's part: of a rising rate x^2 / 2L of the difference, of a falling one the rest.
        let (difference, length) = (u128::from(self.from_bps.abs_diff(self.to_bps)), u128::from(self.length));
        let part = if self.from_bps < self.to_bps { x * x / length } else { 2 * x - (x * x).div_ceil(length) };
        constant * x + difference * part / 2
    }
}

/// The integral of the rate, and its inverse.
#[derive(Clone, Debug)]
pub struct RateSchedule {
    pieces: Vec<Piece>,
    /// Of a repetition.
    period: Option<u64>,
    total: u128,
}

impl RateSchedule {
    /// Of a configuration that has been checked.
    pub fn new(config: &RateScheduleConfig) -> RateSchedule {
        let mut pieces: Vec<Piece> = Vec::with_capacity(config.steps.len());
        let mut before = 0;
        for (start, end, from_bps, to_bps) in config.pieces() {
            let piece = Piece { start: start.0, length: end.0 - start.0, from_bps, to_bps, before };
            before += piece.work(piece.length);
            pieces.push(piece);
        }
        RateSchedule { pieces, period: config.repeat.map(|repeat| repeat.0), total: before }
    }

    /// Bits times the picoseconds of a second that the link can send until `at`.
    pub fn work(&self, at: Time) -> u128 {
        let (rounds, within) = self.period.map_or((0, at.0), |period| (at.0 / period, at.0 % period));
        let piece = self.pieces[self.pieces.partition_point(|piece| piece.start <= within) - 1];
        u128::from(rounds) * self.total + piece.before + piece.work(within - piece.start)
    }

    /// The first time until which the link can send so much; never if it cannot.
    pub fn time_of(&self, work: u128) -> Time {
        // Work that is a whole number of repetitions is done at the end of the last one or before.
        let rounds = if self.period.is_some() { work.saturating_sub(1) / self.total } else { 0 };
        let left = work - rounds * self.total;
        let piece = self.pieces[self.pieces.partition_point(|piece| piece.before < left).saturating_sub(1)];
        let (mut low, mut high) = (0, piece.length);
        if piece.work(high) < left - piece.before {
            return Time::NEVER;
        }
        if piece.from_bps == piece.to_bps {
            high = u64::try_from((left - piece.before).div_ceil(u128::from(piece.from_bps.max(1)))).unwrap_or(u64::MAX);
        } else {
            while low < high {
                let middle = low + (high - low) / 2;
                if piece.work(middle) < left - piece.before { low = middle + 1 } else { high = middle }
            }
        }
        let start = u64::try_from(rounds).ok().and_then(|rounds| rounds.checked_mul(self.period.unwrap_or(0)));
        Time(start.and_then(|start| start.checked_add(piece.start)?.checked_add(high)).unwrap_or(u64::MAX))
    }

    /// End of the transmission of `bytes` that starts at `now`.
    pub fn end(&self, now: Time, bytes: u32) -> Time {
        self.time_of(self.work(now) + u128::from(bytes) * 8 * u128::from(PS_PER_S)).max(now)
    }

    /// Bytes that the link can send in this time.
    pub fn bytes(&self, from: Time, until: Time) -> u64 {
        let work = self.work(until.max(from)) - self.work(from);
        u64::try_from(work / (8 * u128::from(PS_PER_S))).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;
    use proptest::prelude::*;

    const S: u64 = PS_PER_S;

    fn config(steps: &[(u64, u64)], repeat: Option<u64>, linear: bool) -> RateScheduleConfig {
        let steps = steps.iter().map(|&(s, bps)| (Span::from_secs(s), bps)).collect();
        RateScheduleConfig { steps, repeat: repeat.map(Span::from_secs), linear }
    }

    fn end(config: &RateScheduleConfig, start_s: f64, bytes: u32) -> f64 {
        config.check().expect("a schedule");
        RateSchedule::new(config).end(Time::ZERO + Span::from_secs_f64(start_s), bytes).as_secs()
    }

    #[test]
    fn packet_in_service_goes_on_at_the_new_rate() {
        // 1000 bits: half of them in the last half second at 1 kb/s, the rest at 100 b/s.
        let slower = config(&[(0, 1000), (10, 100)], None, false);
        assert_eq!(end(&slower, 9.5, 125), 15.0);
        assert_eq!(end(&slower, 9.0, 125), 10.0);
        assert_eq!(end(&slower, 10.0, 125), 20.0);
    }

    #[test]
    fn rate_of_zero_is_an_outage_until_the_next_step_and_for_ever_after_the_last() {
        let outage = config(&[(0, 1000), (10, 0), (12, 1000)], None, false);
        assert_eq!(end(&outage, 9.5, 125), 12.5);
        assert_eq!(end(&outage, 11.0, 125), 13.0);
        let ended = config(&[(0, 1000), (10, 0)], None, false);
        assert_eq!(RateSchedule::new(&ended).end(Time(95 * S / 10), 125), Time::NEVER);
        assert_eq!(end(&ended, 9.0, 125), 10.0);
    }

    #[test]
    fn schedule_begins_again_after_its_time() {
        let slots = config(&[(0, 1000), (10, 0)], Some(15), false);
        assert_eq!([end(&slots, 9.5, 125), end(&slots, 24.5, 125), end(&slots, 15.0, 125)], [15.5, 30.5, 16.0]);
        // Two repetitions have 20 s at 1000 b/s.
        assert_eq!(end(&slots, 0.0, 2500), 25.0);
        assert_eq!(slots.mean_bps(), 10_000.0 / 15.0);
    }

    #[test]
    fn linear_rate_sends_the_area_below_it() {
        // From 0 to 1000 b/s in 10 s: 5000 bits in all, 1250 of them in the first half.
        let rising = config(&[(0, 0), (10, 1000)], None, true);
        let found = end(&rising, 0.0, 1250 / 8);
        assert!((found - (2.0f64 * 1248.0 / 100.0).sqrt()).abs() < 1e-9, "{found}");
        assert_eq!(end(&rising, 10.0, 125), 11.0);
        let falling = config(&[(0, 1000)], Some(10), true);
        assert_eq!(falling.mean_bps(), 1000.0, "from the last to the first of the next repetition");
        let saw = config(&[(0, 1000), (10, 0)], Some(20), true);
        assert_eq!((saw.mean_bps(), end(&saw, 0.0, 1250)), (500.0, 20.0));
    }

    #[test]
    fn schedule_is_refused_when_its_steps_are_no_schedule() {
        for (wrong, message) in [
            (config(&[(1, 5)], None, false), "the schedule's first step is not at 0"),
            (config(&[(0, 0), (5, 0)], None, false), "the schedule has no rate above 0"),
            (config(&[(0, 5), (5, 6)], Some(5), false), "repeat_ps is not after the last step, 5000000000000"),
        ] {
            assert_eq!(wrong.check(), Err(message.to_owned()));
        }
        assert!(config(&[(0, MAX_BPS + 1)], None, false).check().is_err());
        assert!(config(&[(0, 5), (200 * 86_400, 6)], None, false).check().is_err());
    }

    proptest! {
        /// The end is the first picosecond whose integral has the packet's bits, and a second packet
        /// ends where both together would.
        #[test]
        fn end_is_the_inverse_of_the_work(
            gaps in prop::collection::vec((1u64..5_000_000_000_000, prop_oneof![Just(0u64), 1u64..10_000_000_000]), 1..6),
            repeats in any::<bool>(), linear in any::<bool>(), start in 0u64..20_000_000_000_000, bytes in (1u32..3000, 1u32..3000),
        ) {
            let mut at = 0;
            let mut steps: Vec<(Span, u64)> = Vec::new();
            for &(gap, bps) in &gaps {
                steps.push((Span(at), bps));
                at += gap;
            }
            steps[0].1 += 1000;
            let config = RateScheduleConfig { steps, repeat: repeats.then_some(Span(at)), linear };
            prop_assert_eq!(config.check(), Ok(()));
            let schedule = RateSchedule::new(&config);
            let bits = |bytes: u32| u128::from(bytes) * 8 * u128::from(PS_PER_S);
            let first = schedule.end(Time(start), bytes.0);
            if first < Time(1 << 62) {
                let goal = schedule.work(Time(start)) + bits(bytes.0);
                prop_assert!(schedule.work(first) >= goal);
                prop_assert!(first.0 == start || schedule.work(Time(first.0 - 1)) < goal);
                let both = schedule.end(Time(start), bytes.0 + bytes.1);
                let second = schedule.end(first, bytes.1);
                if both < Time(1 << 62) && schedule.work(first) == goal {
                    prop_assert_eq!(second, both);
                }
            }
        }
    }
}
