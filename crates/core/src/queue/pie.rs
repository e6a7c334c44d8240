//! PIE (RFC 8033): a PI controller keeps the delay near a target by dropping arriving packets with
//! a probability that it updates periodically.

use super::{AqmSignal, Fifo, Limit, Order, Queue, SingleFifo, mark_or_drop};
use crate::config_check::{Checked, check_fraction, check_span, ensure};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Names and defaults as in RFC 8033, sections 4 and 5.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    #[serde(flatten)]
    pub limit: Limit,
    #[serde(rename = "target_ps")]
    pub target: Span,
    /// Update interval of the probability.
    #[serde(rename = "update_ps")]
    pub update: Span,
    /// Gains per second: of the deviation from the target, and (`beta`) of the change in delay.
    pub alpha: f64,
    pub beta: f64,
    /// Burst allowance: no drops for this time after the queue was idle.
    #[serde(rename = "burst_ps")]
    pub burst: Span,
    pub signal: AqmSignal,
    /// Up to this probability ECN-capable packets are marked; above it they are dropped (section
    /// 5.1).
    pub mark_up_to: f64,
    /// In bytes. No drops while at most two mean packets are queued.
    pub mean_packet: u32,
    #[serde(skip)]
    pub order: Order,
}

impl PieConfig {
    pub(super) fn check(&self) -> Checked {
        self.limit.check_room()?;
        check_span("queue.burst_ps", self.burst)?;
        check_fraction("queue.mark_up_to", self.mark_up_to)?;
        check_pi(self.target, self.update, self.alpha, self.beta)
    }
}

/// An error if a parameter of a PI controller is outside its range.
pub(super) fn check_pi(target: Span, update: Span, alpha: f64, beta: f64) -> Checked {
    check_span("queue.target_ps", target)?;
    // Each update is an event of the run; a shorter interval would dominate the run time.
    ensure(update >= Span::from_us(1), || format!("queue.update_ps is {}: at least 1000000 (1 us) is needed", update.0))?;
    check_span("queue.update_ps", update)?;
    let gains = alpha >= 0.0 && beta >= 0.0 && alpha.is_finite() && beta.is_finite();
    ensure(gains, || format!("queue.alpha is {alpha} and queue.beta {beta}: both must be 0 or more"))
}

#[derive(Debug)]
pub struct Pie {
    config: PieConfig,
    fifo: Fifo,
    probability: f64,
    /// Sum of the probabilities since the last drop, which spaces drops evenly (section 5.4).
    accumulated: f64,
    last_delay: Span,
    allowance: Span,
    next_update: Time,
    rng: Rng,
}

impl Pie {
    pub fn new(config: PieConfig, rng: Rng) -> Pie {
        Pie {
            config,
            fifo: Fifo::new(config.order),
            probability: 0.0,
            accumulated: 0.0,
            last_delay: Span::ZERO,
            allowance: config.burst,
            next_update: Time::ZERO + config.update,
            rng,
        }
    }

    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Executes the updates due since the last call. The queue has not changed in between, so the
    /// result is that of a timer. The delay is the sojourn time of the first packet (section 4.3,
    /// by timestamps).
    fn catch_up(&mut self, now: Time) {
        while self.next_update <= now {
            let delay = self.fifo.delay(self.next_update);
            self.update(delay);
            self.next_update += self.config.update;
            if self.is_idle() {
                // Further updates of an empty queue change nothing.
                let missed = (now - self.next_update).0 / self.config.update.0.max(1);
                self.next_update += self.config.update.saturating_mul(missed);
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.fifo.is_empty() && self.probability == 0.0 && self.last_delay == Span::ZERO && self.allowance == self.config.burst
    }

    /// One update (section 4.2), with the burst allowance (section 4.4).
    fn update(&mut self, delay: Span) {
        let s = self.config;
        let step = correction(&s, self.probability, delay, self.last_delay);
        let decay = if delay == Span::ZERO && self.last_delay == Span::ZERO { 0.98 } else { 1.0 };
        self.probability = ((self.probability + step) * decay).clamp(0.0, 1.0);
        // 0.98^n never reaches zero; below 10^-12 it is zero in effect.
        if self.probability < 1e-12 {
            self.probability = 0.0;
        }
        self.allowance = self.allowance - s.update;
        if self.probability == 0.0 && 2 * delay.0 < s.target.0 && 2 * self.last_delay.0 < s.target.0 {
            self.allowance = s.burst;
        }
        self.last_delay = delay;
    }

    /// Section 4.1, with the accumulated probability of section 5.4.
    fn drop_early(&mut self) -> bool {
        let s = self.config;
        let low_delay = 2 * self.last_delay.0 < s.target.0 && self.probability < 0.2;
        if self.allowance > Span::ZERO || low_delay || self.fifo.bytes() <= 2 * u64::from(s.mean_packet) {
            return false;
        }
        self.accumulated = if self.probability == 0.0 { 0.0 } else { self.accumulated + self.probability };
        if self.accumulated < 0.85 {
            return false;
        }
        let chosen = self.accumulated >= 8.5 || self.rng.chance(self.probability);
        if chosen {
            self.accumulated = 0.0;
        }
        chosen
    }
}

/// alpha (delay - target) + beta (delay - last), scaled down at small probabilities // RFC 8033,
/// section 4.2
fn correction(s: &PieConfig, probability: f64, delay: Span, last: Span) -> f64 {
    let secs = Span::as_secs;
    let step = s.alpha * (secs(delay) - secs(s.target)) + s.beta * (secs(delay) - secs(last));
    let scale = match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    };
    let step = step / scale;
    // Section 5.5: limited increase at high probability.
    if probability >= 0.1 { step.min(0.02) } else { step }
}

impl SingleFifo for Pie {
    fn admit(&mut self, now: Time, mut packet: Packet, out: &mut Output<'_>) {
        self.catch_up(now);
        if !self.has_room(&packet) {
            self.accumulated = 0.0;
            return out.drop(packet, DropReason::QueueFull);
        }
        let signal = if self.probability <= self.config.mark_up_to { self.config.signal } else { AqmSignal::Drop };
        if !self.drop_early() || mark_or_drop(signal, &mut packet, out) {
            self.fifo.push(now, packet);
        }
    }

