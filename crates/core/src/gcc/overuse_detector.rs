//! Whether the path is used beyond its capacity: the trend of the delay against an adaptive threshold
//! (draft-ietf-rmcat-gcc-02, section 5.4; constants and the scaled trend of libwebrtc).

use crate::units::Time;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    Normal,
    /// A queue grows.
    Over,
    /// A queue drains.
    Under,
}

/// libwebrtc scales the slope by this and by the number of groups so far, up to 60.
const GAIN: f64 = 4.0;
const MAX_GROUPS: u32 = 60;
/// del_var_th(0), in ms.
const START_THRESHOLD_MS: f64 = 12.5;
const MIN_THRESHOLD_MS: f64 = 6.0;
const MAX_THRESHOLD_MS: f64 = 600.0;
/// overuse_time_th.
const OVERUSE_TIME_MS: f64 = 10.0;
/// K_u and K_d: the draft has 0.01 and 0.00018, libwebrtc these.
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
/// A trend so far above the threshold does not move it (draft: 15).
const MAX_ADAPTED_MS: f64 = 15.0;
/// Longest time between two groups that moves the threshold (libwebrtc).
const MAX_STEP_MS: f64 = 100.0;

#[derive(Debug, Clone)]
pub struct OveruseDetector {
    threshold_ms: f64,
    groups: u32,
    over_ms: Option<f64>,
    over_groups: u32,
    trend: f64,
    updated: Option<Time>,
    usage: Usage,
}

impl Default for OveruseDetector {
    fn default() -> OveruseDetector {
        OveruseDetector {
            threshold_ms: START_THRESHOLD_MS,
            groups: 0,
            over_ms: None,
            over_groups: 0,
            trend: 0.0,
            updated: None,
            usage: Usage::Normal,
        }
    }
}

impl OveruseDetector {
    pub fn threshold_ms(&self) -> f64 {
        self.threshold_ms
    }

    /// A group that left `sent_ms` after the one before it arrives at `now`, with this slope.
    pub fn detect(&mut self, now: Time, trend: f64, sent_ms: f64) -> Usage {
        self.groups = (self.groups + 1).min(MAX_GROUPS);
        if self.groups < 2 {
            return Usage::Normal;
        }
        let scaled = f64::from(self.groups) * trend * GAIN;
        if scaled > self.threshold_ms {
            // The first group is taken to be over for half of its time.
            let over = self.over_ms.map_or(sent_ms / 2.0, |over| over + sent_ms);
            self.over_ms = Some(over);
            self.over_groups += 1;
            if over > OVERUSE_TIME_MS && self.over_groups > 1 && trend >= self.trend {
                (self.over_ms, self.over_groups, self.usage) = (Some(0.0), 0, Usage::Over);
            }
        } else {
            (self.over_ms, self.over_groups) = (None, 0);
            self.usage = if scaled < -self.threshold_ms { Usage::Under } else { Usage::Normal };
        }
        self.trend = trend;
        self.adapt(now, scaled.abs());
        self.usage
    }

    /// del_var_th(i) = del_var_th(i-1) + (t(i) - t(i-1)) K(i) (|m(i)| - del_var_th(i-1)).
    fn adapt(&mut self, now: Time, scaled: f64) {
        let step = self.updated.map_or(0.0, |updated| if now > updated { (now - updated).as_millis() } else { 0.0 });
        self.updated = Some(now);
        if scaled > self.threshold_ms + MAX_ADAPTED_MS {
            return;
        }
        let k = if scaled < self.threshold_ms { DOWN } else { UP };
        self.threshold_ms += k * (scaled - self.threshold_ms) * step.min(MAX_STEP_MS);
        self.threshold_ms = self.threshold_ms.clamp(MIN_THRESHOLD_MS, MAX_THRESHOLD_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A detector that has had so many groups each 20 ms with no trend.
    fn settled(groups: u64) -> OveruseDetector {
        let mut detector = OveruseDetector::default();
        for n in 0..groups {
            assert_eq!(detector.detect(at(20 * n), 0.0, 20.0), Usage::Normal);
        }
        detector
    }

    #[test]
    fn threshold_follows_the_trend_quickly_down_and_slowly_up() {
        let mut detector = settled(60);
        assert_eq!(detector.threshold_ms(), MIN_THRESHOLD_MS, "12.5 x 0.22 in a step of 20 ms");
        // 60 groups, a slope of 0.05: 12. Up by 0.0087 x 20 ms x (12 - 6).
        detector.detect(at(1200), 0.05, 20.0);
        assert!((detector.threshold_ms() - (6.0 + 0.0087 * 20.0 * 6.0)).abs() < 1e-9);
        let before = detector.threshold_ms();
        detector.detect(at(1220), 0.1, 20.0);
        assert_eq!(detector.threshold_ms(), before, "24 is more than 15 above it");
        let mut first = settled(2);
        first.detect(at(22), 0.0, 2.0);
        assert!((first.threshold_ms() - (12.5 - 0.039 * 2.0 * 12.5)).abs() < 1e-9);
    }

    #[test]
    fn overuse_needs_two_groups_and_10_ms_with_a_trend_that_does_not_fall() {
        let mut detector = settled(60);
        assert_eq!(detector.detect(at(1200), 0.06, 20.0), Usage::Normal, "one group");
        assert_eq!(detector.detect(at(1220), 0.06, 20.0), Usage::Over);
        let mut falling = settled(60);
        let usages: Vec<Usage> =
            [0.09, 0.08, 0.07].iter().zip(60..).map(|(trend, n)| falling.detect(at(20 * n), *trend, 20.0)).collect();
        assert_eq!(usages, [Usage::Normal; 3]);
        let mut short = settled(60);
        let usages: Vec<Usage> = (0..4).map(|n| short.detect(at(1200 + 4 * n), 0.06, 4.0)).collect();
        assert_eq!(usages, [Usage::Normal, Usage::Normal, Usage::Normal, Usage::Over], "2 + 4 + 4 + 4 ms");
    }

    #[test]
    fn draining_queue_is_underuse_and_a_flat_one_is_normal() {
        let mut detector = settled(60);
        assert_eq!(detector.detect(at(1200), -0.06, 20.0), Usage::Under);
        assert_eq!(detector.detect(at(1220), -0.02, 20.0), Usage::Normal);
    }
}
