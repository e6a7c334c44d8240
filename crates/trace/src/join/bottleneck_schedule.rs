//! Time on the bottleneck. Behind a busy link of even rate packets arrive one after the other, each its own sending time after the one before. A packet
//! that was lost behind the link had its time on it: the next one arrives that much later. One that was dropped before the link, by a full
//! queue or a managed one, takes no time, and the next follows as if it had never been. So the arrivals around a loss tell which it was.
//!
//! The link is taken for a first-in first-out server of one rate (Lindley 1952: a packet leaves when the one before has left and it has come itself,
//! and its own time later). How well that holds shows in the arrivals between which nothing was lost.

use super::fate::Fate;

/// One packet of any flow that way.
#[derive(Debug, Clone, Copy)]
pub struct Transit {
    /// Time by the sender's clock, nanoseconds.
    pub at: i64,
    pub ip_len: u32,
    pub fate: Fate,
    /// Which list it is of, and its number there.
    pub way: usize,
    pub number: usize,
}

/// What became of a lost packet's time on the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceSlot {
    /// It passed empty: the packet was lost behind the bottleneck.
    Idle,
    /// Others had it: the packet was dropped before the bottleneck.
    Used,
    /// Nothing waited, or the arrivals are too uneven to tell.
    Unknown,
}

/// One packet beside those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueWait {
    /// Nanoseconds that it had to wait, or would have had to, for what was sent before it and arrived.
    pub wait: i64,
    /// Nanoseconds that a packet would have had to wait that came when this one's turn was: what stood behind it.
    pub behind: i64,
    /// Of a lost packet.
    pub slot: ServiceSlot,
}

impl QueueWait {
    const NOTHING: QueueWait = QueueWait { wait: 0, behind: 0, slot: ServiceSlot::Unknown };
}

/// All of a direction's packets, list by list.
#[derive(Debug, Default)]
pub struct BottleneckSchedule {
    pub met: Vec<Vec<QueueWait>>,
    /// Nanoseconds that the bottleneck needs for a byte; none where nothing ever waited.
    pub per_byte: Option<f64>,
    /// Arrivals through the busy link are even enough to tell of single packets.
    pub even: bool,
    /// Where they are not: the share of the packets lost in busy times whose time passed empty, at least, if there are enough to tell.
    pub empty_share: Option<f64>,
}

/// Fewer busy pairs give no rate.
const ENOUGH_PAIRS: usize = 20;
/// A queue stands from this share of the way to the greatest delay, for a first guess at the rate.
const STANDING: f64 = 0.3;
/// An arrival is where it should be within this share of a packet's time; and so many of all have to be.
const EVEN: f64 = 0.3;
const EVEN_SHARE: f64 = 0.95;
/// Arrivals with and without a lost packet's time have to differ by this share of a packet's time.
const TOLD_APART: f64 = 0.5;
/// Packets' times: what is later than that was held up by something else.
const FARTHEST: f64 = 3.0;
/// Standard error up to which a share over all is worth having.
const CERTAIN: f64 = 0.08;

/// The server that the path is taken for.
#[derive(Debug, Clone, Copy)]
struct Server {
    per_byte: f64,
    /// Delay of a packet of no length that nothing waits for.
    least: f64,
}

impl Server {
    fn time(&self, packet: &Transit) -> f64 {
        self.per_byte * f64::from(packet.ip_len)
    }

    /// When a packet arrives if the last one before it did at `last`.
    fn arrival(&self, last: f64, packet: &Transit) -> f64 {
        last.max(packet.at as f64 + self.least) + self.time(packet)
    }

    fn wait(&self, last: f64, packet: &Transit) -> f64 {
        (last - packet.at as f64 - self.least).max(0.0)
    }
}

/// What one loss, or several without an arrival between them, did to the next arrival: packets' times later than without them, and how many
/// it would be if all of them had passed.
struct Gap {
    later: f64,
    all: f64,
    lost: Vec<usize>,
}

impl BottleneckSchedule {
    /// `packets` in order of sending; `sizes` are the lists' lengths.
    pub fn of(packets: &[Transit], sizes: &[usize]) -> BottleneckSchedule {
        let mut slots = BottleneckSchedule {
            met: sizes.iter().map(|&n| vec![QueueWait::NOTHING; n]).collect(),
            ..BottleneckSchedule::default()
        };
        let Some(server) = server(packets) else { return slots };
        slots.per_byte = Some(server.per_byte);
        let (noise, gaps) = slots.walk(packets, server);
        slots.look_behind(packets, server);
        let near = noise.iter().filter(|x| x.abs() < EVEN).count();
        slots.even = noise.len() >= ENOUGH_PAIRS && near as f64 >= EVEN_SHARE * noise.len() as f64;
        if slots.even {
            gaps.iter().for_each(|gap| slots.tell(packets, gap));
        } else if noise.len() >= ENOUGH_PAIRS {
            slots.empty_share = share(&noise, &gaps);
        }
        slots
    }

