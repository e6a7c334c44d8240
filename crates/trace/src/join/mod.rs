//! Two captures of the same traffic, one nearer each end: which packet is which, what the clocks say, and what happened in between.

mod aggregate;
mod bottleneck_buffer;
mod bottleneck_schedule;
mod clock_relation;
mod direction;
mod fate;
mod fingerprint;
mod loss_attribution;
mod loss_bursts;
mod loss_clusters;
mod loss_threshold;
mod match_flows;
mod match_packets;
mod probes;
mod skew;
pub(crate) mod token_bucket;

pub use bottleneck_buffer::{BufferCaveat, BufferEstimate};
pub use clock_relation::{ClockRelation, DelayPoints};
pub use direction::JoinedDirection;
pub use fate::{Fate, Fates};
pub use fingerprint::{FingerprintRecorder, PacketFingerprint};
pub use loss_attribution::{LossAttribution, LossOrigin};
pub use loss_bursts::{LossBurst, LossBursts};
pub use probes::{ProbeLosses, attribute_probe_losses};
pub use token_bucket::TokenBucketEstimate;

use crate::analyze::{Analysis, PacketFilter};
use crate::series::Packets;
use ackclock_pcap::read::{Capture, ReadError};
use aggregate::Aggregate;
use match_flows::FlowMatch;

/// One capture with what its packets were.
pub struct CaptureSide {
    pub capture: Capture,
    pub analysis: Analysis,
    pub marks: FingerprintRecorder,
    /// Every packet as a row, where that is asked for.
    pub packets: Option<Packets>,
}

impl CaptureSide {
    pub fn new(capture: Capture, only: PacketFilter) -> CaptureSide {
        CaptureSide { capture, analysis: Analysis::new(only), marks: FingerprintRecorder::default(), packets: None }
    }

    /// Takes up to `most` packets; the number taken.
    pub fn read(&mut self, most: u64) -> Result<u64, ReadError> {
        let mut watch = (&mut self.marks, self.packets.as_mut());
        self.analysis.read(&mut self.capture, &mut watch, most)
    }
}

/// A flow of the first capture in both: `directions` by the side that sends, as in the first capture's key.
pub struct JoinedFlow {
    pub number: usize,
    pub other_number: usize,
    pub directions: [Option<JoinedDirection>; 2],
}

/// What two captures show together.
pub struct Joined {
    /// None when the flows in both have packets of one direction only, or no two clocks of even rate explain them.
    pub clock: Option<ClockRelation>,
    pub flows: Vec<JoinedFlow>,
}

/// A matched packet: its numbers in the two captures' lists.
pub type Pair = (u32, u32);

/// Matches what both captures saw. With `error`, both clocks are right to within so many nanoseconds; without, the traffic has to tell.
pub fn join(first: &CaptureSide, second: &CaptureSide, error: Option<f64>) -> Joined {
    let (a, b) = (&first.marks, &second.marks);
    let origin = first.analysis.totals.first_at.unwrap_or(0);
    let partners = match_flows::match_flows(a, b);
    let matched: Vec<[Vec<Pair>; 2]> = partners
        .iter()
        .map(|p| [0, 1].map(|side| match_packets::match_packets(&a.flows[p.first][side], &b.flows[p.second][p.side(side)])))
        .collect();
    let mut points = DelayPoints::new(origin);
    for (p, pairs) in partners.iter().zip(&matched) {
        points.add(p, pairs, a, b);
    }
    let by_traffic = points.clock();
    let clock = error.map(|error| ClockRelation::known(origin, error, by_traffic.as_ref())).or(by_traffic);
    let Some(known) = &clock else {
        let alone = |p: &FlowMatch| JoinedFlow { number: p.first, other_number: p.second, directions: [None, None] };
        return Joined { flows: partners.iter().map(alone).collect(), clock };
    };
    let placed: Vec<[Option<MatchedDirection<'_>>; 2]> = partners
        .iter()
        .zip(&matched)
        .map(|(p, pairs)| [0, 1].map(|side| placed(known, p, side, &pairs[side], [first, second])))
        .collect();
    let streams = [true, false].map(|first_to_second| {
        Aggregate::of(placed.iter().flatten().flatten().filter(|way| way.first_to_second == first_to_second))
    });
    let mut numbers = [0, 0];
    let mut way = |placed: &Option<MatchedDirection<'_>>| {
        let way = placed.as_ref()?;
        let towards = usize::from(!way.first_to_second);
        numbers[towards] += 1;
        Some(JoinedDirection::of(way, &streams[towards], numbers[towards] - 1))
    };
    let flows = partners
        .iter()
        .zip(&placed)
        .map(|(p, directions)| JoinedFlow {
            number: p.first,
            other_number: p.second,
            directions: [way(&directions[0]), way(&directions[1])],
        })
        .collect();
    Joined { flows, clock }
}

/// A direction of a flow with what became of its packets.
pub struct MatchedDirection<'a> {
    pub sent: &'a [PacketFingerprint],
    pub losses: Fates,
    pub first_to_second: bool,
    /// The network marked some of them on their way.
    pub marked: bool,
}

/// What became of one direction's packets between the captures.
fn placed<'a>(
    clock: &ClockRelation,
    p: &FlowMatch,
    side: usize,
    pairs: &[Pair],
    taken: [&'a CaptureSide; 2],
) -> Option<MatchedDirection<'a>> {
    let [first, second] = taken;
    let (a, b) = (&first.marks.flows[p.first], &second.marks.flows[p.second]);
    let (ours, theirs) = (&a[side], &b[p.side(side)]);
    // Later in the second capture: it is nearer the receiver.
    let first_to_second = clock.is_first_to_second(ours, theirs, pairs)?;
    let turned: Vec<Pair>;
    let (sent, got, pairs, answers, end) = if first_to_second {
        (ours, theirs, pairs, &b[p.side(1 - side)], second)
    } else {
        turned = pairs.iter().map(|&(x, y)| (y, x)).collect();
        (theirs, ours, turned.as_slice(), &a[1 - side], first)
    };
    let span = (end.analysis.totals.first_at?, end.analysis.totals.last_at);
    let losses = fate::determine(&fate::DirectionView { sent, got, answers, pairs, span, clock, first_to_second });
    let marked =
        got.iter().any(|m| m.flags.has(PacketFingerprint::CE)) && !sent.iter().any(|m| m.flags.has(PacketFingerprint::CE));
    Some(MatchedDirection { sent, losses, first_to_second, marked })
}
