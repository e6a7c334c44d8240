//! All flows' packets of one direction together: they share the bottleneck, so its delay at a time and its rate show in all of them.

use super::Placed;
use super::bucket::{self, Bucket};
use super::losses::Fate;

/// Each in the order of its first field.
#[derive(Debug, Default)]
pub struct Stream {
    /// Time of sending and delay of what arrived.
    delays: Vec<(i64, i64)>,
    /// Time of arrival by the sender's clock, IP bytes, delay.
    arrivals: Vec<(i64, u32, i64)>,
    /// A token bucket that held all of them back.
    pub bucket: Option<Bucket>,
}

/// A delay farther away in time says nothing of a queue now.
const NEAR_NS: i64 = 100_000_000;
/// Time with a standing queue that gives a rate: less may be one stall of a host.
const ENOUGH_NS: i64 = 100_000_000;

impl Stream {
    pub fn of<'a>(ways: impl Iterator<Item = &'a Placed<'a>>) -> Stream {
        let mut stream = Stream::default();
        for way in ways {
            for (mark, fate) in way.sent.iter().zip(&way.losses.fates) {
                if let Fate::Arrived(delay) = fate {
                    stream.delays.push((mark.at, *delay));
                    stream.arrivals.push((mark.at.saturating_add(*delay), mark.ip_len, *delay));
                }
            }
        }
        stream.delays.sort_unstable();
        stream.arrivals.sort_unstable();
        stream.bucket = bucket::find(&stream.arrivals.iter().map(|a| (a.0, a.1)).collect::<Vec<_>>());
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
