//! Parity of the simulator's and the emulator's driver: one packet sequence must have the same
//! fates, times and queue samples in both.
//!
//! The simulator runs TCP or UDP over a link, and the packets that its endpoints send become a
//! script. The emulator receives the script's packets from two scripted hosts, with a clock that
//! advances in irregular steps and is always late, as a machine's is. Both write the log of an
//! emulation.

mod links;

use crate::af_packet::TxBatch;
use crate::audit::{Audits, LateAfter};
use crate::bridge::Bridge;
use crate::clock::ClockOffset;
use crate::egress::Egress;
use crate::link_delay::LinkDelay;
use crate::log::Log;
use crate::netns::Addresses;
use crate::port::{NetworkClock, PacketPort, RxPacket};
use crate::probe::EmulationProbe;
use ackclock_core::element::Event;
use ackclock_core::network::{EndpointId, NodeId};
use ackclock_core::packet::{Body, Packet};
use ackclock_core::probe::Probe;
use ackclock_core::{Span, Time};
use ackclock_pcap::write::{FlowEnd, FlowFrames};
use ackclock_sim::Plan;
use ackclock_sim::build::build_unfused;
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;

const ADDRESSES: Addresses = Addresses { depth: 0 };
const ETHERNET: usize = 14;
/// Capture length above that of the largest packet.
const SNAP_LEN: u32 = 65_536;

/// The packets that the endpoints of the live flow sent: time, port, bytes.
struct PacketScript {
    frames: FlowFrames,
    sent: Vec<(Time, u32, Vec<u8>)>,
}

/// The simulator's probe: writes the log and the script.
struct ScriptRecorder {
    probe: EmulationProbe,
    script: PacketScript,
}

impl Probe for ScriptRecorder {
    fn on_event(&mut self, now: Time, at: NodeId, event: &Event) {
        self.probe.on_event(now, at, event);
    }

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.probe.sent(now, by, packet, body);
        if packet.flow == 0 {
            self.script.record(now, by.0, packet, body);
        }
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.probe.received(now, by, packet, body);
    }
}

impl PacketScript {
    fn record(&mut self, now: Time, port: u32, packet: &Packet, body: &Body) {
        let side = if port == 0 { FlowEnd::Server } else { FlowEnd::Client };
        let frame = self.frames.frame(side, packet.id as u16, packet, body);
        let mut bytes = frame.bytes[ETHERNET..].to_vec();
        assert_eq!(bytes.len(), usize::from(packet.len), "a packet has as many bytes as its length says");
        let (server, client) = (ADDRESSES.server().0, ADDRESSES.client(0).0);
        let (from, to) = if port == 0 { (server, client) } else { (client, server) };
        bytes[12..16].copy_from_slice(&from.octets());
        bytes[16..20].copy_from_slice(&to.octets());
        self.sent.push((now, port, bytes));
    }
}

/// A host that sends the script's packets at their times.
struct ScriptedHost {
    script: VecDeque<(Time, Vec<u8>)>,
    now: Rc<Cell<Time>>,
    current: Vec<u8>,
    received: u64,
}

impl PacketPort for ScriptedHost {
    fn next(&mut self, _offset: ClockOffset) -> Option<RxPacket<'_>> {
        let (at, _) = self.script.front().filter(|(at, _)| *at <= self.now.get())?;
        let at = *at;
        self.current = self.script.pop_front()?.1;
        Some(RxPacket { bytes: &self.current, len: self.current.len() as u32, at })
    }

    fn send(&mut self, batch: &mut TxBatch) -> u64 {
        batch.drain(|_| self.received += 1);
        0
    }
}

struct SteppedClock(Rc<Cell<Time>>);

impl NetworkClock for SteppedClock {
    fn now(&self) -> Time {
        self.0.get()
    }

    fn offset(&self) -> ClockOffset {
        ClockOffset::default()
    }
}

/// The rows of a log without packet numbers, per flow and sender in sending order: packets that
/// both endpoints send at the same time may be numbered in either order.
fn fates(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("fates.csv")).unwrap();
    let mut rows: Vec<(u64, String)> = text
        .lines()
        .skip(1)
        .map(|line| {
            let (number, rest) = line.split_once(',').unwrap();
            (number.parse().unwrap(), rest.to_string())
        })
        .collect();
    rows.sort_by_key(|(number, rest)| (rest.split(',').take(2).map(str::to_string).collect::<Vec<_>>(), *number));
    rows.into_iter().map(|(_, rest)| rest).collect()
}

