//! Random early detection (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993): the probability of a
//! signal rises with the average queue length.

use super::{AqmSignal, Fifo, Limit, Order, Queue, SingleFifo, mark_or_drop};
use crate::config_check::{Checked, check_fraction, ensure};
use crate::config_form::is_default;
use crate::element::{DropReason, Output};
use crate::packet::{Kind, Packet};
use crate::rng::Rng;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Unit of the queue length and of both thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueUnit {
    Packets,
    /// IP bytes; the probability is proportional to the packet length (section VII of the paper).
    Bytes,
}

/// Which packets may be marked or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    All,
    /// Packets with payload only; pure ACKs pass (`asymmetry`, "RED only for data").
    Data,
}

/// When a random number is drawn. The gaps between signals have the same distribution while the
/// average is constant; while it rises, those of `Signal` are shorter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RedDraw {
    /// For each candidate (ns-2).
    #[default]
    Packet,
    /// After each signal, R from 0 to 1: the next one is due when count p_b reaches R (Figure 17 of
    /// the paper, "efficient algorithm"; Linux, `red_action()`).
    ///
    /// As in Linux, the length of a packet does not count.
    Signal,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    #[serde(flatten)]
    pub limit: Limit,
    pub amount: QueueUnit,
    /// Thresholds of the average, in packets or bytes.
    pub min: f64,
    pub max: f64,
    /// Weight of a new sample in the average, above 0 and up to 1.
    pub weight: f64,
    /// Probability at the upper threshold.
    pub max_p: f64,
    /// The probability rises to 1 at twice the upper threshold instead of at once (Floyd's note on
    /// the gentle variant, 2000).
    pub gentle: bool,
    /// Gaps between signals are uniform on 1/p_b to 2/p_b candidates instead of 1 to 1/p_b (ns-2's
    /// `wait_`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub draw: RedDraw,
    pub signal: AqmSignal,
    #[serde(rename = "only")]
    pub candidates: Candidates,
    /// In bytes.
    pub mean_packet: u32,
    /// Transmission time of a mean packet, the unit of idle time.
    #[serde(skip)]
    pub service: Span,
    #[serde(skip)]
    pub order: Order,
}

impl RedConfig {
    pub(super) fn check(&self) -> Checked {
        let RedConfig { limit, amount, min, max, weight, max_p, mean_packet, .. } = *self;
        limit.check_room()?;
        ensure(min > 0.0 && max > min && max.is_finite(), || {
            format!("queue.min is {min} and queue.max {max}: both must be above 0, max above min")
        })?;
        ensure(weight > 0.0 && weight <= 1.0, || format!("queue.weight is {weight}: it must be above 0 and up to 1"))?;
        ensure(amount == QueueUnit::Packets || mean_packet > 0, || "queue.mean_packet is 0".into())?;
        check_fraction("queue.max_p", max_p)
    }
}

#[derive(Debug)]
pub struct Red {
    config: RedConfig,
    fifo: Fifo,
    average: f64,
    /// Candidates since the last signal, or since the average exceeded the lower threshold.
    count: u64,
    idle_since: Option<Time>,
    /// R of `RedDraw::Signal`, once drawn.
    drawn: Option<f64>,
    rng: Rng,
}

impl Red {
    pub fn new(config: RedConfig, rng: Rng) -> Red {
        let fifo = Fifo::new(config.order);
        Red { config, fifo, average: 0.0, count: 0, idle_since: Some(Time::ZERO), drawn: None, rng }
    }

    /// Average queue length, in packets or bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// avg = (1 - w) avg + w q; after m packets' worth of idle time avg = (1 - w)^m avg // section
    /// IV
    fn sample(&mut self, now: Time) {
        let RedConfig { weight, service, amount, .. } = self.config;
        let queue = match amount {
            QueueUnit::Packets => self.fifo.packets(),
            QueueUnit::Bytes => self.fifo.bytes(),
        };
        match self.idle_since.take() {
            Some(since) => {
                let idle = if service > Span::ZERO { (now - since).as_secs() / service.as_secs() } else { f64::INFINITY };
                // Avoids 0 times infinity.
                self.average = if self.average > 0.0 { self.average * libm::pow(1.0 - weight, idle) } else { 0.0 };
            }
            None => self.average = (1.0 - weight) * self.average + weight * queue as f64,
        }
    }

