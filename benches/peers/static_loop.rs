//! A lower bound for the engine's cost: the speed cases as one static loop.
//!
//!     sender i --10 Gb/s, 1 ms-- left --RATE, 18 ms, droptail-- right --10 Gb/s, 1 ms-- receiver i
//!
//! The loop relies on what a general engine must compute: the topology is fixed, nothing is lost,
//! all delays are constant, so packets arrive everywhere in the order of transmission. One queue of
//! ACKs in flight holds all future events, and the path of a packet and its ACK is a few additions.
//! TCP's work per packet remains: sequence numbers, window, slow start, RTT estimate, and the
//! buffer limit.
//!
//! Build: `rustc -C opt-level=3 --edition 2024 static_loop.rs`; run: `static_loop FLOWS RATE_BPS
//! SECONDS`

use std::collections::VecDeque;

const PS_PER_S: u64 = 1_000_000_000_000;
const MS: u64 = PS_PER_S / 1000;
const ACCESS_BPS: u64 = 10_000_000_000;
const SEGMENT: u64 = 1024;
const HEADER: u64 = 40;
const RTT_S: f64 = 0.040;

fn time_to_send(bytes: u64, bps: u64) -> u64 {
    (bytes as u128 * 8 * PS_PER_S as u128 / bps as u128) as u64
}

/// A link that sends one packet after the other.
#[derive(Clone, Default)]
struct Link {
    free: u64,
}

impl Link {
    fn send(&mut self, now: u64, time: u64) -> u64 {
        self.free = self.free.max(now) + time;
        self.free
    }
}

#[derive(Clone, Default)]
struct Flow {
    host: Link,
    client: Link,
    next: u64,
    acknowledged: u64,
    expected: u64,
    cwnd: f64,
    srtt: f64,
    rttvar: f64,
}

struct Ack {
    at: u64,
    sent: u64,
    flow: u32,
    number: u64,
}

/// Transmission times by packet and link.
struct Times {
    data_access: u64,
    ack_access: u64,
    data: u64,
    ack: u64,
}

struct Network {
    end: u64,
    take: Times,
    window: f64,
    limit: usize,
    bottleneck: Link,
    back: Link,
    /// Start of transmission of each packet that waits at the bottleneck.
    waiting: VecDeque<u64>,
    acks: VecDeque<Ack>,
    flows: Vec<Flow>,
    delivered: u64,
}

impl Network {
    fn new(flows: usize, rate: u64, seconds: f64) -> Network {
        let in_flight = (rate as f64 * RTT_S / (8 * (SEGMENT + HEADER)) as f64) as usize;
        Network {
            end: (seconds * PS_PER_S as f64) as u64,
            take: Times {
                data_access: time_to_send(SEGMENT + HEADER, ACCESS_BPS),
                ack_access: time_to_send(HEADER, ACCESS_BPS),
                data: time_to_send(SEGMENT + HEADER, rate),
                ack: time_to_send(HEADER, rate),
            },
            window: (1.3 * in_flight as f64 / flows as f64).ceil(),
            limit: 2 * in_flight + 10 * flows,
            bottleneck: Link::default(),
            back: Link::default(),
            waiting: VecDeque::new(),
            acks: VecDeque::new(),
            flows: vec![Flow { cwnd: 2.0, ..Flow::default() }; flows],
            delivered: 0,
        }
    }

    fn run(&mut self) {
        let mut started = 0;
        loop {
            let start = if started < self.flows.len() { started as u64 * MS } else { u64::MAX };
            let due = self.acks.front().map_or(u64::MAX, |ack| ack.at);
            if start.min(due) > self.end {
                return;
            }
            if start <= due {
                self.send_allowed(start, started);
                started += 1;
            } else if let Some(ack) = self.acks.pop_front() {
                self.on_ack(&ack);
                self.send_allowed(ack.at, ack.flow as usize);
            }
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let flow = &mut self.flows[ack.flow as usize];
        let acked = (ack.number - flow.acknowledged) / SEGMENT;
        flow.acknowledged = ack.number;
        let rtt = (ack.at - ack.sent) as f64;
        flow.rttvar += 0.25 * ((flow.srtt - rtt).abs() - flow.rttvar);
        flow.srtt += 0.125 * (rtt - flow.srtt);
        if flow.cwnd < self.window {
            flow.cwnd += acked as f64; // slow start does not end, as nothing is lost
        }
    }

    fn send_allowed(&mut self, now: u64, at: usize) {
        let window = self.flows[at].cwnd.min(self.window) as u64 * SEGMENT;
        while self.flows[at].next - self.flows[at].acknowledged < window {
            self.send(now, at);
        }
    }

    fn send(&mut self, now: u64, at: usize) {
        let take = &self.take;
        let flow = &mut self.flows[at];
        let number = flow.next;
        flow.next += SEGMENT;

        let arrival = flow.host.send(now, take.data_access) + MS;
        while self.waiting.front().is_some_and(|begin| *begin <= arrival) {
            self.waiting.pop_front();
        }
        assert!(self.waiting.len() < self.limit, "the speed cases lose nothing");
        let gone = self.bottleneck.send(arrival, take.data);
        self.waiting.push_back(gone - take.data);

        let received = gone + 18 * MS + take.data_access + MS;
        assert_eq!(number, flow.expected, "in order");
        flow.expected += SEGMENT;
        self.delivered += u64::from(received <= self.end);

        let at_right = flow.client.send(received, take.ack_access) + MS;
        let at_left = self.back.send(at_right, take.ack) + 18 * MS;
        let back = at_left + take.ack_access + MS;
        self.acks.push_back(Ack { at: back, sent: now, flow: at as u32, number: flow.expected });
    }
}

fn main() {
    let words: Vec<f64> = std::env::args().skip(1).map(|word| word.parse().expect("a number")).collect();
    let [flows, rate, seconds] = words[..] else { panic!("usage: static_loop FLOWS RATE_BPS SECONDS") };
    let mut network = Network::new(flows as usize, rate as u64, seconds);
    network.run();
    let srtt: f64 = network.flows.iter().map(|flow| flow.srtt).sum::<f64>() / flows / MS as f64;
    println!("{{\"data_packets\": {}, \"mean_srtt_ms\": {srtt:.3}}}", network.delivered);
}
