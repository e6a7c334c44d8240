//! The time from the arrival of a packet at a host until its TCP processes it: interrupt, softirq
//! and scheduling.
//!
//! Exact times answer `<=` in ways that no host does: an ACK train whose gaps are exactly HyStart's
//! 2 ms is one here and none in the kernel.

use crate::config_check::{Checked, check_span, ensure};
use crate::packet::Kind;
use crate::rng::Rng;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A log-normal time by two of its quantiles, cut off at the quantile 0.999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessingJitter {
    #[serde(rename = "p50_ps")]
    pub p50: Span,
    #[serde(rename = "p99_ps")]
    pub p99: Span,
}

impl ProcessingJitter {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        check_span("processing_jitter.p99_ps", self.p99)?;
        ensure(Span::ZERO < self.p50 && self.p50 <= self.p99, || {
            format!("processing_jitter.p50_ps {} is not between 1 and p99_ps {}", self.p50.0, self.p99.0)
        })
    }
}

/// Cells of the quantile table, of equal probability.
const CELLS: usize = 256;
const CUT: f64 = 0.999;

/// The quantiles of a [`ProcessingJitter`], from which clocks draw.
#[derive(Debug)]
pub struct ProcessingTimes([u64; CELLS + 1]);

impl ProcessingTimes {
    pub fn new(jitter: ProcessingJitter) -> ProcessingTimes {
        let (p50, p99) = (jitter.p50.0 as f64, jitter.p99.0 as f64);
        let sigma = libm::log(p99 / p50) / normal_quantile(0.99);
        let quantile = |cell: usize| {
            let q = (cell as f64 / CELLS as f64).clamp(1.0 - CUT, CUT);
            (p50 * libm::exp(sigma * normal_quantile(q))) as u64
        };
        ProcessingTimes(std::array::from_fn(quantile))
    }

    /// The time of 64 random bits: 8 choose a cell, 32 the place in it.
    #[inline]
    fn of(&self, bits: u64) -> Span {
        let cell = (bits >> 56) as usize;
        let (low, high) = (self.0[cell], self.0[cell + 1]);
        let place = (bits >> 24) & 0xFFFF_FFFF;
        Span(low + ((u128::from(high - low) * u128::from(place)) >> 32) as u64)
    }
}

/// Quantile of the standard normal distribution, within 4.5e-4 (Abramowitz and Stegun, 26.2.23).
fn normal_quantile(q: f64) -> f64 {
    let upper = |p: f64| {
        let t = libm::sqrt(-2.0 * libm::log(p));
        t - (2.515_517 + t * (0.802_853 + t * 0.010_328)) / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
    };
    if q < 0.5 { -upper(q) } else { upper(1.0 - q) }
}

/// Time from one pure ACK of an instant to the next. In Linux 6.18 the ACKs of one frame of a radio
/// reach tcp_rcv_established() 9 us apart (median of 2,057; 6 to 35 for nine in ten). Rates by ACK
/// intervals (BIAD, Westwood) depend on it.
const NEXT_ACK: Span = Span::from_us(9);

/// When one end of a flow processes the packets that reach it: in order, each with a drawn time.
/// Data of one instant waits for the application together, pure ACKs change the sender's window one
/// by one.
#[derive(Clone, Debug)]
pub struct ProcessingClock {
    /// State of SplitMix64 (Steele, Lea and Flood 2014): one multiplication chain a draw.
    state: u64,
    arrived: Time,
    processed: Time,
    times: Arc<ProcessingTimes>,
}

impl ProcessingClock {
    pub fn new(times: Arc<ProcessingTimes>, mut rng: Rng) -> ProcessingClock {
        ProcessingClock { state: rng.salt(), arrived: Time::NEVER, processed: Time::ZERO, times }
    }

    /// When a packet that arrives at `arrives` is processed. Arrivals are given in order.
    #[inline]
    pub fn process(&mut self, arrives: Time, kind: Kind) -> Time {
        if arrives == self.arrived {
            if kind.has(Kind::PURE_ACK) {
                self.processed += NEXT_ACK;
            }
        } else {
            self.arrived = arrives;
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            self.processed = self.processed.max(arrives + self.times.of(z ^ (z >> 31)));
        }
        self.processed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(jitter: ProcessingJitter, seed: u64) -> ProcessingClock {
        ProcessingClock::new(Arc::new(ProcessingTimes::new(jitter)), Rng::for_element(seed, "processing"))
    }

    const DATA: Kind = Kind::tcp(true, false);
    const MEASURED: ProcessingJitter = ProcessingJitter { p50: Span::from_us(15), p99: Span::from_us(60) };

    #[test]
    fn times_have_the_two_quantiles_when_packets_are_far_apart() {
        let mut clock = clock(MEASURED, 1);
        let apart = Span::from_ms(1);
        let mut arrives = Time::ZERO;
        let mut drawn: Vec<u64> = (0..100_000)
            .map(|_| {
                arrives += apart;
                (clock.process(arrives, DATA) - arrives).0
            })
            .collect();
        drawn.sort_unstable();
        for (place, expected) in [(50_000, MEASURED.p50), (99_000, MEASURED.p99)] {
            let ratio = drawn[place] as f64 / expected.0 as f64;
            assert!((ratio - 1.0).abs() < 0.03, "{place}: {ratio}");
        }
        assert!(drawn[99_999] < 2 * MEASURED.p99.0);
    }

    #[test]
    fn packets_stay_in_order_and_data_of_one_instant_together() {
        let mut clock = clock(MEASURED, 2);
        let mut last = Time::ZERO;
        for n in 0..10_000 {
            let arrives = Time::ZERO + Span::from_us(5 * (n / 2));
            let processed = clock.process(arrives, DATA);
            assert!(processed >= last && processed > arrives);
            assert!(n % 2 == 0 || processed == last);
            last = processed;
        }
    }

    #[test]
    fn pure_acks_of_one_instant_are_processed_one_after_the_other() {
        let mut clock = clock(MEASURED, 4);
        let arrives = Time::ZERO + Span::from_ms(1);
        let ack = Kind::tcp(false, false);
        let first = clock.process(arrives, ack);
        assert_eq!(clock.process(arrives, ack), first + NEXT_ACK);
        assert_eq!(clock.process(arrives, DATA), first + NEXT_ACK, "data stays with what arrived before it");
        assert_eq!(clock.process(arrives, ack), first + NEXT_ACK + NEXT_ACK);
    }

    #[test]
    fn equal_quantiles_are_a_constant_time() {
        let constant = ProcessingJitter { p50: Span::from_us(20), p99: Span::from_us(20) };
        let mut clock = clock(constant, 3);
        for n in 1..100 {
            let arrives = Time::ZERO + Span::from_ms(n);
            assert_eq!(clock.process(arrives, DATA) - arrives, Span::from_us(20));
        }
    }

    #[test]
    fn quantiles_outside_their_order_are_an_error() {
        assert!(MEASURED.check().is_ok());
        assert!(ProcessingJitter { p50: Span::from_us(61), ..MEASURED }.check().is_err());
        assert!(ProcessingJitter { p50: Span::ZERO, ..MEASURED }.check().is_err());
    }

    #[test]
    fn normal_quantiles_are_those_of_tables() {
        for (q, z) in [(0.5, 0.0), (0.99, 2.326_348), (0.001, -3.090_232), (0.25, -0.674_490)] {
            assert!((normal_quantile(q) - z).abs() < 5e-4, "{q}");
        }
    }
}