    fn should_signal(&mut self, packet: &Packet) -> bool {
        if self.config.candidates == Candidates::Data && !packet.kind.has(Kind::DATA) {
            return false;
        }
        let Some(base) = base_probability(&self.config, self.average) else {
            (self.count, self.drawn) = (0, None);
            return false;
        };
        let base = match (self.config.amount, self.config.draw) {
            (QueueUnit::Bytes, RedDraw::Packet) => base * f64::from(packet.len) / f64::from(self.config.mean_packet),
            _ => base,
        };
        self.signals(base)
    }

    /// Whether the next candidate is signalled.
    fn signals(&mut self, base: f64) -> bool {
        if self.config.draw == RedDraw::Signal {
            return self.is_due(base);
        }
        let chosen = base >= 1.0 || self.rng.chance(self.spread_probability(base));
        self.count = if chosen { 0 } else { self.count + 1 };
        chosen
    }

    /// Whether a signal is due by the number that was drawn after the last one. The first candidate
    /// after others had none or all signalled only draws it.
    fn is_due(&mut self, base: f64) -> bool {
        if base >= 1.0 {
            (self.count, self.drawn) = (0, None);
            return true;
        }
        self.count += 1;
        if self.drawn.is_some_and(|drawn| self.count as f64 * base < drawn) {
            return false;
        }
        let is_due = self.drawn.is_some();
        (self.count, self.drawn) = (0, Some(self.rng.uniform()));
        is_due
    }

    fn spread_probability(&self, base: f64) -> f64 {
        if self.config.wait { waiting_probability(base, self.count) } else { spread_probability(base, self.count) }
    }
}

/// p_b = max_p (avg - min) / (max - min) between the thresholds, 1 above; none below // section IV
fn base_probability(s: &RedConfig, average: f64) -> Option<f64> {
    if average < s.min {
        None
    } else if average < s.max {
        Some(s.max_p * (average - s.min) / (s.max - s.min))
    } else if s.gentle && average < 2.0 * s.max {
        Some(s.max_p + (1.0 - s.max_p) * (average - s.max) / s.max)
    } else {
        Some(1.0)
    }
}

/// p_a = p_b / (1 - count p_b): signals are spaced evenly, not in clusters // section IV
fn spread_probability(base: f64, count: u64) -> f64 {
    let rest = 1.0 - count as f64 * base;
    if rest > 0.0 { (base / rest).min(1.0) } else { 1.0 }
}

/// 0 for n p_b < 1, then p_b / (2 - n p_b) for the n-th candidate since the last signal: none
/// follows within 1/p_b (ns-2, `REDQueue::modify_p`).
fn waiting_probability(base: f64, count: u64) -> f64 {
    let spacing = (count + 1) as f64 * base;
    if spacing < 1.0 {
        0.0
    } else if spacing < 2.0 {
        (base / (2.0 - spacing)).min(1.0)
    } else {
        1.0
    }
}

impl SingleFifo for Red {
    fn admit(&mut self, now: Time, mut packet: Packet, out: &mut Output<'_>) {
        self.sample(now);
        if !self.has_room(&packet) {
            self.count = 0;
            return out.drop(packet, DropReason::QueueFull);
        }
        if !self.should_signal(&packet) || mark_or_drop(self.config.signal, &mut packet, out) {
            self.fifo.push(now, packet);
        }
    }

    fn bypass(&mut self, now: Time, mut packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        self.sample(now);
        let stays = !self.should_signal(&packet) || mark_or_drop(self.config.signal, &mut packet, out);
        if !stays {
            self.idle_since = Some(now);
        }
        stays.then_some(packet)
    }

