//! Jitter: delays above those without jitter, of packets that no predecessor held back. The family is
//! the one with the smallest distance (Kolmogorov and Smirnov) to the delays.

use crate::estimate::{Status, central_95};
use crate::facts::{DirectionFacts, LinkPacket};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;
use serde::Serialize;
use std::collections::BTreeMap;

/// A distribution of the extra delay, with the keys of a link file. Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Document)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum JitterFamily {
    Uniform { high: f64 },
    Exponential { mean: f64 },
    Normal { mean: f64, sd: f64 },
}

impl JitterFamily {
    /// The three families with the moments of a sorted sample, by maximum likelihood.
    fn candidates(sorted: &[f64]) -> [JitterFamily; 3] {
        let n = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let variance = sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let max = sorted.last().copied().unwrap_or(0.0);
        // The sample has its minimum subtracted, so that its range is short at both ends. A delay beyond what the
        // mean allows is of another cause.
        let high = max * (n + 1.0) / (n - 1.0).max(1.0);
        let is_possible = by_mean(sorted).is_some_and(|[_, hi]| high <= hi);
        [
            JitterFamily::Uniform { high: if is_possible { high } else { 2.0 * mean } },
            JitterFamily::Exponential { mean },
            JitterFamily::Normal { mean, sd: libm::sqrt(variance) },
        ]
    }

    /// The same family fitted to another sample.
    fn of_sample(self, sorted: &[f64]) -> JitterFamily {
        let [uniform, exponential, normal] = JitterFamily::candidates(sorted);
        match self {
            JitterFamily::Uniform { .. } => uniform,
            JitterFamily::Exponential { .. } => exponential,
            JitterFamily::Normal { .. } => normal,
        }
    }

    fn distribution(self, x: f64) -> f64 {
        match self {
            JitterFamily::Uniform { high } => (x / high).clamp(0.0, 1.0),
            JitterFamily::Exponential { mean } => -libm::expm1(-x / mean),
            JitterFamily::Normal { mean, sd } => 0.5 * libm::erfc((mean - x) / (sd * std::f64::consts::SQRT_2)),
        }
    }

    /// Maximum difference between the sample's distribution and this one.
    fn distance(self, sorted: &[f64]) -> f64 {
        let n = sorted.len() as f64;
        let differences = sorted.iter().enumerate().map(|(i, &x)| {
            let own = self.distribution(x);
            (own - i as f64 / n).abs().max((own - (i + 1) as f64 / n).abs())
        });
        differences.fold(0.0, f64::max)
    }

    /// The parameters by key, nanoseconds.
    pub fn parameters(self) -> Vec<(&'static str, f64)> {
        match self {
            JitterFamily::Uniform { high } => vec![("high", high)],
            JitterFamily::Exponential { mean } => vec![("mean", mean)],
            JitterFamily::Normal { mean, sd } => vec![("mean", mean), ("sd", sd)],
        }
    }
}

/// A parameter of a family with its interval, nanoseconds.
#[derive(Debug, Clone, Serialize, Document)]
pub struct JitterParameter {
    pub key: &'static str,
    pub value: f64,
    pub lo: f64,
    pub hi: f64,
    pub draws: Vec<f64>,
}

/// The jitter of one direction.
#[derive(Debug, Clone, Serialize, Document)]
pub struct Jitter {
    pub status: Status,
    /// None if the delays vary no more than hosts, or too few packets found the path empty.
    pub family: Option<JitterFamily>,
    pub parameters: Vec<JitterParameter>,
    /// Distance between the delays and the family; above `max_distance` no family describes them.
    pub distance: Option<f64>,
    pub is_described: bool,
    /// Whether packets keep their order; none if jitter had no chance to reorder any.
    pub in_order: Option<bool>,
    /// Flows overtake each other and not themselves: their hosts, or a queue for each, delay them differently.
    pub is_by_flow: bool,
    /// Packets that no predecessor held back.
    pub packets: usize,
    /// 95 % quantile of their jitter, nanoseconds.
    pub p95: Option<f64>,
}

