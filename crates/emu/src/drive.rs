//! The loop of an emulation: packets from real hosts enter the network at the time the kernel stamped them with, the network runs up to
//! now, and what comes out leaves at once.

use crate::audit::Audit;
use crate::clock::{Lead, RealTime};
use crate::gate::Gate;
use crate::machine::{Load, ask_for_punctuality};
use crate::options::Options;
use crate::outlet::Outlet;
use crate::place::{Addresses, MOST_CLIENTS, MTU, Places};
use crate::report::{self, CommandReport, Report};
use crate::wait::Wait;
use crate::{EmuError, packet};
use ackclock_core::network::{EndpointId, VirtualClock};
use ackclock_core::{Span, Time};
use ackclock_sim::Plan;
use ackclock_sim::build::{Metering, World, build};
use ackclock_sim::plan::{Flow, Workload};

/// Most packets taken from one gate before what is due is looked after.
const TURN: usize = 64;
/// How often to see whether the command has ended or somebody wants to stop, when nothing else leads there.
const LOOK_AROUND: Span = Span::from_ms(2);

/// Runs the command behind the plan's link until it ends. This process moves into a network namespace and does not come back from it.
pub fn emulate(plan: &Plan, options: &Options) -> Result<Report, EmuError> {
    let live = live_flows(plan)?;
    let world = build(plan, Metering::On);
    let wait = Wait::new()?;
    let places = Places::make(options, live.len() as u32)?;
    ask_for_punctuality();
    let mut drive = Drive::new(world, places, &live, options);
    let exit = drive.run(&wait, options)?;
    Ok(drive.report(plan, options, exit))
}

/// The flows that real hosts play: one for each of the first clients.
fn live_flows(plan: &Plan) -> Result<Vec<usize>, EmuError> {
    let is_live = |flow: &Flow| flow.workload == (Workload::Live {});
    let live: Vec<usize> = (0..plan.flows.len()).filter(|&i| is_live(&plan.flows[i])).collect();
    let in_order = live.iter().enumerate().all(|(number, &flow)| plan.flows[flow].client as usize == number);
    if live.is_empty() || !in_order || live.len() > MOST_CLIENTS as usize {
        return Err(EmuError::Failed("an emulation needs one live flow for each of its first clients, in their order".into()));
    }
    Ok(live)
}

/// The ends of a live flow.
#[derive(Clone, Copy)]
struct LiveEnds {
    server: EndpointId,
    client: EndpointId,
}

struct Drive {
    world: World,
    places: Places,
    real: RealTime,
    outlet: Outlet,
    live: Vec<LiveEnds>,
    arrivals: Vec<Arrived>,
    audit: Audit,
    load: Load,
    packets_in: u64,
    packets_out: u64,
}

/// A packet from a real host, by when it arrived.
struct Arrived {
    at: Time,
    gate: u32,
    bytes: Box<[u8]>,
}

impl Drive {
    fn new(world: World, places: Places, live: &[usize], options: &Options) -> Drive {
        let ends = live.iter().map(|&flow| LiveEnds { server: world.flows[flow].server, client: world.flows[flow].client });
        let live: Vec<LiveEnds> = ends.collect();
        let mut gate_of = vec![None; 2 * world.flows.len()];
        for (number, ends) in (1..).zip(&live) {
            gate_of[ends.server.0 as usize] = Some(0);
            gate_of[ends.client.0 as usize] = Some(number);
        }
        Drive {
            outlet: Outlet::new(gate_of, places.gates.len()),
            world,
            places,
            real: RealTime::start(),
            live,
            arrivals: Vec::new(),
            audit: Audit::new(Span::from_secs_f64(options.deadline_us * 1e-6)),
            load: Load::begin(),
            packets_in: 0,
            packets_out: 0,
        }
    }

