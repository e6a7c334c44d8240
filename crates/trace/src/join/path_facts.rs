//! The packets of a path between two captures, by direction: what the estimation of a link's
//! parameters starts from.

use super::aggregate::Aggregate;
use super::clock_relation::ClockRelation;
use super::fate::Fate;
use super::match_flows::FlowMatch;
use super::stalls::LinkStall;
use super::{CaptureSide, MatchedDirection, MatchedPairs, TokenBucketEstimate, clock_of};
use crate::decode::Flags;

/// One packet of any flow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathPacket {
    /// Departure by the sender's clock, nanoseconds.
    pub at: i64,
    pub ip_len: u32,
    pub fate: Fate,
    /// Index of the flow, from 0 in order of appearance.
    pub flow: u32,
    /// Of a lost packet: probability that no queue dropped it.
    pub not_queue: f64,
}

/// One direction of a path.
#[derive(Debug, Clone, Default)]
pub struct PathDirection {
    /// In order of departure.
    pub packets: Vec<PathPacket>,
    pub token_bucket: Option<TokenBucketEstimate>,
    /// Times in which the link sent nothing of what waited.
    pub stalls: Vec<LinkStall>,
    /// Flows overtake each other and not themselves: per-flow queues.
    pub flow_queues: bool,
    /// The network marked packets CE.
    pub marked: bool,
    /// Packets that the receiver's capture alone has: the sender's lost their records.
    pub missing_at_sender: u64,
}

/// A path between a server and its clients.
#[derive(Debug, Clone)]
pub struct PathFacts {
    pub clock: ClockRelation,
    /// From the server to the clients.
    pub down: PathDirection,
    /// From the clients to the server.
    pub up: PathDirection,
    /// Number of flows in both captures, of TCP and of UDP.
    pub flows: usize,
    /// The first capture is the server's.
    pub server_is_first: bool,
}

impl PathFacts {
    /// First and last departure by the server's clock, nanoseconds.
    pub fn span(&self) -> Option<(i64, i64)> {
        let arrived_up = self.up.packets.iter().filter_map(|packet| Some(packet.at.saturating_add(packet.fate.delay()?)));
        let times = || self.down.packets.iter().map(|packet| packet.at).chain(arrived_up.clone());
        Some((times().min()?, times().max()?))
    }

    /// The offset of the client's clock from the server's: the bounds at which no packet has a negative delay,
    /// nanoseconds.
    pub fn client_offset(&self) -> [f64; 2] {
        let [low, high] = self.clock.offset_interval();
        if self.server_is_first { [low, high] } else { [-high, -low] }
    }

    /// Captures of the same two hosts in the same time: flows in files of their own.
    pub fn is_beside(&self, other: &PathFacts) -> bool {
        let overlap = |(from, to): (i64, i64), (other_from, other_to): (i64, i64)| from < other_to && other_from < to;
        let [low, high] = self.client_offset();
        let [other_low, other_high] = other.client_offset();
        self.span().zip(other.span()).is_some_and(|(own, other)| overlap(own, other)) && low <= other_high && other_low <= high
    }
}

/// Reason why two captures show no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPath {
    /// The captures have no packets in common.
    NoCommonPackets,
    /// All common packets go in one direction, or no pair of clocks with constant rates explains the
    /// times.
    NoClock,
}

/// The path between two captures of the same traffic. The server is the end that most bytes'
/// connections were opened to. With `clock_error_ns` both clocks are taken as correct within that
/// error.
pub fn path_facts(first: &CaptureSide, second: &CaptureSide, clock_error_ns: Option<f64>) -> Result<PathFacts, NoPath> {
    shared_path_facts(&[[first, second]], clock_error_ns)
}

