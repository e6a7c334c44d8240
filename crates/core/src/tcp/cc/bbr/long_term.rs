//! Long-term bandwidth sampling (`bbr_lt_bw_sampling()` of Linux; not in the draft): a token-bucket
//! policer drops what exceeds its rate, so the delivery rate over several RTTs with many losses is
//! that of the policer. Two such intervals in a row with nearly the same rate make BBR send at it.

use super::Ack;
use crate::units::Time;

/// An interval is at least this many rounds long, and at most `MAX_INTERVALS` times as long
/// (`bbr_lt_intvl_min_rtts`).
const MIN_ROUNDS: u32 = 4;
const MAX_INTERVALS: u32 = 4;
/// An interval counts if at least this part of 256 delivered segments is lost besides
/// (`bbr_lt_loss_thresh`, a fifth).
const LOSS_THRESHOLD: u64 = 50;
const SCALE: u64 = 256;
/// Two intervals agree if their rates differ by at most an eighth (`bbr_lt_bw_ratio`), or by this
/// many bytes per second (`bbr_lt_bw_diff`, 4 kb/s).
const RATIO: f64 = 1.0 / 8.0;
const DIFFERENCE: f64 = 4000.0 / 8.0;
/// The rate is used for this many rounds of ProbeBW (`bbr_lt_bw_max_rtts`).
const MAX_ROUNDS: u32 = 48;

#[derive(Clone, Debug)]
pub struct LongTermBandwidth {
    /// Payload of a segment in bytes.
    segment: f64,
    /// Segments per second of the last interval; 0: none.
    rate: f64,
    in_use: bool,
    sampling: bool,
    rounds: u32,
    /// Segments marked lost since the connection began.
    lost: u64,
    start: IntervalStart,
}

/// Time in milliseconds, and segments, when the interval began.
#[derive(Clone, Copy, Debug, Default)]
struct IntervalStart {
    ms: u64,
    delivered: u64,
    lost: u64,
}

/// What an ACK, or an RTO, adds to the interval.
#[derive(Clone, Copy, Debug)]
pub struct LongTermSample {
    pub now: Time,
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// Segments were marked lost.
    pub losses: bool,
    pub round_started: bool,
    pub app_limited: bool,
    /// BBR is in ProbeBW.
    pub probes: bool,
}

impl LongTermBandwidth {
    pub fn new(segment: u32) -> LongTermBandwidth {
        LongTermBandwidth {
            segment: f64::from(segment),
            rate: 0.0,
            in_use: false,
            sampling: false,
            rounds: 0,
            lost: 0,
            start: IntervalStart::default(),
        }
    }

    /// The policed rate in segments per second, while it is in use.
    pub fn rate(&self) -> Option<f64> {
        self.in_use.then_some(self.rate)
    }

    /// A segment was marked lost.
    pub fn on_loss(&mut self) {
        self.lost += 1;
    }

    fn begin_interval(&mut self, now: Time, delivered: u64) {
        self.start = IntervalStart { ms: millis(now), delivered, lost: self.lost };
        self.rounds = 0;
    }

    /// `bbr_reset_lt_bw_sampling()`.
    pub fn reset(&mut self, now: Time, delivered: u64) {
        (self.rate, self.in_use, self.sampling) = (0.0, false, false);
        self.begin_interval(now, delivered);
    }

