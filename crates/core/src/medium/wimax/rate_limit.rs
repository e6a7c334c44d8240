//! Rate limit per station and traffic type: a token bucket that polices or shapes.

use crate::config_check::{Checked, ensure};
use crate::config_form::nullable;
use crate::packet::{Kind, Packet};
use crate::rng::Rng;
use crate::units::{PS_PER_S, Span, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::VecDeque;

/// The traffic of a rate limit or of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TrafficFilter {
    All,
    Tcp,
    /// All traffic other than TCP.
    Udp,
}

impl TrafficFilter {
    pub fn covers(self, kind: Kind) -> bool {
        match self {
            TrafficFilter::All => true,
            TrafficFilter::Tcp => kind.has(Kind::TCP),
            TrafficFilter::Udp => !kind.has(Kind::TCP),
        }
    }
}

/// Treatment of excess traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// Drop it.
    Police,
    /// Queue it, up to this many bytes.
    Shape { bytes: u64 },
}

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimitConfig {
    pub traffic: TrafficFilter,
    /// Equal bounds: a fixed rate. Otherwise the rate is drawn uniformly between them.
    pub low_bps: u64,
    pub high_bps: u64,
    /// Duration of each drawn rate.
    #[serde(rename = "every_ps")]
    pub every: Span,
    /// Bucket size in bytes, at least the maximum packet size.
    pub burst: u64,
    /// A plan has the bytes of the shaper's queue; null polices.
    #[serde(rename = "buffer", deserialize_with = "excess", serialize_with = "buffer")]
    pub excess: Excess,
}

fn excess<'de, D: Deserializer<'de>>(from: D) -> Result<Excess, D::Error> {
    Ok(nullable(from)?.map_or(Excess::Police, |bytes| Excess::Shape { bytes }))
}

fn buffer<S: Serializer>(excess: &Excess, into: S) -> Result<S::Ok, S::Error> {
    match excess {
        Excess::Police => None,
        Excess::Shape { bytes } => Some(bytes),
    }
    .serialize(into)
}

impl RateLimitConfig {
    /// A fixed rate for all traffic.
    pub fn fixed(bps: u64, burst: u64, excess: Excess) -> RateLimitConfig {
        RateLimitConfig { traffic: TrafficFilter::All, low_bps: bps, high_bps: bps, every: Span::MAX, burst, excess }
    }

    /// Returns the error in the configuration, if any.
    pub(super) fn check(&self) -> Checked {
        ensure(0 < self.low_bps && self.low_bps <= self.high_bps && self.burst > 0 && self.every > Span::ZERO, || {
            "a cap needs 0 < low_bps <= high_bps, burst above 0 and every_ps above 0".into()
        })
    }

    fn draw_bps(&self, rng: &mut Rng) -> u64 {
        self.low_bps + (rng.uniform() * self.high_bps.saturating_sub(self.low_bps) as f64) as u64
    }

    /// Duration of each drawn rate; none: the rate is fixed.
    fn redraw_interval(&self) -> Option<Span> {
        (self.low_bps != self.high_bps).then(|| self.every.max(Span(1)))
    }
}

/// A rate limit of one stream.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    config: RateLimitConfig,
    bps: u64,
    /// Time of the next draw of the rate.
    until: Time,
    /// Tokens in bit-picoseconds per second: exact for any rate.
    tokens: u128,
    at: Time,
    rng: Rng,
    /// With their arrival times.
    waiting: VecDeque<(Time, Packet)>,
    bytes: u64,
}

/// Decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitDecision {
    Pass,
    Wait,
    Drop,
}

fn tokens_for(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(PS_PER_S)
}

impl RateLimiter {
    /// The bucket is full at first.
    pub fn new(config: RateLimitConfig, mut rng: Rng) -> RateLimiter {
        let (bps, until) = match config.redraw_interval() {
            None => (config.low_bps, Time::NEVER),
            Some(every) => (config.draw_bps(&mut rng), Time::ZERO + every),
        };
        let tokens = tokens_for(config.burst);
        RateLimiter { config, bps, until, tokens, at: Time::ZERO, rng, waiting: VecDeque::new(), bytes: 0 }
    }

