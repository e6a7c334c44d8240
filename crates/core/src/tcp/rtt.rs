//! The RTT estimator and the RTO (RFC 6298).

use super::config::{RtoConfig, RtoFloor};
use crate::units::Span;

/// Integer arithmetic throughout: reproducible on every machine, and no conversion per ACK.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct RttEstimator {
    srtt: Option<Span>,
    rttvar: Span,
    /// Minimum RTT; `Span::MAX` before the first sample.
    min: Span,
    /// The RTO without backoff.
    base: Span,
    /// The last RTO rounded up to the clock's tick. The next one is mostly the same, which saves a
    /// division.
    rounded: Span,
    /// Doublings since the last RTO.
    backoff: u32,
    config: RtoConfig,
    linux: LinuxDeviation,
}

/// Linux's mean deviation in its integers, in microseconds (`tcp_rtt_estimator()`).
#[derive(Clone, Copy, Debug, Default)]
struct LinuxDeviation {
    /// SRTT times 8.
    srtt: i64,
    /// Mean deviation times 4, and its maximum in this round trip.
    mdev: i64,
    mdev_max: i64,
    /// The largest deviation times 4: the variance term of the RTO.
    rttvar: i64,
    /// snd.nxt when the round trip began.
    round_end: u64,
}

impl LinuxDeviation {
    /// `una`, `next`: snd.una and snd.nxt.
    fn sample(&mut self, rtt: i64, min: i64, (una, next): (u64, u64)) {
        if self.srtt == 0 {
            (self.srtt, self.mdev) = ((rtt << 3).max(1), rtt << 1);
            self.rttvar = self.mdev.max(min);
            (self.mdev_max, self.round_end) = (self.rttvar, next);
            return;
        }
        let error = rtt - (self.srtt >> 3);
        self.srtt = (self.srtt + error).max(1);
        let mut step = error.abs() - (self.mdev >> 2);
        // A fall of the RTT that is larger than the deviation says little of the next delays.
        if error < 0 && step > 0 {
            step >>= 3;
        }
        self.mdev += step;
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if una > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            (self.round_end, self.mdev_max) = (next, min);
        }
    }
}

/// 1/alpha of RFC 6298, section 2.
pub(super) const SRTT_SHARE: u64 = 8;
/// 1/beta of RFC 6298, section 2.
const RTTVAR_SHARE: u64 = 4;
/// K of RFC 6298, section 2.
const VARIANCES: u64 = 4;
/// Further doublings have no effect: every maximum is reached.
const MAX_BACKOFF: u32 = 16;

/// `old` moved towards `new` by 1/`share` of the difference, rounded down to a picosecond.
#[inline]
pub(super) fn smooth(old: Span, new: Span, share: u64) -> Span {
    if new >= old { Span(old.0 + (new.0 - old.0) / share) } else { Span(old.0 - (old.0 - new.0) / share) }
}

impl RttEstimator {
    /// Bytes at its beginning that each sample needs.
    pub const HOT_BYTES: usize = std::mem::offset_of!(RttEstimator, linux);

    pub fn new(config: RtoConfig) -> RttEstimator {
        let base = config.initial.round_up_to(config.tick);
        RttEstimator {
            config,
            srtt: None,
            rttvar: Span::ZERO,
            min: Span::MAX,
            base,
            rounded: base,
            backoff: 0,
            linux: LinuxDeviation::default(),
        }
    }

    /// RFC 6298 (2.2) and (2.3): the first sample sets the estimates, later ones smooth them;
    /// RTTVAR uses the old SRTT.
    #[inline(always)]
    pub fn sample(&mut self, rtt: Span) {
        let srtt = match self.srtt {
            None => {
                self.rttvar = Span(rtt.0 / 2);
                rtt
            }
            Some(srtt) => {
                self.rttvar = smooth(self.rttvar, Span(srtt.0.abs_diff(rtt.0)), RTTVAR_SHARE);
                smooth(srtt, rtt, SRTT_SHARE)
            }
        };
        self.srtt = Some(srtt);
        self.min = self.min.min(rtt);
        self.set_base(srtt);
    }