    /// Fills in all waits; how far arrivals are off where nothing was lost, and the gaps where something was.
    fn walk(&mut self, packets: &[Transit], server: Server) -> (Vec<f64>, Vec<Gap>) {
        let (mut noise, mut gaps) = (Vec::new(), Vec::new());
        let mut last: Option<f64> = None;
        let mut lost: Vec<usize> = Vec::new();
        for (i, packet) in packets.iter().enumerate() {
            self.met[packet.way][packet.number].wait = last.map_or(0.0, |last| server.wait(last, packet)) as i64;
            match packet.fate {
                Fate::Lost => lost.push(i),
                // It took its time, unseen.
                Fate::Uncaptured | Fate::Beyond => (last, lost) = (None, Vec::new()),
                Fate::Arrived(delay) => {
                    let arrived = packet.at as f64 + delay as f64;
                    if let Some(last) = last {
                        let without = server.arrival(last, packet);
                        let with = server.arrival(lost.iter().fold(last, |last, &l| server.arrival(last, &packets[l])), packet);
                        let unit = server.time(packet);
                        let later = (arrived - without) / unit;
                        if lost.is_empty() && server.wait(last, packet) > 0.0 {
                            noise.push(later);
                        } else if !lost.is_empty() {
                            gaps.push(Gap { later, all: (with - without) / unit, lost: std::mem::take(&mut lost) });
                        }
                    }
                    lost.clear();
                    last = Some(last.map_or(arrived, |last| last.max(arrived)));
                }
            }
        }
        (noise, gaps)
    }

    /// Fills in what stood behind each packet when its turn came.
    fn look_behind(&mut self, packets: &[Transit], server: Server) {
        let mut latest: Vec<(i64, f64)> = Vec::new();
        for packet in packets {
            if let Fate::Arrived(delay) = packet.fate {
                let arrived = packet.at as f64 + delay as f64;
                latest.push((packet.at, latest.last().map_or(arrived, |last| last.1.max(arrived))));
            }
        }
        let mut next = 0;
        for packet in packets {
            let met = &mut self.met[packet.way][packet.number];
            let turn = packet.at.saturating_add(met.wait);
            while next > 0 && latest.get(next - 1).is_some_and(|l| l.0 > turn) {
                next -= 1;
            }
            while latest.get(next).is_some_and(|l| l.0 <= turn) {
                next += 1;
            }
            let last = next.checked_sub(1).and_then(|i| latest.get(i));
            met.behind = last.map_or(0.0, |last| (last.1 - server.least - turn as f64).max(0.0)) as i64;
        }
    }

    /// Of the packets lost in one gap as many passed as it is wide; those that met the longest queue were dropped first.
    fn tell(&mut self, packets: &[Transit], gap: &Gap) {
        let count = gap.lost.len();
        if gap.all < TOLD_APART * count as f64 {
            return;
        }
        let passed = (gap.later / gap.all * count as f64).round().clamp(0.0, count as f64) as usize;
        let mut order = gap.lost.clone();
        order.sort_by_key(|&l| self.met[packets[l].way][packets[l].number].wait);
        for (rank, l) in order.into_iter().enumerate() {
            self.met[packets[l].way][packets[l].number].slot = if rank < passed { ServiceSlot::Idle } else { ServiceSlot::Used };
        }
    }
}

/// The mean over many uneven gaps, less what arrivals are off by anyway and two standard errors; none where these are large.
fn share(noise: &[f64], gaps: &[Gap]) -> Option<f64> {
    let held = |x: f64, most: f64| x.clamp(-FARTHEST, most + FARTHEST);
    let n = noise.len() as f64;
    let mean = noise.iter().map(|&x| held(x, 0.0)).sum::<f64>() / n;
    let variance = noise.iter().map(|&x| (held(x, 0.0) - mean).powi(2)).sum::<f64>() / n;
    let busy = || gaps.iter().filter(|gap| gap.all >= TOLD_APART * gap.lost.len() as f64);
    let (count, all) = (busy().count() as f64, busy().map(|gap| gap.all).sum::<f64>());
    let later = busy().map(|gap| held(gap.later, gap.all) - mean).sum::<f64>();
    let error = (variance * count).sqrt() / all;
    (all > 0.0 && error <= CERTAIN).then(|| (later / all - 2.0 * error).clamp(0.0, 1.0))
}

