//! The rules of cake-autorate 3.2.1, from its documentation: README ("The Solution: Automatic Bandwidth
//! Adjustment"), the comments of its defaults, and its authors in the OpenWrt forum (topic 191049). No
//! line of its code was read.
//!
//! - A response is delayed if its one-way delay (OWD) exceeds the baseline of its reflector by more than
//!   `owd_delta_delay_thr`. The baseline follows lower delays fast and higher ones slowly.
//! - Bufferbloat: `bufferbloat_detection_thr` of the last `bufferbloat_detection_window` responses are
//!   delayed. The rate falls, the more the higher the mean excess of these responses, at most once in
//!   `bufferbloat_refractory_period`.
//! - High load without bufferbloat: the rate rises once for each reading of the achieved rate, the less
//!   the higher the mean excess.
//! - Low load: the rate returns to the base, at most once in `decay_refractory_period`.
//!
//! The thresholds are increased by the serialization time of the longest packet at the shaper's rate.

use super::{RateController, RateLimits, RateSample};
use crate::config_check::{Checked, check_span, ensure};
use crate::units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The names are cake-autorate's, without direction. Factors multiply the rate.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CakeAutorateConfig {
    #[serde(rename = "owd_delta_delay_thr_ps")]
    pub owd_delta_delay_thr: Span,
    #[serde(rename = "avg_owd_delta_max_adjust_up_thr_ps")]
    pub avg_owd_delta_max_adjust_up_thr: Span,
    #[serde(rename = "avg_owd_delta_max_adjust_down_thr_ps")]
    pub avg_owd_delta_max_adjust_down_thr: Span,
    pub bufferbloat_detection_window: u32,
    pub bufferbloat_detection_thr: u32,
    pub alpha_baseline_increase: f64,
    pub alpha_baseline_decrease: f64,
    pub shaper_rate_min_adjust_down_bufferbloat: f64,
    pub shaper_rate_max_adjust_down_bufferbloat: f64,
    pub shaper_rate_min_adjust_up_load_high: f64,
    pub shaper_rate_max_adjust_up_load_high: f64,
    pub shaper_rate_adjust_down_load_low: f64,
    pub shaper_rate_adjust_up_load_low: f64,
    pub high_load_thr: f64,
    #[serde(rename = "bufferbloat_refractory_period_ps")]
    pub bufferbloat_refractory_period: Span,
    #[serde(rename = "decay_refractory_period_ps")]
    pub decay_refractory_period: Span,
}

impl Default for CakeAutorateConfig {
    fn default() -> CakeAutorateConfig {
        CakeAutorateConfig {
            owd_delta_delay_thr: Span::from_ms(30),
            avg_owd_delta_max_adjust_up_thr: Span::from_ms(10),
            avg_owd_delta_max_adjust_down_thr: Span::from_ms(60),
            bufferbloat_detection_window: 6,
            bufferbloat_detection_thr: 3,
            alpha_baseline_increase: 0.001,
            alpha_baseline_decrease: 0.9,
            shaper_rate_min_adjust_down_bufferbloat: 0.99,
            shaper_rate_max_adjust_down_bufferbloat: 0.75,
            shaper_rate_min_adjust_up_load_high: 1.0,
            shaper_rate_max_adjust_up_load_high: 1.04,
            shaper_rate_adjust_down_load_low: 0.99,
            shaper_rate_adjust_up_load_low: 1.01,
            high_load_thr: 0.75,
            bufferbloat_refractory_period: Span::from_ms(300),
            decay_refractory_period: Span::from_ms(1000),
        }
    }
}

/// A window beyond this is minutes long.
const MAX_WINDOW: u32 = 10_000;

