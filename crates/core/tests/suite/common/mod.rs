//! Two independent drivers for one element, and traffic for it.
#![allow(dead_code, reason = "each test program uses a part of this")]

use ackclock_core::element::{Element, Handoff, Output, PacketCounts, Port, QueueId};
use ackclock_core::meter::{LinkMeter, QueueSample};
use ackclock_core::network::AnyElement;
use ackclock_core::packet::{Arena, Body, Datagram, Ecn, Kind, Packet};
use ackclock_core::rng::Rng;
use ackclock_core::units::{Span, Time};
use proptest::prelude::*;

pub const TCP_DATA: Kind = Kind::TCP.with(Kind::DATA);
pub const TCP_ACK: Kind = Kind::TCP.with(Kind::PURE_ACK);
pub const TCP_SYN: Kind = Kind::TCP.with(Kind::CONTROL);

/// An arrival at the element. A duplicate keeps the `number`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    pub at: Time,
    pub number: u32,
    pub len: u16,
    pub kind: Kind,
}

/// Data packets of these lengths at these times.
pub fn arrivals(at_and_len: impl IntoIterator<Item = (Time, u16)>) -> Vec<Arrival> {
    let numbered = at_and_len.into_iter().zip(0..);
    numbered.map(|((at, len), number)| Arrival { at, number, len, kind: TCP_DATA }).collect()
}

/// Traffic with ties: gaps are zero, a picosecond or more, whole microseconds (a byte's time at 8
/// Mb/s), whole milliseconds, or any.
pub fn traffic(max: usize) -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![
        3 => Just(0),
        1 => Just(1),
        3 => (1u64..3000).prop_map(|us| us * 1_000_000),
        2 => (1u64..20).prop_map(|ms| ms * 1_000_000_000),
        1 => 1u64..20_000_000_000,
    ];
    let len = prop_oneof![Just(40u16), Just(52), Just(576), Just(1500), 1u16..1500];
    let kind = prop_oneof![3 => Just(TCP_DATA), 2 => Just(TCP_ACK), 1 => Just(TCP_SYN), 1 => Just(Kind::default())];
    prop::collection::vec((gap, len, kind), 1..max).prop_map(|steps| {
        let mut at = Time::ZERO;
        let arrive = |((gap, len, kind), number)| {
            at += Span(gap);
            Arrival { at, number, len, kind }
        };
        steps.into_iter().zip(0..).map(arrive).collect()
    })
}

/// How an element is driven. All drivers must give the same result.
#[derive(Clone, Copy, Debug)]
pub enum Driver {
    /// One event at a time; at a tie the element's due time first.
    Steps,
    /// Also wakes the element at random times in between, and at a tie pushes all arrivals first.
    Restless { seed: u64 },
}

/// Outcome of the traffic.
#[derive(Clone, Debug, Default)]
pub struct Journey {
    /// In order of departure.
    pub left: Vec<(Time, Packet)>,
    pub counts: PacketCounts,
    pub held: u64,
    /// One entry per reading of the meter, which also restarts it.
    pub readings: Vec<(Option<LinkMeter>, Option<QueueSample>)>,
}

impl Journey {
    /// Departure time and number of each packet.
    pub fn times(&self) -> Vec<(Time, u32)> {
        self.left.iter().map(|&(at, packet)| (at, packet.flow)).collect()
    }
    pub fn numbers(&self) -> Vec<u32> {
        self.left.iter().map(|(_, packet)| packet.flow).collect()
    }
    /// The packets that left, as traffic for the next element of the path.
    pub fn onward(&self) -> Vec<Arrival> {
        self.left.iter().map(|&(at, p)| Arrival { at, number: p.flow, len: p.len, kind: p.kind }).collect()
    }
}

pub fn travel(element: impl Into<AnyElement>, traffic: &[Arrival], driver: Driver) -> Journey {
    travel_metered(element, traffic, driver, &[])
}

/// As [`travel`], and reads and restarts the meter at `readings`, before the events of those
/// instants.
pub fn travel_metered(element: impl Into<AnyElement>, traffic: &[Arrival], driver: Driver, readings: &[Time]) -> Journey {
    travel_queue(element, traffic, driver, readings, QueueId::default())
}

