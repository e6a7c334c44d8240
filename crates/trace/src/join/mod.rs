//! Two captures of the same traffic, one nearer each end: which packet is which, what the clocks say, and what happened in between.

pub(crate) mod bucket;
mod buffer;
mod bursts;
mod clock;
mod dense;
mod flows;
mod losses;
mod marks;
mod packets;
mod probes;
mod skew;
mod slots;
mod step;
mod stream;
mod verdict;
mod way;

pub use bucket::Bucket;
pub use buffer::{Buffer, Doubt};
pub use bursts::{Burst, Bursts};
pub use clock::{Clock, Points};
pub use losses::{Fate, Losses};
pub use marks::{Mark, Recorder};
pub use probes::{Judged, judge_probes};
pub use verdict::{Blame, Verdict};
pub use way::Way;

use crate::analyze::{Analysis, PacketFilter};
use crate::series::Packets;
use ackclock_pcap::read::{Capture, ReadError};
use flows::Partner;
use stream::Stream;

/// One capture with what its packets were.
pub struct Taken {
    pub capture: Capture,
    pub analysis: Analysis,
    pub marks: Recorder,
    /// Every packet as a row, where that is asked for.
    pub packets: Option<Packets>,
}

impl Taken {
    pub fn new(capture: Capture, only: PacketFilter) -> Taken {
        Taken { capture, analysis: Analysis::new(only), marks: Recorder::default(), packets: None }
    }

    /// Takes up to `most` packets; the number taken.
    pub fn read(&mut self, most: u64) -> Result<u64, ReadError> {
        let mut watch = (&mut self.marks, self.packets.as_mut());
        self.analysis.read(&mut self.capture, &mut watch, most)
    }
}

/// A flow of the first capture in both: `ways` by the side that sends, as in the first capture's key.
pub struct JoinedFlow {
    pub number: usize,
    pub other_number: usize,
    pub ways: [Option<Way>; 2],
}

/// What two captures show together.
pub struct Joined {
    /// None when the flows in both have packets of one direction only, or no two clocks of even rate explain them.
    pub clock: Option<Clock>,
    pub flows: Vec<JoinedFlow>,
}

/// A matched packet: its numbers in the two captures' lists.
pub type Pair = (u32, u32);

/// Matches what both captures saw. With `error`, both clocks are right to within so many nanoseconds; without, the traffic has to tell.
pub fn join(first: &Taken, second: &Taken, error: Option<f64>) -> Joined {
    let (a, b) = (&first.marks, &second.marks);
    let origin = first.analysis.totals.first_at.unwrap_or(0);
    let partners = flows::partners(a, b);
    let matched: Vec<[Vec<Pair>; 2]> = partners
        .iter()
        .map(|p| [0, 1].map(|side| packets::pairs(&a.flows[p.first][side], &b.flows[p.second][p.side(side)])))
        .collect();
    let mut points = Points::new(origin);
    for (p, pairs) in partners.iter().zip(&matched) {
        points.add(p, pairs, a, b);
    }
    let by_traffic = points.clock();
    let clock = error.map(|error| Clock::known(origin, error, by_traffic.as_ref())).or(by_traffic);
    let Some(known) = &clock else {
        let alone = |p: &Partner| JoinedFlow { number: p.first, other_number: p.second, ways: [None, None] };
        return Joined { flows: partners.iter().map(alone).collect(), clock };
    };
    let placed: Vec<[Option<Placed<'_>>; 2]> = partners
        .iter()
        .zip(&matched)
        .map(|(p, pairs)| [0, 1].map(|side| placed(known, p, side, &pairs[side], [first, second])))
        .collect();
    let streams = [true, false].map(|onward| Stream::of(placed.iter().flatten().flatten().filter(|way| way.onward == onward)));
    let mut numbers = [0, 0];
    let mut way = |placed: &Option<Placed<'_>>| {
        let way = placed.as_ref()?;
        let towards = usize::from(!way.onward);
        numbers[towards] += 1;
        Some(Way::of(way, &streams[towards], numbers[towards] - 1))
    };
    let flows = partners
        .iter()
        .zip(&placed)
        .map(|(p, ways)| JoinedFlow { number: p.first, other_number: p.second, ways: [way(&ways[0]), way(&ways[1])] })
        .collect();
    Joined { flows, clock }
}

/// A direction of a flow with what became of its packets.
pub struct Placed<'a> {
    pub sent: &'a [Mark],
    pub losses: Losses,
    pub onward: bool,
    /// The network marked some of them on their way.
    pub marked: bool,
}

/// What became of one direction's packets between the captures.
fn placed<'a>(clock: &Clock, p: &Partner, side: usize, pairs: &[Pair], taken: [&'a Taken; 2]) -> Option<Placed<'a>> {
    let [first, second] = taken;
    let (a, b) = (&first.marks.flows[p.first], &second.marks.flows[p.second]);
    let (ours, theirs) = (&a[side], &b[p.side(side)]);
    // Later in the second capture: it is nearer the receiver.
    let onward = clock.is_onward(ours, theirs, pairs)?;
    let turned: Vec<Pair>;
    let (sent, got, pairs, answers, end) = if onward {
        (ours, theirs, pairs, &b[p.side(1 - side)], second)
    } else {
        turned = pairs.iter().map(|&(x, y)| (y, x)).collect();
        (theirs, ours, turned.as_slice(), &a[1 - side], first)
    };
    let span = (end.analysis.totals.first_at?, end.analysis.totals.last_at);
    let losses = losses::place(&losses::Seen { sent, got, answers, pairs, span, clock, onward });
    let marked = got.iter().any(|m| m.flags.has(Mark::CE)) && !sent.iter().any(|m| m.flags.has(Mark::CE));
    Some(Placed { sent, losses, onward, marked })
}