    /// As `sample`, by Linux's rules if the host follows them. `round`: snd.una and snd.nxt.
    // inline(always): nearly every ACK of a bulk transfer gives a sample.
    #[inline(always)]
    pub fn sample_in_round(&mut self, rtt: Span, round: (u64, u64)) {
        match self.config.linux_deviation {
            true => self.sample_linux(rtt, round),
            false => self.sample(rtt),
        }
    }

    /// The sampler is Linux's.
    #[inline]
    pub fn follows_linux(&self) -> bool {
        self.config.linux_deviation
    }

    #[inline(never)]
    fn sample_linux(&mut self, rtt: Span, round: (u64, u64)) {
        let micros = |span: Span| (span.0 / Span::from_us(1).0) as i64;
        self.linux.sample(micros(rtt), micros(self.config.min), round);
        let srtt = Span::from_us((self.linux.srtt >> 3) as u64);
        self.srtt = Some(srtt);
        self.rttvar = Span::from_us((self.linux.mdev >> 2) as u64);
        self.set_rto(srtt + Span::from_us(self.linux.rttvar as u64));
    }

    /// Where the host follows Linux, the minimum RTT is that of the last segment of an ACK, whose RTT
    /// does not have the delay of the ACK in it (`tcp_update_rtt_min()`).
    #[inline]
    pub fn note_min(&mut self, rtt: Span) {
        if self.config.linux_deviation {
            self.min = self.min.min(rtt);
        }
    }

    /// RFC 6298 (2.3) and (2.4), or the host's floor.
    #[inline(always)]
    fn set_base(&mut self, srtt: Span) {
        let variance = self.rttvar.saturating_mul(VARIANCES).max(self.config.tick);
        let base = match self.config.floor {
            RtoFloor::Timeout => (srtt + variance).max(self.config.min),
            RtoFloor::Variance => srtt + variance.max(self.config.min),
        };
        self.set_rto(base);
    }

    #[inline(always)]
    fn set_rto(&mut self, base: Span) {
        if base > self.rounded || base + self.config.tick <= self.rounded || self.config.tick == Span::ZERO {
            self.rounded = base.round_up_to(self.config.tick);
        }
        self.base = self.rounded;
    }

    /// Linux since 3.9: the first RTO allows for the path's cached RTT, until there is a sample.
    pub fn seed_rto(&mut self, rtt: Span) {
        if self.srtt.is_none_or(|own| rtt > own) {
            let base = rtt + rtt.saturating_mul(2).max(self.config.min);
            self.rounded = base.round_up_to(self.config.tick);
            self.base = self.rounded;
        }
    }

    /// Linux 2.6: the path's cached estimates apply over a smaller RTT of the handshake.
    pub fn seed_estimates(&mut self, rtt: Span, rttvar: Span) {
        let Some(own) = self.srtt else { return };
        let srtt = own.max(rtt);
        self.srtt = Some(srtt);
        self.rttvar = self.rttvar.max(rttvar);
        self.set_base(srtt);
    }

    /// SRTT and RTTVAR, unless an RTO is backed off.
    pub fn estimates(&self) -> Option<(Span, Span)> {
        self.srtt.filter(|_| self.backoff == 0).map(|srtt| (srtt, self.rttvar))
    }

    /// RFC 6298 (5.7): a SYN was retransmitted, so without a sample the RTO is at least three
    /// seconds.
    pub fn use_lost_syn_rto(&mut self) {
        self.base = self.base.max(Span::from_secs(3));
    }

    /// The RTO with backoff: RFC 6298 (2.1), (2.3), (2.4), (5.5).
    #[inline]
    pub fn rto(&self) -> Span {
        let backed_off = if self.backoff == 0 { self.base } else { self.base.saturating_mul(1 << self.backoff) };
        backed_off.min(self.config.max)
    }

