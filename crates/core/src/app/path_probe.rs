//! Path characterisation: probes of stepped sizes, one at a time, each answered by a reply from where it ends.
//!
//! A TTL-limited probe that dies at the k-th router is, for what it meets, a datagram over the first k hops and an ICMP message (RFC 792:
//! 20 bytes of IP, 8 of ICMP, 28 of the probe's own headers, or more of the probe, up to 576 bytes in all: RFC 1812, 4.3.2.3, as Linux
//! does) back over the same hops; a flow over part of a path is just that. Routers answer at once here: the time they take and how many answers they allow a second are not modelled.

use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Datagram, Ecn, Kind};
use crate::statistics::Histogram;
use crate::units::{Span, Time};

/// What is sent when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeConfig {
    /// IP sizes in bytes; each round sends one of each.
    pub sizes: Vec<u16>,
    pub rounds: u32,
    /// From an answer, or the end of the wait for one, to the next probe.
    pub gap: Span,
    /// A probe without an answer after this is lost.
    pub timeout: Span,
}

/// What became of the probes of one size.
#[derive(Clone, Debug, Default)]
pub struct ProbeStats {
    pub size: u16,
    pub sent: u64,
    pub lost: u64,
    pub rtt: Histogram,
}

/// Sends probes and times the answers.
#[derive(Clone, Debug)]
pub struct Prober {
    terms: ProbeConfig,
    probed: Vec<ProbeStats>,
    stop: Time,
    /// Probes sent so far: the number of the next.
    next: u64,
    /// A probe is on its way: its number and when it left.
    awaited: Option<(u64, Time)>,
    due: Time,
}

impl Prober {
    /// From `start` until all rounds are done, or `stop`.
    pub fn new(terms: ProbeConfig, start: Time, stop: Time) -> Prober {
        let probed = terms.sizes.iter().map(|&size| ProbeStats { size, ..ProbeStats::default() }).collect();
        Prober { terms, probed, stop, next: 0, awaited: None, due: start }
    }

    /// By size, in the order of the sizes.
    pub fn probed(&self) -> &[ProbeStats] {
        &self.probed
    }

    pub fn sent(&self) -> u64 {
        self.next
    }

    fn index(&self, number: u64) -> usize {
        (number % self.terms.sizes.len().max(1) as u64) as usize
    }

    fn wait(&mut self, from: Time, span: Span) {
        let last = self.terms.sizes.len() as u64 * u64::from(self.terms.rounds);
        let over = self.awaited.is_none() && (self.next >= last || from + span >= self.stop);
        self.due = if over { Time::NEVER } else { from + span };
    }
}

impl Endpoint for Prober {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let (Body::Datagram(answer), Some((number, sent))) = (body, self.awaited) else { return };
        if answer.number != number {
            return;
        }
        let index = self.index(number);
        self.probed[index].rtt.add(now - sent);
        self.awaited = None;
        self.wait(now, self.terms.gap);
    }

    fn on_timer(&mut self, now: Time) {
        if self.due > now {
            return;
        }
        if let Some((number, _)) = self.awaited.take() {
            let index = self.index(number);
            self.probed[index].lost += 1;
            self.wait(now, self.terms.gap);
        }
    }

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        if self.due > now || self.awaited.is_some() || self.probed.is_empty() {
            return None;
        }
        let number = self.next;
        let index = self.index(number);
        self.next += 1;
        self.probed[index].sent += 1;
        self.awaited = Some((number, now));
        self.wait(now, self.terms.timeout);
        let body = arena.insert(Body::Datagram(Datagram { number, sent: now }));
        Some(Outgoing { body, len: self.probed[index].size, kind: Kind::DATA, ecn: Ecn::NotEct, no_more: true })
    }

    fn due(&self) -> Time {
        self.due
    }
}

/// How long answers are, in bytes of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyConfig {
    pub least: u16,
    /// An answer quotes as much of the probe as this leaves room for (RFC 1812, 4.3.2.3: 576 bytes); not above `least`, it is always `least`.
    pub most: u16,
}

impl ReplyConfig {
    /// The answer to a probe of `probe` bytes.
    fn to(self, probe: u16) -> u16 {
        probe.saturating_add(ICMP_HEADERS).min(self.most).max(self.least)
    }
}

/// IPv4 (20) and ICMP (8), before what is quoted.
const ICMP_HEADERS: u16 = 28;

/// Answers each probe at once.
#[derive(Clone, Debug)]
pub struct ProbeReflector {
    /// By the probe's number, as the prober's.
    sizes: Vec<u16>,
    reply: ReplyConfig,
    owed: Option<Datagram>,
}

impl ProbeReflector {
    /// `sizes` are those of the probes that come.
    pub fn new(sizes: Vec<u16>, reply: ReplyConfig) -> ProbeReflector {
        ProbeReflector { sizes, reply, owed: None }
    }
}

impl Endpoint for ProbeReflector {
    fn receive(&mut self, _now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Datagram(probe) = body {
            self.owed = Some(*probe);
        }
    }

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, _now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let owed = self.owed.take()?;
        let probe = self.sizes.get((owed.number % self.sizes.len().max(1) as u64) as usize).copied().unwrap_or(0);
        let body = arena.insert(Body::Datagram(owed));
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
    fn an_answer_quotes_as_much_of_the_probe_as_its_largest_size_leaves_room_for() {
        let sizes = vec![60, 500, 1500];
        for (most, lengths) in [(56, [56, 56, 56]), (576, [88, 528, 576])] {
            let mut responder = ProbeReflector::new(sizes.clone(), ReplyConfig { least: 56, most });
            let mut arena = Arena::default();
            for (number, length) in (3u64..).zip(lengths) {
                responder.receive(Time::ZERO, &Body::Datagram(Datagram { number, sent: Time::ZERO }), Ecn::NotEct);
                assert_eq!(responder.poll(Time::ZERO, &mut arena).map(|answer| answer.len), Some(length));
            }
        }
    }
}
