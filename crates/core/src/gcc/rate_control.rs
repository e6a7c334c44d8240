//! The delay-based rate: increase while the path is used normally, decrease when a queue grows
//! (draft-ietf-rmcat-gcc-02, section 5.5).

use super::Usage;
use crate::units::{Span, Time};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateState {
    Hold,
    Increase,
    Decrease,
}

/// What the rate control decides by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// R_hat in bit/s; none in the first half second.
    pub arriving_bps: Option<f64>,
    pub rtt: Span,
    pub usage: Usage,
}

/// beta.
const DECREASE: f64 = 0.85;
/// eta, for a second.
const INCREASE: f64 = 1.08;
/// The rate is at most this multiple of what arrives.
const MAX_TO_ARRIVING: f64 = 1.5;
/// Minimum of an additive step in bit/s.
const MIN_STEP_BPS: f64 = 1000.0;
/// Time that a change takes to appear, beside the RTT.
const REACTION_MS: f64 = 100.0;
/// Frames a second and bits of a full packet, by which an increase adds half a packet in each
/// response time.
const FRAME_RATE: f64 = 30.0;
const PACKET_BITS: f64 = 8.0 * 1200.0;
/// Weight of a new rate at a decrease (draft: smoothing factor 0.95).
const SMOOTHING: f64 = 0.05;
/// Another decrease follows after an RTT, within these bounds (libwebrtc).
const MIN_PAUSE: Span = Span::from_ms(10);
const MAX_PAUSE: Span = Span::from_ms(200);

/// Mean and variation of the arriving rate at decreases, in kb/s. The variance is relative to the mean, and
/// bounded, as in libwebrtc.
#[derive(Debug, Clone, Copy)]
struct MaxRate {
    mean: f64,
    relative_variance: f64,
}

const START_VARIANCE: f64 = 0.4;
const MAX_VARIANCE: f64 = 2.5;

impl MaxRate {
    fn after(known: Option<MaxRate>, kbps: f64) -> MaxRate {
        let Some(MaxRate { mean, relative_variance }) = known else {
            return MaxRate { mean: kbps, relative_variance: START_VARIANCE };
        };
        let new = (1.0 - SMOOTHING) * mean + SMOOTHING * kbps;
        let deviation = new - kbps;
        let variance = (1.0 - SMOOTHING) * relative_variance + SMOOTHING * deviation * deviation / new.max(1.0);
        MaxRate { mean: new, relative_variance: variance.clamp(START_VARIANCE, MAX_VARIANCE) }
    }

    /// Three standard deviations.
    fn spread(&self) -> f64 {
        3.0 * libm::sqrt(self.relative_variance * self.mean)
    }
}

#[derive(Debug, Clone)]
pub struct RateControl {
    rate: f64,
    state: RateState,
    max: Option<MaxRate>,
    updated: Option<Time>,
    decreased: Option<Time>,
}

impl RateControl {
    pub fn new(start_bps: f64) -> RateControl {
        RateControl { rate: start_bps, state: RateState::Increase, max: None, updated: None, decreased: None }
    }

    /// Sets the rate to what its bounds leave of it.
    pub fn set(&mut self, bps: f64) {
        self.rate = bps;
    }

    /// The rate in bit/s.
    pub fn bps(&self) -> f64 {
        self.rate
    }

    pub fn state(&self) -> RateState {
        self.state
    }

    /// The rate after feedback, in bit/s.
    pub fn update(&mut self, now: Time, measured: Measured) -> f64 {
        let step = self.updated.map_or(Span::ZERO, |updated| now - updated);
        self.updated = Some(now);
        // The table of 5.5.
        self.state = match (measured.usage, self.state) {
            (Usage::Over, _) => RateState::Decrease,
            (Usage::Normal, RateState::Hold) => RateState::Increase,
            (Usage::Normal, RateState::Decrease) | (Usage::Under, _) => RateState::Hold,
            (Usage::Normal, RateState::Increase) => RateState::Increase,
        };
        let Some(arriving) = measured.arriving_bps else { return self.rate };
        match self.state {
            RateState::Hold => {}
            RateState::Increase => self.increase(arriving, step, measured.rtt),
            RateState::Decrease => self.decrease(now, arriving, measured.rtt),
        }
        self.rate
    }

