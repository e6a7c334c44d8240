//! Comparison of two captures of the same traffic at two points of the path: matching of flows and
//! packets, relation of the clocks, and delay, loss and bottleneck between the capture points.

mod aggregate;
mod backlog;
mod bottleneck_buffer;
mod bottleneck_schedule;
mod clock_relation;
mod direction;
mod fate;
mod fingerprint;
mod loss_attribution;
mod loss_bursts;
mod loss_threshold;
mod match_flows;
mod match_packets;
mod overflow;
mod path_facts;
mod policed_path;
pub mod policer;
mod probes;
mod sender_end;
pub mod size_limit;
mod skew;
mod stalls;
pub(crate) mod token_bucket;

pub use bottleneck_buffer::{BufferCaveat, BufferEstimate};
pub use clock_relation::{ClockCaveats, ClockRelation, DelayPoints};
pub use direction::JoinedDirection;
pub use fate::{Fate, PacketFates};
pub use fingerprint::{FingerprintRecorder, PacketFingerprint};
pub use loss_attribution::{LossAttribution, LossOrigin, PolicedLosses, ShortWaits};
pub use loss_bursts::{LossBurst, LossBursts};
pub use overflow::{BacklogMeasure, Overflow};
pub use path_facts::{NoPath, PathDirection, PathFacts, PathPacket, path_facts, shared_path_facts};
pub use probes::{ProbeLosses, attribute_probe_losses};
pub use sender_end::{AckEvent, AckRecorder, SenderEndPath, sender_end_path};
pub use size_limit::SizeLimit;
pub use stalls::LinkStall;
pub use token_bucket::TokenBucketEstimate;

use crate::analyze::{Analysis, PacketFilter};
use crate::series::Packets;
use ackclock_pcap::read::{Capture, ReadError};
use aggregate::Aggregate;
use match_flows::FlowMatch;
use policed_path::PolicedPath;

/// One capture with its analysis.
pub struct CaptureSide {
    pub capture: Capture,
    pub analysis: Analysis,
    pub fingerprints: FingerprintRecorder,
    /// A row per packet, if requested.
    pub packets: Option<Packets>,
    /// The ACKs, if requested: they stand for the other end's capture.
    pub acks: Option<AckRecorder>,
}

impl CaptureSide {
    pub fn new(capture: Capture, filter: PacketFilter) -> CaptureSide {
        let (analysis, fingerprints) = (Analysis::new(filter), FingerprintRecorder::default());
        CaptureSide { capture, analysis, fingerprints, packets: None, acks: None }
    }

    /// Number of packets, of a sample, that another capture has as well.
    pub fn common_packets(&self, other: &CaptureSide) -> u64 {
        match_flows::common_packets(&self.fingerprints, &other.fingerprints)
    }

    /// Reads up to `max` packets; returns their number.
    pub fn read(&mut self, max: u64) -> Result<u64, ReadError> {
        let mut observer = ((&mut self.fingerprints, self.packets.as_mut()), self.acks.as_mut());
        self.analysis.read_observed(&mut self.capture, &mut observer, max)
    }
}

/// A flow in both captures.
pub struct JoinedFlow {
    /// Number in the first capture.
    pub number: usize,
    /// Number in the second capture.
    pub other_number: usize,
    /// By the side that sends, as in the first capture's key.
    pub directions: [Option<JoinedDirection>; 2],
}

/// Result of the comparison.
pub struct Joined {
    /// None if all matched packets go in one direction, or if no pair of clocks with constant rates
    /// explains the times.
    pub clock: Option<ClockRelation>,
    pub flows: Vec<JoinedFlow>,
    /// Flows of UDP, matched by their payloads.
    pub datagram_flows: Vec<JoinedFlow>,
}

impl Joined {
    /// The comparison of the first capture's flow with this number, by the side that sends.
    pub fn directions(&self, number: usize) -> Option<&[Option<JoinedDirection>; 2]> {
        Some(&self.joined_flow(number)?.directions)
    }

    /// The number in the second capture of the first capture's flow with this number.
    pub fn partner(&self, number: usize) -> Option<usize> {
        Some(self.joined_flow(number)?.other_number)
    }

    /// As [`Joined::directions`], of the UDP flow with this number.
    pub fn datagram_directions(&self, number: usize) -> Option<&[Option<JoinedDirection>; 2]> {
        Some(&find(&self.datagram_flows, number)?.directions)
    }

