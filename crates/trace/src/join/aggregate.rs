//! All flows' packets of one direction together: they share the bottleneck, so its delay at a time and its rate show in all of them.

use super::MatchedDirection;
use super::bottleneck_schedule::{BottleneckSchedule, QueueWait, Transit};
use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::token_bucket::{self, TokenBucketEstimate};

/// Each in the order of its first field.
#[derive(Debug, Default)]
pub struct Aggregate {
    /// Time of sending and delay of what arrived.
    delays: Vec<(i64, i64)>,
    /// Time of arrival by the sender's clock, IP bytes, delay.
    arrivals: Vec<(i64, u32, i64)>,
    /// A token bucket that held all of them back.
    pub bucket: Option<TokenBucketEstimate>,
    /// What each packet met, by the number that its list has here.
    pub slots: BottleneckSchedule,
    /// Flows overtake each other, and hardly ever themselves.
    pub flow_queues: bool,
    /// IP bytes that were between the captures at most.
    pub most_between: u64,
}

/// A delay farther away in time says nothing of a queue now.
const NEAR_NS: i64 = 100_000_000;
/// Time with a standing queue that gives a rate: less may be one stall of a host.
const ENOUGH_NS: i64 = 100_000_000;
/// Neighbours in time of two flows, of which such a share overtakes, while hardly any of one flow do: queues of their own.
const ENOUGH_NEIGHBOURS: u32 = 20;
const OVERTAKES: f64 = 0.1;
const REORDERS: f64 = 0.01;

impl Aggregate {
    pub fn of<'a>(ways: impl Iterator<Item = &'a MatchedDirection<'a>>) -> Aggregate {
        let mut stream = Aggregate::default();
        let (mut crossings, mut sizes) = (Vec::new(), Vec::new());
        for (number, way) in ways.enumerate() {
            sizes.push(way.sent.len());
            for (i, (mark, fate)) in way.sent.iter().zip(&way.losses.fates).enumerate() {
                crossings.push(Transit { at: mark.at, ip_len: mark.ip_len, fate: *fate, way: number, number: i });
                if let Fate::Arrived(delay) = fate {
                    stream.delays.push((mark.at, *delay));
                    stream.arrivals.push((mark.at.saturating_add(*delay), mark.ip_len, *delay));
                }
            }
        }
        // Stable: what left at one instant stays in the capture's order.
        crossings.sort_by_key(|c| c.at);
        stream.slots = BottleneckSchedule::of(&crossings, &sizes);
        stream.flow_queues = flow_queues(&crossings);
        stream.delays.sort_unstable();
        stream.arrivals.sort_unstable();
        stream.most_between = most_between(&crossings, &stream.arrivals);
        stream.bucket = token_bucket::find(&stream.arrivals.iter().map(|a| (a.0, a.1)).collect::<Vec<_>>());
        stream
    }

    /// The delay that a packet sent now would have met: the larger of its neighbours' in time.
    pub fn delay_at(&self, at: i64) -> Option<i64> {
        let next = self.delays.partition_point(|d| d.0 < at);
        let near = |d: &&(i64, i64)| d.0.abs_diff(at) <= NEAR_NS as u64;
        let before = next.checked_sub(1).and_then(|i| self.delays.get(i)).filter(near);
        let after = self.delays.get(next).filter(near);
        before.into_iter().chain(after).map(|d| d.1).max()
    }

    /// What the packets of one list met, by its place among those that made the stream.
    pub fn met(&self, number: usize) -> &[QueueWait] {
        self.slots.met.get(number).map_or(&[], Vec::as_slice)
    }

    /// Nanoseconds that the middle one of these packets, by length, needs on the bottleneck.
    pub fn usual_time(&self, sent: &[PacketFingerprint]) -> Option<f64> {
        Some(self.slots.per_byte? * f64::from(super::fingerprint::usual_len(sent)?))
    }

    /// Arrivals that follow each other through a standing queue leave it at the link's rate: their bytes over their time, bits a second.
    pub fn rate(&self, standing: i64) -> Option<f64> {
        let (mut bytes, mut time) = (0u64, 0i64);
        for pair in self.arrivals.windows(2).filter(|w| w[0].2 >= standing && w[1].2 >= standing) {
            bytes += u64::from(pair[1].1);
            time = time.saturating_add(pair[1].0.saturating_sub(pair[0].0));
        }
        (time >= ENOUGH_NS).then(|| bytes as f64 * 8e9 / time as f64)
    }
}

/// Of packets in order of sending, neighbours of two flows and of one, and how many of them arrive the other way round.
fn flow_queues(packets: &[Transit]) -> bool {
    let (mut all, mut turned) = ([0u32; 2], [0u32; 2]);
    let arrivals: Vec<(usize, i64)> = packets
        .iter()
        .filter_map(|p| if let Fate::Arrived(delay) = p.fate { Some((p.way, p.at.saturating_add(delay))) } else { None })
        .collect();
    for pair in arrivals.windows(2) {
        let same = usize::from(pair[0].0 == pair[1].0);
        all[same] += 1;
        turned[same] += u32::from(pair[1].1 < pair[0].1);
    }
    let share = |same: usize| f64::from(turned[same]) / f64::from(all[same].max(1));
    all[0] >= ENOUGH_NEIGHBOURS && share(0) >= OVERTAKES && share(1) <= REORDERS
}

/// Of those that arrived; both lists in order of time.
fn most_between(packets: &[Transit], arrivals: &[(i64, u32, i64)]) -> u64 {
    let (mut gone, mut between, mut most) = (arrivals.iter().peekable(), 0u64, 0);
    for packet in packets.iter().filter(|p| matches!(p.fate, Fate::Arrived(_))) {
        while let Some(arrival) = gone.next_if(|a| a.0 <= packet.at) {
            between = between.saturating_sub(u64::from(arrival.1));
        }
        between += u64::from(packet.ip_len);
        most = most.max(between);
    }
    most
}