impl CakeAutorateConfig {
    pub(super) fn check(&self) -> Checked {
        let (up, delayed, down) =
            (self.avg_owd_delta_max_adjust_up_thr, self.owd_delta_delay_thr, self.avg_owd_delta_max_adjust_down_thr);
        for (key, span) in [
            ("avg_owd_delta_max_adjust_up_thr_ps", up),
            ("owd_delta_delay_thr_ps", delayed),
            ("avg_owd_delta_max_adjust_down_thr_ps", down),
            ("bufferbloat_refractory_period_ps", self.bufferbloat_refractory_period),
            ("decay_refractory_period_ps", self.decay_refractory_period),
        ] {
            check_span(key, span)?;
        }
        ensure(up < delayed && delayed < down, || {
            "avg_owd_delta_max_adjust_up_thr_ps, owd_delta_delay_thr_ps and avg_owd_delta_max_adjust_down_thr_ps do not increase"
                .into()
        })?;
        let (window, thr) = (self.bufferbloat_detection_window, self.bufferbloat_detection_thr);
        ensure((1..=MAX_WINDOW).contains(&window) && (1..=window).contains(&thr), || {
            format!("bufferbloat_detection_thr is {thr} of bufferbloat_detection_window {window}")
        })?;
        let share = |value: f64| value > 0.0 && value <= 1.0;
        let shares = [
            ("alpha_baseline_increase", self.alpha_baseline_increase),
            ("alpha_baseline_decrease", self.alpha_baseline_decrease),
            ("high_load_thr", self.high_load_thr),
            ("shaper_rate_min_adjust_down_bufferbloat", self.shaper_rate_min_adjust_down_bufferbloat),
            ("shaper_rate_max_adjust_down_bufferbloat", self.shaper_rate_max_adjust_down_bufferbloat),
            ("shaper_rate_adjust_down_load_low", self.shaper_rate_adjust_down_load_low),
        ];
        for (key, value) in shares {
            ensure(share(value), || format!("{key} is {value}: it must be above 0 and at most 1"))?;
        }
        let rises = [
            ("shaper_rate_min_adjust_up_load_high", self.shaper_rate_min_adjust_up_load_high),
            ("shaper_rate_max_adjust_up_load_high", self.shaper_rate_max_adjust_up_load_high),
            ("shaper_rate_adjust_up_load_low", self.shaper_rate_adjust_up_load_low),
        ];
        for (key, value) in rises {
            ensure((1.0..=10.0).contains(&value), || format!("{key} is {value}: it must lie between 1 and 10"))?;
        }
        Ok(())
    }
}

/// The controller of one direction.
#[derive(Clone, Debug)]
pub struct CakeAutorate {
    config: CakeAutorateConfig,
    limits: RateLimits,
    /// Bits of the longest packet on the line.
    packet_bits: f64,
    /// By reflector, in seconds; none before its first response.
    baselines: Vec<Option<f64>>,
    /// Excess over the baseline of the last responses in seconds, and whether it is a delay.
    window: VecDeque<(f64, bool)>,
    /// Reading of the achieved rate at the last increase.
    used_reading: u64,
    decreased: Option<Time>,
    decayed: Option<Time>,
}

/// The value at `x` on the line through `(from.0, from.1)` and `(to.0, to.1)`, constant outside.
fn between(x: f64, from: (f64, f64), to: (f64, f64)) -> f64 {
    let share = ((x - from.0) / (to.0 - from.0)).clamp(0.0, 1.0);
    from.1 + share * (to.1 - from.1)
}

fn is_over(since: Option<Time>, period: Span, now: Time) -> bool {
    since.is_none_or(|since| now - since >= period)
}

impl CakeAutorate {
    /// `reflectors`: number of pingers; `max_packet`: bytes of the longest packet on the line.
    pub fn new(config: CakeAutorateConfig, limits: RateLimits, reflectors: u32, max_packet: u32) -> CakeAutorate {
        CakeAutorate {
            config,
            limits,
            packet_bits: 8.0 * f64::from(max_packet),
            baselines: vec![None; reflectors as usize],
            window: VecDeque::new(),
            used_reading: 0,
            decreased: None,
            decayed: None,
        }
    }

    /// Excess of a delay over the baseline of its reflector, which the delay moves first.
    fn excess(&mut self, reflector: u32, delay: f64) -> f64 {
        let Some(baseline) = self.baselines.get_mut(reflector as usize) else { return 0.0 };
        let (rising, falling) = (self.config.alpha_baseline_increase, self.config.alpha_baseline_decrease);
        let moved = baseline.map_or(delay, |old| old + (if delay > old { rising } else { falling }) * (delay - old));
        *baseline = Some(moved);
        delay - moved
    }

