//! Pings of a rate controller: one every interval from each pinger in turn, and their reflector.

use crate::config_check::{Checked, check_span, ensure};
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Datagram, Ecn, Kind};
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PingConfig {
    /// Number of pingers, each with a reflector of its own.
    pub pingers: u32,
    /// Interval of the pings of one pinger; those of all pingers are spread evenly over it.
    #[serde(rename = "interval_ps")]
    pub interval: Span,
    pub method: PingMethod,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PingMethod {
    /// ICMP echo: round-trip times, of which half is each one-way delay.
    Fping,
    /// ICMP timestamps: one-way delays.
    Tsping,
}

/// More than any use needs; each one keeps state.
const MAX_PINGERS: u32 = 1000;
/// Without a response after this time a ping is lost.
const LOST_AFTER: Span = Span::from_secs(10);

impl PingConfig {
    pub(super) fn check(&self) -> Checked {
        ensure((1..=MAX_PINGERS).contains(&self.pingers), || {
            format!("{} pingers: 1 to {MAX_PINGERS} are possible", self.pingers)
        })?;
        check_span("pings.interval_ps", self.interval)?;
        ensure(self.interval.0 >= u64::from(self.pingers), || "pings.interval_ps: a ping takes at least 1 ps".into())
    }
}

impl PingMethod {
    /// IP bytes of a ping and of its response: 56 bytes of payload (fping(8)), or three timestamps (RFC
    /// 792) after the headers of IPv4 and ICMP.
    fn packet(self) -> u16 {
        match self {
            PingMethod::Fping => 20 + 8 + 56,
            PingMethod::Tsping => 20 + 8 + 12,
        }
    }
}

/// A response to a ping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingResponse {
    pub at: Time,
    pub reflector: u32,
    pub rtt: Span,
    /// One-way delays downstream and upstream.
    pub delay: [Span; 2],
}

/// The router's end: sends pings, receives responses, and says when the achieved rates are to be read.
#[derive(Clone, Debug)]
pub struct Pinger {
    config: PingConfig,
    /// Pings sent, which is the number of the next one.
    sent: u64,
    /// Pings without a response, oldest first.
    outstanding: VecDeque<u64>,
    responses: Vec<PingResponse>,
    monitor: Span,
    next_reading: Time,
    reads: bool,
}

impl Pinger {
    /// `monitor` is the interval of the readings.
    pub fn new(config: PingConfig, monitor: Span) -> Pinger {
        let next_reading = Time::ZERO + monitor;
        Pinger { config, sent: 0, outstanding: VecDeque::new(), responses: Vec::new(), monitor, next_reading, reads: false }
    }

    fn sent_at(&self, number: u64) -> Time {
        let at = u128::from(number) * u128::from(self.config.interval.0) / u128::from(self.config.pingers);
        Time(u64::try_from(at).unwrap_or(u64::MAX))
    }

    /// Takes whether a reading is due, and the responses since the last call.
    pub fn take(&mut self) -> (bool, Vec<PingResponse>) {
        (std::mem::take(&mut self.reads), std::mem::take(&mut self.responses))
    }
}

impl Endpoint for Pinger {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        let Body::Datagram(Datagram { number, sent: reflected }) = *body else { return };
        // A duplicate is no second response.
        let Ok(place) = self.outstanding.binary_search(&number) else { return };
        self.outstanding.remove(place);
        let sent = self.sent_at(number);
        let rtt = now - sent;
        let delay = match self.config.method {
            PingMethod::Fping => [Span(rtt.0 / 2); 2],
            PingMethod::Tsping => [now - reflected, reflected - sent],
        };
        let reflector = (number % u64::from(self.config.pingers)) as u32;
        self.responses.push(PingResponse { at: now, reflector, rtt, delay });
    }

    fn on_timer(&mut self, now: Time) {
        if self.next_reading <= now {
            self.reads = true;
            self.next_reading = now + self.monitor;
        }
    }

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let number = self.sent;
        if self.sent_at(number) > now {
            return None;
        }
        while self.outstanding.front().is_some_and(|&oldest| self.sent_at(oldest) + LOST_AFTER <= now) {
            self.outstanding.pop_front();
        }
        self.sent += 1;
        self.outstanding.push_back(number);
        let body = arena.insert(Body::Datagram(Datagram { number, sent: now }));
        Some(Outgoing { body, len: self.config.method.packet(), kind: Kind::DATA, ecn: Ecn::NotEct, no_more: false })
    }

    fn due(&self) -> Time {
        self.sent_at(self.sent).min(self.next_reading)
    }
}

