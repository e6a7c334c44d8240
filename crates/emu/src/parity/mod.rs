//! One packet sequence through the simulator's driver and through the emulator's: every fate and every time must be the same.
//!
//! The simulator runs TCP (or UDP) over a link; what its ends sent, and when, becomes a script. The emulator gets the script's packets as
//! bytes from two scripted hosts, at a clock that goes by leaps and is always late, as a machine's is. Both keep the log of an emulation.

mod links;

use crate::audit::Audits;
use crate::clock::Stamps;
use crate::crossing::Crossing;
use crate::door::{Arrival, Door, Watch};
use crate::gate::Batch;
use crate::log::Log;
use crate::outlet::Outlet;
use crate::place::Addresses;
use crate::tap::Tap;
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

const HERE: Addresses = Addresses { depth: 0 };
const ETHERNET: usize = 14;
/// One above the largest packet.
const WHOLE: u32 = 65_536;

/// What the ends of the live flow sent: when, from which gate, which bytes.
struct Script {
    frames: FlowFrames,
    sent: Vec<(Time, u32, Vec<u8>)>,
}

/// The simulator's side: keeps the log and writes the script.
struct Author {
    tap: Tap,
    script: Script,
}

impl Probe for Author {
    fn on_event(&mut self, now: Time, at: NodeId, event: &Event) {
        self.tap.on_event(now, at, event);
    }

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.tap.sent(now, by, packet, body);
        if packet.flow == 0 {
            self.script.note(now, by.0, packet, body);
        }
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.tap.received(now, by, packet, body);
    }
}

impl Script {
    fn note(&mut self, now: Time, gate: u32, packet: &Packet, body: &Body) {
        let side = if gate == 0 { FlowEnd::Server } else { FlowEnd::Client };
        let frame = self.frames.frame(side, packet.id as u16, packet, body);
        let mut bytes = frame.bytes[ETHERNET..].to_vec();
        assert_eq!(bytes.len(), usize::from(packet.len), "a packet is as long as its bytes");
        let (server, client) = (HERE.server().0, HERE.client(0).0);
        let (from, to) = if gate == 0 { (server, client) } else { (client, server) };
        bytes[12..16].copy_from_slice(&from.octets());
        bytes[16..20].copy_from_slice(&to.octets());
        self.sent.push((now, gate, bytes));
    }
}

/// A host that sends what the script says when its time has come.
struct Host {
    script: VecDeque<(Time, Vec<u8>)>,
    now: Rc<Cell<Time>>,
    sending: Vec<u8>,
    got: u64,
}

impl Door for Host {
    fn next(&mut self, _stamps: Stamps) -> Option<Arrival<'_>> {
        let (at, _) = self.script.front().filter(|(at, _)| *at <= self.now.get())?;
        let at = *at;
        self.sending = self.script.pop_front()?.1;
        Some(Arrival { bytes: &self.sending, len: self.sending.len() as u32, at })
    }

    fn send(&mut self, batch: &mut Batch) -> u64 {
        batch.drain(|_| self.got += 1);
        0
    }
}

struct Leaps(Rc<Cell<Time>>);

impl Watch for Leaps {
    fn now(&self) -> Time {
        self.0.get()
    }
    fn stamps(&self) -> Stamps {
        Stamps::default()
    }
}

/// The rows of a log, but for the packets' numbers: by flow and end in the order of sending, as what both ends do at the same instant may
/// be taken either way round.
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

fn read(plan: &Value) -> Plan {
    Plan::from_json(&plan.to_string()).unwrap_or_else(|error| panic!("{error}: {plan}"))
}

/// Runs the simulator; its log is in `folder`.
fn simulate(plan: &Value, folder: &Path) -> Script {
    let plan = read(plan);
    let mut world = build_unfused(&plan);
    let log = Log::create(folder, &plan, &world, 0, 0).unwrap();
    let outlet = Outlet::new(vec![None; 2 * plan.flows.len()], 0);
    let script = Script { frames: FlowFrames::new(0, 0, WHOLE), sent: Vec::new() };
    let mut author = Author { tap: Tap { outlet, log: Some(log) }, script };
    let end = Time(plan.duration_ps);
    while let Some(due) = author.tap.log.as_ref().map(Log::due).filter(|&due| due <= end) {
        world.network.run_until(due, &mut author);
        author.tap.log.iter_mut().for_each(|log| log.sample(due, &mut world));
    }
    world.network.run_until(end, &mut author);
    assert!(author.tap.log.take().is_none_or(|log| log.finish().complete));
    author.script
}

/// Runs the emulator over the same link with the script's packets; its log is in `folder`.
fn emulate(plan: &Value, script: &Script, folder: &Path) -> Crossing<Host> {
    let mut live = plan.clone();
    live["flows"][0]["workload"] = json!({"kind": "live"});
    live["flows"][0]["tcp"] = Value::Null;
    let plan = read(&live);
    let now = Rc::new(Cell::new(Time::ZERO));
    let host = |gate: u32| {
        let mine = script.sent.iter().filter(|(_, by, _)| *by == gate).map(|(at, _, bytes)| (*at, bytes.clone()));
        Host { script: mine.collect(), now: now.clone(), sending: Vec::new(), got: 0 }
    };
    let world = build_unfused(&plan);
    let audits = Audits::new(1, Span::from_secs(1));
    let mut crossing = Crossing::new(world, vec![host(0), host(1)], &[0], HERE, audits);
    let log = Log::create(folder, &plan, &crossing.world, 2, 0).unwrap();
    crossing.keep(log);
    let (watch, end) = (Leaps(now.clone()), Time(plan.duration_ps));
    let mut leap = 1;
    loop {
        crossing.turn(&watch);
        if now.get() == end {
            break;
        }
        // From nothing to 4 ms, by a rule of thumb for numbers that look drawn (Knuth's multiplier).
        leap = (leap * 2_654_435_761u64) % (1 << 32);
        now.set((now.get() + Span(leap)).min(end));
    }
    // What happens at the very end is left in both.
    assert!(crossing.finish(end).is_none_or(|log| log.complete));
    crossing
}

/// Both drivers over one plan. Gives the fates.
fn both(name: &str, plan: &Value) -> Vec<String> {
    let folder = std::env::temp_dir().join(format!("ackclock-parity-{}-{name}", std::process::id()));
    let [simulated, emulated]: [PathBuf; 2] = ["simulated", "emulated"].map(|side| folder.join(side));
    let script = simulate(plan, &simulated);
    assert!(script.sent.len() > 100, "{name}: only {} packets", script.sent.len());
    let crossing = emulate(plan, &script, &emulated);
    assert_eq!(crossing.packets_in, script.sent.len() as u64, "{name}: every packet of the script was taken in");
    let (one, other) = (fates(&simulated), fates(&emulated));
    let first = one.iter().zip(&other).position(|(a, b)| a != b);
    if let Some(first) = first {
        panic!("{name}: packet {first} of {}:\n simulated {}\n  emulated {}", one.len(), one[first], other[first]);
    }
    assert_eq!(one.len(), other.len(), "{name}");
    // The same samples of the same queues, too.
    let samples = |side: &Path| std::fs::read_to_string(side.join("hops.csv")).unwrap();
    assert!(samples(&simulated) == samples(&emulated), "{name}: samples differ");
    std::fs::remove_dir_all(&folder).unwrap();
    one
}
