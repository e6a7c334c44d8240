//! The rate of a link whose path changes in slots, as that of a satellite constellation: each slot has
//! a rate drawn from a distribution, nothing is sent for a time after a change, and within a slot the
//! sender may have grants only (docs/models/leo.md).
//!
//! The integral of the rate is that of [`RateSchedule`]: a packet in service goes on in the next grant
//! and in the next slot.

use super::rate_schedule::MAX_BPS;
use super::{RateSchedule, RateScheduleConfig};
use crate::config_check::{Checked, check_span, ensure};
use crate::config_form::is_default;
use crate::rng::Rng;
use crate::units::{PS_PER_S, Span, Time};
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SlotsConfig {
    /// Duration of a slot.
    #[serde(rename = "every_ps")]
    pub every: Span,
    /// Time of the first change.
    #[serde(rename = "first_ps")]
    pub first: Span,
    /// Equally spaced quantiles of the rate of a slot, the first the minimum and the last the maximum.
    pub bps: Vec<u64>,
    /// Of the rates of successive slots, as normal scores.
    #[serde(default, skip_serializing_if = "is_default")]
    pub correlation: f64,
    /// Equally spaced quantiles of the delay that a slot adds.
    #[serde(rename = "delay_ps")]
    pub delay: Vec<Span>,
    /// What is sent within this time after a change is lost.
    #[serde(rename = "lost_ps")]
    pub lost: Span,
    /// Nothing is sent within this time after that.
    #[serde(rename = "held_ps")]
    pub held: Span,
    /// Absent: the sender sends at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<GrantCycleConfig>,
}

/// Grants of a sender in a cycle of frames that repeats within a slot: grants of a frame, `every` frames
/// apart, and pauses between them. The rate of a slot is the mean over a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GrantCycleConfig {
    #[serde(rename = "frame_ps")]
    pub frame: Span,
    /// Minimum and maximum of the frames of a cycle, drawn for each slot.
    pub cycle: [u32; 2],
    /// Frames from a grant to the next.
    pub every: u32,
    /// Frames from the grant before a pause to that after it.
    pub pause: u32,
    /// Minimum and maximum of the pauses of a cycle, drawn for each slot.
    pub pauses: [u32; 2],
}

/// Less is no slot of a constellation, and would need a draw for each.
pub const MIN_SLOT: Span = Span::from_ms(100);
const MAX_FRAMES: u32 = 10_000;

impl SlotsConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        check_span("slots.every_ps", self.every)?;
        ensure(self.every >= MIN_SLOT, || format!("slots.every_ps is below {}", MIN_SLOT.0))?;
        check_span("slots.first_ps", self.first)?;
        ensure(self.first > Span::ZERO, || "slots.first_ps is 0: the first slot has no time".into())?;
        ensure(self.bps.first().is_some_and(|&bps| bps > 0), || "slots.bps has no rate above 0 as its first".into())?;
        ensure(self.bps.is_sorted() && self.delay.is_sorted(), || "quantiles of slots do not increase".into())?;
        ensure(self.bps.iter().all(|&bps| bps <= MAX_BPS), || format!("a rate of slots.bps is above {MAX_BPS} b/s"))?;
        self.delay.iter().try_for_each(|&delay| check_span("slots.delay_ps", delay))?;
        ensure((0.0..1.0).contains(&self.correlation), || "slots.correlation must lie from 0 to below 1".into())?;
        ensure(self.lost + self.held < self.every, || "slots.lost_ps and slots.held_ps fill the slot".into())?;
        self.grants.map_or(Ok(()), |grants| grants.check())
    }

    /// Bits per second: the mean of the distribution of the rate, less what the changes hold.
    pub fn mean_bps(&self) -> f64 {
        let rates: Vec<f64> = self.bps.iter().map(|&bps| bps as f64).collect();
        mean_of_quantiles(&rates) * (1.0 - self.held.0 as f64 / self.every.0 as f64)
    }

    /// The mean of the delay that a slot adds.
    pub fn mean_delay(&self) -> Span {
        let delays: Vec<f64> = self.delay.iter().map(|delay| delay.0 as f64).collect();
        Span(libm::round(mean_of_quantiles(&delays)) as u64)
    }

    /// Number of the slot at a time, 0 before the first change.
    fn slot_at(&self, now: Time) -> usize {
        let since = now.0.checked_sub(self.first.0).map(|since| since / self.every.0 + 1);
        since.map_or(0, |slot| usize::try_from(slot).unwrap_or(usize::MAX))
    }

    fn start(&self, slot: usize) -> Time {
        if slot == 0 { Time::ZERO } else { Time::ZERO + self.first + self.every.saturating_mul(slot as u64 - 1) }
    }
}