/// The other end: answers each ping at once, with its time.
#[derive(Clone, Debug)]
pub struct PingReflector {
    method: PingMethod,
    pending: VecDeque<Datagram>,
}

impl PingReflector {
    pub fn new(method: PingMethod) -> PingReflector {
        PingReflector { method, pending: VecDeque::new() }
    }
}

impl Endpoint for PingReflector {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Datagram(ping) = body {
            self.pending.push_back(Datagram { sent: now, ..*ping });
        }
    }

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, _now: Time, arena: &mut Arena) -> Option<Outgoing> {
        let body = arena.insert(Body::Datagram(self.pending.pop_front()?));
        Some(Outgoing { body, len: self.method.packet(), kind: Kind::DATA, ecn: Ecn::NotEct, no_more: self.pending.is_empty() })
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(method: PingMethod) -> PingConfig {
        PingConfig { pingers: 6, interval: Span::from_ms(300), method }
    }

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Sends everything due at `now` and returns the numbers.
    fn send(pinger: &mut Pinger, now: Time, arena: &mut Arena) -> Vec<u64> {
        pinger.on_timer(now);
        let bodies = std::iter::from_fn(|| pinger.poll(now, arena).map(|sent| sent.body)).collect::<Vec<_>>();
        let number = |&body| if let Body::Datagram(ping) = arena.get(body) { ping.number } else { unreachable!("a ping") };
        bodies.iter().map(number).collect()
    }

    #[test]
    fn six_pingers_send_one_ping_each_50_ms_by_round_robin() {
        let (mut pinger, mut arena) = (Pinger::new(config(PingMethod::Fping), Span::from_ms(200)), Arena::default());
        let mut sent = Vec::new();
        while pinger.due() < at_ms(300) {
            let now = pinger.due();
            sent.extend(send(&mut pinger, now, &mut arena).into_iter().map(|number| (now, number)));
        }
        assert_eq!(sent, (0..6).map(|number| (at_ms(50 * number), number)).collect::<Vec<_>>());
        assert_eq!(pinger.take(), (true, Vec::new()), "the achieved rate is read after 200 ms");
        assert!(!pinger.take().0);
    }

    #[test]
    fn delay_is_half_the_rtt_of_fping_and_one_way_of_tsping() {
        for (method, delay) in [(PingMethod::Fping, [25, 25]), (PingMethod::Tsping, [40, 10])] {
            let (mut pinger, mut arena) = (Pinger::new(config(method), Span::from_ms(200)), Arena::default());
            send(&mut pinger, Time::ZERO, &mut arena);
            let mut reflector = PingReflector::new(method);
            reflector.receive(at_ms(10), &Body::Datagram(Datagram { number: 0, sent: Time::ZERO }), Ecn::NotEct);
            let response = reflector.poll(at_ms(10), &mut arena).expect("a response");
            let body = arena.get(response.body).clone();
            pinger.receive(at_ms(50), &body, Ecn::NotEct);
            pinger.receive(at_ms(51), &body, Ecn::NotEct);
            let expected = PingResponse { at: at_ms(50), reflector: 0, rtt: Span::from_ms(50), delay: delay.map(Span::from_ms) };
            assert_eq!(pinger.take().1, [expected], "a duplicate is ignored");
        }
    }

    #[test]
    fn ping_is_lost_when_it_has_no_response_for_10_s() {
        let (mut pinger, mut arena) = (Pinger::new(config(PingMethod::Fping), Span::from_ms(200)), Arena::default());
        for ms in (0..=10_000).step_by(50) {
            send(&mut pinger, at_ms(ms), &mut arena);
        }
        pinger.receive(at_ms(10_001), &Body::Datagram(Datagram { number: 0, sent: Time::ZERO }), Ecn::NotEct);
        assert_eq!(pinger.take().1, []);
        pinger.receive(at_ms(10_001), &Body::Datagram(Datagram { number: 1, sent: Time::ZERO }), Ecn::NotEct);
        assert_eq!(pinger.take().1.len(), 1);
    }
}
