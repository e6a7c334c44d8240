//! Single packets that others overtake: a share of the packets takes a way that is longer by some
//! delay. Jitter that does not keep the order moves all packets, and is no reordering in this sense.

use crate::facts::{DirectionFacts, LinkPacket};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;
use serde::Serialize;
use std::collections::BTreeMap;

use crate::estimate::Fitted;

/// The share of packets that others overtook, and the delay that they had in addition.
#[derive(Debug, Clone, Serialize, Document)]
pub struct Reordering {
    pub mean: Fitted<()>,
    /// Nanoseconds.
    pub delay: Fitted<()>,
    /// Packets that were overtaken, and all that arrived.
    pub overtaken: usize,
    pub arrived: usize,
}

/// Departures and arrivals of each flow's packets: hosts delay packets of different flows by different times.
fn by_flow(facts: &DirectionFacts) -> Vec<Vec<(i64, i64)>> {
    let mut flows: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
    for (index, packet) in facts.packets.iter().enumerate() {
        let flow = facts.flows.get(index).copied().unwrap_or(0);
        flows.entry(flow).or_default().extend(packet.arrival().map(|arrival| (packet.sent, arrival)));
    }
    flows.into_values().collect()
}

/// None with fewer than `min_overtaken` packets, or with more than `max_overtaken` of all: that is
/// jitter. A late packet behind which none left in time is not seen to be late: its share is estimated
/// from the packets that another followed within the delay.
pub fn estimate(runs: &[DirectionFacts], draws: usize, rng: &mut Rng) -> Option<Reordering> {
    let mut late: Vec<f64> = Vec::new();
    let mut arrived: Vec<(i64, i64)> = Vec::new();
    for packets in runs.iter().flat_map(by_flow) {
        // The delay that the packets around a late one had, by the smaller of its neighbours' delays.
        for (index, window) in packets.windows(2).enumerate() {
            let (packet, next) = (window[0], window[1]);
            if next.1 + LinkPacket::SAME_TIME < packet.1 {
                let before = index.checked_sub(1).map(|i| packets[i].1 - packets[i].0);
                let around = before.map_or(next.1 - next.0, |delay| delay.max(next.1 - next.0));
                late.push((packet.1 - packet.0 - around) as f64);
            }
        }
        arrived.extend(packets);
    }
    late.retain(|extra| *extra > 0.0);
    late.sort_unstable_by(f64::total_cmp);
    let is_single = late.len() as f64 <= LIMITS.max_overtaken * arrived.len() as f64;
    if late.len() < LIMITS.min_overtaken || !is_single {
        return None;
    }
    let delay = quantile_of_sorted(&late, 0.5)?;
    // Packets whose successor left soon enough to overtake them.
    let chances = arrived.windows(2).filter(|w| ((w[1].0 - w[0].0) as f64) < delay && w[1].0 >= w[0].0).count();
    let share = late.len() as f64 / chances.max(late.len()) as f64;
    let sample = |rng: &mut Rng| late[(rng.uniform() * late.len() as f64) as usize];
    let delays = (0..draws)
        .map(|_| {
            let mut drawn: Vec<f64> = (0..late.len()).map(|_| sample(rng)).collect();
            drawn.sort_unstable_by(f64::total_cmp);
            quantile_of_sorted(&drawn, 0.5).unwrap_or(delay)
        })
        .collect();
    // A count has the standard deviation of its root.
    let deviation = share / libm::sqrt(late.len() as f64);
    let means = (0..draws).map(|_| rng.normal(share, deviation).clamp(0.0, 1.0)).collect();
    // A packet in service holds back those behind it: the delay is known to one service time.
    let spread = quantile_of_sorted(&late, 0.9)? - quantile_of_sorted(&late, 0.1)?;
    Some(Reordering {
        mean: Fitted::identified(share, means, ()),
        delay: Fitted::identified(delay, delays, ()).at_least(delay - spread, delay + spread),
        overtaken: late.len(),
        arrived: arrived.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Outcome;

    fn link(mean: f64, delay: f64, jitter: f64) -> DirectionFacts {
        let mut rng = Rng::for_element(4, "reorder");
        let packets = (0..20_000).map(|i| {
            let sent = i * 1_000_000;
            let extra = if rng.chance(mean) { delay } else { 0.0 } + jitter * rng.uniform();
            LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(sent + 20_000_000 + extra as i64) }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    #[test]
    fn share_and_delay_are_within_their_intervals_when_single_packets_are_late() {
        let found = estimate(&[link(0.01, 4e6, 50e3)], 200, &mut Rng::for_element(1, "fit")).unwrap();
        let within = |fit: &Fitted<()>, truth: f64| fit.lo.unwrap() <= truth && truth <= fit.hi.unwrap();
        assert!(within(&found.mean, 0.01) && within(&found.delay, 4e6), "{found:?}");
        assert!((found.delay.value.unwrap() / 4e6 - 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn flows_that_their_hosts_delay_differently_are_not_reordered() {
        // Two flows in turn, 0.1 ms apart; the host of every tenth packet of the first one takes 0.5 ms.
        let packets = (0..4000i64).map(|i| {
            let (sent, extra) = (i * 1_000_000 + i % 2 * -900_000, if i % 20 == 0 { 500_000 } else { 0 });
            LinkPacket { sent, len: 52, outcome: Outcome::Arrived(sent + 20_000_000 + extra) }
        });
        let one = DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() };
        let two = DirectionFacts { flows: (0..4000).map(|i| i % 2).collect(), ..one.clone() };
        assert!(estimate(&[two], 10, &mut Rng::for_element(1, "fit")).is_none());
        assert!(estimate(&[one], 10, &mut Rng::for_element(1, "fit")).is_some());
    }

    #[test]
    fn jitter_is_no_reordering_of_single_packets() {
        let mut rng = Rng::for_element(1, "fit");
        assert!(estimate(&[link(0.0, 0.0, 8e6)], 10, &mut rng).is_none());
        assert!(estimate(&[link(0.0, 0.0, 0.0)], 10, &mut rng).is_none());
    }
}
