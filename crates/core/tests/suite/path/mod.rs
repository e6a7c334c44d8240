//! Two endpoints and a path between them that loses, delays, reorders and duplicates; independent
//! of the event loop.

use ackclock_core::endpoint::Endpoint;
use ackclock_core::packet::{Arena, Body, Ecn, Segment};
use ackclock_core::rng::Rng;
use ackclock_core::tcp::{SendLimit, TcpEndpoint};
use ackclock_core::units::{Span, Time};
use std::collections::BTreeMap;

/// An endpoint and the segments it has sent.
pub struct TestEndpoint {
    pub endpoint: TcpEndpoint,
    arena: Arena,
    now: Time,
    pub sent_segments: Vec<(Time, Segment)>,
}

impl TestEndpoint {
    pub fn new(endpoint: TcpEndpoint) -> TestEndpoint {
        TestEndpoint { endpoint, arena: Arena::default(), now: Time::ZERO, sent_segments: Vec::new() }
    }

    fn drain(&mut self) {
        for count in 0.. {
            assert!(count < 10_000, "endpoint sends without end at {:?}", self.now);
            let Some(out) = self.endpoint.poll(self.now, &mut self.arena) else { break };
            if let Body::Segment(segment) = self.arena.get(out.body) {
                self.sent_segments.push((self.now, *segment));
            }
            self.arena.release(out.body);
        }
        let sample = self.endpoint.sample();
        assert!(sample.cwnd_bytes >= 1.0, "a window of no segment: {sample:?}");
    }

    pub fn receive(&mut self, segment: Segment) {
        self.endpoint.receive(self.now, &Body::Segment(segment), Ecn::NotEct);
        self.drain();
    }

    /// Runs its timers when they are due, and once when they are not.
    pub fn run_to(&mut self, to: Time) {
        while self.endpoint.due() <= to {
            self.now = self.now.max(self.endpoint.due());
            self.endpoint.on_timer(self.now);
            self.drain();
            assert!(self.endpoint.due() > self.now, "due again at {:?}", self.now);
        }
        self.now = self.now.max(to);
        let before = self.sent_segments.len();
        self.endpoint.on_timer(self.now);
        self.drain();
        assert_eq!(self.sent_segments.len(), before, "a timer that is not due sends nothing");
    }
}

#[derive(Clone, Copy, Debug)]
pub struct PathConditions {
    pub seed: u64,
    pub loss: f64,
    pub duplicates: f64,
    pub delay: Span,
    pub jitter: Span,
}

pub struct Path {
    ends: [TestEndpoint; 2],
    conditions: PathConditions,
    rng: Rng,
    /// Ordered by arrival, then by departure.
    in_flight: BTreeMap<(Time, u64), (usize, Segment)>,
    sent: u64,
    bytes: u64,
    /// Bytes of the stream that have arrived at the server.
    arrived: Vec<bool>,
    pub fingerprint: u64,
}

impl Path {
    pub fn new(ends: [TcpEndpoint; 2], conditions: PathConditions, bytes: u64) -> Path {
        let rng = Rng::for_element(conditions.seed, "path");
        let arrived = vec![false; bytes as usize];
        Path {
            ends: ends.map(TestEndpoint::new),
            conditions,
            rng,
            in_flight: BTreeMap::new(),
            sent: 0,
            bytes,
            arrived,
            fingerprint: 0,
        }
    }

    fn depart(&mut self, from: usize) {
        for (at, segment) in std::mem::take(&mut self.ends[from].sent_segments) {
            self.note(at, &segment);
            let copies = 1 + u32::from(self.rng.chance(self.conditions.duplicates));
            for _ in 0..copies {
                self.sent += 1;
                if !self.rng.chance(self.conditions.loss) {
                    let extra = Span::from_secs_f64(self.rng.exponential(1.0).min(3.0) * self.conditions.jitter.as_secs());
                    self.in_flight.insert((at + self.conditions.delay + extra, self.sent), (1 - from, segment));
                }
            }
        }
    }

    fn note(&mut self, at: Time, segment: &Segment) {
        let end = segment.seq + u64::from(segment.payload);
        assert!(segment.payload == 0 || (segment.seq >= 1 && end <= self.bytes + 1), "bytes that were not written: {segment:?}");
        for word in [at.0, segment.seq, segment.ack, end, u64::from(segment.window), u64::from(segment.flags.0)] {
            self.fingerprint = (self.fingerprint ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(17);
        }
    }

    fn done(&self) -> bool {
        self.ends.iter().all(|end| end.endpoint.finished()) && self.in_flight.is_empty()
    }

    pub fn run(&mut self) {
        for _ in 0..2_000_000 {
            if self.done() {
                return;
            }
            let arrival = self.in_flight.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let due = self.ends.iter().map(|end| end.endpoint.due()).min().unwrap_or(Time::NEVER);
            let next = arrival.min(due);
            assert!(next < Time::NEVER, "it hangs at {:?}", self.ends[0].now);
            for side in 0..2 {
                self.ends[side].run_to(next);
                self.depart(side);
            }
            if arrival == next
                && let Some((_, (to, segment))) = self.in_flight.pop_first()
            {
                self.deliver(to, segment);
            }
        }
        panic!("it does not end");
    }

    fn deliver(&mut self, to: usize, segment: Segment) {
        if to == 1 {
            for at in segment.seq..segment.seq + u64::from(segment.payload) {
                self.arrived[at as usize - 1] = true;
            }
        }
        self.ends[to].receive(segment);
        self.depart(to);
        let in_order = self.arrived.iter().position(|&there| !there).unwrap_or(self.arrived.len()) as u64;
        let delivered = self.ends[1].endpoint.receiver_stats().in_order_bytes;
        assert!(delivered <= in_order, "{delivered} bytes delivered of which {in_order} have arrived");
    }

    /// Checks the counters at the end; `prompt` receivers acknowledge before any timer expires.
    pub fn check(&self, prompt: bool) {
        let [client, server] = &self.ends;
        let now = client.now;
        let (sent, received) = (client.endpoint.sender_stats(now), server.endpoint.receiver_stats());
        assert_eq!((sent.acked_bytes, received.in_order_bytes), (self.bytes, self.bytes));
        assert!(received.finished.is_some() && sent.retransmitted_segments < sent.segments_sent);
        // A late original may make a retransmission that waits for the pacer unnecessary.
        let paced = sent.limited[SendLimit::Pacing as usize] > Span::ZERO;
        assert!(paced || sent.timeouts + sent.fast_retransmits <= sent.retransmitted_segments, "{sent:?}");
        assert!(sent.window_cuts <= sent.timeouts + sent.fast_retransmits, "{sent:?}");
        let (limited, life): (u64, u64) = (sent.limited.iter().map(|s| s.0).sum(), now.0);
        assert!(limited <= life && sent.idle.0 <= life, "shares of {life} ps: {sent:?}");
        if prompt && self.conditions.loss == 0.0 && self.conditions.jitter == Span::ZERO && self.conditions.duplicates == 0.0 {
            assert_eq!(
                (sent.retransmitted_segments, received.duplicates),
                (0, 0),
                "nothing was lost, so nothing is retransmitted"
            );
        }
    }
}
