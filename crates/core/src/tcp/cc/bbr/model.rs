//! BBR's path model: bandwidth, minimum RTT, and whether the pipe has been full (draft, section
//! 4.1).

use super::super::windowed_max::WindowedMax;
use super::{Ack, BbrConfig};
use crate::units::{Span, Time};

/// Lifetime of a bandwidth sample in rounds (BtlBwFilterLen: 10).
const BANDWIDTH_ROUNDS: usize = 10;
/// ACK aggregation: the maximum over two windows of `EXTRA_ROUNDS` rounds, at most `EXTRA_LIMIT` of
/// data (Linux).
const EXTRA_WINDOWS: usize = 2;
const EXTRA_ROUNDS: u64 = 5;
const EXTRA_LIMIT: Span = Span::from_ms(100);
/// An aggregation epoch restarts beyond this many segments (Linux).
const EXTRA_EPOCH: f64 = 1_048_576.0;

#[derive(Clone, Debug, Default)]
pub struct Model {
    bandwidth: WindowedMax<BANDWIDTH_ROUNDS>,
    min_rtt: Option<(Span, Time)>,
    expired: bool,
    /// Rounds, counted by deliveries (section 4.1.1.3).
    rounds: u64,
    next_round_at: u64,
    delivered: u64,
    round_started: bool,
    full_bandwidth: f64,
    full_count: u32,
    extra: WindowedMax<EXTRA_WINDOWS>,
    extra_since: Time,
    extra_acked: f64,
    idle: bool,
}

impl Model {
    /// `cwnd`: the window before this ACK; `policed`: the rate in use in place of the bandwidth.
    pub fn update(&mut self, p: &BbrConfig, ack: &Ack, cwnd: f64, policed: Option<f64>) {
        self.round_started = false;
        if let Some(rate) = ack.rate {
            self.delivered = rate.total;
            if rate.prior_delivered >= self.next_round_at {
                self.begin_round();
                self.rounds += 1;
                self.round_started = true;
            }
            let sample = rate.rate(ack.min_rtt).filter(|&sample| !rate.app_limited || sample >= self.bandwidth.get());
            if let Some(sample) = sample {
                self.bandwidth.add(self.rounds, sample);
            }
            if self.round_started && !rate.app_limited {
                self.check_full(p);
            }
        }
        self.update_aggregation(ack, cwnd, policed);
        self.see_rtt(p, ack);
    }

    /// Starts a round: it ends when a segment sent from now on is delivered.
    pub fn begin_round(&mut self) {
        self.next_round_at = self.delivered;
    }

    /// Section 4.3.2.2: three rounds with less than 25 % growth.
    fn check_full(&mut self, p: &BbrConfig) {
        if self.full(p) {
            return;
        }
        if self.bandwidth.get() >= self.full_bandwidth * p.full_growth {
            (self.full_bandwidth, self.full_count) = (self.bandwidth.get(), 0);
        } else {
            self.full_count += 1;
        }
    }

    /// Linux's allowance for ACK aggregation: deliveries above bandwidth*time.
    fn update_aggregation(&mut self, ack: &Ack, cwnd: f64, policed: Option<f64>) {
        // An ACK without a rate sample is ignored (`bbr_update_ack_aggregation()`).
        if ack.delivered == 0 || ack.rate.is_none_or(|rate| rate.rate(ack.min_rtt).is_none()) {
            return;
        }
        let bandwidth = policed.unwrap_or_else(|| self.bandwidth.get());
        let expected = bandwidth * (ack.now - self.extra_since).as_secs();
        if self.extra_acked <= expected || self.extra_acked > EXTRA_EPOCH {
            (self.extra_since, self.extra_acked) = (ack.now, 0.0);
        }
        self.extra_acked += f64::from(ack.delivered);
        let expected = bandwidth * (ack.now - self.extra_since).as_secs();
        let max_extra = cwnd.min(bandwidth * EXTRA_LIMIT.as_secs());
        self.extra.add(self.rounds / EXTRA_ROUNDS, (self.extra_acked - expected).clamp(0.0, max_extra));
    }

    fn see_rtt(&mut self, p: &BbrConfig, ack: &Ack) {
        // The handshake gives the first minimum RTT (Linux's `bbr_init()`). On a slow link it is
        // below that of every data segment by the serialization time.
        self.min_rtt = self.min_rtt.or(ack.min_rtt.map(|handshake| (handshake, ack.now)));
        let Some(rtt) = ack.rtt else {
            self.expired = false;
            return;
        };
        let old = self.min_rtt.is_some_and(|(_, at)| ack.now > at + p.min_rtt_window);
        // Only a smaller sample postpones ProbeRTT, not an equal one (Linux since 6.6).
        if old || self.min_rtt.is_none_or(|(min, _)| rtt < min) {
            self.min_rtt = Some((rtt, ack.now));
        }
        self.expired = old && !self.idle;
        self.idle = false;
    }

    pub fn min_rtt_expired(&self) -> bool {
        self.expired
    }
    pub fn renew_min_rtt(&mut self, now: Time) {
        if let Some((_, at)) = &mut self.min_rtt {
            *at = now;
        }
    }
    pub fn min_rtt(&self) -> Option<Span> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }
    /// Segments per second.
    pub fn bandwidth(&self) -> f64 {
        self.bandwidth.get()
    }
    pub fn bdp(&self) -> Option<f64> {
        Some(self.bandwidth.get() * self.min_rtt()?.as_secs()).filter(|bdp| *bdp > 0.0)
    }
    pub fn extra_acked(&self) -> f64 {
        self.extra.get()
    }
    pub fn round_started(&self) -> bool {
        self.round_started
    }
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    pub fn full(&self, p: &BbrConfig) -> bool {
        self.full_count >= p.full_rounds
    }
    /// After an RTO the search for growth restarts (Linux).
    pub fn reset_full_pipe(&mut self) {
        self.full_bandwidth = 0.0;
    }
    /// As after a spurious recovery.
    pub fn restart_full_pipe_search(&mut self) {
        (self.full_bandwidth, self.full_count) = (0.0, 0);
    }
    /// Restart after idle: the minimum RTT does not expire during idle time.
    pub fn restart(&mut self, now: Time) {
        self.idle = true;
        (self.extra_since, self.extra_acked) = (now, 0.0);
    }
}
