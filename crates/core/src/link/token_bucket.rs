//! Token bucket: it earns tokens at a rate, holds at most a burst of them, and is full at first.
//!
//! The unit is bit-picoseconds per second, so that nothing is rounded: over any number of packets the
//! bytes that pass are those of the closed form, min(burst, tokens) + rate * time.

use crate::units::{PS_PER_S, Rate, Time};

#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    rate: Rate,
    capacity: u128,
    tokens: u128,
    /// Time of `tokens`.
    at: Time,
}

/// Tokens per byte: 8 bits times the picoseconds of a second.
const TOKENS_PER_BYTE: u128 = 8 * PS_PER_S as u128;

fn tokens_of(bytes: u64) -> u128 {
    u128::from(bytes) * TOKENS_PER_BYTE
}

impl TokenBucket {
    /// `burst` in bytes.
    pub fn new(rate: Rate, burst: u64) -> TokenBucket {
        TokenBucket { rate, capacity: tokens_of(burst), tokens: tokens_of(burst), at: Time::ZERO }
    }

    fn fill(&mut self, now: Time) {
        let earned = u128::from((now - self.at).0) * u128::from(self.rate.bps());
        self.tokens = (self.tokens + earned).min(self.capacity);
        self.at = self.at.max(now);
    }

    /// Whole bytes that may be sent at `now`, in order of time.
    pub fn bytes(&mut self, now: Time) -> u64 {
        self.fill(now);
        u64::try_from(self.tokens / TOKENS_PER_BYTE).unwrap_or(u64::MAX)
    }

    /// True if `bytes` may be sent at `now`, in order of time.
    pub fn holds(&mut self, now: Time, bytes: u64) -> bool {
        self.fill(now);
        self.tokens >= tokens_of(bytes)
    }

    /// Earns at another rate from `now` on; what was earned until then stays.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.fill(now);
        self.rate = rate;
    }

    /// The first time from which on `bytes` may be sent; never for more than the burst.
    pub fn time_of(&self, bytes: u64) -> Time {
        let needed = tokens_of(bytes);
        if needed > self.capacity {
            return Time::NEVER;
        }
        let missing = needed.saturating_sub(self.tokens).div_ceil(u128::from(self.rate.bps()));
        Time(u64::try_from(missing).ok().and_then(|ps| self.at.0.checked_add(ps)).unwrap_or(u64::MAX))
    }

    /// The first time at which it is full again.
    pub fn full_at(&self) -> Time {
        self.time_of(u64::try_from(self.capacity / TOKENS_PER_BYTE).unwrap_or(u64::MAX))
    }

    /// Takes the tokens of `bytes`, at most all.
    pub fn spend(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(tokens_of(bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::units::Span;

    #[test]
    fn token_bucket_passes_its_burst_then_its_rate() {
        let mut tokens = TokenBucket::new(Rate::from_bps(8_000), 3000);
        assert_eq!(tokens.bytes(Time::ZERO), 3000);
        tokens.spend(3000);
        assert_eq!(tokens.bytes(Time::ZERO + Span::from_ms(500)), 500);
        assert_eq!(tokens.full_at(), Time::ZERO + Span::from_secs(3));
        assert_eq!(tokens.bytes(Time::ZERO + Span::from_secs(60)), 3000);
    }

    #[test]
    fn tokens_are_there_at_the_picosecond_that_the_rate_gives_and_not_before() {
        let mut tokens = TokenBucket::new(Rate::from_bps(3), 1);
        tokens.spend(1);
        let at = tokens.time_of(1);
        assert_eq!(at, Time((8 * PS_PER_S).div_ceil(3)));
        assert!(!tokens.holds(Time(at.0 - 1), 1) && tokens.holds(at, 1));
        assert_eq!(tokens.time_of(2), Time::NEVER, "more than the burst");
    }

    #[test]
    fn tokens_earned_before_a_change_of_rate_are_those_of_the_old_rate() {
        let mut tokens = TokenBucket::new(Rate::from_bps(8_000), 3000);
        tokens.spend(3000);
        tokens.set_rate(Time::ZERO + Span::from_secs(1), Rate::from_bps(16_000));
        assert_eq!(tokens.bytes(Time::ZERO + Span::from_secs(1)), 1000);
        assert_eq!(tokens.full_at(), Time::ZERO + Span::from_secs(2));
        assert_eq!(tokens.bytes(Time::ZERO + Span::from_ms(1250)), 1500);
    }

    /// Packets of random sizes, each sent at the first picosecond that the bucket permits: packet n
    /// leaves when 8 * (sum of the bytes - burst) bits have been earned, whatever came before.
    #[test]
    fn token_bucket_does_not_drift_over_a_million_packets() {
        let (bps, burst) = (10_833_007, 1_000_003);
        let mut tokens = TokenBucket::new(Rate::from_bps(bps), burst);
        let (mut rng, mut now, mut sent) = (Rng::for_element(1, "sizes"), Time::ZERO, 0u64);
        for packet in 0..1_000_000 {
            let bytes = 40 + (rng.uniform() * 1460.0) as u64;
            now = now.max(tokens.time_of(bytes));
            assert!(tokens.holds(now, bytes));
            tokens.spend(bytes);
            sent += bytes;
            let earned = u128::from(sent.saturating_sub(burst)) * TOKENS_PER_BYTE;
            assert_eq!(u128::from(now.0), earned.div_ceil(u128::from(bps)), "packet {packet}");
        }
    }
}
