//! What a line adds to each packet, by the service times of packets of several lengths: bytes of
//! encapsulation shift them by the same time, and cells make them steps. One length shows a rate
//! alone; a shift and a step need lengths that only one of them explains. The byte that PTM has with each
//! 64 begun is within a byte of a share of the length, and needs times as exact as that.

use crate::arrivals::busy_runs;
use crate::estimate::Fitted;
use crate::facts::DirectionFacts;
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::link::{Cells, LinkLayer};
use ackclock_core::rng::Rng;
use serde::Serialize;

/// How a line divides the bytes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Document)]
#[serde(rename_all = "lowercase")]
pub enum LineCells {
    None,
    /// 48 bytes in each 53.
    Atm,
    /// A byte with each 64 begun.
    Ptm,
}

/// Cells, and whether a packet has the minimum of an Ethernet frame.
type Kind = (LineCells, bool);

/// The evidence of a framing.
#[derive(Debug, Clone, Serialize, Document)]
pub struct FramingEvidence {
    /// Lengths of packets whose service times were compared, and their number.
    pub lens: Vec<u32>,
    pub packets: usize,
}

/// A framing: bytes in addition to the IP packet.
#[derive(Debug, Clone, Serialize, Document)]
pub struct FramingFit {
    pub cells: LineCells,
    /// The times show that no other cells are as likely; else the line may have PTM.
    pub knows_cells: bool,
    pub overhead: Fitted<FramingEvidence>,
    /// Minimum of packet and overhead, bytes; 0 if short packets show none.
    pub mpu: u32,
    /// With the value of the overhead.
    #[serde(skip)]
    layer: LinkLayer,
}

impl FramingFit {
    /// The packets with the lengths that the line carries.
    pub fn on_line(&self, runs: &[DirectionFacts]) -> Vec<DirectionFacts> {
        let mut runs = runs.to_vec();
        for packet in runs.iter_mut().flat_map(|facts| &mut facts.packets) {
            packet.len = framed(self.layer, packet.len);
        }
        runs
    }

    /// Bytes of a packet's length for each byte that the line carries for it.
    pub fn share_of(&self, len: u32) -> f64 {
        f64::from(len) / f64::from(framed(self.layer, len).max(1))
    }

    /// Bytes by which the line's length of a packet may change at once.
    pub fn cell_bytes(&self) -> f64 {
        if self.cells == LineCells::Atm { 53.0 } else { 1.0 }
    }

    /// Length on the line of a packet at both ends of the overhead's interval, relative to that at its value.
    pub fn range(&self, len: u32) -> [f64; 2] {
        let at = |overhead: Option<f64>| {
            let layer = overhead.map_or(self.layer, |overhead| LinkLayer { overhead: overhead as u16, ..self.layer });
            f64::from(framed(layer, len)) / f64::from(framed(self.layer, len).max(1))
        };
        [at(self.overhead.lo), at(self.overhead.hi)]
    }
}

fn framed(layer: LinkLayer, len: u32) -> u32 {
    u32::from(layer.on_wire(u16::try_from(len).unwrap_or(u16::MAX)))
}

/// The service time of packets of one length, nanoseconds.
#[derive(Debug)]
struct LengthTime {
    len: u32,
    packets: usize,
    ns: f64,
    /// By how much it may be wrong.
    error: f64,
}