    fn joined_flow(&self, number: usize) -> Option<&JoinedFlow> {
        find(&self.flows, number)
    }
}

/// Flows are in the order of the first capture.
fn find(flows: &[JoinedFlow], number: usize) -> Option<&JoinedFlow> {
    flows.binary_search_by_key(&number, |flow| flow.number).ok().map(|i| &flows[i])
}

/// A matched packet: its indexes in the fingerprint lists of the first and the second capture.
pub type MatchedPair = (u32, u32);

/// The flows that two captures share and, if the clocks can be related, the fates of their packets.
struct MatchedCaptures<'a> {
    flows: Vec<FlowMatch>,
    fates: Option<MatchedFates<'a>>,
}

/// The matched flows of two captures, with the pairs of packets by the side that sends.
struct MatchedPairs<'a> {
    captures: [&'a CaptureSide; 2],
    flows: Vec<FlowMatch>,
    pairs: Vec<[Vec<MatchedPair>; 2]>,
}

impl<'a> MatchedPairs<'a> {
    fn of(captures: [&'a CaptureSide; 2]) -> MatchedPairs<'a> {
        let [a, b] = captures.map(|side| &side.fingerprints);
        let flows = match_flows::match_flows(a, b);
        let pairs = flows
            .iter()
            .map(|m| [0, 1].map(|side| match_packets::match_packets(&m.in_first(a)[side], &m.in_second(b)[m.side(side)])))
            .collect();
        MatchedPairs { captures, flows, pairs }
    }

    fn add_delays(&self, points: &mut DelayPoints) {
        let [a, b] = self.captures.map(|side| &side.fingerprints);
        for (m, pairs) in self.flows.iter().zip(&self.pairs) {
            points.add(m, pairs, a, b);
        }
    }

    /// The fates of each flow's packets by the side that sends.
    fn fates(&self, clock: &ClockRelation) -> Vec<[Option<MatchedDirection<'a>>; 2]> {
        let recorders = self.captures.map(|side| &side.fingerprints);
        let last_arrived = last_arrived(clock, &self.flows, &self.pairs, recorders);
        let of_side = |(m, pairs): (&FlowMatch, &[Vec<MatchedPair>; 2]), side: usize| {
            match_direction(clock, m, side, &pairs[side], self.captures, last_arrived)
        };
        self.flows.iter().zip(&self.pairs).map(|flow| [of_side(flow, 0), of_side(flow, 1)]).collect()
    }
}

/// Each flow's packets by the side that sends, in the order of the flows.
struct MatchedFates<'a> {
    clock: ClockRelation,
    directions: Vec<[Option<MatchedDirection<'a>>; 2]>,
}

impl<'a> MatchedCaptures<'a> {
    fn of(first: &'a CaptureSide, second: &'a CaptureSide, clock_error_ns: Option<f64>) -> MatchedCaptures<'a> {
        let matched = MatchedPairs::of([first, second]);
        let clock = clock_of(std::slice::from_ref(&matched), clock_error_ns);
        let fates = clock.map(|clock| MatchedFates { clock, directions: matched.fates(&clock) });
        MatchedCaptures { flows: matched.flows, fates }
    }
}

/// The relation of the clocks of pairs of captures by the same two hosts: declared, or by all of their packets.
fn clock_of(matched: &[MatchedPairs<'_>], clock_error_ns: Option<f64>) -> Option<ClockRelation> {
    let origin = matched.iter().filter_map(|one| one.captures[0].analysis.totals.first_at).min().unwrap_or(0);
    let mut points = DelayPoints::new(origin);
    matched.iter().for_each(|one| one.add_delays(&mut points));
    let estimated = points.clock();
    clock_error_ns.map(|error| ClockRelation::known(origin, error, estimated.as_ref())).or(estimated)
}

/// Compares two captures. With `clock_error_ns`, both clocks are taken as correct within that
/// error; without, their relation is estimated from the traffic.
pub fn join(first: &CaptureSide, second: &CaptureSide, clock_error_ns: Option<f64>) -> Joined {
    let MatchedCaptures { flows: matches, fates } = MatchedCaptures::of(first, second, clock_error_ns);
    let of_tcp = matches.iter().filter(|m| !m.is_udp).count();
    let Some(MatchedFates { clock, directions: matched }) = fates else {
        let no_directions = |m: &FlowMatch| JoinedFlow { number: m.first, other_number: m.second, directions: [None, None] };
        let mut flows: Vec<JoinedFlow> = matches.iter().map(no_directions).collect();
        let datagram_flows = flows.split_off(of_tcp);
        return Joined { flows, datagram_flows, clock: None };
    };
    let paths = [true, false].map(|first_to_second| {
        let directions = || matched.iter().flatten().flatten().filter(move |one| one.first_to_second == first_to_second);
        (Aggregate::of(directions()), PolicedPath::of(directions()))
    });
    let mut counts = [0, 0];
    let mut joined = |matched: &Option<MatchedDirection<'_>>| {
        let matched = matched.as_ref()?;
        let towards = usize::from(!matched.first_to_second);
        counts[towards] += 1;
        let (aggregate, policed) = &paths[towards];
        Some(JoinedDirection::of(matched, aggregate, policed, counts[towards] - 1))
    };
    let mut flows: Vec<JoinedFlow> = matches
        .iter()
        .zip(&matched)
        .map(|(m, directions)| JoinedFlow {
            number: m.first,
            other_number: m.second,
            directions: [joined(&directions[0]), joined(&directions[1])],
        })
        .collect();
    let datagram_flows = flows.split_off(of_tcp);
    Joined { flows, datagram_flows, clock: Some(clock) }
}

/// One direction of a flow with the fates of its packets.
pub struct MatchedDirection<'a> {
    pub sent: &'a [PacketFingerprint],
    pub fates: PacketFates,
    pub first_to_second: bool,
    /// The network marked packets CE between the captures.
    pub marked: bool,
}

