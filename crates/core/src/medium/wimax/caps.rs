//! What a provider sells: a rate for each station and kind of traffic, kept by a token bucket that polices or shapes.

use crate::packet::{Kind, Packet};
use crate::rng::Rng;
use crate::units::{PS_PER_S, Span, Time};
use std::collections::VecDeque;

/// Which packets a cap is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    All,
    Tcp,
    /// All that is not TCP.
    Udp,
}

impl Traffic {
    pub fn covers(self, kind: Kind) -> bool {
        match self {
            Traffic::All => true,
            Traffic::Tcp => kind.has(Kind::TCP),
            Traffic::Udp => !kind.has(Kind::TCP),
        }
    }
}

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapRate {
    Fixed {
        bps: u64,
    },
    /// Drawn uniformly from low to high, and kept for `every`.
    Wandering {
        low_bps: u64,
        high_bps: u64,
        every: Span,
    },
}

/// What happens to what is too fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    Dropped,
    /// Waits, behind at most so many bytes.
    Waits {
        bytes: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapTerms {
    pub traffic: Traffic,
    pub rate: CapRate,
    /// The bucket, in bytes: never below the largest packet.
    pub burst: u64,
    pub excess: Excess,
}

/// One cap of one stream.
#[derive(Clone, Debug)]
pub struct Cap {
    terms: CapTerms,
    bps: u64,
    /// When the next rate is drawn.
    until: Time,
    /// What may pass, in bit-picoseconds per second: exact for any rate.
    tokens: u128,
    at: Time,
    rng: Rng,
    /// With the times since which they have waited.
    waiting: VecDeque<(Time, Packet)>,
    bytes: u64,
}

/// What a cap says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    Wait,
    Drop,
}

fn worth(bytes: u64) -> u128 {
    u128::from(bytes) * 8 * u128::from(PS_PER_S)
}

impl Cap {
    /// Starts with a full bucket.
    pub fn new(terms: CapTerms, mut rng: Rng) -> Cap {
        let (bps, until) = match terms.rate {
            CapRate::Fixed { bps } => (bps, Time::NEVER),
            CapRate::Wandering { every, .. } => (draw(terms.rate, &mut rng), Time::ZERO + every.max(Span(1))),
        };
        let tokens = worth(terms.burst);
        Cap { terms, bps, until, tokens, at: Time::ZERO, rng, waiting: VecDeque::new(), bytes: 0 }
    }

    pub fn covers(&self, packet: &Packet) -> bool {
        self.terms.traffic.covers(packet.kind)
    }
    /// Packets that wait for tokens.
    pub fn held(&self) -> u64 {
        self.waiting.len() as u64
    }

    fn fill(&mut self, now: Time) {
        while self.until <= now {
            let CapRate::Wandering { every, .. } = self.terms.rate else { break };
            self.earn(self.until);
            self.bps = draw(self.terms.rate, &mut self.rng);
            self.until += every.max(Span(1));
        }
        self.earn(now);
    }

    /// While packets wait they take each token as it comes, whenever they are released, so that the bucket cannot run over: a frame may
    /// be worth more than the bucket holds.
    fn earn(&mut self, now: Time) {
        let earned = u128::from((now - self.at).0) * u128::from(self.bps);
        self.tokens = (self.tokens + earned).min(worth(self.terms.burst + self.bytes));
        self.at = self.at.max(now);
    }

    fn take(&mut self, len: u16) -> bool {
        let price = worth(u64::from(len)).min(worth(self.terms.burst));
        let pays = self.tokens >= price;
        if pays {
            self.tokens -= price;
        }
        pays
    }

    /// A packet comes, which has waited since some time before; one that waits on is kept here.
    pub fn judge(&mut self, now: Time, since: Time, packet: Packet) -> Verdict {
        self.fill(now);
        if self.waiting.is_empty() && self.take(packet.len) {
            return Verdict::Pass;
        }
        match self.terms.excess {
            Excess::Waits { bytes } if self.bytes + u64::from(packet.len) <= bytes => {
                self.bytes += u64::from(packet.len);
                self.waiting.push_back((since, packet));
                Verdict::Wait
            }
            _ => Verdict::Drop,
        }
    }

    /// The next packet that has waited long enough, and since when.
    pub fn release(&mut self, now: Time) -> Option<(Time, Packet)> {
        let (_, next) = *self.waiting.front()?;
        self.fill(now);
        if !self.take(next.len) {
            return None;
        }
        self.bytes -= u64::from(next.len);
        self.tokens = self.tokens.min(worth(self.terms.burst + self.bytes));
        self.waiting.pop_front()
    }
}