fn parse(plan: &Value) -> Plan {
    Plan::from_json(&plan.to_string()).unwrap_or_else(|error| panic!("{error}: {plan}"))
}

/// Runs the simulator with a log in `folder`.
fn simulate(plan: &Value, folder: &Path) -> PacketScript {
    let plan = parse(plan);
    let mut built = build_unfused(&plan);
    let log = Log::create(folder, &plan, &built, 0, 0).unwrap();
    let egress = Egress::new(vec![None; 2 * plan.flows.len()], 0);
    let script = PacketScript { frames: FlowFrames::new(0, 0, SNAP_LEN), sent: Vec::new() };
    let mut recorder = ScriptRecorder { probe: EmulationProbe { egress, log: Some(log), last_sent: u64::MAX }, script };
    let end = Time(plan.duration_ps);
    while let Some(due) = recorder.probe.log.as_ref().map(Log::due).filter(|&due| due <= end) {
        built.network.run_until(due, &mut recorder);
        recorder.probe.log.iter_mut().for_each(|log| log.sample(due, &mut built));
    }
    built.network.run_until(end, &mut recorder);
    assert!(recorder.probe.log.take().is_none_or(|log| log.finish().complete));
    recorder.script
}

/// Runs the emulator over the same link with the script's packets and a log in `folder`.
fn emulate(plan: &Value, script: &PacketScript, folder: &Path) -> Bridge<ScriptedHost> {
    let mut live = plan.clone();
    live["flows"][0]["workload"] = json!({"kind": "live"});
    live["flows"][0]["tcp"] = Value::Null;
    let plan = parse(&live);
    let now = Rc::new(Cell::new(Time::ZERO));
    let host = |port: u32| {
        let own = script.sent.iter().filter(|(_, by, _)| *by == port).map(|(at, _, bytes)| (*at, bytes.clone()));
        ScriptedHost { script: own.collect(), now: now.clone(), current: Vec::new(), received: 0 }
    };
    let built = build_unfused(&plan);
    let audits = Audits::new(vec![[LinkDelay::default(); 2]], LateAfter::Deadline(Span::from_secs(1)));
    let mut bridge = Bridge::new(built, vec![host(0), host(1)], &[0], ADDRESSES, audits);
    let log = Log::create(folder, &plan, &bridge.built, 2, 0).unwrap();
    bridge.set_log(log);
    let (clock, end) = (SteppedClock(now.clone()), Time(plan.duration_ps));
    let mut step = 1;
    loop {
        bridge.poll(&clock);
        if now.get() == end {
            break;
        }
        // Pseudo-random steps of 0 to 4 ms (multiplicative hash, Knuth).
        step = (step * 2_654_435_761u64) % (1 << 32);
        now.set((now.get() + Span(step)).min(end));
    }
    // Both drivers run the events at the end time itself.
    assert!(bridge.finish(end).is_none_or(|log| log.complete));
    bridge
}

/// Runs both drivers over one plan and compares their logs. Returns the fates.
fn assert_parity(name: &str, plan: &Value) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("ackclock-parity-{}-{name}", std::process::id()));
    let [simulated, emulated]: [PathBuf; 2] = ["simulated", "emulated"].map(|side| folder.join(side));
    let script = simulate(plan, &simulated);
    assert!(script.sent.len() > 100, "{name}: only {} packets", script.sent.len());
    let bridge = emulate(plan, &script, &emulated);
    assert_eq!(bridge.packets_in, script.sent.len() as u64, "{name}: every packet of the script enters the network");
    let (one, other) = (fates(&simulated), fates(&emulated));
    let first = one.iter().zip(&other).position(|(a, b)| a != b);
    if let Some(first) = first {
        panic!("{name}: packet {first} of {}:\n simulated {}\n  emulated {}", one.len(), one[first], other[first]);
    }
    assert_eq!(one.len(), other.len(), "{name}");
    // The queue samples must be the same, too.
    let samples = |side: &Path| std::fs::read_to_string(side.join("hops.csv")).unwrap();
    assert!(samples(&simulated) == samples(&emulated), "{name}: samples differ");
    std::fs::remove_dir_all(&folder).unwrap();
    one
}