/// `above` has the jitter of the packets that no predecessor held back, sorted; up to `host_noise` nanoseconds it is
/// the hosts' own.
pub fn estimate(runs: &[DirectionFacts], above: &[f64], host_noise: f64, draws: usize, rng: &mut Rng) -> Jitter {
    let p95 = quantile_of_sorted(above, 0.95);
    let none = Jitter {
        status: Status::Bounded,
        family: None,
        parameters: Vec::new(),
        distance: None,
        is_described: true,
        in_order: None,
        is_by_flow: false,
        packets: above.len(),
        p95,
    };
    let enough = above.len() >= LIMITS.min_jitter_packets;
    let Some(spread) = p95.filter(|_| enough) else { return none };
    if spread <= host_noise {
        return Jitter { status: Status::Identified, ..none };
    }
    if overtaken_by_flow(runs).is_some_and(|reach| spread <= LIMITS.max_host_reach * reach as f64) {
        return Jitter { is_by_flow: true, ..none };
    }
    let (mut family, distance, other) = nearest_family(above);
    // Around a mean above one early delay hosts differ as much.
    if matches!(family, JitterFamily::Normal { sd, .. } if LIMITS.normal_95 * sd <= host_noise) {
        return Jitter { status: Status::Identified, ..none };
    }
    let is_described = distance <= LIMITS.max_distance;
    // Two families may be as near to few delays.
    let is_clear = other - distance >= LIMITS.min_family_difference / libm::sqrt(above.len() as f64);
    let mut above = above;
    if !is_described {
        // Few large delays, such as pauses of a host, shall not describe all others.
        above = &above[..above.len() - above.len() / LIMITS.outliers];
        family = nearest_family(above).0;
    }
    let resampled: Vec<Vec<(&'static str, f64)>> = (0..draws)
        .map(|_| {
            let mut sample: Vec<f64> = (0..above.len()).map(|_| above[(rng.uniform() * above.len() as f64) as usize]).collect();
            sample.sort_unstable_by(f64::total_cmp);
            match family {
                JitterFamily::Uniform { high } => {
                    JitterFamily::Uniform { high: uniform_width(above.len(), high, rng) }.parameters()
                }
                _ => family.of_sample(&sample).parameters(),
            }
        })
        .collect();
    let parameters = family
        .parameters()
        .into_iter()
        .enumerate()
        .map(|(i, (key, value))| {
            let draws: Vec<f64> = resampled.iter().map(|parameters| parameters[i].1).collect();
            let [lo, hi] = central_95(&draws).unwrap_or([value; 2]);
            let [lo, hi] = match family {
                // What is held back by an earlier packet is left out, and a large delay more often than a small one.
                JitterFamily::Uniform { .. } => by_mean(above).map_or([lo, hi], |[from, to]| {
                    [lo.min(from) * (1.0 - LIMITS.held_back_error), hi.max(to) * (1.0 + LIMITS.held_back_error)]
                }),
                _ => [lo, hi],
            };
            JitterParameter { key, value, lo: without_hosts(key, lo.min(value), host_noise), hi: hi.max(value), draws }
        })
        .collect();
    Jitter {
        status: if is_described && is_clear { Status::Identified } else { Status::Bounded },
        family: Some(family),
        parameters,
        distance: Some(distance),
        is_described,
        in_order: in_order(runs, quantile_of_sorted(above, 0.5).unwrap_or(0.0)),
        ..none
    }
}

/// The smallest that a parameter may be: what hosts add between a timestamp and the wire, up to `noise` and evenly
/// spread, is in every delay, and is not the link's.
fn without_hosts(key: &str, value: f64, noise: f64) -> f64 {
    let rest = match key {
        "high" => value - noise,
        "sd" => libm::sqrt((value * value - noise * noise / 12.0).max(0.0)),
        _ => value - noise / 2.0,
    };
    rest.max(0.0)
}

/// A draw of the width of a uniform distribution of which `high` is estimated: the range of n values is the width
/// times a value with the distribution Beta(n - 1, 2).
fn uniform_width(count: usize, high: f64, rng: &mut Rng) -> f64 {
    let n = count as f64;
    let draw = (1.0 - rng.uniform()).ln() / n + (1.0 - rng.uniform()).ln() / (n - 1.0).max(1.0);
    high * (n - 1.0).max(1.0) / (n + 1.0) / libm::exp(draw)
}

/// The interval of the width of a uniform distribution by the mean of a sample, which one large delay does not move;
/// none of a sample without any.
fn by_mean(sorted: &[f64]) -> Option<[f64; 2]> {
    let n = sorted.len() as f64;
    let width = 2.0 * sorted.iter().sum::<f64>() / n;
    let error = LIMITS.normal_95 / libm::sqrt(3.0 * n);
    (n > 0.0).then_some([width * (1.0 - error), width * (1.0 + error)])
}

/// The family with the smallest distance to a sorted sample, the distance, and that of the next one.
fn nearest_family(sorted: &[f64]) -> (JitterFamily, f64, f64) {
    let mut families = JitterFamily::candidates(sorted).map(|family| (family, family.distance(sorted)));
    families.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(family, distance), (_, other), _] = families;
    (family, distance, other)
}