/// The framing that service times of a busy link show; none if they are in proportion to the lengths, or if
/// more than one kind of framing explains them. `margin` as for the rate.
pub fn estimate(runs: &[DirectionFacts], margin: i64, draws: usize, rng: &mut Rng) -> Option<FramingFit> {
    let times = times(runs, margin)?;
    if times.len() < 2 {
        return None;
    }
    let kinds: [Kind; 4] = [(LineCells::None, false), (LineCells::None, true), (LineCells::Ptm, false), (LineCells::Atm, false)];
    let mut likely: Vec<(Kind, u16, f64)> = Vec::new();
    for kind in kinds {
        for overhead in 0..=LIMITS.max_overhead {
            likely.extend(misfit(&times, layer(kind, overhead)).map(|misfit| (kind, overhead, misfit)));
        }
    }
    let has = |cells: LineCells| likely.iter().any(|one| one.0.0 == cells);
    let is_atm = has(LineCells::Atm);
    let smallest = likely.iter().map(|one| one.1).min()?;
    if is_atm && (has(LineCells::None) || has(LineCells::Ptm)) || !is_atm && smallest < LIMITS.min_overhead {
        return None;
    }
    let knows_cells = is_atm || !(has(LineCells::None) && has(LineCells::Ptm));
    // Overheads that fill the same cells are equally likely, as is a minimum that no packet is below. Without
    // cells is the simplest.
    let first = likely.first()?.0.0;
    let best = likely.iter().filter(|one| one.0.0 == first).map(|one| one.2).fold(f64::INFINITY, f64::min);
    let is_best = |one: &&(Kind, u16, f64)| one.0.0 == first && one.2 <= best + LIMITS.same_framing;
    let kind = likely.iter().find(is_best)?.0;
    let as_good: Vec<u16> = likely.iter().filter(is_best).filter(|one| one.0 == kind).map(|one| one.1).collect();
    let overhead = as_good[as_good.len() / 2];
    let of_kind: Vec<f64> = likely.iter().filter(|one| one.0 == kind || !knows_cells).map(|one| f64::from(one.1)).collect();
    let (lo, hi) = of_kind.iter().fold((f64::INFINITY, 0.0_f64), |(lo, hi), &one| (lo.min(one), hi.max(one)));
    let evidence = FramingEvidence {
        lens: times.iter().map(|time| time.len).collect(),
        packets: times.iter().map(|time| time.packets).sum(),
    };
    let drawn: Vec<f64> = (0..draws).map(|_| of_kind[(rng.uniform() * of_kind.len() as f64) as usize]).collect();
    let fitted = Fitted::identified(f64::from(overhead), drawn, evidence).at_least(lo, hi);
    let layer = layer(kind, overhead);
    Some(FramingFit { cells: kind.0, knows_cells, overhead: fitted, mpu: u32::from(layer.mpu), layer })
}

/// A framing of this overhead. Of an Ethernet frame, at least 46 bytes of a packet are sent (IEEE 802.3, section
/// 4A.4.2).
fn layer((cells, is_ethernet): Kind, overhead: u16) -> LinkLayer {
    const MIN_PAYLOAD: u16 = 46;
    let cells = match cells {
        LineCells::None => Cells::None,
        LineCells::Atm => Cells::Atm,
        LineCells::Ptm => Cells::Ptm,
    };
    LinkLayer { cells, overhead, mpu: if is_ethernet { overhead + MIN_PAYLOAD } else { 0 } }
}

/// The sum of the squared errors, each relative to what it may be, under the rate that explains the times best;
/// none if a time is further off.
fn misfit(times: &[LengthTime], layer: LinkLayer) -> Option<f64> {
    let bytes = |time: &LengthTime| f64::from(framed(layer, time.len));
    let weighted = |of: &dyn Fn(&LengthTime) -> f64| times.iter().map(|time| of(time) / time.error.powi(2)).sum::<f64>();
    let ns_per_byte = weighted(&|time| bytes(time) * time.ns) / weighted(&|time| bytes(time).powi(2));
    let errors = || times.iter().map(|time| ((time.ns - ns_per_byte * bytes(time)) / time.error).powi(2));
    errors().all(|error| error <= 1.0).then(|| errors().sum())
}

