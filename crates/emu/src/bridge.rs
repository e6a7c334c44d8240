//! Bridges real hosts and the simulated network. A packet enters the network at its kernel RX
//! timestamp, the network runs until now, and a packet that the network delivers to a real host is
//! sent at once. Packet I/O and clock are traits, so that tests can script both.

use crate::audit::Audits;
use crate::egress::{Egress, RealHost};
use crate::log::{Log, LogReport};
use crate::netns::{Addresses, MTU};
use crate::packet;
use crate::port::{NetworkClock, PacketPort};
use crate::probe::EmulationProbe;
use crate::replay::{EnteredPacket, FlowKey, ReleasedPacket};
use crate::tx_thread::TxThread;
use ackclock_core::network::EndpointId;
use ackclock_core::{Span, Time};
use ackclock_sim::build::BuiltNetwork;

/// Maximum number of packets read from one port per poll. It exceeds the RX ring: a packet left in
/// the ring would enter the network after its RX timestamp.
const RX_BUDGET: usize = 1 << 14;
/// Number of packets that triggers a transmission between two steps.
const TX_BATCH: usize = 32;
/// Longest network time that is run between two transmissions while the network is behind the
/// clock.
const MAX_STEP: Span = Span::from_us(100);

/// The endpoints of a live flow.
#[derive(Clone, Copy)]
struct LiveFlow {
    server: EndpointId,
    client: EndpointId,
}

pub struct Bridge<P> {
    pub built: BuiltNetwork,
    /// The server's port, then the ports of the live clients in order.
    pub ports: Vec<P>,
    pub audits: Audits,
    pub packets_in: u64,
    pub packets_out: u64,
    probe: EmulationProbe,
    addresses: Addresses,
    /// By live client.
    live: Vec<LiveFlow>,
    received: Vec<ReceivedPacket>,
}

/// A packet that was read from a port and has not entered the network.
struct ReceivedPacket {
    at: Time,
    port: u32,
    bytes: Box<[u8]>,
}

impl<P: PacketPort> Bridge<P> {
    /// `live` lists the flows whose endpoints are real hosts, one for each of the first clients.
    pub fn new(built: BuiltNetwork, ports: Vec<P>, live: &[usize], addresses: Addresses, audits: Audits) -> Bridge<P> {
        let live = live.iter().map(|&flow| LiveFlow { server: built.flows[flow].server, client: built.flows[flow].client });
        let live: Vec<LiveFlow> = live.collect();
        let mut hosts = vec![None; 2 * built.flows.len()];
        for (client, flow) in (0..).zip(&live) {
            hosts[flow.server.0 as usize] = Some(RealHost { port: 0, client });
            hosts[flow.client.0 as usize] = Some(RealHost { port: client + 1, client });
        }
        let probe = EmulationProbe { egress: Egress::new(hosts, ports.len()), log: None, last_sent: u64::MAX };
        Bridge { built, ports, audits, packets_in: 0, packets_out: 0, probe, addresses, live, received: Vec::new() }
    }

    /// Shares large transmissions with a second thread.
    pub fn set_tx_thread(&mut self, thread: Option<TxThread>) {
        self.probe.egress.tx_thread = thread;
    }

    /// Starts a log.
    pub fn set_log(&mut self, log: Log) {
        self.probe.log = Some(log);
    }

    /// Time of the next event that no received packet causes.
    pub fn poll_at(&self) -> Time {
        let sample = self.probe.log.as_ref().map_or(Time::NEVER, Log::due);
        self.built.network.poll_at().min(sample)
    }

    /// Receives packets, runs the network until now and transmits what it delivers. Returns whether
    /// a packet was received or sent.
    pub fn poll(&mut self, clock: &impl NetworkClock) -> bool {
        let any_received = self.receive(clock);
        let sent_before = self.packets_out;
        self.advance(clock.now(), clock);
        self.transmit(clock);
        any_received || self.packets_out > sent_before
    }

    /// Runs the network until `now` and ends the log, if there is one.
    pub fn finish(&mut self, now: Time) -> Option<LogReport> {
        self.run(now);
        self.probe.log.take().map(Log::finish)
    }

    /// Runs the network in steps of at most `MAX_STEP` and transmits after each step that fills a
    /// batch: the first packet must not wait for the last.
    fn advance(&mut self, to: Time, clock: &impl NetworkClock) {
        loop {
            let step = (self.poll_at().clamp(self.built.network.now().min(to), to) + MAX_STEP).min(to);
            self.run(step);
            if self.probe.egress.len() >= TX_BATCH {
                self.transmit(clock);
            }
            if step == to {
                return;
            }
        }
    }

    /// Runs the network until `to` and takes the samples that are due.
    fn run(&mut self, to: Time) {
        let Bridge { built, probe, .. } = self;
        while let Some(due) = probe.log.as_ref().map(Log::due).filter(|&due| due <= to) {
            built.network.run_until(due, probe);
            if let Some(log) = &mut probe.log {
                log.sample(due, built);
            }
        }
        built.network.run_until(to, probe);
    }

    fn receive(&mut self, clock: &impl NetworkClock) -> bool {
        let offset = clock.offset();
        let Bridge { ports, received, audits, .. } = self;
        for (number, port) in (0..).zip(ports) {
            for _ in 0..RX_BUDGET {
                let Some(packet) = port.next(offset) else { break };
                if packet.len > MTU || packet.bytes.len() < packet.len as usize {
                    audits.of(client_at(number)).oversized();
                } else if Addresses::is_unicast(packet.bytes) {
                    received.push(ReceivedPacket { at: packet.at, port: number, bytes: packet.bytes.into() });
                }
            }
        }
        if self.received.is_empty() {
            return false;
        }
        self.received.sort_by_key(|packet| packet.at);
        let mut received = std::mem::take(&mut self.received);
        for packet in received.drain(..) {
            self.advance(packet.at, clock);
            self.inject(packet);
        }
        self.received = received;
        true
    }

    /// Sends a received packet into the network from its host's endpoint. A packet to an address
    /// that is no client's is discarded.
    fn inject(&mut self, ReceivedPacket { at, port, bytes }: ReceivedPacket) {
        let (client, from_server) = match client_at(port) {
            Some(client) => (Some(client), false),
            None => (self.addresses.client_of(&bytes), true),
        };
        let Some((client, flow)) = client.and_then(|number| Some((number, *self.live.get(number as usize)?))) else { return };
        let sender = if from_server { flow.server } else { flow.client };
        let key = FlowKey::of(&bytes);
        if let Some(sent) = packet::from_bytes(bytes, &mut self.built.network.arena) {
            self.packets_in += 1;
            let lateness = self.built.network.now() - at;
            self.built.network.send_from(sender, sent, &mut self.probe);
            let id = self.probe.last_sent;
            self.audits.entered(&EnteredPacket { id, at, lateness, client, from_server, flow: key });
        }
    }

    fn transmit(&mut self, clock: &impl NetworkClock) {
        if self.probe.egress.len() == 0 {
            return;
        }
        let (lost, delivered) = self.probe.egress.flush(&mut self.ports);
        let actual = clock.now();
        for packet in delivered {
            self.packets_out += 1;
            let released = ReleasedPacket { id: packet.id, due: packet.due, actual, bytes: packet.bytes };
            self.audits.released(&released, packet.host.client, packet.host.port > 0);
        }
        self.audits.common().lost(lost);
    }
}

/// The client at a port. The server's port is shared by all clients.
fn client_at(port: u32) -> Option<u32> {
    port.checked_sub(1)
}
