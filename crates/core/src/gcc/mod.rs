//! Google Congestion Control, which sets the rate of a conference's media: after draft-ietf-rmcat-gcc-02
//! (July 2016), with the trendline estimator and the constants of libwebrtc (milestone 120) in place of the
//! draft's Kalman filter.
//!
//! The sender decides by transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): when
//! each packet was sent and when it arrived. [`Gcc`] takes the feedback and gives the target rate, the lower
//! of two:
//!
//! | part | |
//! |---|---|
//! | [`PacketGroups`] | delay variation between bursts of packets (draft, section 5.2) |
//! | [`Trendline`] | slope of the delay over the last 20 bursts (libwebrtc) |
//! | [`OveruseDetector`] | the slope against an adaptive threshold (5.4) |
//! | [`RateControl`] | additive and multiplicative increase, decrease to 0.85 of what arrives (5.5) |
//! | [`LossControl`] | the loss-based controller (6) |
//! | [`Probing`] | bursts above the target at the start (libwebrtc; the draft has none) |
//!
//! Left out of libwebrtc: its second loss-based controller, the robust throughput estimator, and detection of limits
//! by the application, with the probes that follow from it.

mod loss_control;
mod overuse_detector;
mod packet_groups;
mod probing;
mod rate_control;
mod trendline;

pub use loss_control::LossControl;
pub use overuse_detector::{OveruseDetector, Usage};
pub use packet_groups::{GroupDelta, PacketGroups};
pub use probing::{ProbeCluster, Probing};
pub use rate_control::{Measured, RateControl, RateState};
pub use trendline::Trendline;

use crate::units::{Span, Time};
use std::collections::VecDeque;

/// What the feedback says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketResult {
    pub sent: Time,
    /// IP bytes.
    pub bytes: u32,
    /// None if it was lost.
    pub arrived: Option<Time>,
    /// Number of the cluster that it belongs to.
    pub cluster: Option<u32>,
}

/// Bounds of the rate and where it begins, in bit/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateBounds {
    pub min: f64,
    pub start: f64,
    pub max: f64,
}

/// Time over which the arriving rate is measured (draft, 5.5: 0.5 to 1 s).
const RATE_WINDOW: Span = Span::from_ms(500);
/// A probe lowers the rate to this share of what arrives at most (libwebrtc): a queue is to drain, and a cluster that
/// was held up is not to be believed.
const LOWERED_BY_PROBE: f64 = 0.85;

/// The controller of one sender.
#[derive(Debug, Clone)]
pub struct Gcc {
    bounds: RateBounds,
    groups: PacketGroups,
    trendline: Trendline,
    detector: OveruseDetector,
    rate: RateControl,
    loss: LossControl,
    probing: Probing,
    arrived: ArrivedRate,
    usage: Usage,
    target: f64,
}

impl Gcc {
    pub fn new(bounds: RateBounds) -> Gcc {
        Gcc {
            bounds,
            groups: PacketGroups::default(),
            trendline: Trendline::default(),
            detector: OveruseDetector::default(),
            rate: RateControl::new(bounds.start),
            loss: LossControl::new(bounds.max),
            probing: Probing::new(bounds),
            arrived: ArrivedRate::default(),
            usage: Usage::Normal,
            target: bounds.start,
        }
    }

    /// The rate of the media, IP headers included, in bit/s.
    pub fn target_bps(&self) -> f64 {
        self.target
    }

    /// The next cluster of probes, which the sender begins now.
    pub fn next_probe(&mut self, now: Time) -> Option<ProbeCluster> {
        self.probing.next(now)
    }

    /// Feedback on packets in the order of their sending arrives.
    pub fn on_feedback(&mut self, now: Time, results: &[PacketResult], rtt: Span) {
        if results.is_empty() {
            return;
        }
        for result in results {
            let Some(arrived) = result.arrived else { continue };
            self.arrived.add(arrived, result.bytes);
            if let Some(delta) = self.groups.add(result.sent, arrived) {
                let trend = self.trendline.add(delta.arrived_at, delta.variation_ms());
                self.usage = self.detector.detect(delta.arrived_at, trend, delta.sent_ms);
            }
        }
        let measured = Measured { arriving_bps: self.arrived.bps(), rtt, usage: self.usage };
        let RateBounds { min, max, .. } = self.bounds;
        let probed = self.probing.on_feedback(results).filter(|_| self.usage != Usage::Over);
        let by_delay = match probed {
            Some(bps) => {
                let floor = measured.arriving_bps.map_or(0.0, |arriving| self.rate.bps().min(LOWERED_BY_PROBE * arriving));
                bps.max(floor)
            }
            None => self.rate.update(now, measured),
        };
        let by_delay = by_delay.clamp(min, max);
        self.rate.set(by_delay);
        let lost = results.iter().filter(|result| result.arrived.is_none()).count() as u64;
        let by_loss = self.loss.update(now, results.len() as u64, lost, self.target);
        self.target = by_delay.min(by_loss).clamp(min, max);
        self.probing.on_target(now, self.target);
    }
}

