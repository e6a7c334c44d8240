//! Real hosts' packets through the network: they enter it at the time the kernel stamped them with, the network runs up to now, and what
//! comes out leaves at once. Nothing here knows where packets and time come from, so that a script can stand for hosts and a clock.

use crate::audit::{Audit, Audits};
use crate::door::{Door, Watch};
use crate::helper::Helper;
use crate::log::{Log, LogReport};
use crate::outlet::{Outlet, Place};
use crate::packet;
use crate::place::{Addresses, MTU};
use crate::tap::Tap;
use ackclock_core::network::EndpointId;
use ackclock_core::{Span, Time};
use ackclock_sim::build::BuiltNetwork;

/// Most packets taken from one gate before what is due is looked after: more than its ring holds, as what is left behind would enter the
/// network after its time.
const TURN: usize = 1 << 14;
/// So many packets leave together at most, but for those of one step.
const PIECE: usize = 32;
/// How much of the network's time is run at once when it is behind.
const STEP: Span = Span::from_us(100);

/// The ends of a live flow.
#[derive(Clone, Copy)]
struct LiveEnds {
    server: EndpointId,
    client: EndpointId,
}

pub struct Crossing<D> {
    pub world: BuiltNetwork,
    /// The server's, then the live clients' in order.
    pub doors: Vec<D>,
    pub audits: Audits,
    pub packets_in: u64,
    pub packets_out: u64,
    tap: Tap,
    addresses: Addresses,
    /// By live client.
    live: Vec<LiveEnds>,
    arrivals: Vec<Arrived>,
}

/// A packet from a real host, by when it arrived.
struct Arrived {
    at: Time,
    gate: u32,
    bytes: Box<[u8]>,
}

impl<D: Door> Crossing<D> {
    /// `live` are the flows that real hosts play, one for each of the first clients.
    pub fn new(world: BuiltNetwork, doors: Vec<D>, live: &[usize], addresses: Addresses, audits: Audits) -> Crossing<D> {
        let ends = live.iter().map(|&flow| LiveEnds { server: world.flows[flow].server, client: world.flows[flow].client });
        let live: Vec<LiveEnds> = ends.collect();
        let mut places = vec![None; 2 * world.flows.len()];
        for (client, ends) in (0..).zip(&live) {
            places[ends.server.0 as usize] = Some(Place { gate: 0, client });
            places[ends.client.0 as usize] = Some(Place { gate: client + 1, client });
        }
        let tap = Tap { outlet: Outlet::new(places, doors.len()), log: None };
        Crossing { world, doors, audits, packets_in: 0, packets_out: 0, tap, addresses, live, arrivals: Vec::new() }
    }

    /// From now on somebody helps where much leaves at once.
    pub fn help(&mut self, helper: Option<Helper>) {
        self.tap.outlet.helper = helper;
    }

    /// From now on this log is kept.
    pub fn keep(&mut self, log: Log) {
        self.tap.log = Some(log);
    }

    /// When something happens next that no packet from outside causes.
    pub fn poll_at(&self) -> Time {
        let sample = self.tap.log.as_ref().map_or(Time::NEVER, Log::due);
        self.world.network.poll_at().min(sample)
    }

    /// Takes in what has arrived, runs the network up to now, and sends what comes out. Says whether anything happened.
    pub fn turn(&mut self, watch: &impl Watch) -> bool {
        let taken = self.take_in(watch);
        let came_out = self.packets_out;
        self.advance(watch.now(), watch);
        self.release(watch);
        taken || self.packets_out > came_out
    }

    /// Ends the log, if there is one, with the network at `now`.
    pub fn finish(&mut self, now: Time) -> Option<LogReport> {
        self.run(now);
        self.tap.log.take().map(Log::finish)
    }

    /// Runs the network step by step. What comes out leaves as soon as it is a piece, as the first packet must not wait for the last.
    fn advance(&mut self, to: Time, watch: &impl Watch) {
        loop {
            let step = (self.poll_at().clamp(self.world.network.now().min(to), to) + STEP).min(to);
            self.run(step);
            if self.tap.outlet.len() >= PIECE {
                self.release(watch);
            }
            if step == to {
                return;
            }
        }
    }

    /// Runs the network, with samples where they are due.
    fn run(&mut self, to: Time) {
        let Crossing { world, tap, .. } = self;
        while let Some(due) = tap.log.as_ref().map(Log::due).filter(|&due| due <= to) {
            world.network.run_until(due, tap);
            if let Some(log) = &mut tap.log {
                log.sample(due, world);
            }
        }
        world.network.run_until(to, tap);
    }

    fn take_in(&mut self, watch: &impl Watch) -> bool {
        let stamps = watch.stamps();
        let Crossing { doors, arrivals, audits, .. } = self;
        for (gate, door) in (0..).zip(doors) {
            for _ in 0..TURN {
                let Some(arrival) = door.next(stamps) else { break };
                if arrival.len > MTU || arrival.bytes.len() < arrival.len as usize {
                    audits.of_gate(gate).too_long();
                } else if Addresses::is_for_one(arrival.bytes) {
                    arrivals.push(Arrived { at: arrival.at, gate, bytes: arrival.bytes.into() });
                }
            }
        }
        if self.arrivals.is_empty() {
            return false;
        }
        self.arrivals.sort_by_key(|arrived| arrived.at);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for arrived in arrivals.drain(..) {
            self.advance(arrived.at, watch);
            self.hand_over(arrived);
        }
        self.arrivals = arrivals;
        true
    }

    /// A packet from a host enters the network at its end of its flow. What is for nobody here (a broadcast, a stray address) does not.
    fn hand_over(&mut self, Arrived { at, gate, bytes }: Arrived) {
        let (client, at_server) = match gate.checked_sub(1) {
            Some(client) => (Some(client), false),
            None => (self.addresses.client_of(&bytes), true),
        };
        let Some((client, ends)) = client.and_then(|number| Some((number, *self.live.get(number as usize)?))) else { return };
        let by = if at_server { ends.server } else { ends.client };
        if let Some(sent) = packet::outgoing(bytes, &mut self.world.network.arena) {
            self.packets_in += 1;
            self.audits.of_client(client).taken_in(at, self.world.network.now());
            self.world.network.send_from(by, sent, &mut self.tap);
        }
    }

    fn release(&mut self, watch: &impl Watch) {
        if self.tap.outlet.len() == 0 {
            return;
        }
        let (lost, released) = self.tap.outlet.flush(&mut self.doors);
        let actual = watch.now();
        for packet in released {
            self.packets_out += 1;
            self.audits.of_client(packet.client).released(packet.planned, actual);
        }
        self.audits.common().lost(lost);
    }
}

impl Audits {
    /// Whose arrivals these are: the server's are everybody's.
    fn of_gate(&mut self, gate: u32) -> &mut Audit {
        match gate.checked_sub(1) {
            Some(client) => self.of_client(client),
            None => self.common(),
        }
    }
}