/// The service times of each length with enough packets that arrived alone; none if they do not agree, or
/// several packets arrived at one time: a receiver that merges them, or a link that sends in frames.
fn times(runs: &[DirectionFacts], margin: i64) -> Option<Vec<LengthTime>> {
    if runs.iter().any(|facts| facts.by_acks) {
        return None;
    }
    let of_run = |facts: &DirectionFacts| Some(busy_runs(facts, facts.floor()?, margin, LIMITS.min_mode_run));
    let gaps: Vec<_> = runs.iter().filter_map(of_run).flatten().flatten().filter(|gap| gap.is_clean).collect();
    let mut alone: Vec<(u32, f64)> = gaps.iter().filter(|gap| gap.packets == 1).map(|gap| (gap.bytes as u32, gap.ns)).collect();
    if ((gaps.len() - alone.len()) as f64) > LIMITS.max_merged * gaps.len() as f64 {
        return None;
    }
    alone.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let classes: Vec<&[(u32, f64)]> =
        alone.chunk_by(|a, b| a.0 == b.0).filter(|class| class.len() >= LIMITS.min_framed_packets).collect();
    let times: Vec<LengthTime> = classes.iter().filter_map(|class| LengthTime::of(class)).collect();
    // Times of one length that do not agree are not those of a line alone.
    (times.len() == classes.len()).then_some(times)
}

