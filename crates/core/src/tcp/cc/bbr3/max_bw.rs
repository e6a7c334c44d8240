//! BBR.max_bw, rounds and ACK aggregation (draft, sections 5.5.1 to 5.5.9).

use super::super::fast_min_max::{larger, smaller};
use super::super::windowed_max::WindowedMax;
use super::sample::Sample;
use crate::units::Time;

/// ExtraAckedFilterLen: rounds for which aggregation counts (section 2.12).
const EXTRA_ROUNDS: usize = 10;
/// An aggregation epoch restarts beyond this, so that sums stay exact.
const EXTRA_EPOCH: f64 = 1_048_576.0;

#[derive(Clone, Debug, Default)]
pub struct MaxBw {
    /// MaxBwFilterLen = 2: the maximum rate of the previous probing cycle and of this one.
    rates: [f64; 2],
    rounds: u64,
    next_round_at: u64,
    round_started: bool,
    delivered: u64,
    extra: WindowedMax<EXTRA_ROUNDS>,
    extra_since: Time,
    extra_delivered: f64,
}

impl MaxBw {
    /// Sections 5.5.1 and 5.5.5: UpdateRound and UpdateMaxBw. Returns whether a round started.
    pub fn update(&mut self, sample: &Sample) -> bool {
        self.delivered = sample.total;
        self.round_started = sample.prior_delivered >= self.next_round_at;
        if self.round_started {
            self.begin_round();
            self.rounds += 1;
        }
        if sample.rate > 0.0 && (!sample.app_limited || sample.rate >= self.max_rate()) {
            self.rates[1] = larger(self.rates[1], sample.rate);
        }
        self.round_started
    }

    /// StartRound: the round ends when a segment sent from now on is delivered.
    pub fn begin_round(&mut self) {
        self.next_round_at = self.delivered;
    }

    /// AdvanceMaxBwFilter (section 5.5.6).
    pub fn next_cycle(&mut self) {
        self.rates = [self.rates[1], 0.0];
    }

    /// UpdateACKAggregation (section 5.5.9): deliveries above rate*time.
    pub fn update_aggregation(&mut self, sample: &Sample, rate: f64, cwnd: f64) {
        let mut expected = rate * (sample.now - self.extra_since).as_secs();
        if self.extra_delivered <= expected || self.extra_delivered > EXTRA_EPOCH {
            (self.extra_since, self.extra_delivered, expected) = (sample.now, 0.0, 0.0);
        }
        self.extra_delivered += sample.newly_acked;
        let extra = smaller(self.extra_delivered - expected, cwnd);
        self.extra.add(self.rounds, extra);
    }

    pub fn restart_aggregation(&mut self, now: Time) {
        self.extra_since = now;
    }

    /// Before the pipe is full only the last round's aggregation counts.
    pub fn extra_acked(&self, full: bool) -> f64 {
        if full { self.extra.get() } else { self.extra.latest() }
    }
    /// BBR.max_bw, in segments per second.
    pub fn max_rate(&self) -> f64 {
        larger(self.rates[0], self.rates[1])
    }
    pub fn rounds(&self) -> u64 {
        self.rounds
    }
    pub fn round_started(&self) -> bool {
        self.round_started
    }
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
}