/// The path between two hosts by pairs of captures in the same time, one of each host in the same order: flows
/// that share the path are in files of their own.
pub fn shared_path_facts(pairs: &[[&CaptureSide; 2]], clock_error_ns: Option<f64>) -> Result<PathFacts, NoPath> {
    let matched: Vec<MatchedPairs<'_>> = pairs.iter().map(|pair| MatchedPairs::of(*pair)).collect();
    if matched.iter().all(|one| one.flows.is_empty()) {
        return Err(NoPath::NoCommonPackets);
    }
    let clock = clock_of(&matched, clock_error_ns).ok_or(NoPath::NoClock)?;
    let clients = matched.iter().flat_map(|one| one.flows.iter().map(|m| client_side(one.captures[0], m)));
    let clients: Vec<usize> = clients.collect();
    let directions: Vec<[Option<MatchedDirection<'_>>; 2]> = matched.iter().flat_map(|one| one.fates(&clock)).collect();
    let mut server_bytes = [0u64; 2];
    for (&client, directions) in clients.iter().zip(&directions) {
        for (side, direction) in directions.iter().enumerate() {
            let Some(direction) = direction else { continue };
            let bytes: u64 = direction.sent.iter().map(|packet| u64::from(packet.ip_len)).sum();
            // The server is where the server's packets leave, and where the clients' arrive.
            let server_is_first = direction.first_to_second == (side != client);
            server_bytes[usize::from(!server_is_first)] += bytes;
        }
    }
    let server_is_first = server_bytes[0] >= server_bytes[1];
    let of = |first_to_second: bool| {
        let matched: Vec<(usize, &MatchedDirection<'_>)> = directions
            .iter()
            .enumerate()
            .flat_map(|(flow, sides)| sides.iter().flatten().map(move |direction| (flow, direction)))
            .filter(|(_, direction)| direction.first_to_second == first_to_second)
            .collect();
        PathDirection::of(&matched)
    };
    Ok(PathFacts { clock, down: of(server_is_first), up: of(!server_is_first), flows: clients.len(), server_is_first })
}

/// The client's side of a flow in the first capture's key: the end that opened it, or that sent the first
/// datagram.
fn client_side(first: &CaptureSide, m: &FlowMatch) -> usize {
    match m.is_udp {
        true => first.analysis.datagram_flows()[m.first].client() as usize,
        false => first.analysis.flows().get(m.first).client() as usize,
    }
}

impl PathDirection {
    /// `matched` has the number of each flow with its direction.
    pub(super) fn of(matched: &[(usize, &MatchedDirection<'_>)]) -> PathDirection {
        let aggregate = Aggregate::of(matched.iter().map(|(_, direction)| *direction));
        let mut packets = Vec::new();
        for (number, (flow, direction)) in matched.iter().enumerate() {
            for (index, (packet, fate)) in direction.sent.iter().zip(&direction.fates.fates).enumerate() {
                // A reset leaves a socket that has gone: nothing of the path depends on it.
                if packet.flags.has(Flags::RST) && *fate == Fate::Lost {
                    continue;
                }
                packets.push(PathPacket {
                    at: packet.at,
                    ip_len: packet.ip_len,
                    fate: *fate,
                    flow: *flow as u32,
                    not_queue: if *fate == Fate::Lost { aggregate.losses.not_queue(number, index) } else { 0.0 },
                });
            }
        }
        // A stable sort: packets with equal times stay in capture order.
        packets.sort_by_key(|packet| packet.at);
        // Of flows that send at one time, the order at the link is that of the arrivals.
        for same in packets.chunk_by_mut(|a, b| a.at == b.at).filter(|same| same.iter().any(|p| p.flow != same[0].flow)) {
            same.sort_by_key(|packet| packet.fate.delay().unwrap_or(i64::MAX));
        }
        PathDirection {
            packets,
            token_bucket: aggregate.token_bucket,
            stalls: aggregate.stalls,
            flow_queues: aggregate.flow_queues,
            marked: matched.iter().any(|(_, direction)| direction.marked),
            missing_at_sender: matched.iter().map(|(_, direction)| direction.fates.missing_at_sender).sum(),
        }
    }
}
