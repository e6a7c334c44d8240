//! The packets of an interval: when each entered and left the queue of each hop, and where it ended.

use ackclock_core::element::{DropReason, Event, Port};
use ackclock_core::network::{EndpointId, NodeId, Route};
use ackclock_core::packet::{Arena, Body, Kind, Packet};
use ackclock_core::probe::Probe;
use ackclock_core::{Span, Time};
use ackclock_sim::build::BuiltNetwork;
use ackclock_sim::plan::{HopDirection, Plan};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of packets that are followed; later ones are counted.
const MAX_PACKETS: usize = 20_000;

/// What entering an element means for a packet.
#[derive(Debug, Clone, Copy)]
enum Point {
    /// It enters the queue of this directed hop.
    Queue(u32),
    /// It has left the queue and the rate of this directed hop.
    Line(u32),
}

/// Follows packets through the elements of the hops. A probe of a network whose hops are not fused.
pub struct PacketLog {
    /// The plan's flows. Pings of rate controllers have higher numbers, and are not followed.
    flows: u32,
    points: BTreeMap<(u32, u16), Point>,
    hops: Vec<HopSide>,
    packets: Vec<PacketRow>,
    /// Index of a packet in transit.
    in_transit: HashMap<u64, usize>,
    left_out: u64,
}

/// One direction of a hop.
#[derive(Debug, Clone, Serialize)]
struct HopSide {
    hop: usize,
    direction: &'static str,
    /// One way, of the link alone.
    delay_s: f64,
    /// The delay is part of the element with the queue.
    #[serde(skip)]
    delay: Span,
}

/// The packets of an interval and the hops that they cross.
#[derive(Debug, Serialize)]
pub struct PacketRows {
    sides: Vec<HopSide>,
    packets: Vec<PacketRow>,
    /// Packets beyond the maximum number.
    left_out: u64,
}

/// Times in seconds from the start of the run.
#[derive(Debug, Serialize)]
struct PacketRow {
    id: u64,
    flow: u32,
    /// IP length.
    bytes: u16,
    data: bool,
    retransmission: bool,
    /// Sequence number of data, ACK number of a pure ACK.
    number: u64,
    sent_s: f64,
    hops: Vec<Crossing>,
    received_s: Option<f64>,
    dropped_s: Option<f64>,
    drop_reason: Option<&'static str>,
    marked: bool,
}

/// A packet's time in the queue and the rate of one side of a hop.
#[derive(Debug, Serialize)]
struct Crossing {
    /// Index of the side.
    side: u32,
    entered_s: f64,
    /// When its last bit was sent; null while it waits or is being sent.
    left_s: Option<f64>,
}

impl PacketLog {
    pub fn new(plan: &Plan, world: &BuiltNetwork) -> PacketLog {
        let mut points = BTreeMap::new();
        let mut hops = Vec::new();
        for (number, side) in world.directed_hops.iter().enumerate() {
            let number = number as u32;
            let config = plan.hops[side.hop].direction(side.direction);
            let delay = config.map_or(Span::ZERO, |config| config.delay);
            let first_chain = side.chains.first();
            let is_separate = first_chain.is_some_and(|chain| !chain.downstream.is_empty()) || !side.downstream.is_empty();
            hops.push(HopSide {
                hop: side.hop,
                direction: side.direction.name(),
                delay_s: config.map_or(Span::ZERO, HopDirection::mean_delay).as_secs(),
                delay: if is_separate { Span::ZERO } else { delay },
            });
            for chain in &side.chains {
                if let Route::Node(node, port) = chain.entry() {
                    points.insert((node.0, port.0), Point::Queue(number));
                }
                if let Some(first) = chain.downstream.first().or(side.downstream.first()) {
                    points.entry((first.0, 0)).or_insert(Point::Line(number));
                }
            }
        }
        let flows = plan.flows.len() as u32;
        PacketLog { flows, points, hops, packets: Vec::new(), in_transit: HashMap::new(), left_out: 0 }
    }

    pub fn finish(self) -> PacketRows {
        PacketRows { sides: self.hops, packets: self.packets, left_out: self.left_out }
    }

    /// Ends the last crossing of a packet, which is now beyond the hop.
    fn leave(&mut self, index: usize, now: Time) {
        if let Some(crossing) = self.packets[index].hops.last_mut()
            && crossing.left_s.is_none()
        {
            let delay = self.hops[crossing.side as usize].delay.as_secs();
            crossing.left_s = Some((now.as_secs() - delay).max(crossing.entered_s));
        }
    }
}

impl Probe for PacketLog {
    fn sent(&mut self, now: Time, _by: EndpointId, packet: &Packet, body: &Body) {
        if packet.flow >= self.flows {
            return;
        }
        if self.packets.len() >= MAX_PACKETS {
            self.left_out += 1;
            return;
        }
        let data = packet.kind.has(Kind::DATA);
        let (retransmission, number) = match body {
            Body::Segment(segment) => (segment.retransmission, if data { segment.seq } else { segment.ack }),
            _ => (false, 0),
        };
        self.in_transit.insert(packet.id, self.packets.len());
        self.packets.push(PacketRow {
            id: packet.id,
            flow: packet.flow,
            bytes: packet.len,
            data,
            retransmission,
            number,
            sent_s: now.as_secs(),
            hops: Vec::new(),
            received_s: None,
            dropped_s: None,
            drop_reason: None,
            marked: false,
        });
    }

    fn entered(&mut self, now: Time, at: NodeId, port: Port, packet: &Packet, _arena: &Arena) {
        let Some(&index) = self.in_transit.get(&packet.id) else { return };
        match self.points.get(&(at.0, port.0)) {
            Some(&Point::Queue(side)) => {
                self.leave(index, now);
                self.packets[index].hops.push(Crossing { side, entered_s: now.as_secs(), left_s: None });
            }
            Some(&Point::Line(side)) => {
                if let Some(crossing) = self.packets[index].hops.last_mut().filter(|crossing| crossing.side == side) {
                    crossing.left_s.get_or_insert(now.as_secs());
                }
            }
            None => {}
        }
    }

    fn received(&mut self, now: Time, _by: EndpointId, packet: &Packet, _body: &Body) {
        if let Some(index) = self.in_transit.remove(&packet.id) {
            self.leave(index, now);
            self.packets[index].received_s = Some(now.as_secs());
        }
    }

    fn on_event(&mut self, now: Time, _at: NodeId, event: &Event) {
        match event {
            Event::Dropped(packet, reason) => self.dropped(now, packet, *reason),
            Event::Marked(packet) => {
                if let Some(&index) = self.in_transit.get(&packet.id) {
                    self.packets[index].marked = true;
                }
            }
            Event::Copied(_) | Event::Created(_) => {}
        }
    }
}

impl PacketLog {
    fn dropped(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        if let Some(index) = self.in_transit.remove(&packet.id) {
            let row = &mut self.packets[index];
            (row.dropped_s, row.drop_reason) = (Some(now.as_secs()), Some(reason.name()));
        }
    }
}