    pub fn covers(&self, packet: &Packet) -> bool {
        self.config.traffic.covers(packet.kind)
    }
    /// Packets that wait for tokens.
    pub fn occupancy(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn refill(&mut self, now: Time) {
        while self.until <= now {
            let Some(every) = self.config.redraw_interval() else { break };
            self.add_tokens(self.until);
            self.bps = self.config.draw_bps(&mut self.rng);
            self.until += every;
        }
        self.add_tokens(now);
    }

    /// Waiting packets extend the bucket by their bytes, so that no tokens are lost between
    /// releases: a frame may earn more than the bucket holds.
    fn add_tokens(&mut self, now: Time) {
        let earned = u128::from((now - self.at).0) * u128::from(self.bps);
        self.tokens = (self.tokens + earned).min(tokens_for(self.config.burst + self.bytes));
        self.at = self.at.max(now);
    }

    fn consume(&mut self, len: u16) -> bool {
        let price = tokens_for(u64::from(len)).min(tokens_for(self.config.burst));
        let enough = self.tokens >= price;
        if enough {
            self.tokens -= price;
        }
        enough
    }

    /// Decides on a packet that arrived at `since`; a packet that must wait is queued here.
    pub fn check(&mut self, now: Time, since: Time, packet: Packet) -> LimitDecision {
        self.refill(now);
        if self.waiting.is_empty() && self.consume(packet.len) {
            return LimitDecision::Pass;
        }
        match self.config.excess {
            Excess::Shape { bytes } if self.bytes + u64::from(packet.len) <= bytes => {
                self.bytes += u64::from(packet.len);
                self.waiting.push_back((since, packet));
                LimitDecision::Wait
            }
            _ => LimitDecision::Drop,
        }
    }

    /// The next packet with enough tokens, and its arrival time.
    pub fn release(&mut self, now: Time) -> Option<(Time, Packet)> {
        let (_, next) = *self.waiting.front()?;
        self.refill(now);
        if !self.consume(next.len) {
            return None;
        }
        self.bytes -= u64::from(next.len);
        self.tokens = self.tokens.min(tokens_for(self.config.burst + self.bytes));
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Arena, Body, Datagram, Ecn};

    fn packet(len: u16, kind: Kind) -> Packet {
        let body = Arena::default().insert(Body::Datagram(Datagram { number: 0, ..Datagram::default() }));
        Packet { id: 0, body, flow: 0, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind }
    }

    /// Bytes that pass in `seconds` at an offered load of twice the rate.
    fn passed(config: RateLimitConfig, seconds: u64) -> u64 {
        let mut limiter = RateLimiter::new(config, Rng::for_element(1, "limiter"));
        let mut bytes = 0;
        for ms in 0..seconds * 1000 {
            let now = Time::ZERO + Span::from_ms(ms);
            while let Some((_, packet)) = limiter.release(now) {
                bytes += u64::from(packet.len);
            }
            if limiter.check(now, now, packet(250, Kind::TCP)) == LimitDecision::Pass {
                bytes += 250;
            }
        }
        bytes
    }

    #[test]
    fn rate_limit_passes_the_rate_plus_one_bucket() {
        for excess in [Excess::Police, Excess::Shape { bytes: 5000 }] {
            let bytes = passed(RateLimitConfig::fixed(1_000_000, 3000, excess), 10) as i64;
            assert!((bytes - 1_250_000 - 3000).abs() <= 250, "{excess:?}: {bytes}");
        }
    }

    #[test]
    fn shaper_keeps_its_rate_when_releases_are_rarer_than_refills() {
        let config = RateLimitConfig::fixed(10_000_000, 3000, Excess::Shape { bytes: 100_000 });
        let mut limiter = RateLimiter::new(config, Rng::for_element(1, "limiter"));
        let mut bytes = 0u64;
        for frame in 0..2000 {
            let now = Time::ZERO + Span::from_ms(5 * frame);
            while let Some((_, packet)) = limiter.release(now) {
                bytes += u64::from(packet.len);
            }
            for _ in 0..10 {
                bytes += if limiter.check(now, now, packet(1000, Kind::DATA)) == LimitDecision::Pass { 1000 } else { 0 };
            }
        }
        let mbps = bytes as f64 * 8.0 / 10e6;
        assert!((mbps / 10.0 - 1.0).abs() < 0.005, "5 ms at 10 Mb/s are 6250 bytes, two buckets: {mbps} Mb/s");
    }

    #[test]
    fn varying_rate_stays_in_its_range_and_has_its_mean() {
        let fixed = RateLimitConfig::fixed(300_000, 1500, Excess::Police);
        let config = RateLimitConfig { high_bps: 1_000_000, every: Span::from_secs(1), ..fixed };
        let mbps = passed(config, 400) as f64 * 8.0 / 400e6;
        assert!((mbps - 0.65).abs() < 0.03, "{mbps}");
    }

    #[test]
    fn rate_limit_on_tcp_ignores_udp() {
        let config = RateLimitConfig { traffic: TrafficFilter::Tcp, ..RateLimitConfig::fixed(1, 1500, Excess::Police) };
        let limiter = RateLimiter::new(config, Rng::for_element(1, "limiter"));
        assert!(limiter.covers(&packet(40, Kind::TCP)) && !limiter.covers(&packet(1500, Kind::DATA)));
    }

    #[test]
    fn shaper_drops_when_its_queue_is_full() {
        let config = RateLimitConfig::fixed(8_000, 1000, Excess::Shape { bytes: 1500 });
        let mut limiter = RateLimiter::new(config, Rng::for_element(1, "limiter"));
        let decisions = [1000, 1000, 500, 40].map(|len| limiter.check(Time::ZERO, Time::ZERO, packet(len, Kind::DATA)));
        assert_eq!(decisions, [LimitDecision::Pass, LimitDecision::Wait, LimitDecision::Wait, LimitDecision::Drop]);
        assert!(limiter.release(Time::ZERO + Span::from_ms(999)).is_none());
        assert!(limiter.release(Time::ZERO + Span::from_secs(1)).is_some(), "a kilobyte a second");
    }
}
