//! Path characterisation: probes of stepped sizes, one outstanding at a time, each answered by a
//! reply from the end of its path.
//!
//! A TTL-limited probe that expires at the k-th router is modelled as a datagram over the first k
//! hops and an ICMP message back over the same hops (RFC 792: 20 bytes of IP, 8 of ICMP, 28 of the
//! probe's headers; or more of the probe, up to 576 bytes in total: RFC 1812, 4.3.2.3, as in
//! Linux). A flow over a part of the path carries both. Routers reply at once: their processing
//! time and ICMP rate limits are not modelled.

use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Datagram, Ecn, Kind};
use crate::statistics::Histogram;
use crate::units::{Span, Time};

/// Probe sizes and timing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeConfig {
    /// IP sizes in bytes; each round sends one probe of each size.
    pub sizes: Vec<u16>,
    pub rounds: u32,
    /// From a reply, or from its timeout, to the next probe.
    pub gap: Span,
    /// A probe without a reply after this time counts as lost.
    pub timeout: Span,
}

/// Results for one probe size.
#[derive(Clone, Debug, Default)]
pub struct ProbeStats {
    pub size: u16,
    pub sent: u64,
    pub lost: u64,
    pub rtt: Histogram,
}

/// Sends probes and measures the RTT of each.
#[derive(Clone, Debug)]
pub struct Prober {
    config: ProbeConfig,
    probed: Vec<ProbeStats>,
    stop: Time,
    /// Sequence number of the next probe, which is the number of probes sent.
    next: u64,
    /// Sequence number and send time of the outstanding probe.
    outstanding: Option<(u64, Time)>,
    due: Time,
}

impl Prober {
    /// Sends from `start` until all rounds are complete, or until `stop`.
    pub fn new(config: ProbeConfig, start: Time, stop: Time) -> Prober {
        let probed = config.sizes.iter().map(|&size| ProbeStats { size, ..ProbeStats::default() }).collect();
        Prober { config, probed, stop, next: 0, outstanding: None, due: start }
    }

    /// One entry per size, in the order of the configured sizes.
    pub fn probed(&self) -> &[ProbeStats] {
        &self.probed
    }

    pub fn sent(&self) -> u64 {
        self.next
    }

    fn index(&self, number: u64) -> usize {
        (number % self.config.sizes.len().max(1) as u64) as usize
    }

    fn wait(&mut self, from: Time, span: Span) {
        let last = self.config.sizes.len() as u64 * u64::from(self.config.rounds);
        let over = self.outstanding.is_none() && (self.next >= last || from + span >= self.stop);
        self.due = if over { Time::NEVER } else { from + span };
    }
}

impl Endpoint for Prober {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let (Body::Datagram(answer), Some((number, sent))) = (body, self.outstanding) else { return };
        if answer.number != number {
            return;
        }
        let index = self.index(number);
        self.probed[index].rtt.add(now - sent);
        self.outstanding = None;
        self.wait(now, self.config.gap);
    }

    fn on_timer(&mut self, now: Time) {
        if self.due > now {
            return;
        }
        if let Some((number, _)) = self.outstanding.take() {
            let index = self.index(number);
            self.probed[index].lost += 1;
            self.wait(now, self.config.gap);
        }
    }

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        if self.due > now || self.outstanding.is_some() || self.probed.is_empty() {
            return None;
        }
        let number = self.next;
        let index = self.index(number);
        self.next += 1;
        self.probed[index].sent += 1;
        self.outstanding = Some((number, now));
        self.wait(now, self.config.timeout);
        let body = arena.insert(Body::Datagram(Datagram { number, sent: now }));
        Some(Outgoing { body, len: self.probed[index].size, kind: Kind::DATA, ecn: Ecn::NotEct, no_more: true })
    }

    fn due(&self) -> Time {
        self.due
    }
}

/// IP lengths of replies, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyConfig {
    pub min_bytes: u16,
    /// Maximum length of a reply that quotes the probe (RFC 1812, 4.3.2.3: 576 bytes). If it is not
    /// above `min_bytes`, every reply has `min_bytes`.
    pub max_bytes: u16,
}

impl ReplyConfig {
    /// Length of the reply to a probe of `probe` bytes.
    fn to(self, probe: u16) -> u16 {
        probe.saturating_add(ICMP_HEADERS).min(self.max_bytes).max(self.min_bytes)
    }
}

/// IPv4 (20) and ICMP (8) headers before the quoted part.
const ICMP_HEADERS: u16 = 28;

/// Replies to each probe at once.
#[derive(Clone, Debug)]
pub struct ProbeReflector {
    /// Probe sizes, indexed by sequence number as in the prober.
    sizes: Vec<u16>,
    reply: ReplyConfig,
    pending: Option<Datagram>,
}

impl ProbeReflector {
    /// `sizes` are the sizes of the probes that arrive.
    pub fn new(sizes: Vec<u16>, reply: ReplyConfig) -> ProbeReflector {
        ProbeReflector { sizes, reply, pending: None }
    }
}

impl Endpoint for ProbeReflector {
    fn receive(&mut self, _now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Datagram(probe) = body {
            self.pending = Some(*probe);
        }
    }

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, _now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let pending = self.pending.take()?;
        let probe = self.sizes.get((pending.number % self.sizes.len().max(1) as u64) as usize).copied().unwrap_or(0);
        let body = arena.insert(Body::Datagram(pending));
        Some(Outgoing { body, len: self.reply.to(probe), kind: Kind::DATA, ecn: Ecn::NotEct, no_more: true })
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_quotes_the_probe_up_to_the_maximum_reply_size() {
        let sizes = vec![60, 500, 1500];
        for (max_bytes, lengths) in [(56, [56, 56, 56]), (576, [88, 528, 576])] {
            let mut responder = ProbeReflector::new(sizes.clone(), ReplyConfig { min_bytes: 56, max_bytes });
            let mut arena = Arena::default();
            for (number, length) in (3u64..).zip(lengths) {
                responder.receive(Time::ZERO, &Body::Datagram(Datagram { number, sent: Time::ZERO }), Ecn::NotEct);
                assert_eq!(responder.poll(Time::ZERO, &mut arena).map(|answer| answer.len), Some(length));
            }
        }
    }
}