    /// Until the command ends, time is up or somebody wants to stop. Gives the command's exit status if it has one.
    fn run(&mut self, wait: &Wait, options: &Options) -> Result<Option<i32>, EmuError> {
        let end = options.seconds.map_or(Time::NEVER, |s| Time::ZERO + Span::from_secs_f64(s));
        let mut lead = Lead::new();
        let mut looked = Time::ZERO;
        loop {
            let busy = self.turn();
            let now = self.real.now();
            if now - looked >= LOOK_AROUND {
                looked = now;
                if let Some(exit) = self.places.clients[0].ended() {
                    return Ok(Some(exit));
                }
                if now >= end || wait.asked_to_stop(now) {
                    return Ok(None);
                }
            }
            if busy {
                continue;
            }
            let due = self.world.network.poll_at().min(looked + LOOK_AROUND).min(end);
            if let Some(sleep) = lead.sleep(now, due)
                && !wait.sleep(&self.places.gates, sleep)?
            {
                lead.learn(now + Span(sleep.as_nanos() as u64 * 1000), self.real.now());
            }
        }
    }

    /// Takes in what has arrived, runs the network up to now, and sends what comes out. Says whether anything happened.
    fn turn(&mut self) -> bool {
        let taken = self.take_in();
        let now = self.real.now();
        self.world.network.run(now, &mut VirtualClock, &mut self.outlet);
        let sent = self.release();
        taken || sent
    }

    fn take_in(&mut self) -> bool {
        let stamps = self.real.stamps();
        let Drive { places, arrivals, audit, .. } = self;
        for (number, gate) in (0..).zip(&mut places.gates) {
            collect(gate, number, stamps, arrivals, audit);
        }
        if self.arrivals.is_empty() {
            return false;
        }
        self.arrivals.sort_by_key(|arrived| arrived.at);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for Arrived { at, gate, bytes } in arrivals.drain(..) {
            self.world.network.run(at, &mut VirtualClock, &mut self.outlet);
            self.audit.taken_in(at, self.world.network.now());
            self.hand_over(gate, bytes);
        }
        self.arrivals = arrivals;
        true
    }

    /// A packet from a host enters the network at its end of its flow. What is for nobody here (a broadcast, a stray address) does not.
    fn hand_over(&mut self, gate: u32, bytes: Box<[u8]>) {
        let (client, at_server) = match gate.checked_sub(1) {
            Some(client) => (Some(client), false),
            None => (self.places.addresses.client_of(&bytes), true),
        };
        let Some(ends) = client.and_then(|number| self.live.get(number as usize)).copied() else { return };
        let by = if at_server { ends.server } else { ends.client };
        if let Some(sent) = packet::outgoing(bytes, &mut self.world.network.arena) {
            self.packets_in += 1;
            self.world.network.send_from(by, sent, &mut self.outlet);
        }
    }

    fn release(&mut self) -> bool {
        if self.outlet.is_empty() {
            return false;
        }
        let (lost, planned) = self.outlet.flush(&self.places.gates);
        let actual = self.real.now();
        for planned in planned {
            self.packets_out += 1;
            self.audit.released(planned, actual);
        }
        self.audit.lost(lost);
        true
    }

    fn report(mut self, plan: &Plan, options: &Options, exit: Option<i32>) -> Report {
        let now = self.real.now();
        for gate in &self.places.gates {
            self.audit.lost(gate.overflowed());
        }
        let faults = self.audit.faults();
        let (load, steal_percent) = self.load.end();
        let why = if faults.is_empty() { "every packet kept its time".into() } else { faults.join("; ") };
        Report {
            valid: faults.is_empty(),
            why,
            release_error_us: self.audit.release_error(),
            input_lateness_us: self.audit.input_lateness(),
            deadline_misses: self.audit.misses(),
            unintended_drops: self.audit.unintended(),
            hops: report::hops(plan, &mut self.world, now),
            command: CommandReport { argv: options.command.clone(), exit },
            seconds: now.as_secs(),
            packets_in: self.packets_in,
            packets_out: self.packets_out,
            load,
            steal_percent,
        }
    }
}

/// Takes up to a turn's worth of packets out of a gate.
fn collect(gate: &mut Gate, number: u32, stamps: crate::clock::Stamps, arrivals: &mut Vec<Arrived>, audit: &mut Audit) {
    for _ in 0..TURN {
        let Some(arrival) = gate.next() else { return };
        if arrival.len > MTU || arrival.bytes.len() < arrival.len as usize {
            audit.too_long();
        } else if Addresses::is_for_one(arrival.bytes) {
            let at = stamps.time(arrival.seconds, arrival.nanoseconds);
            arrivals.push(Arrived { at, gate: number, bytes: arrival.bytes.into() });
        }
    }
}