    fn increase(&mut self, arriving: f64, step: Span, rtt: Span) {
        if self.max.is_some_and(|max| arriving / 1000.0 > max.mean + max.spread()) {
            self.max = None;
        }
        // Within three deviations of where the queue grew: near convergence.
        let raised = if self.max.is_some_and(|max| arriving / 1000.0 > max.mean - max.spread()) {
            let response_ms = REACTION_MS + rtt.as_millis();
            let share = 0.5 * (step.as_millis() / response_ms).min(1.0);
            let frame = self.rate / FRAME_RATE;
            let packet = frame / (frame / PACKET_BITS).ceil().max(1.0);
            self.rate + (share * packet).max(MIN_STEP_BPS)
        } else {
            self.rate * libm::pow(INCREASE, step.as_secs().min(1.0))
        };
        // An increase that what arrives does not follow is none; the rate does not fall by it.
        self.rate = self.rate.max(raised.min(MAX_TO_ARRIVING * arriving));
    }

    fn decrease(&mut self, now: Time, arriving: f64, rtt: Span) {
        let pause = rtt.clamp(MIN_PAUSE, MAX_PAUSE);
        if self.decreased.is_some_and(|decreased| now - decreased < pause) {
            return;
        }
        self.decreased = Some(now);
        self.rate = self.rate.min(DECREASE * arriving);
        let kbps = arriving / 1000.0;
        let known = self.max.filter(|max| (kbps - max.mean).abs() <= max.spread());
        self.max = Some(MaxRate::after(known, kbps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn measured(arriving_bps: f64, usage: Usage) -> Measured {
        Measured { arriving_bps: Some(arriving_bps), rtt: Span::from_ms(100), usage }
    }

    #[test]
    fn states_change_by_the_table_of_the_draft() {
        let mut control = RateControl::new(1e6);
        let mut state = |ms, usage| {
            control.update(at(ms), measured(1e6, usage));
            control.state()
        };
        assert_eq!(state(0, Usage::Normal), RateState::Increase);
        assert_eq!(state(100, Usage::Over), RateState::Decrease);
        assert_eq!(state(200, Usage::Normal), RateState::Hold);
        assert_eq!(state(300, Usage::Normal), RateState::Increase);
        assert_eq!(state(400, Usage::Under), RateState::Hold);
        assert_eq!(state(500, Usage::Over), RateState::Decrease);
        assert_eq!(state(600, Usage::Under), RateState::Hold);
    }

    #[test]
    fn increase_is_8_percent_a_second_up_to_1_5_times_what_arrives() {
        let mut control = RateControl::new(1e6);
        control.update(at(0), measured(1e6, Usage::Normal));
        assert!((control.update(at(1000), measured(1e6, Usage::Normal)) - 1.08e6).abs() < 1e-3);
        assert!((control.update(at(1500), measured(1e6, Usage::Normal)) - 1.08e6 * 1.08_f64.sqrt()).abs() < 1e-3);
        let before = control.update(at(1500), measured(1e6, Usage::Normal));
        assert_eq!(control.update(at(2500), measured(0.7e6, Usage::Normal)), before, "1.05 Mb/s are less");
    }

    #[test]
    fn decrease_is_to_0_85_of_what_arrives_once_in_a_round_trip() {
        let mut control = RateControl::new(1e6);
        control.update(at(0), measured(1e6, Usage::Normal));
        let mut rate = |ms, arriving| control.update(at(ms), measured(arriving, Usage::Over)).round();
        assert_eq!([rate(100, 0.8e6), rate(150, 0.6e6), rate(200, 0.6e6)], [0.68e6, 0.68e6, 0.51e6]);
    }

    #[test]
    fn increase_is_half_a_packet_in_a_response_time_near_the_last_maximum() {
        let mut control = RateControl::new(1e6);
        control.update(at(0), measured(1e6, Usage::Over));
        assert_eq!(control.update(at(200), measured(0.97e6, Usage::Normal)), 0.85e6, "hold");
        // 0.4 x 1000 kb/s have a deviation of 20 kb/s: 0.97 Mb/s is within three. A frame of 28.3 kb is 3 packets
        // of 9444 bits; 100 of 200 ms are half of half a packet.
        let found = control.update(at(300), measured(0.97e6, Usage::Normal));
        assert!((found - (0.85e6 + 0.25 * 0.85e6 / 30.0 / 3.0)).abs() < 1e-6, "{found}");
        // Above three deviations the maximum is forgotten.
        let forgotten = control.update(at(1300), measured(1.07e6, Usage::Normal));
        assert!((forgotten - found * 1.08).abs() < 1e-3, "{forgotten}");
    }

    #[test]
    fn maximum_is_a_mean_with_a_weight_of_one_in_twenty() {
        let first = MaxRate::after(None, 1000.0);
        let second = MaxRate::after(Some(first), 900.0);
        assert!((first.spread() - 60.0).abs() < 1e-9 && (second.mean - 995.0).abs() < 1e-9);
        // 0.95 x 0.4 + 0.05 x 95^2 / 995.
        assert!((second.relative_variance - (0.38 + 0.05 * 9025.0 / 995.0)).abs() < 1e-12);
    }
}