    fn toward_base(&self, rate: f64) -> f64 {
        let base = self.limits.base.bps() as f64;
        if rate > base {
            (rate * self.config.shaper_rate_adjust_down_load_low).max(base)
        } else {
            (rate * self.config.shaper_rate_adjust_up_load_low).min(base)
        }
    }
}

impl RateController for CakeAutorate {
    fn on_sample(&mut self, sample: &RateSample) -> Rate {
        let excess = self.excess(sample.reflector, sample.delay.as_secs());
        let CakeAutorateConfig { bufferbloat_detection_window, bufferbloat_detection_thr, .. } = self.config;
        let rate = sample.rate.bps() as f64;
        let threshold = |span: Span| span.as_secs() + self.packet_bits / rate;
        let delayed = threshold(self.config.owd_delta_delay_thr);
        let window = bufferbloat_detection_window as usize;
        self.window.push_back((excess, excess > delayed));
        if self.window.len() > window {
            self.window.pop_front();
        }
        let bloated = self.window.iter().filter(|(_, is_delayed)| *is_delayed).count() >= bufferbloat_detection_thr as usize;
        let mean = self.window.iter().map(|(excess, _)| excess).sum::<f64>() / window as f64;
        let config = &self.config;
        let next = if bloated {
            if !is_over(self.decreased, config.bufferbloat_refractory_period, sample.now) {
                return sample.rate;
            }
            self.decreased = Some(sample.now);
            let down = threshold(config.avg_owd_delta_max_adjust_down_thr);
            let (smallest, largest) =
                (config.shaper_rate_min_adjust_down_bufferbloat, config.shaper_rate_max_adjust_down_bufferbloat);
            rate * between(mean, (delayed, smallest), (down, largest))
        } else if sample.achieved_bps as f64 > config.high_load_thr * rate {
            if sample.readings == self.used_reading {
                return sample.rate;
            }
            self.used_reading = sample.readings;
            let up = threshold(config.avg_owd_delta_max_adjust_up_thr);
            let (smallest, largest) = (config.shaper_rate_min_adjust_up_load_high, config.shaper_rate_max_adjust_up_load_high);
            rate * between(mean, (up, largest), (delayed, smallest))
        } else {
            if !is_over(self.decayed, config.decay_refractory_period, sample.now) {
                return sample.rate;
            }
            self.decayed = Some(sample.now);
            self.toward_base(rate)
        };
        // Whole bits per second; a rate of 0 is no rate.
        self.limits.clamp(Rate::from_bps(((next + 0.5) as u64).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 20_000_000;
    /// IP packets as they are: at 20 Mb/s the longest one takes 0.6 ms, at 5 Mb/s 2.4 ms.
    const PACKET: u32 = 1500;

    fn rate(bps: u64) -> Rate {
        Rate::from_bps(bps)
    }

    /// A shaper whose controller gets a response each 50 ms, from six reflectors in turn.
    struct Line {
        controller: CakeAutorate,
        responses: u64,
        rate: Rate,
        achieved: f64,
    }

    impl Line {
        fn new(config: CakeAutorateConfig, start: u64) -> Line {
            let limits = RateLimits { min: rate(5_000_000), base: rate(BASE), max: rate(80_000_000) };
            let controller = CakeAutorate::new(config, limits, 6, PACKET);
            let mut line = Line { controller, responses: 0, rate: rate(start), achieved: 0.0 };
            // Two pings of each reflector set its baseline to 20 ms, at half load and the base rate.
            for _ in 0..12 {
                line.respond(20.0);
            }
            line.rate = rate(start);
            line
        }

        /// A response with this one-way delay; returns the rate after it.
        fn respond(&mut self, delay_ms: f64) -> u64 {
            let now = Time::ZERO + Span::from_ms(50 * self.responses);
            let sample = RateSample {
                now,
                reflector: (self.responses % 6) as u32,
                delay: Span::from_secs_f64(delay_ms / 1e3),
                rtt: Span::from_secs_f64(delay_ms / 500.0),
                achieved_bps: (self.achieved * self.rate.bps() as f64) as u64,
                // Every 200 ms.
                readings: self.responses / 4,
                rate: self.rate,
            };
            self.responses += 1;
            self.rate = self.controller.on_sample(&sample);
            self.rate.bps()
        }

        fn at_load(mut self, achieved: f64) -> Line {
            self.achieved = achieved;
            self
        }

        fn run(&mut self, responses: u64, delay_ms: f64) -> Vec<u64> {
            (0..responses).map(|_| self.respond(delay_ms)).collect()
        }
    }

    fn published() -> Line {
        Line::new(CakeAutorateConfig::default(), BASE)
    }

    /// The rates that differ from the one before, from `start` on.
    fn steps(start: u64, rates: &[u64]) -> Vec<u64> {
        let mut steps = vec![start];
        for &rate in rates {
            if steps.last() != Some(&rate) {
                steps.push(rate);
            }
        }
        steps.split_off(1)
    }

    #[test]
    fn rate_rises_by_4_percent_once_each_200_ms_at_high_load_until_the_maximum() {
        let mut line = published().at_load(0.9);
        // Four responses for each reading: one rise.
        assert_eq!(
            line.run(8, 20.0),
            [20_800_000, 20_800_000, 20_800_000, 20_800_000, 21_632_000, 21_632_000, 21_632_000, 21_632_000]
        );
        // 20 * 1.04^35 = 78.9, and the 36th step is the maximum.
        let rates = steps(21_632_000, &line.run(4 * 40, 20.0));
        assert_eq!((rates.len(), rates.last()), (34, Some(&80_000_000)));
    }

    #[test]
    fn load_is_high_only_above_three_quarters_of_the_rate() {
        assert_eq!(published().at_load(0.75).run(40, 20.0), [BASE; 40]);
        assert_ne!(published().at_load(0.751).respond(20.0), BASE);
    }

    #[test]
    fn three_delays_of_the_last_six_responses_are_bufferbloat_and_two_are_not() {
        // Of 30 ms and the 0.6 ms of a packet; the baseline follows by a thousandth.
        let over = 20.0 + 30.6 / 0.999 + 0.01;
        for (delays, is_bloat) in [([1, 1, 0, 0, 0, 0], false), ([1, 0, 0, 0, 1, 0], false), ([1, 0, 1, 0, 0, 1], true)] {
            let mut line = published().at_load(0.5);
            let rates: Vec<u64> = delays.iter().map(|&delayed| line.respond(if delayed == 1 { over } else { 20.0 })).collect();
            assert_eq!(rates.iter().any(|&rate| rate < BASE), is_bloat, "{delays:?}");
        }
        // The third delay counts no more when the first one is the seventh last.
        let mut line = published().at_load(0.5);
        let rates: Vec<u64> =
            [1, 1, 0, 0, 0, 0, 1, 0].iter().map(|&one| line.respond(if one == 1 { over } else { 20.0 })).collect();
        assert_eq!(rates, [BASE; 8]);
    }

    #[test]
    fn delay_below_the_threshold_is_none_and_the_threshold_has_the_time_of_a_packet() {
        for (excess, is_bloat) in [(30.59, false), (30.61, true)] {
            let rates = published().at_load(0.5).run(6, 20.0 + excess / 0.999);
            assert_eq!(rates.iter().any(|&rate| rate < BASE), is_bloat, "{excess} ms");
        }
        // At 6 Mb/s it takes 2 ms.
        for (excess, is_bloat) in [(31.99, false), (32.01, true)] {
            let mut line = Line::new(CakeAutorateConfig::default(), 6_000_000).at_load(0.5);
            let rates = line.run(6, 20.0 + excess / 0.999);
            assert_eq!(rates.iter().any(|&rate| rate < 6_000_000), is_bloat, "{excess} ms");
        }
    }

    #[test]
    fn fall_at_bufferbloat_is_1_to_25_percent_by_the_mean_increase() {
        // Three of six responses with an increase of 2 * m have the mean m when the third one arrives:
        // 0.99 up to 30.6 ms, 0.75 from 60.6 ms on, and half of both at 45.6 ms.
        for (mean, factor) in [(20.0, 0.99), (30.6, 0.99), (45.6, 0.87), (60.6, 0.75), (200.0, 0.75)] {
            let mut line = published().at_load(0.5);
            let rates = line.run(3, 20.0 + 2.0 * mean / 0.999);
            let fallen = rates[2] as f64 / BASE as f64;
            assert!(rates[..2] == [BASE, BASE] && (fallen - factor).abs() < 1e-4, "{mean} ms: {fallen}");
        }
    }

    #[test]
    fn rate_falls_at_most_once_each_300_ms_and_to_the_minimum() {
        let mut line = published().at_load(0.9);
        // Two responses are no bufferbloat yet, and their mean is too high for a rise.
        line.run(2, 220.0);
        let start = line.rate.bps();
        let rates = line.run(13, 220.0);
        let fallen: Vec<usize> = (0..13).filter(|&n| rates[n] < if n == 0 { start } else { rates[n - 1] }).collect();
        // Responses each 50 ms: every sixth one.
        assert_eq!(fallen, [0, 6, 12]);
        let third = (start as f64 * 0.75 * 0.75 * 0.75).round();
        assert!((rates[12] as f64 - third).abs() < 0.01 * third, "{} {third}", rates[12]);
        line.run(200, 220.0);
        assert_eq!(line.rate.bps(), 5_000_000);
    }

    #[test]
    fn rise_at_high_load_falls_linearly_from_10_to_30_ms_of_mean_increase() {
        // All six responses have the increase, and the reading is new.
        for (mean, factor) in [(5.0, 1.04), (10.6, 1.04), (20.6, 1.02), (30.59, 1.0)] {
            let mut line = published();
            line.run(8, 20.0 + mean / 0.999);
            line.rate = rate(BASE);
            let risen = line.at_load(0.9).respond(20.0 + mean / 0.999) as f64 / BASE as f64;
            assert!((risen - factor).abs() < 2e-4, "{mean} ms: {risen}");
        }
    }

    #[test]
    fn rate_returns_to_the_base_by_1_percent_a_second_at_low_load() {
        let mut line = Line::new(CakeAutorateConfig::default(), 40_000_000).at_load(0.1);
        let rates = steps(40_000_000, &line.run(60, 20.0));
        assert_eq!(rates, [39_600_000, 39_204_000, 38_811_960]);
        let mut line = Line::new(CakeAutorateConfig::default(), 10_000_000).at_load(0.1);
        assert_eq!(steps(10_000_000, &line.run(60, 20.0)), [10_100_000, 10_201_000, 10_303_010]);
        // ln 2 / ln 1.01 = 69.7 s from half of it, and it stays.
        line.run(20 * 70, 20.0);
        assert_eq!((line.rate.bps(), line.respond(20.0)), (BASE, BASE));
    }

    #[test]
    fn idle_shaper_stays_at_its_base() {
        assert_eq!(published().run(2000, 20.0), [BASE; 2000]);
    }

    #[test]
    fn baseline_follows_lower_delays_by_nine_tenths_and_higher_ones_by_a_thousandth() {
        let limits = RateLimits { min: rate(5_000_000), base: rate(BASE), max: rate(80_000_000) };
        let mut controller = CakeAutorate::new(CakeAutorateConfig::default(), limits, 2, PACKET);
        let mut excess = |reflector: u32, delay: f64| (controller.excess(reflector, delay) * 1e9).round() / 1e9;
        assert_eq!(excess(0, 0.1), 0.0, "the first response is the baseline");
        assert_eq!(excess(0, 0.05), -0.005, "0.1 - 0.9 * 0.05 = 0.055");
        assert_eq!(excess(0, 0.155), 0.0999, "0.055 + 0.001 * 0.1 = 0.0551");
        assert_eq!(excess(1, 0.155), 0.0, "another reflector has its own");
    }

    #[test]
    fn rules_are_refused_when_they_contradict_each_other() {
        let good = CakeAutorateConfig::default();
        assert_eq!(good.check(), Ok(()));
        for wrong in [
            CakeAutorateConfig { owd_delta_delay_thr: Span::from_ms(10), ..good },
            CakeAutorateConfig { owd_delta_delay_thr: Span::from_ms(60), ..good },
            CakeAutorateConfig { bufferbloat_detection_thr: 7, ..good },
            CakeAutorateConfig { bufferbloat_detection_thr: 0, ..good },
            CakeAutorateConfig { shaper_rate_max_adjust_down_bufferbloat: 1.1, ..good },
            CakeAutorateConfig { shaper_rate_max_adjust_up_load_high: 0.9, ..good },
            CakeAutorateConfig { high_load_thr: 0.0, ..good },
            CakeAutorateConfig { alpha_baseline_increase: f64::NAN, ..good },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