    fn bypass(&mut self, now: Time, packet: Packet, _out: &mut Output<'_>) -> Option<Packet> {
        self.catch_up(now);
        Some(packet)
    }

    fn take_next(&mut self, now: Time, _out: &mut Output<'_>) -> Option<(Time, Packet)> {
        self.catch_up(now);
        self.fifo.pop().map(|first| (first.since, first.packet))
    }

    fn fifo(&self) -> (&Fifo, Limit) {
        (&self.fifo, self.config.limit)
    }
    fn fifo_mut(&mut self) -> &mut Fifo {
        &mut self.fifo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pie() -> Pie {
        let ms = Span::from_ms;
        let config = PieConfig {
            limit: Limit::packets(1000),
            target: ms(15),
            update: ms(15),
            alpha: 0.125,
            beta: 1.25,
            burst: ms(150),
            signal: AqmSignal::Drop,
            mark_up_to: 0.1,
            mean_packet: 1500,
            order: Order::Arrival,
        };
        Pie::new(config, Rng::for_element(1, "pie"))
    }

    #[test]
    fn probability_update_is_scaled_as_in_rfc_8033() {
        let s = pie().config;
        let ms = Span::from_ms;
        // 35 ms of delay after 25: 0.125 * 0.020 + 1.25 * 0.010 = 0.015, divided by the scale of
        // the probability.
        for (probability, expected) in [
            (0.0, 0.015 / 2048.0),
            (0.000_005, 0.015 / 512.0),
            (0.000_05, 0.015 / 128.0),
            (0.000_5, 0.015 / 32.0),
            (0.005, 0.015 / 8.0),
            (0.05, 0.015 / 2.0),
            (0.5, 0.015),
        ] {
            let got = correction(&s, probability, ms(35), ms(25));
            assert!((got - expected).abs() < 1e-12, "{probability}: {got}");
        }
        assert_eq!(correction(&s, 0.2, ms(500), ms(25)), 0.02, "no leaps");
        assert!(correction(&s, 0.2, ms(5), ms(25)) < -0.02, "but falls as it must");
    }

    #[test]
    fn probability_decays_by_2_percent_per_update_when_the_queue_is_empty() {
        let mut pie = pie();
        pie.probability = 0.5;
        pie.update(Span::ZERO);
        // Includes one step of -0.125 * 0.015.
        assert!((pie.probability() - (0.5 - 0.001_875) * 0.98).abs() < 1e-12);
    }

    #[test]
    fn burst_allowance_lasts_150_ms_under_high_delay() {
        let mut pie = pie();
        for _ in 0..9 {
            pie.update(Span::from_ms(100));
            assert!(pie.allowance > Span::ZERO);
        }
        pie.update(Span::from_ms(100));
        assert_eq!(pie.allowance, Span::ZERO);
    }

    /// RFC 8033, section 4.4: the delay and the one before it are below half the target of 15 ms.
    #[test]
    fn burst_allowance_returns_after_two_delays_below_half_the_target() {
        let mut pie = Pie { allowance: Span::ZERO, last_delay: Span::from_us(7500), ..pie() };
        pie.update(Span::from_us(7400));
        assert_eq!(pie.allowance, Span::ZERO);
        pie.update(Span::from_us(7500));
        assert_eq!(pie.allowance, Span::ZERO);
        pie.update(Span::from_us(7400));
        assert_eq!(pie.allowance, Span::ZERO);
        pie.update(Span::from_us(7400));
        assert_eq!(pie.allowance, Span::from_ms(150));
    }

    /// RFC 8033, section 4.1: no drop below half the target with a probability below 0.2, nor with two
    /// packets or fewer.
    #[test]
    fn packet_is_dropped_only_when_delay_and_queue_are_above_their_floors() {
        let drops = |delay_us, packets, probability| {
            let mut pie =
                Pie { allowance: Span::ZERO, last_delay: Span::from_us(delay_us), probability, accumulated: 8.5, ..pie() };
            for _ in 0..packets {
                pie.fifo.push(Time::ZERO, Packet { len: 1500, wire_len: 1500, ..Packet::NONE });
            }
            pie.drop_early()
        };
        assert!(drops(7500, 3, 0.1));
        assert!(!drops(7499, 3, 0.1));
        assert!(drops(7499, 3, 0.2));
        assert!(!drops(7500, 2, 0.1));
        assert!(!drops(7499, 2, 0.1));
    }

    #[test]
    fn update_terminates_after_a_long_idle_time() {
        let mut pie = pie();
        pie.catch_up(Time(u64::MAX / 2));
        assert!(pie.next_update > Time(u64::MAX / 2));
    }
}