impl GrantCycleConfig {
    fn check(&self) -> Checked {
        let [min, max] = self.cycle;
        ensure(self.frame > Span::ZERO, || "slots.grants.frame_ps is 0".into())?;
        check_span("slots.grants.frame_ps", self.frame)?;
        ensure(min <= max && max <= MAX_FRAMES, || {
            format!("slots.grants.cycle is not a minimum and a maximum up to {MAX_FRAMES}")
        })?;
        ensure(self.every > 0 && self.pause >= self.every, || "slots.grants.every is 0, or above slots.grants.pause".into())?;
        let [few, many] = self.pauses;
        ensure(few <= many && u64::from(many) * u64::from(self.pause) <= u64::from(min) && min >= self.every, || {
            "slots.grants: the pauses are longer than the cycle, or not a minimum and a maximum".into()
        })
    }

    /// Frames from each grant of a cycle to the next: the pauses spread over the other grants, of which
    /// the last has the rest.
    fn gaps(&self, cycle: u32, pauses: u32) -> Vec<u32> {
        let mut gaps = Vec::new();
        let ordinary = cycle - pauses * self.pause;
        let grants = ordinary / self.every;
        for grant in 0..grants {
            let rest = if grant + 1 == grants { ordinary - grants * self.every } else { 0 };
            gaps.push(self.every + rest);
        }
        for pause in 0..pauses {
            let at = gaps.len() * (pause as usize + 1) / (pauses as usize);
            gaps.insert(at.min(gaps.len()), self.pause + if grants == 0 && pause == 0 { ordinary } else { 0 });
        }
        gaps
    }

    /// The rate in a cycle, of which `bps` is the mean.
    fn schedule(&self, bps: u64, cycle: u32, pauses: u32) -> RateScheduleConfig {
        let gaps = self.gaps(cycle, pauses);
        let in_grant = (u128::from(bps) * u128::from(cycle) / gaps.len().max(1) as u128) as u64;
        let (mut steps, mut frame) = (Vec::new(), 0);
        for gap in gaps {
            steps.push((self.frame.saturating_mul(frame), in_grant));
            if gap > 1 {
                steps.push((self.frame.saturating_mul(frame + 1), 0));
            }
            frame += u64::from(gap);
        }
        RateScheduleConfig { steps, repeat: Some(self.frame.saturating_mul(u64::from(cycle))), linear: false }
    }
}

/// The value below which a share `u` of a distribution lies, linear between equally spaced quantiles.
pub fn of_quantiles(quantiles: &[f64], u: f64) -> f64 {
    let Some(last) = quantiles.len().checked_sub(1) else { return 0.0 };
    let position = u * last as f64;
    let below = (position as usize).min(last);
    let above = (below + 1).min(last);
    quantiles[below] + (quantiles[above] - quantiles[below]) * (position - below as f64)
}

fn mean_of_quantiles(quantiles: &[f64]) -> f64 {
    match quantiles {
        [] => 0.0,
        [one] => *one,
        _ => quantiles.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).sum::<f64>() / (quantiles.len() - 1) as f64,
    }
}

/// A slot: what can be sent in it.
struct Slot {
    start: Time,
    end: Time,
    lost: Span,
    held: Span,
    rate: RateSchedule,
    /// The time of the grants' cycle at the start of the slot.
    phase: Span,
}

impl Slot {
    /// The time of the grants' cycle, which stands still while sending is held.
    fn cycle_time(&self, at: Time) -> Time {
        let since = at.min(self.end) - self.start;
        Time::ZERO + self.phase + (since - (since - self.lost).min(self.held))
    }

    /// Bits times the picoseconds of a second that can be sent from the start of the slot until a time.
    fn work(&self, at: Time) -> u128 {
        self.rate.work(self.cycle_time(at)) - self.rate.work(Time::ZERO + self.phase)
    }

    /// The first time until which so much can be sent, if it is in the slot.
    fn time_of(&self, work: u128) -> Time {
        let since = self.rate.time_of(self.rate.work(Time::ZERO + self.phase) + work) - (Time::ZERO + self.phase);
        self.start + if since > self.lost { since + self.held } else { since }
    }
}

/// Slots whose scores are drawn one after the other. A run that begins later needs no draws of the time
/// before: the correlation ends with each of these blocks, 17 hours of slots of 15 s.
const BLOCK: usize = 4096;