/// Departure of the last packet that arrived, over all flows, towards the second capture and towards
/// the first.
fn last_arrived(
    clock: &ClockRelation,
    matches: &[FlowMatch],
    pairs: &[[Vec<MatchedPair>; 2]],
    recorders: [&FingerprintRecorder; 2],
) -> [i64; 2] {
    let mut last = [i64::MIN; 2];
    for (m, pairs) in matches.iter().zip(pairs) {
        for (side, pairs) in pairs.iter().enumerate() {
            let (ours, theirs) = (&m.in_first(recorders[0])[side], &m.in_second(recorders[1])[m.side(side)]);
            let Some(first_to_second) = clock.is_first_to_second(ours, theirs, pairs) else { continue };
            let departures =
                pairs.iter().map(|&(x, y)| if first_to_second { ours[x as usize].at } else { theirs[y as usize].at });
            let towards = &mut last[usize::from(!first_to_second)];
            *towards = departures.fold(*towards, i64::max);
        }
    }
    last
}

/// Determines the fates of one direction's packets between the captures.
fn match_direction<'a>(
    clock: &ClockRelation,
    m: &FlowMatch,
    side: usize,
    pairs: &[MatchedPair],
    captures: [&'a CaptureSide; 2],
    last_arrived: [i64; 2],
) -> Option<MatchedDirection<'a>> {
    let [first, second] = captures;
    let (a, b) = (m.in_first(&first.fingerprints), m.in_second(&second.fingerprints));
    let (in_first, in_second) = (&a[side], &b[m.side(side)]);
    let first_to_second = clock.is_first_to_second(in_first, in_second, pairs)?;
    let swapped: Vec<MatchedPair>;
    let (sent, received, pairs, replies, receiver) = if first_to_second {
        (in_first, in_second, pairs, &b[m.side(1 - side)], second)
    } else {
        swapped = pairs.iter().map(|&(x, y)| (y, x)).collect();
        (in_second, in_first, swapped.as_slice(), &a[1 - side], first)
    };
    let span = (receiver.analysis.totals.first_at?, receiver.analysis.totals.last_at);
    let last_arrived = last_arrived[usize::from(!first_to_second)];
    let fates =
        fate::determine(&fate::DirectionView { sent, received, replies, pairs, span, clock, first_to_second, last_arrived });
    let has_ce = |packets: &[PacketFingerprint]| packets.iter().any(|p| p.flags.has(PacketFingerprint::CE));
    Some(MatchedDirection { sent, fates, first_to_second, marked: has_ce(received) && !has_ce(sent) })
}