    /// The RTO without granularity, minimum and backoff: Vegas's fine-grained RTO.
    pub fn fine_timeout(&self) -> Option<Span> {
        Some(self.srtt? + self.rttvar.saturating_mul(VARIANCES))
    }

    /// RFC 6298 (5.5): an RTO doubles the timer.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// New data was acknowledged: the backoff ends.
    pub fn reset_backoff(&mut self) {
        self.backoff = 0;
    }

    pub fn srtt(&self) -> Option<Span> {
        self.srtt
    }
    pub fn rttvar(&self) -> Span {
        self.rttvar
    }
    /// Doublings of the RTO since the last ACK of new data.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }
    pub fn min(&self) -> Option<Span> {
        (self.min < Span::MAX).then_some(self.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(floor: RtoFloor) -> RtoConfig {
        RtoConfig {
            initial: Span::from_secs(1),
            min: Span::from_ms(200),
            max: Span::from_secs(60),
            tick: Span::from_ms(1),
            floor,
            linux_deviation: false,
        }
    }

    #[test]
    fn rto_follows_rfc_6298_for_the_first_two_samples() {
        let mut e = RttEstimator::new(config(RtoFloor::Timeout));
        assert_eq!(e.rto(), Span::from_secs(1));
        e.sample(Span::from_ms(100));
        assert_eq!(e.rto(), Span::from_ms(300), "100 + 4*50");
        e.sample(Span::from_ms(140));
        // RTTVAR = 0.75*50 + 0.25*40 = 47.5; SRTT = 105; RTO = 105 + 190
        assert_eq!(e.rto(), Span::from_ms(295));
    }

    #[test]
    fn rto_minimum_applies_to_the_timeout_or_to_the_variance() {
        for (floor, expected) in [(RtoFloor::Timeout, 200), (RtoFloor::Variance, 300)] {
            let mut e = RttEstimator::new(config(floor));
            for _ in 0..100 {
                e.sample(Span::from_ms(100));
            }
            assert_eq!(e.rto(), Span::from_ms(expected), "{floor:?}");
        }
    }

    /// 100 ms and 50 ms from the handshake; the cached values are larger, or smaller.
    #[test]
    fn cached_path_metrics_raise_the_rto_and_never_lower_it() {
        let seeded = |seed: fn(&mut RttEstimator)| {
            let mut e = RttEstimator::new(config(RtoFloor::Timeout));
            e.sample(Span::from_ms(100));
            seed(&mut e);
            e
        };
        assert_eq!(seeded(|e| e.seed_rto(Span::from_ms(250))).rto(), Span::from_ms(750), "250 + 2*250");
        assert_eq!(seeded(|e| e.seed_rto(Span::from_ms(90))).rto(), Span::from_ms(300));
        let mut cached = seeded(|e| e.seed_estimates(Span::from_ms(250), Span::from_ms(80)));
        assert_eq!(cached.rto(), Span::from_ms(570), "250 + 4*80");
        // The next sample: 231.25 and 97.5, so 621.25 ms, in ticks 622.
        cached.sample(Span::from_ms(100));
        assert_eq!(cached.rto(), Span::from_ms(622));
        assert_eq!(seeded(|e| e.seed_estimates(Span::from_ms(50), Span::from_ms(10))).rto(), Span::from_ms(300));
        let mut first = seeded(|e| e.seed_rto(Span::from_ms(250)));
        first.sample(Span::from_ms(100));
        assert_eq!(first.rto(), Span::from_ms(250), "forgotten with the first sample: 100 + 4*37.5");
    }

    #[test]
    fn rto_doubles_up_to_the_maximum() {
        let mut e = RttEstimator::new(config(RtoFloor::Timeout));
        e.sample(Span::from_ms(100));
        for expected in [600, 1200, 2400] {
            e.back_off();
            assert_eq!(e.rto(), Span::from_ms(expected));
        }
        for _ in 0..40 {
            e.back_off();
        }
        assert_eq!(e.rto(), Span::from_secs(60));
    }
}
