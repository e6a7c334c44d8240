//! Random early detection (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993): the longer the queue on average, the likelier a signal.

use super::{Fifo, Limit, OneLine, Order, Queue, Signal, signal};
use crate::element::{Cause, Out};
use crate::packet::{Kind, Packet};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// In what the queue is measured, and with it both thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    Packets,
    /// IP bytes; a packet of half the mean length is half as likely to be chosen (the paper's section VII).
    Bytes,
}

/// Who may be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidates {
    All,
    /// Packets with payload: ACKs pass (`asymmetry`, "RED only for data").
    Data,
}

#[derive(Clone, Copy, Debug)]
pub struct RedSettings {
    pub limit: Limit,
    pub amount: Amount,
    /// Thresholds on the average, in packets or bytes.
    pub min: f64,
    pub max: f64,
    /// Weight of a new sample in the average, above 0 and up to 1.
    pub weight: f64,
    /// The probability at the upper threshold.
    pub max_p: f64,
    /// From there it rises to 1 at twice the threshold, not at once (Floyd's note on the gentle variant, 2000).
    pub gentle: bool,
    pub signal: Signal,
    pub candidates: Candidates,
    /// In bytes.
    pub mean_packet: f64,
    /// How long the line takes for one packet of that length: what an idle time is counted in.
    pub service: Span,
    pub order: Order,
}

#[derive(Debug)]
pub struct Red {
    settings: RedSettings,
    line: Fifo,
    average: f64,
    /// Candidates since the last signal, or since the average rose above the lower threshold.
    count: u64,
    idle_since: Option<Time>,
    rng: Rng,
}

impl Red {
    pub fn new(settings: RedSettings, rng: Rng) -> Red {
        let line = Fifo::new(settings.order);
        Red { settings, line, average: 0.0, count: 0, idle_since: Some(Time::ZERO), rng }
    }

    /// The average queue, in packets or bytes.
    pub fn average(&self) -> f64 {
        self.average
    }

    /// avg = (1 - w) avg + w q; after m packets' worth of idle time avg = (1 - w)^m avg // section IV
    fn sample(&mut self, now: Time) {
        let RedSettings { weight, service, amount, .. } = self.settings;
        let queue = match amount {
            Amount::Packets => self.line.packets(),
            Amount::Bytes => self.line.bytes(),
        };
        match self.idle_since.take() {
            Some(since) => {
                let idle = if service > Span::ZERO { (now - since).as_secs() / service.as_secs() } else { f64::INFINITY };
                // An empty queue has no average to lose, and 0 times infinity none at all.
                self.average = if self.average > 0.0 { self.average * libm::pow(1.0 - weight, idle) } else { 0.0 };
            }
            None => self.average = (1.0 - weight) * self.average + weight * queue as f64,
        }
    }

    fn chosen(&mut self, packet: &Packet) -> bool {
        if self.settings.candidates == Candidates::Data && !packet.kind.has(Kind::DATA) {
            return false;
        }
        let Some(base) = base_probability(&self.settings, self.average) else {
            self.count = 0;
            return false;
        };
        let base = match self.settings.amount {
            Amount::Packets => base,
            Amount::Bytes => base * f64::from(packet.len) / self.settings.mean_packet,
        };
        let chosen = base >= 1.0 || self.rng.chance(spread_probability(base, self.count));
        self.count = if chosen { 0 } else { self.count + 1 };
        chosen
    }
}

/// p_b = max_p (avg - min) / (max - min) between the thresholds, 1 above; none below // section IV
fn base_probability(s: &RedSettings, average: f64) -> Option<f64> {
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

/// p_a = p_b / (1 - count p_b): signals come evenly, not in clusters // section IV
fn spread_probability(base: f64, count: u64) -> f64 {
    let rest = 1.0 - count as f64 * base;
    if rest > 0.0 { (base / rest).min(1.0) } else { 1.0 }
}

impl OneLine for Red {
    fn take_in(&mut self, now: Time, mut packet: Packet, out: &mut Out<'_>) {
        self.sample(now);
        if !self.has_room(&packet) {
            self.count = 0;
            return out.drop(packet, Cause::QueueFull);
        }
        if !self.chosen(&packet) || signal(self.settings.signal, &mut packet, out) {
            self.line.push(now, packet);
        }
    }

    fn let_by(&mut self, now: Time, mut packet: Packet, out: &mut Out<'_>) -> Option<Packet> {
        self.sample(now);
        let stays = !self.chosen(&packet) || signal(self.settings.signal, &mut packet, out);
        if !stays {
            self.idle_since = Some(now);
        }
        stays.then_some(packet)
    }

    fn give(&mut self, now: Time, _out: &mut Out<'_>) -> Option<(Time, Packet)> {
        let first = self.line.pop();
        if first.is_none() {
            self.idle_since = self.idle_since.or(Some(now));
        }
        first.map(|first| (first.since, first.packet))
    }

    fn line(&self) -> (&Fifo, Limit) {
        (&self.line, self.settings.limit)
    }
    fn line_mut(&mut self) -> &mut Fifo {
        &mut self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> RedSettings {
        RedSettings {
            limit: Limit::packets(10),
            amount: Amount::Packets,
            min: 1.5,
            max: 6.0,
            weight: 0.01,
            max_p: 0.1,
            gentle: false,
            signal: Signal::Mark,
            candidates: Candidates::All,
            mean_packet: 500.0,
            service: Span::from_ms(10),
            order: Order::Arrival,
        }
    }

    #[test]
    fn the_probability_is_a_line_between_the_thresholds() {
        let plain = settings();
        let gentle = RedSettings { gentle: true, ..plain };
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
    fn signals_lie_evenly_spread_over_1_to_1_over_p_candidates() {
        // The paper's method 2: the gap between signals is uniform on 1 .. 1/p.
        let p = 0.05;
        let mut rest = 1.0;
        for gap in 0..20u64 {
            let here = rest * spread_probability(p, gap);
            assert!((here - p).abs() < 1e-12, "gap {gap}: {here}");
            rest -= here;
        }
        assert!(rest.abs() < 1e-12);
    }

    #[test]
    fn an_idle_line_ages_the_average_by_as_many_packets_as_it_could_have_sent() {
        let mut red = Red::new(settings(), Rng::for_element(1, "red"));
        (red.average, red.idle_since) = (4.0, Some(Time::ZERO));
        red.sample(Time::ZERO + Span::from_ms(250));
        assert!((red.average() - 4.0 * libm::pow(0.99, 25.0)).abs() < 1e-12);
    }
}