/// Work of whole slots, for a meter: it asks for ever later times from one on.
#[derive(Clone, Copy)]
struct Counted {
    from: Time,
    /// What the slot of `from` had done by then.
    before: u128,
    /// Work from the start of that slot until the start of this one.
    slot: usize,
    work: u128,
}

/// The integral of the rate over all slots.
pub struct SlottedRate {
    config: SlotsConfig,
    quantiles: Vec<f64>,
    salt: u64,
    /// Normal scores of the rates of a block of slots.
    scores: (usize, Vec<f64>),
    /// The slot of the last transmission.
    current: Option<(usize, Slot)>,
    counted: Counted,
}

impl SlottedRate {
    /// Of a configuration that has been checked.
    pub fn new(config: &SlotsConfig, mut rng: Rng) -> SlottedRate {
        let quantiles = config.bps.iter().map(|&bps| bps as f64).collect();
        let (salt, config) = (rng.salt(), config.clone());
        SlottedRate {
            config,
            quantiles,
            salt,
            scores: (0, Vec::new()),
            current: None,
            counted: Counted { from: Time::NEVER, before: 0, slot: 0, work: 0 },
        }
    }

    /// The normal score of the rate of a slot.
    fn score(&mut self, number: usize) -> f64 {
        let (block, within) = (number / BLOCK, number % BLOCK);
        if self.scores.1.is_empty() || self.scores.0 != block {
            let correlation = self.config.correlation;
            let innovation = libm::sqrt(1.0 - correlation * correlation);
            let mut draws = Rng::for_element(self.salt.wrapping_add(block as u64), "rates");
            let mut score = draws.normal(0.0, 1.0);
            let mut next = || {
                let this = score;
                score = correlation * score + innovation * draws.normal(0.0, 1.0);
                this
            };
            self.scores = (block, (0..BLOCK).map(|_| next()).collect());
        }
        self.scores.1[within]
    }

    /// Bits per second of a slot.
    pub fn bps(&mut self, number: usize) -> u64 {
        let score = self.score(number);
        (of_quantiles(&self.quantiles, standard_normal(score)) as u64).max(1)
    }

    fn slot(&mut self, number: usize) -> Slot {
        let SlotsConfig { lost, held, grants, .. } = self.config;
        let bps = self.bps(number);
        let mut draws = Rng::for_element(self.salt.wrapping_add(number as u64), "grants");
        let (rate, phase) = match grants {
            Some(grants) => {
                let mut between = |[min, max]: [u32; 2]| min + (draws.uniform() * f64::from(max - min + 1)) as u32;
                let (cycle, pauses) = (between(grants.cycle), between(grants.pauses));
                let schedule = grants.schedule(bps, cycle, pauses);
                let phase = draws.uniform_span(Span::ZERO, schedule.repeat.unwrap_or(Span::ZERO));
                (schedule, phase)
            }
            None => (RateScheduleConfig { steps: vec![(Span::ZERO, bps)], repeat: None, linear: false }, Span::ZERO),
        };
        let change = if number == 0 { (Span::ZERO, Span::ZERO) } else { (lost, held) };
        Slot {
            start: self.config.start(number),
            end: self.config.start(number + 1),
            lost: change.0,
            held: change.1,
            rate: RateSchedule::new(&rate),
            phase,
        }
    }

    /// End of the transmission of `bytes` that starts at `now`.
    pub fn end(&mut self, now: Time, bytes: u32) -> Time {
        let mut left = u128::from(bytes) * 8 * u128::from(PS_PER_S);
        let (mut at, mut number) = (now, self.config.slot_at(now));
        loop {
            if self.current.as_ref().is_none_or(|current| current.0 != number) {
                self.current = Some((number, self.slot(number)));
            }
            let Some((_, slot)) = &self.current else { return Time::NEVER };
            let done = slot.work(at);
            let until_end = slot.work(slot.end) - done;
            if left <= until_end {
                return slot.time_of(done + left).max(now);
            }
            if slot.end == Time::NEVER {
                return Time::NEVER;
            }
            left -= until_end;
            (at, number) = (slot.end, number + 1);
        }
    }