/// As [`travel_metered`], for one queue of an element with several.
pub fn travel_queue(
    element: impl Into<AnyElement>,
    traffic: &[Arrival],
    driver: Driver,
    readings: &[Time],
    queue: QueueId,
) -> Journey {
    let restless = match driver {
        Driver::Steps => None,
        Driver::Restless { seed } => Some(Rng::for_element(seed, "driver")),
    };
    let bench = Bench {
        element: element.into(),
        queue,
        now: Time::ZERO,
        arena: Arena::default(),
        handoffs: Vec::new(),
        next_id: 1 << 32,
        log: Journey::default(),
    };
    bench.run(traffic, readings, restless)
}

/// Stations of a medium in these tests; packet `n` enters at port `n % ports`.
pub const STATIONS: u16 = 2;

/// Number of input ports of an element.
pub fn ports(element: &AnyElement) -> u16 {
    let media =
        matches!(element, AnyElement::Grants(_) | AnyElement::HalfDuplex(_) | AnyElement::PacketRadio(_) | AnyElement::Wlan(_));
    if media { 2 * STATIONS } else { 1 }
}

struct Bench {
    element: AnyElement,
    queue: QueueId,
    now: Time,
    arena: Arena,
    handoffs: Vec<Handoff>,
    next_id: u64,
    log: Journey,
}

impl Bench {
    fn run(mut self, traffic: &[Arrival], readings: &[Time], mut restless: Option<Rng>) -> Journey {
        let (mut coming, mut readings) = (traffic.iter().peekable(), readings.iter().peekable());
        loop {
            let (due, arrival) = (self.element.due(), coming.peek().map_or(Time::NEVER, |a| a.at));
            let next = due.min(arrival);
            if let Some(&&at) = readings.peek().filter(|&&&at| at <= next) {
                readings.next();
                self.read(at);
                continue;
            }
            if next == Time::NEVER {
                break;
            }
            if let Some(rng) = &mut restless {
                self.fidget(next, rng);
            }
            self.now = next;
            let arrival_first = restless.is_some();
            if arrival < due || (arrival == due && arrival_first) {
                if let Some(&arrival) = coming.next() {
                    self.push(arrival);
                }
            } else {
                self.wake();
                assert!(self.element.due() > next, "woken at {next:?} and due again at {:?}", self.element.due());
            }
        }
        self.log.held = self.element.occupancy();
        assert_eq!(self.arena.live() as u64, self.log.held, "every body that is not held is free");
        self.log
    }

    /// Wakes the element before its due time, which must change nothing.
    fn fidget(&mut self, next: Time, rng: &mut Rng) {
        let from = self.now;
        let mut at: Vec<Time> = (0..3).map(|_| from + rng.uniform_span(Span::ZERO, next - from)).filter(|&t| t < next).collect();
        at.sort();
        for t in at {
            let before = (self.element.due(), self.element.occupancy(), self.log.left.len());
            self.now = t;
            self.wake();
            assert_eq!(before, (self.element.due(), self.element.occupancy(), self.log.left.len()), "woken too early, at {t:?}");
        }
    }

    fn push(&mut self, arrival: Arrival) {
        let Arrival { number, len, kind, .. } = arrival;
        let body = self.arena.insert(Body::Datagram(Datagram { number: u64::from(number), ..Datagram::default() }));
        let packet = Packet { id: u64::from(number), body, flow: number, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind };
        self.log.counts.pushed += 1;
        let port = Port((number % u32::from(ports(&self.element))) as u16);
        self.act(|element, now, out| element.push(now, port, packet, out));
    }

    fn wake(&mut self) {
        self.act(|element, now, out| element.wake(now, out));
    }

    fn act(&mut self, act: impl FnOnce(&mut AnyElement, Time, &mut Output<'_>)) {
        let mut out = Output::new(&mut self.arena, &mut self.log.counts, &mut self.handoffs, &mut self.next_id);
        act(&mut self.element, self.now, &mut out);
        for Handoff { packet, .. } in self.handoffs.drain(..) {
            assert_eq!(packet.wire_len, packet.len, "what framing took off is back on");
            self.arena.release(packet.body);
            self.log.left.push((self.now, packet));
        }
        let (t, held) = (self.log.counts, self.element.occupancy());
        assert_eq!(t.pushed + t.copied + t.created, t.forwarded + t.drops() + held, "conservation at {:?}", self.now);
    }

    fn read(&mut self, at: Time) {
        let sample = self.element.sample(at, self.queue);
        let meter = self.element.meter(at, self.queue);
        self.log.readings.push((meter.as_deref().cloned(), sample));
        if let Some(meter) = meter {
            meter.restart(at);
        }
    }
}