    /// Returns whether the rate is given up, so that probing starts again.
    pub fn sample(&mut self, sample: &LongTermSample) -> bool {
        if self.in_use {
            if sample.probes && sample.round_started {
                self.rounds += 1;
                if self.rounds >= MAX_ROUNDS {
                    self.reset(sample.now, sample.delivered);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            // The first loss shows that the policer has no tokens left.
            if !sample.losses {
                return false;
            }
            self.begin_interval(sample.now, sample.delivered);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(sample.now, sample.delivered);
            return false;
        }
        self.rounds += u32::from(sample.round_started);
        if self.rounds < MIN_ROUNDS {
            return false;
        }
        if self.rounds > MAX_INTERVALS * MIN_ROUNDS {
            self.reset(sample.now, sample.delivered);
        } else if sample.losses {
            self.end_interval(sample);
        }
        false
    }

    fn end_interval(&mut self, sample: &LongTermSample) {
        let (lost, delivered) = (self.lost - self.start.lost, sample.delivered - self.start.delivered);
        let elapsed = millis(sample.now) - self.start.ms;
        if delivered == 0 || lost * SCALE < LOSS_THRESHOLD * delivered || elapsed == 0 {
            return;
        }
        let rate = delivered as f64 * 1e3 / elapsed as f64;
        let difference = (rate - self.rate).abs();
        if self.rate > 0.0 && (difference <= RATIO * self.rate || difference * self.segment <= DIFFERENCE) {
            self.rate = (self.rate + rate) / 2.0;
            (self.in_use, self.rounds) = (true, 0);
        } else {
            self.rate = rate;
            self.begin_interval(sample.now, sample.delivered);
        }
    }
}

fn millis(at: Time) -> u64 {
    at.0 / 1_000_000_000
}

/// Segments in flight when the next one leaves (`bbr_packets_in_net_at_edt()`): `in_flight` now, less
/// what is delivered until then at `rate` segments per second, and the burst that then leaves while
/// the flight is to grow.
pub fn in_flight_at_departure(ack: &Ack, in_flight: f64, rate: f64, burst: f64) -> f64 {
    let wait = if ack.next_departure > ack.now { (ack.next_departure - ack.now).as_secs() } else { 0.0 };
    (in_flight + burst - libm::floor(rate * wait)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    /// Intervals of six rounds of 100 ms with these segments delivered, and a quarter of them lost at
    /// the end.
    fn intervals(long_term: &mut LongTermBandwidth, delivered: &[u64]) {
        let (mut now, mut total) = (Time::ZERO + Span::from_secs(1), 0);
        let sample = |long_term: &mut LongTermBandwidth, now, delivered, losses, round_started| {
            let sample = LongTermSample { now, delivered, losses, round_started, app_limited: false, probes: true };
            long_term.sample(&sample)
        };
        sample(long_term, now, 0, true, false);
        for amount in delivered {
            for _ in 0..6 {
                now += Span::from_ms(100);
                total += amount / 6;
                sample(long_term, now, total, false, true);
            }
            (0..amount / 4).for_each(|_| long_term.on_loss());
            sample(long_term, now, total, true, false);
        }
    }

    #[test]
    fn rate_is_used_when_two_intervals_agree_within_an_eighth() {
        for (second, rate) in [(660, Some(1050.0)), (780, None), (600, Some(1000.0))] {
            let mut long_term = LongTermBandwidth::new(1448);
            intervals(&mut long_term, &[600, second]);
            assert_eq!(long_term.rate(), rate, "{second}");
        }
    }

    #[test]
    fn rate_is_given_up_after_48_rounds() {
        let mut long_term = LongTermBandwidth::new(1448);
        intervals(&mut long_term, &[600, 600]);
        let sample = |probes| LongTermSample {
            now: Time::ZERO + Span::from_secs(9),
            delivered: 9000,
            losses: false,
            round_started: true,
            app_limited: false,
            probes,
        };
        assert!((0..47).all(|_| !long_term.sample(&sample(true))));
        assert!(!long_term.sample(&sample(false)), "rounds outside ProbeBW do not count");
        assert!(long_term.sample(&sample(true)) && long_term.rate().is_none());
    }

    #[test]
    fn interval_with_few_losses_or_an_application_limit_gives_no_rate() {
        let mut long_term = LongTermBandwidth::new(1448);
        intervals(&mut long_term, &[600]);
        let at = |ms, delivered, app_limited| LongTermSample {
            now: Time::ZERO + Span::from_ms(ms),
            delivered,
            losses: true,
            round_started: true,
            app_limited,
            probes: true,
        };
        for round in 1..=5 {
            // Ten of a hundred.
            (0..10).for_each(|_| long_term.on_loss());
            long_term.sample(&at(1600 + 100 * round, 600 + 100 * round, false));
        }
        assert_eq!(long_term.rate(), None);
        long_term.sample(&at(2200, 1200, true));
        assert!(!long_term.sampling && long_term.rate == 0.0);
    }
}