    fn take_next(&mut self, now: Time, _out: &mut Output<'_>) -> Option<(Time, Packet)> {
        let first = self.fifo.pop();
        if first.is_none() {
            self.idle_since = self.idle_since.or(Some(now));
        }
        first.map(|first| (first.since, first.packet))
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

    fn config() -> RedConfig {
        RedConfig {
            limit: Limit::packets(10),
            amount: QueueUnit::Packets,
            min: 1.5,
            max: 6.0,
            weight: 0.01,
            max_p: 0.1,
            gentle: false,
            wait: false,
            draw: RedDraw::Packet,
            signal: AqmSignal::Mark,
            candidates: Candidates::All,
            mean_packet: 500,
            service: Span::from_ms(10),
            order: Order::Arrival,
        }
    }

    #[test]
    fn probability_is_linear_between_the_thresholds() {
        let plain = config();
        let gentle = RedConfig { gentle: true, ..plain };
        for (average, expected, gently) in [
            (1.49, None, None),
            (1.5, Some(0.0), Some(0.0)),
            (3.75, Some(0.05), Some(0.05)),
            (6.0, Some(1.0), Some(0.1)),
            (9.0, Some(1.0), Some(0.55)),
            (12.0, Some(1.0), Some(1.0)),
        ] {
            let near = |a: Option<f64>, b: Option<f64>| {
                a.is_none() == b.is_none() && (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() < 1e-12
            };
            assert!(near(base_probability(&plain, average), expected), "{average}");
            assert!(near(base_probability(&gentle, average), gently), "gentle {average}");
        }
    }

    #[test]
    fn gaps_between_signals_are_uniform_up_to_1_over_p() {
        // Method 2 of the paper: the gap between signals is uniform on 1 .. 1/p.
        let p = 0.05;
        let mut rest = 1.0;
        for gap in 0..20u64 {
            let here = rest * spread_probability(p, gap);
            assert!((here - p).abs() < 1e-12, "gap {gap}: {here}");
            rest -= here;
        }
        assert!(rest.abs() < 1e-12);
    }

    /// Candidates until the next signal at these probabilities.
    fn gap(red: &mut Red, base: impl Fn(u64) -> f64) -> u64 {
        (1..).find(|&candidate| red.signals(base(candidate))).expect("a signal follows")
    }

    #[test]
    fn gaps_have_one_distribution_whenever_the_number_is_drawn() {
        for draw in [RedDraw::Packet, RedDraw::Signal] {
            let mut red = Red::new(RedConfig { draw, ..config() }, Rng::for_element(1, "red"));
            let mut shares = [0.0f64; 20];
            gap(&mut red, |_| 0.05);
            for _ in 0..100_000 {
                shares[gap(&mut red, |_| 0.05) as usize - 1] += 1e-5;
            }
            assert!(shares.iter().all(|share| (share - 0.05).abs() < 0.004), "{draw:?}: {shares:?}");
        }
    }

    #[test]
    fn a_number_drawn_after_a_signal_makes_the_next_one_sooner_while_the_average_rises() {
        let mean = |draw: RedDraw| {
            let mut red = Red::new(RedConfig { draw, ..config() }, Rng::for_element(2, "red"));
            (0..10_000).map(|_| gap(&mut red, |candidate| 0.001 * candidate as f64)).sum::<u64>() as f64 / 1e4
        };
        // P(gap > n) is 1 - n p(n), and the product of all 1 - p(k) / (1 - (k - 1) p(k)).
        let (packet, signal) = (mean(RedDraw::Packet), mean(RedDraw::Signal));
        let expected = (1..=31).map(|n| 1.0 - 0.001 * f64::from(n * n)).sum::<f64>() + 1.0;
        assert!((signal - expected).abs() < 0.3 && signal < 0.9 * packet, "{signal} {expected} {packet}");
    }

    // finding("K17")
    #[test]
    fn gaps_between_signals_are_uniform_from_1_over_p_to_2_over_p_with_wait() {
        let p = 0.05;
        let mut rest = 1.0;
        for gap in 1..=39u64 {
            let here = rest * waiting_probability(p, gap - 1);
            let expected = if gap < 20 { 0.0 } else { p };
            assert!((here - expected).abs() < 1e-9, "gap {gap}: {here}");
            rest -= here;
        }
        assert!(rest.abs() < 1e-9, "{rest}");
    }

    #[test]
    fn average_decays_by_one_sample_per_packet_time_when_idle() {
        let mut red = Red::new(config(), Rng::for_element(1, "red"));
        assert_eq!(red.average(), 0.0);
        (red.average, red.idle_since) = (4.0, Some(Time::ZERO));
        red.sample(Time::ZERO + Span::from_ms(250));
        assert!((red.average() - 4.0 * libm::pow(0.99, 25.0)).abs() < 1e-12);
    }
}