fn draw(rate: CapRate, rng: &mut Rng) -> u64 {
    match rate {
        CapRate::Fixed { bps } => bps,
        CapRate::Wandering { low_bps, high_bps, .. } => {
            low_bps + (rng.uniform() * high_bps.saturating_sub(low_bps) as f64) as u64
        }
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

    /// Bytes that pass in `seconds` when twice as much comes.
    fn passed(terms: CapTerms, seconds: u64) -> u64 {
        let mut cap = Cap::new(terms, Rng::for_element(1, "cap"));
        let mut bytes = 0;
        for ms in 0..seconds * 1000 {
            let now = Time::ZERO + Span::from_ms(ms);
            while let Some((_, packet)) = cap.release(now) {
                bytes += u64::from(packet.len);
            }
            if cap.judge(now, now, packet(250, Kind::TCP)) == Verdict::Pass {
                bytes += 250;
            }
        }
        bytes
    }

    #[test]
    fn a_policer_and_a_shaper_let_the_rate_pass_and_one_bucket_more() {
        let rate = CapRate::Fixed { bps: 1_000_000 };
        for excess in [Excess::Dropped, Excess::Waits { bytes: 5000 }] {
            let terms = CapTerms { traffic: Traffic::All, rate, burst: 3000, excess };
            let bytes = passed(terms, 10) as i64;
            assert!((bytes - 1_250_000 - 3000).abs() <= 250, "{excess:?}: {bytes}");
        }
    }

    #[test]
    fn a_shaper_keeps_its_rate_when_it_releases_more_seldom_than_its_bucket_fills() {
        let rate = CapRate::Fixed { bps: 10_000_000 };
        let terms = CapTerms { traffic: Traffic::All, rate, burst: 3000, excess: Excess::Waits { bytes: 100_000 } };
        let mut cap = Cap::new(terms, Rng::for_element(1, "cap"));
        let mut bytes = 0u64;
        for frame in 0..2000 {
            let now = Time::ZERO + Span::from_ms(5 * frame);
            while let Some((_, packet)) = cap.release(now) {
                bytes += u64::from(packet.len);
            }
            for _ in 0..10 {
                bytes += if cap.judge(now, now, packet(1000, Kind::DATA)) == Verdict::Pass { 1000 } else { 0 };
            }
        }
        let mbps = bytes as f64 * 8.0 / 10e6;
        assert!((mbps / 10.0 - 1.0).abs() < 0.005, "5 ms at 10 Mb/s are 6250 bytes, two buckets: {mbps} Mb/s");
    }

    #[test]
    fn a_wandering_rate_keeps_between_its_ends_and_has_their_mean() {
        let rate = CapRate::Wandering { low_bps: 300_000, high_bps: 1_000_000, every: Span::from_secs(1) };
        let terms = CapTerms { traffic: Traffic::All, rate, burst: 1500, excess: Excess::Dropped };
        let mbps = passed(terms, 400) as f64 * 8.0 / 400e6;
        assert!((mbps - 0.65).abs() < 0.03, "{mbps}");
    }

    #[test]
    fn a_cap_on_tcp_does_not_see_udp() {
        let rate = CapRate::Fixed { bps: 1 };
        let cap =
            Cap::new(CapTerms { traffic: Traffic::Tcp, rate, burst: 1500, excess: Excess::Dropped }, Rng::for_element(1, "cap"));
        assert!(cap.covers(&packet(40, Kind::TCP)) && !cap.covers(&packet(1500, Kind::DATA)));
    }

    #[test]
    fn a_shaper_with_a_full_room_drops() {
        let rate = CapRate::Fixed { bps: 8_000 };
        let terms = CapTerms { traffic: Traffic::All, rate, burst: 1000, excess: Excess::Waits { bytes: 1500 } };
        let mut cap = Cap::new(terms, Rng::for_element(1, "cap"));
        let said = [1000, 1000, 500, 40].map(|len| cap.judge(Time::ZERO, Time::ZERO, packet(len, Kind::DATA)));
        assert_eq!(said, [Verdict::Pass, Verdict::Wait, Verdict::Wait, Verdict::Drop]);
        assert!(cap.release(Time::ZERO + Span::from_ms(999)).is_none());
        assert!(cap.release(Time::ZERO + Span::from_secs(1)).is_some(), "a kilobyte a second");
    }
}