/// By how much later a packet left that overtook one of another flow, nanoseconds: their hosts differ by as much. None
/// unless several do, and none one of its own flow.
fn overtaken_by_flow(runs: &[DirectionFacts]) -> Option<i64> {
    let (mut of_others, mut of_own, mut reach) = (0, 0, 0);
    for facts in runs.iter().filter(|facts| facts.flows.len() == facts.packets.len()) {
        // Arrival and departure of the packet of each flow that arrived last.
        let mut latest: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
        for (packet, flow) in facts.packets.iter().zip(&facts.flows) {
            let Some(arrival) = packet.arrival() else { continue };
            for (other, (_, sent)) in latest.iter().filter(|last| arrival + LinkPacket::SAME_TIME < last.1.0) {
                if other == flow {
                    of_own += 1;
                } else {
                    of_others += 1;
                    reach = reach.max(packet.sent - sent);
                }
            }
            let own = latest.entry(*flow).or_insert((arrival, packet.sent));
            // Of packets that a host held until one time, the first waited for it longest.
            if arrival > own.0 {
                *own = (arrival, packet.sent);
            }
        }
    }
    (of_others >= LIMITS.min_overtaken && of_own * LIMITS.outliers < of_others).then_some(reach)
}

/// Whether packets keep their order, from consecutive packets that left within half of the median
/// jitter; none if there are too few.
fn in_order(runs: &[DirectionFacts], median: f64) -> Option<bool> {
    let (mut chances, mut overtakes) = (0, 0);
    for facts in runs {
        for pair in facts.packets.windows(2) {
            let (Some(first), Some(second)) = (pair[0].arrival(), pair[1].arrival()) else { continue };
            let close = ((pair[1].sent - pair[0].sent) as f64) < median / 2.0;
            chances += usize::from(close);
            overtakes += usize::from(second + LinkPacket::SAME_TIME < first);
        }
    }
    if overtakes > 0 { Some(false) } else { (chances >= LIMITS.min_reorder_chances).then_some(true) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delay::IsolatedDelays;
    use crate::facts::Outcome;

    /// Packets every `spacing` ns with this extra delay above 10 ms.
    fn jittered(spacing: i64, in_order: bool, mut draw: impl FnMut() -> f64) -> Vec<DirectionFacts> {
        let mut last = 0;
        let packets = (0..2000).map(|i| {
            let sent = i * spacing;
            let mut arrival = sent + 10_000_000 + draw() as i64;
            if in_order {
                arrival = arrival.max(last);
            }
            last = arrival;
            LinkPacket { sent, len: 52, outcome: Outcome::Arrived(arrival) }
        });
        vec![DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }]
    }

    fn fitted(runs: &[DirectionFacts]) -> Jitter {
        estimate(runs, &IsolatedDelays::of(runs, 0.0).above_min(), LIMITS.host_noise_ns, 100, &mut Rng::for_element(3, "jitter"))
    }

    #[test]
    fn family_and_parameters_are_those_of_the_delays() {
        let mut rng = Rng::for_element(1, "draws");
        let uniform = fitted(&jittered(40_000_000, true, || 4e6 * rng.uniform()));
        assert!(matches!(uniform.family, Some(JitterFamily::Uniform { high }) if (high / 4e6 - 1.0).abs() < 0.01), "{uniform:?}");
        let exponential = fitted(&jittered(40_000_000, true, || rng.exponential(2e6)));
        let Some(JitterFamily::Exponential { mean }) = exponential.family else { panic!("{exponential:?}") };
        let parameter = &exponential.parameters[0];
        assert!((mean / 2e6 - 1.0).abs() < 0.08 && parameter.lo <= 2e6 && 2e6 <= parameter.hi, "{parameter:?}");
        let normal = fitted(&jittered(40_000_000, true, || rng.normal(6e6, 1e6).max(0.0)));
        assert!(matches!(normal.family, Some(JitterFamily::Normal { sd, .. }) if (sd / 1e6 - 1.0).abs() < 0.08), "{normal:?}");
    }

    #[test]
    fn family_is_not_known_where_another_is_as_near_to_few_delays() {
        // Evenly spread over 6 ms, and the same with a slope that a normal distribution has as well.
        let of = |count: usize, bend: f64| {
            let at = |i: usize| (i as f64 + 0.5) / count as f64;
            let sample: Vec<f64> = (0..count).map(|i| 6e6 * (at(i) + bend * libm::sin(std::f64::consts::TAU * at(i)))).collect();
            let runs = jittered(40_000_000, true, || 0.0);
            estimate(&runs, &sample, LIMITS.host_noise_ns, 50, &mut Rng::for_element(6, "jitter"))
        };
        assert_eq!((of(4000, 0.0).status, of(4000, 0.0).is_described), (Status::Identified, true));
        let unclear = of(150, 0.045);
        assert_eq!((unclear.status, unclear.is_described), (Status::Bounded, true), "{unclear:?}");
    }

    #[test]
    fn packets_behind_others_are_left_out_when_jitter_keeps_their_order() {
        let mut rng = Rng::for_element(2, "draws");
        let fit = fitted(&jittered(3_000_000, true, || 4e6 * rng.uniform()));
        assert!(matches!(fit.family, Some(JitterFamily::Uniform { high }) if (high / 4e6 - 1.0).abs() < 0.03), "{fit:?}");
        assert!(fit.packets < 1900);
    }

    #[test]
    fn order_is_known_when_packets_left_close_together() {
        let mut rng = Rng::for_element(4, "draws");
        // Every other packet leaves 0.5 ms after the one before it.
        let mut pairs = |in_order: bool| {
            let mut runs = jittered(20_000_000, in_order, || 4e6 * rng.uniform());
            for packet in runs[0].packets.iter_mut().skip(1).step_by(2) {
                packet.sent -= 19_500_000;
                packet.outcome = Outcome::Arrived(packet.arrival().unwrap() - 19_500_000);
            }
            if in_order {
                let mut latest = 0;
                for packet in &mut runs[0].packets {
                    latest = latest.max(packet.arrival().unwrap());
                    packet.outcome = Outcome::Arrived(latest);
                }
            }
            fitted(&runs).in_order
        };
        assert_eq!((pairs(true), pairs(false)), (Some(true), Some(false)));
        assert_eq!(fitted(&jittered(40_000_000, true, || 4e6 * rng.uniform())).in_order, None);
    }

    #[test]
    fn delays_are_no_jitter_of_the_link_when_flows_overtake_each_other_alone() {
        let mut rng = Rng::for_element(6, "draws");
        // Two hosts, or two flows of one link that does not keep the order.
        let mut runs = |own_hosts: bool| {
            let mut runs = jittered(400_000, false, || 2e6 * rng.uniform());
            let facts = &mut runs[0];
            facts.flows = (0..facts.packets.len() as u32).map(|i| i % 2).collect();
            let mut latest = [0; 2];
            for (packet, flow) in facts.packets.iter_mut().zip(&facts.flows).filter(|_| own_hosts) {
                let of_flow = &mut latest[*flow as usize];
                *of_flow = packet.arrival().unwrap().max(*of_flow);
                packet.outcome = Outcome::Arrived(*of_flow);
            }
            assert_eq!(overtaken_by_flow(&runs).is_some(), own_hosts);
            runs
        };
        let fit = fitted(&runs(true));
        assert!(fit.is_by_flow && fit.family.is_none() && fit.status == Status::Bounded, "{fit:?}");
        let fit = fitted(&runs(false));
        assert!(!fit.is_by_flow && fit.family.is_some(), "{fit:?}");
    }

    #[test]
    fn width_of_a_uniform_jitter_is_in_its_interval_when_one_delay_is_larger() {
        let mut rng = Rng::for_element(7, "draws");
        let mut above: Vec<f64> = (0..300).map(|_| 4e6 * rng.uniform()).chain([4.6e6]).collect();
        above.sort_unstable_by(f64::total_cmp);
        let fit = estimate(&[], &above, LIMITS.host_noise_ns, 100, &mut rng);
        let width = &fit.parameters[0];
        assert!(width.key == "high" && width.lo <= 4e6 && 4e6 <= width.hi && width.hi < 5e6, "{width:?}");
    }

    #[test]
    fn there_is_no_jitter_when_one_delay_is_below_those_of_hosts() {
        let mut rng = Rng::for_element(10, "draws");
        let mut sent = 0;
        let runs = jittered(10_000_000, true, || {
            sent += 1;
            if sent == 500 { 0.0 } else { rng.normal(200e3, 50e3).max(0.0) }
        });
        let fit = fitted(&runs);
        assert_eq!((fit.status, fit.family), (Status::Identified, None), "{fit:?}");
    }

    #[test]
    fn mean_is_in_its_interval_when_hosts_add_to_each_delay() {
        let mut rng = Rng::for_element(8, "draws");
        let fit = fitted(&jittered(40_000_000, true, || rng.exponential(300e3) + 92e3 * rng.uniform()));
        let mean = &fit.parameters[0];
        assert!(mean.key == "mean" && mean.value > 310e3 && mean.lo <= 300e3 && 300e3 <= mean.hi, "{mean:?}");
    }

    #[test]
    fn there_is_no_jitter_when_delays_vary_as_those_of_hosts() {
        let mut rng = Rng::for_element(5, "draws");
        let fit = fitted(&jittered(10_000_000, true, || 50e3 * rng.uniform()));
        assert_eq!((fit.status, fit.family), (Status::Identified, None));
    }
}