/// Rate and least delay. The rate is that of arrivals one after the other through a queue, between which nothing was lost; the middle one's where most are
/// alike, else the mean.
fn server(packets: &[Transit]) -> Option<Server> {
    let delay = |p: &Transit| if let Fate::Arrived(delay) = p.fate { Some(delay) } else { None };
    let delays = || packets.iter().filter_map(delay);
    let (least, most) = (delays().min()?, delays().max()?);
    let standing = least + ((most - least) as f64 * STANDING) as i64;
    let mut gaps: Vec<(f64, f64)> = packets
        .windows(2)
        .filter_map(|w| match (delay(&w[0])?, delay(&w[1])?) {
            (a, b) if a.min(b) >= standing => {
                Some(((w[1].at.saturating_add(b)).saturating_sub(w[0].at.saturating_add(a)) as f64, f64::from(w[1].ip_len)))
            }
            _ => None,
        })
        .collect();
    if gaps.len() < ENOUGH_PAIRS {
        return None;
    }
    let mean = gaps.iter().map(|g| g.0).sum::<f64>() / gaps.iter().map(|g| g.1).sum::<f64>();
    gaps.sort_unstable_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let (time, bytes) = gaps[gaps.len() / 2];
    let middle = time / bytes;
    let alike = gaps.iter().filter(|g| (g.0 / g.1 / middle - 1.0).abs() < EVEN).count();
    let per_byte = if middle > 0.0 && alike * 2 > gaps.len() { middle } else { mean };
    let least =
        packets.iter().filter_map(|p| Some(delay(p)? as f64 - per_byte * f64::from(p.ip_len))).fold(f64::INFINITY, f64::min);
    (per_byte > 0.0 && per_byte.is_finite()).then_some(Server { per_byte, least })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Packets every 0.8 ms into a link that needs 1 ms for each, 10 ms away. `dropped` never reach it, `lost` get lost behind it.
    fn link(dropped: &[usize], lost: &[usize], late: impl Fn(usize) -> i64) -> Vec<Transit> {
        let mut free = 0;
        (0..400usize)
            .map(|number| {
                let at = number as i64 * 800_000;
                let fate = if dropped.contains(&number) {
                    Fate::Lost
                } else {
                    free = free.max(at) + MS;
                    if lost.contains(&number) { Fate::Lost } else { Fate::Arrived(free - at + 10 * MS + late(number)) }
                };
                Transit { at, ip_len: 1500, fate, way: 0, number }
            })
            .collect()
    }

    #[test]
    fn a_packets_time_on_the_link_tells_where_it_was_lost() {
        let slots = BottleneckSchedule::of(&link(&[200, 201, 300], &[150, 202, 350], |_| 0), &[400]);
        assert!(slots.even && (slots.per_byte.unwrap() * 1500.0 - 1e6).abs() < 1.0);
        let of = |n: usize| slots.met[0][n].slot;
        assert_eq!([150, 350].map(of), [ServiceSlot::Idle; 2]);
        assert_eq!(of(300), ServiceSlot::Used);
        // Three in a row, of which one had its time: the shortest wait's.
        assert_eq!([200, 201, 202].map(of).into_iter().filter(|slot| *slot == ServiceSlot::Idle).count(), 1);
        let wait = slots.met[0][300].wait;
        assert!((wait - (300 - 5 - 300 * 4 / 5) * MS).abs() <= 4 * MS, "{wait}");
    }

    #[test]
    fn uneven_arrivals_tell_of_many_losses_together_and_of_none_alone() {
        let every = |n: usize| (20..400).filter(|i| i % n == 0).collect::<Vec<_>>();
        let jitter = |n: usize| (n * 7919 % 13) as i64 * 120_000;
        for (dropped, lost) in [(vec![], every(9)), (every(9), vec![])] {
            let slots = BottleneckSchedule::of(&link(&dropped, &lost, jitter), &[400]);
            assert!(!slots.even && slots.met[0].iter().all(|met| met.slot == ServiceSlot::Unknown));
            let share = slots.empty_share.unwrap_or(0.0);
            assert!(if lost.is_empty() { share < 0.1 } else { share > 0.6 }, "{share}");
        }
    }
}
