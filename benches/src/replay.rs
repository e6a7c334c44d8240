//! A queue before a link of a fixed rate, with packet arrivals from a file: the counterpart of
//! `studies/oracles/ns3_queue.cc`.

use ackclock_core::app::ExternalHost;
use ackclock_core::endpoint::Outgoing;
use ackclock_core::link::{Framing, RateLink};
use ackclock_core::network::{EndpointId, Route};
use ackclock_core::packet::{Body, Datagram, Ecn, Kind, Packet};
use ackclock_core::probe::Probe;
use ackclock_core::queue::{Order, QueueConfig};
use ackclock_core::rng::Rng;
use ackclock_core::{AnyEndpoint, DropReason, Event, Network, NodeId, Port, Rate, Time};
use std::fmt::Write as _;
use std::path::Path;

const PS_PER_NS: u64 = 1000;

/// A line of the file: time in ns, flow, IP bytes, ECN field.
struct Arrival {
    at: Time,
    flow: usize,
    len: u16,
    ecn: Ecn,
}

impl Arrival {
    fn parse(line: &str) -> Option<Arrival> {
        let mut words = line.split_ascii_whitespace();
        let mut next = || words.next()?.parse::<u64>().ok();
        let (ns, flow, len, ecn) = (next()?, next()?, next()?, next()?);
        let ecn = *[Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].get(ecn as usize)?;
        Some(Arrival { at: Time(ns.checked_mul(PS_PER_NS)?), flow: flow as usize, len: u16::try_from(len).ok()?, ecn })
    }
}

/// A line per event: time in ns, kind, the packet's line in the file from 0.
#[derive(Default)]
struct EventLog {
    text: String,
    /// Id of the first packet. Ids are consecutive, as nothing else makes packets.
    first: Option<u64>,
}

impl EventLog {
    fn note(&mut self, now: Time, kind: &str, packet: &Packet) {
        let line = packet.id - self.first.unwrap_or_default();
        let _ = writeln!(self.text, "{} {kind} {line}", now.0 / PS_PER_NS);
    }
}

impl Probe for EventLog {
    fn sent(&mut self, _now: Time, _by: EndpointId, packet: &Packet, _body: &Body) {
        self.first.get_or_insert(packet.id);
    }

    fn on_event(&mut self, now: Time, _at: NodeId, event: &Event) {
        match event {
            Event::Dropped(packet, DropReason::QueueFull) => self.note(now, "full", packet),
            Event::Dropped(packet, _) => self.note(now, "early", packet),
            Event::Marked(packet) => self.note(now, "marked", packet),
            Event::Copied(_) | Event::Created(_) => {}
        }
    }

    fn received(&mut self, now: Time, _by: EndpointId, packet: &Packet, _body: &Body) {
        self.note(now, "departed", packet);
    }
}

/// The events of the packets of `arrivals` at a queue (JSON, as in a plan) before a link of `rate`.
pub fn replay(queue: &str, rate: Rate, seed: u64, arrivals: &Path) -> Result<String, String> {
    let config: QueueConfig = serde_json::from_str(queue).map_err(|e| e.to_string())?;
    let text = std::fs::read_to_string(arrivals).map_err(|e| format!("{}: {e}", arrivals.display()))?;
    let bad = |line: &str| format!("found {line:?}; allowed: time in ns, flow, bytes, ECN field from 0 to 3");
    let arrivals: Vec<Arrival> =
        text.lines().map(|line| Arrival::parse(line).ok_or_else(|| bad(line))).collect::<Result<_, _>>()?;

    let mut builder = Network::builder();
    let queue = config.build(Order::Arrival, Some(rate), Rng::for_element(seed, "queue"));
    let link = builder.element(RateLink::new(rate, Framing::None, queue));
    let host = || AnyEndpoint::ExternalHost(ExternalHost);
    let receiver = builder.endpoint(host(), 0, Route::Nowhere);
    builder.connect(link, Port(0), Route::Endpoint(receiver));
    let flows = arrivals.iter().map(|arrival| arrival.flow + 1).max().unwrap_or(0);
    let senders: Vec<EndpointId> =
        (0..flows).map(|flow| builder.endpoint(host(), flow as u32, Route::Node(link, Port(0)))).collect();
    let mut network = builder.build();

    let mut log = EventLog::default();
    for (number, arrival) in (0..).zip(&arrivals) {
        network.run_until(arrival.at, &mut log);
        let body = network.arena.insert(Body::Datagram(Datagram { number, sent: arrival.at }));
        let sent = Outgoing { body, len: arrival.len, kind: Kind::default(), ecn: arrival.ecn, no_more: true };
        network.send_from(senders[arrival.flow], sent, &mut log);
    }
    network.run_until(Time::NEVER, &mut log);
    network.conserved()?;
    Ok(log.text)
}