/// The rate at which packets arrive, by the feedback.
#[derive(Debug, Clone, Default)]
struct ArrivedRate {
    recent: VecDeque<(Time, u32)>,
    first: Option<Time>,
    bytes: u64,
}

impl ArrivedRate {
    fn add(&mut self, arrived: Time, bytes: u32) {
        self.first.get_or_insert(arrived);
        self.recent.push_back((arrived, bytes));
        self.bytes += u64::from(bytes);
        while let Some(&(oldest, bytes)) = self.recent.front()
            && oldest + RATE_WINDOW <= arrived
        {
            self.recent.pop_front();
            self.bytes -= u64::from(bytes);
        }
    }

    /// In bit/s; none before a whole window.
    fn bps(&self) -> Option<f64> {
        let (&(last, _), first) = (self.recent.back()?, self.first?);
        (first + RATE_WINDOW <= last).then(|| self.bytes as f64 * 8.0 / RATE_WINDOW.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: RateBounds = RateBounds { min: 50e3, start: 300e3, max: 2.5e6 };

    /// Feeds packets of 1000 B at the target rate through a queue with this rate for some seconds, with
    /// feedback each 100 ms; the targets by feedback.
    fn targets(seconds: u64, capacity_bps: f64, is_lost: impl Fn(u64) -> bool) -> Vec<f64> {
        let mut gcc = Gcc::new(BOUNDS);
        let (mut now, mut free, mut number) = (0.0_f64, 0.0_f64, 0);
        let (mut results, mut targets) = (Vec::new(), Vec::new());
        let at = |s: f64| Time::ZERO + Span::from_secs_f64(s);
        let mut report = 0.1;
        while now < seconds as f64 {
            free = free.max(now) + 8000.0 / capacity_bps;
            let arrived = (!is_lost(number)).then(|| at(free + 0.02));
            results.push(PacketResult { sent: at(now), bytes: 1000, arrived, cluster: None });
            number += 1;
            now += 8000.0 / gcc.target_bps();
            if now >= report {
                // The feedback has what has arrived by now.
                let done = results
                    .iter()
                    .position(|result| result.arrived.is_some_and(|arrived| arrived > at(now)))
                    .unwrap_or(results.len());
                gcc.on_feedback(at(now), &results[..done], Span::from_ms(40));
                results.drain(..done);
                targets.push(gcc.target_bps());
                report += 0.1;
            }
        }
        targets
    }

    #[test]
    fn rate_grows_by_8_percent_a_second_without_a_queue_and_without_loss() {
        let found = targets(10, 100e6, |_| false);
        // From 0.5 s on, when the arriving rate is known, and never above 1.5 times that.
        let ten_seconds = 300e3 * 1.08_f64.powf(9.4);
        assert!((found[98] / ten_seconds - 1.0).abs() < 0.03, "{} and not {ten_seconds}", found[98]);
    }

    #[test]
    fn rate_stays_near_the_capacity_of_a_queue_and_its_delay_is_bounded() {
        let found = targets(60, 1e6, |_| false);
        let late = &found[300..];
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!((0.75e6..1.02e6).contains(&mean), "{mean}");
        assert!(late.iter().all(|bps| *bps < 1.3e6));
    }

    #[test]
    fn heavy_loss_halves_the_rate_by_the_draft_s_formula_and_light_loss_does_not() {
        let light = targets(20, 100e6, |number| number % 100 == 50);
        assert!(light.last() > Some(&1.2e6), "{:?}", light.last());
        let heavy = targets(20, 100e6, |number| number % 5 == 2);
        assert!(heavy.last() < Some(&150e3), "{:?}", heavy.last());
    }
}