impl LengthTime {
    /// By the most frequent time of packets of a length, ascending; none if most differ from it.
    fn of(class: &[(u32, f64)]) -> Option<LengthTime> {
        let (mut from, mut best) = (0, (0, 0));
        for (to, &(_, ns)) in class.iter().enumerate() {
            while ns > class[from].1 * (1.0 + 2.0 * LIMITS.mode_half_width) + LIMITS.clock_resolution_ns {
                from += 1;
            }
            if to + 1 - from > best.1 - best.0 {
                best = (from, to + 1);
            }
        }
        let mode = &class[best.0..best.1];
        if (mode.len() as f64) < LIMITS.min_framed_share * class.len() as f64 {
            return None;
        }
        let n = mode.len() as f64;
        let ns = mode.iter().map(|one| one.1).sum::<f64>() / n;
        let deviation = libm::sqrt(mode.iter().map(|one| (one.1 - ns).powi(2)).sum::<f64>() / n);
        let error = LIMITS.framing_sigmas * deviation / libm::sqrt(n) + LIMITS.clock_error * ns + LIMITS.framing_error_ns;
        Some(LengthTime { len: class[0].0, packets: mode.len(), ns, error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{LinkPacket, Outcome};

    /// Six thousand packets of these lengths, one after another through a queue that stands, at 1 Mb/s over a line
    /// that takes `bytes` for a packet; `late` delays an arrival, nanoseconds.
    fn line(lens: &[u32], bytes: impl Fn(u32) -> u32, mut late: impl FnMut(usize) -> f64) -> DirectionFacts {
        let (mut free, mut last) = (0, 0);
        let packets = (0..6000).map(|i| {
            // No period of the lengths, so that each follows each.
            let len = lens[(i * i / 3 + i / 7) % lens.len()];
            let sent = (free - 30_000_000).max(0);
            free += i64::from(bytes(len)) * 8000;
            last = last.max(free + 20_000_000 + late(i) as i64);
            LinkPacket { sent, len, outcome: Outcome::Arrived(last) }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    fn fitted(facts: DirectionFacts) -> Option<FramingFit> {
        estimate(&[facts], 0, 100, &mut Rng::for_element(1, "framing"))
    }

    fn interval(fit: &FramingFit) -> [f64; 3] {
        [fit.overhead.lo.unwrap(), fit.overhead.value.unwrap(), fit.overhead.hi.unwrap()]
    }

    fn atm(overhead: u32) -> impl Fn(u32) -> u32 {
        move |len| (len + overhead).div_ceil(48) * 53
    }

    #[test]
    fn overhead_follows_from_the_times_of_two_lengths() {
        for overhead in [14, 18, 30, 38] {
            let fit = fitted(line(&[52, 1500], |len| len + overhead, |_| 0.0)).expect("a framing");
            assert_eq!((fit.cells, fit.mpu, interval(&fit)[1]), (LineCells::None, 0, f64::from(overhead)));
            assert!(interval(&fit)[2] - interval(&fit)[0] <= 2.0, "{fit:?}");
        }
    }

    #[test]
    fn cells_are_found_when_the_times_are_steps() {
        let fit = fitted(line(&[52, 64, 72, 80, 576, 1500], atm(32), |_| 0.0)).expect("a framing");
        let [lo, value, hi] = interval(&fit);
        assert_eq!(fit.cells, LineCells::Atm);
        // 64 B fill two cells, and 72 B three.
        assert!(lo <= 32.0 && 32.0 <= hi && lo >= 25.0 && hi <= 36.0 && (lo..=hi).contains(&value), "{fit:?}");
        let [low, high] = fit.range(1500);
        assert!(low <= 1.0 && high >= 1.0 && high - low < 0.04, "{low} {high}");
    }

    #[test]
    fn ptm_is_found_when_times_are_exact() {
        let ptm = |len: u32| len + 30 + (len + 30).div_ceil(64);
        let fit = fitted(line(&[52, 64, 1500], ptm, |_| 0.0)).expect("a framing");
        assert_eq!((fit.cells, fit.knows_cells, interval(&fit)), (LineCells::Ptm, true, [30.0; 3]));
    }

    #[test]
    fn minimum_of_a_frame_is_found_when_packets_are_shorter() {
        let fit = fitted(line(&[40, 52, 1500], |len| (len + 18).max(64), |_| 0.0)).expect("a framing");
        assert_eq!((fit.cells, fit.mpu, interval(&fit)[1]), (LineCells::None, 64, 18.0));
    }

    #[test]
    fn nothing_is_found_when_a_line_adds_nothing_or_a_share() {
        assert!(fitted(line(&[52, 576, 1500], |len| len, |_| 0.0)).is_none());
        assert!(fitted(line(&[52, 576, 1500], |len| len + 1, |_| 0.0)).is_none(), "as little as the times may be wrong");
        // A rate alone: 65 of 64 bytes.
        assert!(fitted(line(&[640, 1280], |len| len / 64 * 65, |_| 0.0)).is_none());
    }

    #[test]
    fn nothing_is_found_when_all_packets_have_one_length() {
        assert!(fitted(line(&[1500], atm(32), |_| 0.0)).is_none());
    }

    #[test]
    fn nothing_is_found_when_lengths_fit_cells_and_bytes() {
        // 592 and 1072 B take 13 and 23 cells, as with 32 B of overhead and no cells.
        assert!(fitted(line(&[592, 1072], atm(32), |_| 0.0)).is_none());
    }

    #[test]
    fn nothing_is_found_when_a_host_delays_arrivals() {
        let mut rng = Rng::for_element(5, "host");
        assert!(fitted(line(&[52, 64, 1500], |len| len + 38, |_| rng.exponential(500e3))).is_none());
        let mut rng = Rng::for_element(5, "host");
        // Microseconds of a host leave it.
        let fit = fitted(line(&[52, 64, 1500], |len| len + 38, |_| rng.exponential(3e3))).expect("a framing");
        assert!(interval(&fit)[0] <= 38.0 && 38.0 <= interval(&fit)[2], "{fit:?}");
    }

    #[test]
    fn nothing_is_found_when_each_packet_takes_a_medium_as_long_as_hundreds_of_bytes() {
        assert!(fitted(line(&[52, 576, 1500], |len| len + 150, |_| 0.0)).is_none());
    }

    #[test]
    fn nothing_is_found_when_a_receiver_merges_packets_or_a_medium_sends_in_frames() {
        let mut merged = line(&[52, 1500], |len| len + 38, |_| 0.0);
        let times: Vec<i64> = merged.packets.iter().filter_map(LinkPacket::arrival).collect();
        for (i, packet) in merged.packets.iter_mut().enumerate() {
            packet.outcome = Outcome::Arrived(times[(i / 2 * 2 + 1).min(times.len() - 1)]);
        }
        assert!(fitted(merged).is_none());
        let mut frames = line(&[52, 1500], |len| len + 38, |_| 0.0);
        for packet in &mut frames.packets {
            let at = packet.arrival().unwrap_or_default();
            packet.outcome = Outcome::Arrived(at.div_euclid(5_000_000) * 5_000_000 + 5_000_000);
        }
        assert!(fitted(frames).is_none());
    }
}