    /// Bytes that the link can send in this time.
    pub fn bytes(&mut self, from: Time, until: Time) -> u64 {
        let until = until.max(from);
        if self.counted.from != from || self.config.start(self.counted.slot) > until {
            let slot = self.config.slot_at(from);
            self.counted = Counted { from, before: self.slot(slot).work(from), slot, work: 0 };
        }
        let last = self.config.slot_at(until);
        while self.counted.slot < last {
            let slot = self.slot(self.counted.slot);
            self.counted.work += slot.work(slot.end);
            self.counted.slot += 1;
        }
        let work = self.counted.work + self.slot(last).work(until) - self.counted.before;
        u64::try_from(work / (8 * u128::from(PS_PER_S))).unwrap_or(u64::MAX)
    }
}

/// The distribution function of the standard normal distribution.
fn standard_normal(score: f64) -> f64 {
    0.5 * libm::erfc(-score / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_ms;

    fn slots(bps: &[u64]) -> SlotsConfig {
        SlotsConfig {
            every: Span::from_secs(15),
            first: Span::from_secs(12),
            bps: bps.to_vec(),
            correlation: 0.0,
            delay: vec![Span::ZERO],
            lost: Span::ZERO,
            held: Span::ZERO,
            grants: None,
        }
    }

    fn starlink() -> GrantCycleConfig {
        GrantCycleConfig { frame: Span(1_333_333_333), cycle: [49, 55], every: 5, pause: 15, pauses: [1, 2] }
    }

    fn rng(seed: u64) -> Rng {
        Rng::for_element(seed, "slots")
    }

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(seconds)
    }

    #[test]
    fn slots_change_at_12_27_42_and_57_s_of_a_minute() {
        let config = slots(&[1000]);
        let seconds = [0.0, 11.999, 12.0, 26.999, 27.0, 42.0, 57.0, 71.999, 72.0];
        assert_eq!(seconds.map(|s| config.slot_at(at(s))), [0, 0, 1, 1, 2, 3, 4, 4, 5]);
        assert_eq!([0, 1, 2, 5].map(|n| config.start(n).as_secs()), [0.0, 12.0, 27.0, 72.0]);
    }

    #[test]
    fn packet_in_service_waits_for_the_end_of_the_hold_and_goes_on_at_the_rate_of_the_new_slot() {
        let mut config = slots(&[1000, 3000]);
        (config.lost, config.held) = (MS(200), MS(300));
        let mut link = SlottedRate::new(&config, rng(1));
        let (old, new) = (link.bps(0) as f64, link.bps(1) as f64);
        assert!(old != new && [old, new].iter().all(|bps| (1000.0..=3000.0).contains(bps)));
        // 1000 bits from 11.9 s: those of 0.1 s at the old rate, of 0.2 s at the new one, nothing for 0.3 s.
        let rest = 1000.0 - 0.1 * old - 0.2 * new;
        assert!((link.end(at(11.9), 125).as_secs() - (12.5 + rest / new)).abs() < 1e-9);
        assert!((link.end(at(12.3), 1).as_secs() - (12.5 + 8.0 / new)).abs() < 1e-9, "one that arrives in the hold");
        assert_eq!(link.bytes(at(0.0), at(27.0)), ((12.0 * old + 14.7 * new) / 8.0) as u64);
        assert_eq!(link.bytes(at(12.2), at(12.5)), 0);
    }

    #[test]
    fn link_is_a_constant_one_when_all_slots_have_one_rate_and_changes_lose_no_time() {
        let mut link = SlottedRate::new(&SlotsConfig { grants: None, ..slots(&[8_000_000]) }, rng(2));
        for (start, bytes) in [(0.0, 1500), (11.9995, 1500), (12.0, 1), (26.9999, 3000), (500.0, 40)] {
            assert_eq!(link.end(at(start), bytes), at(start) + Span::from_us(u64::from(bytes)), "{start}");
        }
    }

    /// Kolmogorov and Smirnov: of n draws the empirical distribution is nowhere farther than
    /// 1.95 / sqrt(n) from the stated one (1 in 1000).
    #[test]
    fn rates_of_slots_have_the_stated_quantiles_whatever_their_correlation() {
        let quantiles = [100_000, 150_000, 250_000, 260_000, 400_000];
        let stated = |bps: f64| {
            let segment = quantiles.windows(2).position(|pair| bps <= pair[1] as f64).unwrap_or(3);
            let (low, high) = (quantiles[segment] as f64, quantiles[segment + 1] as f64);
            (segment as f64 + (bps - low) / (high - low)) / 4.0
        };
        for (correlation, thinned) in [(0.0, 1), (0.5, 12)] {
            let mut link = SlottedRate::new(&SlotsConfig { correlation, ..slots(&quantiles) }, rng(3));
            let mut rates: Vec<u64> = (0..4000).map(|n| link.bps(n * thinned)).collect();
            rates.sort_unstable();
            let n = rates.len() as f64;
            let farthest = rates.iter().enumerate().map(|(i, &bps)| (stated(bps as f64) - (i as f64 + 0.5) / n).abs());
            assert!(farthest.fold(0.0, f64::max) < 1.95 / n.sqrt(), "{correlation}");
        }
    }

    #[test]
    fn successive_slots_have_the_stated_correlation_and_none_without_it() {
        for stated in [0.0, 0.5] {
            let mut link = SlottedRate::new(&SlotsConfig { correlation: stated, ..slots(&[1, 2]) }, rng(4));
            let scores: Vec<f64> = (0..20_000).map(|number| link.score(number)).collect();
            let products: f64 = scores.windows(2).map(|pair| pair[0] * pair[1]).sum();
            let squares: f64 = scores.iter().map(|score| score * score).sum();
            assert!((products / squares - stated).abs() < 4.0 / 20_000f64.sqrt(), "{stated}");
        }
    }

    #[test]
    fn gaps_between_grants_add_up_to_the_cycle_with_each_pause_in_it() {
        for cycle in 49..=55 {
            for pauses in 0..=3 {
                let gaps = starlink().gaps(cycle, pauses);
                assert_eq!(gaps.iter().sum::<u32>(), cycle, "{cycle} {pauses}: {gaps:?}");
                assert_eq!(gaps.iter().filter(|&&gap| gap >= 15).count(), pauses as usize);
            }
        }
        assert_eq!(starlink().gaps(55, 2), [5, 5, 15, 5, 5, 5, 15]);
        assert_eq!(GrantCycleConfig { cycle: [15, 15], pauses: [1, 1], ..starlink() }.gaps(15, 1), [15]);
    }

    #[test]
    fn packet_waits_for_the_next_grant_and_the_mean_rate_is_that_of_the_slot() {
        let grants = GrantCycleConfig { cycle: [55, 55], pauses: [1, 1], ..starlink() };
        let mut link = SlottedRate::new(&SlotsConfig { grants: Some(grants), ..slots(&[10_000_000]) }, rng(5));
        // 12 s are not a whole number of cycles: 163.6.
        let carried = link.bytes(at(0.0), at(12.0)) as f64 * 8.0 / 12.0;
        assert!((carried / 10e6 - 1.0).abs() < 0.01, "{carried}");
        let frame = 1.0 / 750.0;
        let waits: Vec<f64> = (0..5000)
            .map(|n| {
                let start = 1.0 + f64::from(n) * 0.00147;
                link.end(at(start), 1).as_secs() - start
            })
            .collect();
        let longest = waits.iter().copied().fold(0.0, f64::max);
        assert!((longest - 14.0 * frame).abs() < 0.002, "the pause less the grant before it: {longest}");
        // Gaps of 5 frames (8 of them) and of 15: the mean wait is half of the mean square over the cycle.
        let waiting = |gap: f64| (gap - 1.0) * (gap - 1.0) / 2.0;
        let mean = (8.0 * waiting(5.0) + waiting(15.0)) / 55.0 * frame;
        assert!((waits.iter().sum::<f64>() / 5000.0 - mean).abs() < 0.0002, "{mean}");
    }

    #[test]
    fn slots_are_refused_when_they_have_no_time_or_no_rate() {
        type Change = fn(&mut SlotsConfig);
        let wrong: [(Change, &str); 9] = [
            (|slots| slots.every = MS(99), "every_ps is below"),
            (|slots| slots.first = Span::ZERO, "first_ps is 0"),
            (|slots| slots.bps = vec![], "no rate above 0"),
            (|slots| slots.bps = vec![0, 5], "no rate above 0"),
            (|slots| slots.bps = vec![5, 4], "do not increase"),
            (|slots| slots.correlation = 1.0, "correlation"),
            (|slots| slots.held = Span::from_secs(15), "fill the slot"),
            (|slots| slots.grants = Some(GrantCycleConfig { every: 0, ..starlink() }), "every is 0"),
            (|slots| slots.grants = Some(GrantCycleConfig { pauses: [1, 4], ..starlink() }), "longer than the cycle"),
        ];
        assert_eq!(SlotsConfig { grants: Some(starlink()), ..slots(&[5]) }.check(), Ok(()));
        for (change, message) in wrong {
            let mut config = slots(&[5]);
            change(&mut config);
            assert!(config.check().expect_err(message).contains(message), "{message}");
        }
    }
}
