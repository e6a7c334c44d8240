//! Delay of a path without queueing and serialization: the floor of the delays of packets that found
//! no other packet on the path. A sample's minimum lies above the floor; the spacing of the smallest
//! values shows by how much (Robson and Whitlock 1964, with more than two values). Of few packets the
//! jitter of all others does.

use crate::estimate::{Fitted, central_95};
use crate::facts::DirectionFacts;
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use serde::Serialize;

/// The evidence of a base delay.
#[derive(Debug, Clone, Serialize, Document)]
pub struct BaseDelay {
    /// Packets that found no other packet on the path.
    pub isolated: usize,
    /// Length of the packets, bytes.
    pub len: u32,
    /// What the host, or a packet of others, may have added to the smallest delay, nanoseconds.
    pub host: f64,
    /// By how much late timestamps may have made it too small, nanoseconds.
    pub late: f64,
}

/// Delays of isolated packets of one direction.
#[derive(Debug, Clone, Default)]
pub struct IsolatedDelays {
    /// Length and delay in nanoseconds.
    pub delays: Vec<(u32, f64)>,
    /// Minimum delay of any packet of the most common length.
    pub min: Option<f64>,
    /// Minimum delay of any packet that overtakes no other.
    pub min_of_all: Option<f64>,
    pub common_len: u32,
}

impl IsolatedDelays {
    /// `ns_per_byte` is the service time at the link, 0 if it is not known: a packet that finds the
    /// link busy with a short one is then taken for isolated.
    pub fn of(runs: &[DirectionFacts], ns_per_byte: f64) -> IsolatedDelays {
        let common_len = runs.iter().max_by_key(|facts| facts.packets.len()).and_then(DirectionFacts::common_len).unwrap_or(0);
        let mut isolated = IsolatedDelays { common_len, ..IsolatedDelays::default() };
        for facts in runs {
            let Some(floor) = facts.floor() else { continue };
            isolated.min_of_all = Some(isolated.min_of_all.map_or(floor as f64, |known| known.min(floor as f64)));
            let shortest = facts.packets.iter().map(|packet| packet.len).min().unwrap_or(0);
            let floor = floor - (ns_per_byte * f64::from(shortest)) as i64;
            let delays = facts.isolated(floor).into_iter().filter_map(|index| {
                let packet = &facts.packets[index];
                Some((packet.len, packet.delay()? as f64))
            });
            isolated.delays.extend(delays);
            let of_common = facts.packets.iter().filter(|packet| packet.len == common_len).filter_map(|packet| packet.delay());
            if let Some(min) = of_common.min() {
                isolated.min = Some(isolated.min.map_or(min as f64, |known| known.min(min as f64)));
            }
        }
        isolated
    }

    /// Delays above their minimum of the packets of the most common length, sorted.
    pub fn above_min(&self) -> Vec<f64> {
        let mut delays = self.of_common_len();
        let min = delays.first().copied().unwrap_or(0.0);
        delays.iter_mut().for_each(|delay| *delay -= min);
        delays
    }

    /// Delays of the packets of the most common length, sorted.
    pub fn of_common_len(&self) -> Vec<f64> {
        let mut delays: Vec<f64> = self.delays.iter().filter(|d| d.0 == self.common_len).map(|d| d.1).collect();
        delays.sort_unstable_by(f64::total_cmp);
        delays
    }
}

/// What other estimators found.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownLink<'a> {
    /// Draws of the link's rate in bit/s, its value first; empty if it is not known.
    pub rates: &'a [f64],
    /// Jitter of other packets, nanoseconds.
    pub jitter: &'a [f64],
    /// Delays without service and waiting of packets that a busy link served soon after it was idle,
    /// sorted, nanoseconds.
    pub early: &'a [f64],
    /// Lower bound of the link's rate in bit/s, where it is not known.
    pub at_least: Option<f64>,
    /// By how much late timestamps may have made the smallest delay too small, nanoseconds.
    pub late: f64,
    /// What a packet waits for one of others that the link serves, nanoseconds.
    pub others: f64,
}

/// The delay of a packet of length zero, nanoseconds under the assumed clock offset; if the rate is
/// not known, of a packet of the most common length.
pub fn estimate(isolated: &IsolatedDelays, known: KnownLink<'_>, draws: usize, rng: &mut Rng) -> Fitted<BaseDelay> {
    let service = |len: u32, draw: usize| match known.rates.len() {
        0 => 0.0,
        count => f64::from(len) * 8e9 / known.rates[draw % count],
    };
    let mut delays: Vec<(f64, u32)> = isolated
        .delays
        .iter()
        .filter(|d| d.0 == isolated.common_len)
        .map(|&(len, delay)| (delay - service(len, 0), len))
        .collect();
    // Other links add service times of their own: packets of other lengths only if there are few.
    if delays.len() < LIMITS.min_floor_packets && !known.rates.is_empty() {
        delays = isolated.delays.iter().map(|&(len, delay)| (delay - service(len, 0), len)).collect();
    }
    delays.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let host = match delays.len() < LIMITS.min_floor_packets {
        true => LIMITS.host_delay_ns.max(known.others),
        false => LIMITS.host_floor_ns,
    };
    let evidence = BaseDelay { isolated: delays.len(), len: isolated.common_len, host, late: known.late };
    let shorter = isolated.delays.iter().filter(|(len, _)| *len < isolated.common_len && !known.rates.is_empty());
    let shortest = shorter.map(|&(len, delay)| (delay - service(len, 0), len)).min_by(|a, b| a.0.total_cmp(&b.0));
    let full = isolated.of_common_len().first().map(|delay| delay - service(isolated.common_len, 0));
    let Some(&(value, len)) = delays.first() else {
        // A packet that waited arrived later than one that would not have.
        let len = isolated.common_len;
        return Fitted::bounded(None, isolated.min.map(|min| min - service(len, 0)), evidence);
    };
    if known.early.len() >= LIMITS.min_floor_packets && known.early.len() > delays.len() {
        let evidence = BaseDelay { isolated: known.early.len(), ..evidence };
        let floors = floor_draws(known.early, draws, rng);
        let value = known.early[0];
        return down_to(shortest, full, with_host_delay(value, floors, evidence, rng));
    }
    if let (Some(at_least), true) = (known.at_least, known.rates.is_empty()) {
        let slowest = f64::from(isolated.common_len) * 8e9 / at_least;
        let hi = isolated.min_of_all.map_or(value, |min| min.min(value)) + known.late;
        return without_rate(&delays, slowest, hi, evidence, draws, rng);
    }
    let floors = if delays.len() >= LIMITS.min_floor_packets {
        floor_draws(&delays.iter().map(|d| d.0).collect::<Vec<f64>>(), draws, rng)
    } else if known.jitter.len() >= LIMITS.min_jitter_packets {
        let mut drawn = || known.jitter[(rng.uniform() * known.jitter.len() as f64) as usize];
        (0..draws).map(|_| value - (0..delays.len()).map(|_| drawn()).fold(f64::INFINITY, f64::min)).collect()
    } else {
        return Fitted::bounded(None, Some(value), evidence);
    };
    let of_rate = |draw: usize| service(len, draw) - service(len, 0);
    let draws = floors.into_iter().enumerate().map(|(i, floor)| floor - of_rate(i + 1)).collect();
    down_to(shortest, full, with_host_delay(value, draws, evidence, rng))
}

/// The delay, down to that of a shorter packet which is earlier by more than its service: other links add to each byte.
/// Of length zero the delay is as much less again as the shorter packet is longer. `full` is the smallest delay of a
/// packet of the most common length.
fn down_to(shortest: Option<(f64, u32)>, full: Option<f64>, fit: Fitted<BaseDelay>) -> Fitted<BaseDelay> {
    let (host, full_len) = (fit.evidence.host, f64::from(fit.evidence.len));
    let longer = full.into_iter().chain(fit.value).reduce(f64::max);
    match shortest.zip(longer).zip(fit.value).filter(|((shortest, full), _)| full - shortest.0 > LIMITS.host_noise_ns) {
        Some((((shortest, len), full), value)) => {
            let rest = (full - shortest) * f64::from(len) / (full_len - f64::from(len));
            fit.at_least(shortest - rest - host, value)
        }
        None => fit,
    }
}

/// The delay of a packet of length zero where the rate has a lower bound alone: at least the floor less the
/// service time `slowest` at this bound, and at most the delay of any packet, `hi`. Any value between them is as
/// likely. `delays` are sorted. Nanoseconds.
fn without_rate(
    delays: &[(f64, u32)],
    slowest: f64,
    hi: f64,
    evidence: BaseDelay,
    draws: usize,
    rng: &mut Rng,
) -> Fitted<BaseDelay> {
    let sorted: Vec<f64> = delays.iter().map(|delay| delay.0).collect();
    let floor = match sorted.len() >= LIMITS.min_floor_packets {
        true => central_95(&floor_draws(&sorted, draws, rng)).map_or(sorted[0], |range| range[0]),
        false => sorted[0] - LIMITS.few_delays_ns,
    };
    let lo = (floor - slowest).min(hi);
    if hi - lo > LIMITS.max_delay_range * hi.max(0.0) {
        return Fitted::bounded(Some(lo), Some(hi), evidence);
    }
    let drawn = (0..draws).map(|_| lo + rng.uniform() * (hi - lo)).collect();
    Fitted::identified((lo + hi) / 2.0, drawn, evidence).at_least(lo, hi)
}

/// A floor that is below the smallest delay by what the host added to it, and above it by late timestamps. The draws have both as well:
/// the delay of both directions is made of them.
fn with_host_delay(value: f64, draws: Vec<f64>, evidence: BaseDelay, rng: &mut Rng) -> Fitted<BaseDelay> {
    let (host, late) = (evidence.host, evidence.late);
    let draws = draws.into_iter().map(|draw| draw - host * rng.uniform() + late * rng.uniform()).collect();
    Fitted::identified(value, draws, evidence).at_least(value - host, value + late + LIMITS.clock_resolution_ns)
}

/// The mean of the delays of both directions.
pub fn of_both(down: &Fitted<BaseDelay>, up: &Fitted<BaseDelay>) -> Fitted<()> {
    let both = |of: fn(&Fitted<BaseDelay>) -> Option<f64>| Some((of(down)? + of(up)?) / 2.0);
    let Some(value) = both(|delay| delay.value) else {
        return Fitted::bounded(both(|delay| delay.lo), both(|delay| delay.hi), ());
    };
    let draws = down.draws.iter().zip(&up.draws).map(|(down, up)| (down + up) / 2.0).collect();
    let fit = Fitted::identified(value, draws, ());
    // The error of an offset, or of a rate that is not known, is at one end of its range in each direction.
    match both(|delay| delay.lo).zip(both(|delay| delay.hi)) {
        Some((lo, hi)) => fit.at_least(lo, hi),
        None => fit,
    }
}

/// Number of the smallest values of a sample of this size over which the density is about constant.
pub fn edge_count(size: usize) -> usize {
    (libm::sqrt(size as f64) as usize).clamp(2, LIMITS.max_edge).min(size)
}

/// Draws of the floor of a sorted sample. Over its smallest values the density is about constant, so
/// that their spacings are exponential.
pub fn floor_draws(sorted: &[f64], draws: usize, rng: &mut Rng) -> Vec<f64> {
    let Some(&first) = sorted.first() else { return Vec::new() };
    let count = edge_count(sorted.len());
    let spacing = (sorted[count - 1] - first) / (count - 1).max(1) as f64;
    (0..draws)
        .map(|_| {
            let first_gap = rng.exponential(1.0);
            let others: f64 = (1..count).map(|_| rng.exponential(1.0)).sum();
            first - spacing * first_gap * (count - 1) as f64 / others
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> Rng {
        Rng::for_element(1, "delay")
    }

    #[test]
    fn interval_of_the_floor_covers_it_in_95_of_100_samples() {
        let mut rng = rng();
        for size in [4, 10, 100, 1000] {
            let covered = (0..400)
                .filter(|_| {
                    let mut sample: Vec<f64> = (0..size).map(|_| 20.0 + rng.exponential(3.0)).collect();
                    sample.sort_unstable_by(f64::total_cmp);
                    let draws = floor_draws(&sample, 400, &mut rng);
                    let [lo, _] = crate::estimate::central_95(&draws).unwrap();
                    lo <= 20.0 && 20.0 <= sample[0]
                })
                .count();
            assert!((360..=400).contains(&covered), "{covered} of 400 with {size}");
        }
    }

    #[test]
    fn floor_is_exact_when_delays_are_equal() {
        assert_eq!(floor_draws(&[5.0; 20], 10, &mut rng()), [5.0; 10]);
    }

    #[test]
    fn base_delay_excludes_the_service_time_when_the_rate_is_known() {
        let isolated =
            IsolatedDelays { delays: vec![(1500, 21.2e6); 9], min: Some(21.2e6), common_len: 1500, ..IsolatedDelays::default() };
        let fit = estimate(&isolated, KnownLink { rates: &[10e6], ..KnownLink::default() }, 50, &mut rng());
        let resolution = LIMITS.host_floor_ns;
        assert!((fit.value.unwrap() - 20e6).abs() < 1.0 && (fit.lo.unwrap() + resolution - 20e6).abs() < 1.0, "{fit:?}");
        let fit = estimate(&isolated, KnownLink::default(), 50, &mut rng());
        assert!((fit.value.unwrap() - 21.2e6).abs() < 1.0);
    }

    #[test]
    fn delay_is_down_to_that_of_a_short_packet_when_another_link_adds_to_each_byte() {
        // 20 ms, 10 Mb/s, and a second link that takes 0.6 ms for 1500 B.
        let mut delays = vec![(1500, 21.8e6); 9];
        delays.push((60, 20.072e6));
        let isolated = IsolatedDelays { delays, min: Some(21.8e6), common_len: 1500, ..IsolatedDelays::default() };
        let fit = estimate(&isolated, KnownLink { rates: &[10e6], ..KnownLink::default() }, 50, &mut rng());
        let (lo, hi) = (fit.lo.unwrap(), fit.hi.unwrap());
        assert!(lo <= 20.03e6 && lo > 19.9e6 && (20.6e6..20.7e6).contains(&hi), "{lo} {hi}");
    }

    #[test]
    fn delay_is_down_to_that_of_a_short_packet_when_one_of_each_length_found_two_links_empty() {
        let isolated =
            IsolatedDelays { delays: vec![(60, 20.072e6), (1500, 21.8e6)], common_len: 1500, ..IsolatedDelays::default() };
        let jitter = vec![0.0; 200];
        let known = KnownLink { rates: &[10e6], jitter: &jitter, ..KnownLink::default() };
        let (two, alone) = (estimate(&isolated, known, 50, &mut rng()), {
            let one = IsolatedDelays { delays: vec![(60, 20.048e6), (1500, 21.2e6)], ..isolated.clone() };
            estimate(&one, known, 50, &mut rng())
        });
        let width = |fit: &Fitted<BaseDelay>| fit.hi.unwrap() - fit.lo.unwrap();
        assert!(two.lo.unwrap() <= 20.0e6 && two.hi.unwrap() >= 20.0e6, "{two:?}");
        assert!(width(&two) > width(&alone) + 20e3, "{two:?} {alone:?}");
    }

    #[test]
    fn delay_is_bounded_from_above_when_every_packet_waited() {
        let isolated = IsolatedDelays { delays: vec![], min: Some(30e6), common_len: 1500, ..IsolatedDelays::default() };
        let fit = estimate(&isolated, KnownLink { rates: &[10e6], ..KnownLink::default() }, 50, &mut rng());
        assert_eq!((fit.value, fit.lo, fit.hi), (None, None, Some(28.8e6)));
    }

    #[test]
    fn interval_of_one_packet_is_as_wide_as_the_jitter_of_others() {
        let isolated =
            IsolatedDelays { delays: vec![(1500, 22.2e6)], min: Some(22.2e6), common_len: 1500, ..IsolatedDelays::default() };
        let mut rng = rng();
        let mut jitter: Vec<f64> = (0..500).map(|_| rng.exponential(2e6)).collect();
        jitter.sort_unstable_by(f64::total_cmp);
        let fit = estimate(&isolated, KnownLink { rates: &[10e6], jitter: &jitter, ..KnownLink::default() }, 400, &mut rng);
        let (value, hi) = (fit.value.unwrap(), fit.hi.unwrap());
        assert!((value - 21e6).abs() < 1.0 && hi - value <= LIMITS.clock_resolution_ns, "{fit:?}");
        assert!((fit.value.unwrap() - fit.lo.unwrap() - 7.4e6).abs() < 1.5e6, "{:?}", fit.lo);
    }

    #[test]
    fn delay_is_between_that_of_a_short_packet_and_the_floor_less_the_slowest_service_when_the_rate_is_unknown() {
        // 20 ms, and 12 ms of service at 1 Mb/s; a SYN-ACK of 60 B took 0.7 ms in its host.
        let mut rng = rng();
        let delays = (0..11).map(|_| (1500, 32e6 + rng.exponential(50e3))).collect();
        let isolated = IsolatedDelays { delays, min: Some(32e6), min_of_all: Some(21.18e6), common_len: 1500 };
        let fit = estimate(&isolated, KnownLink { at_least: Some(0.98e6), ..KnownLink::default() }, 400, &mut rng);
        let (lo, hi) = (fit.lo.unwrap(), fit.hi.unwrap());
        assert!(lo <= 20e6 && 20e6 <= hi && hi - lo < 2e6, "{lo} {hi}");
        // At a tenth of its rate the link would take longer than all of the delay.
        let fit = estimate(&isolated, KnownLink { at_least: Some(0.3e6), ..KnownLink::default() }, 400, &mut rng);
        assert_eq!((fit.value, fit.hi), (None, Some(21.18e6)), "{fit:?}");
        // Without the short packet, service and delay do not show apart.
        let alone = IsolatedDelays { min_of_all: Some(32e6), ..isolated };
        let fit = estimate(&alone, KnownLink { at_least: Some(0.98e6), ..KnownLink::default() }, 400, &mut rng);
        let (lo, hi) = (fit.lo.unwrap(), fit.hi.unwrap());
        assert!(lo <= 20e6 && hi >= 31e6, "{lo} {hi}");
    }

    #[test]
    fn delay_of_both_directions_covers_what_hosts_add_to_few_packets() {
        let mut rng = rng();
        let mut covered = 0;
        for _ in 0..200 {
            let mut with_base = |base: f64| {
                let min = base + LIMITS.host_delay_ns * rng.uniform();
                let isolated =
                    IsolatedDelays { delays: vec![(1500, min)], min: Some(min), common_len: 1500, ..IsolatedDelays::default() };
                estimate(&isolated, KnownLink { jitter: &[0.0; 100], ..KnownLink::default() }, 200, &mut rng)
            };
            let fit = of_both(&with_base(20e6), &with_base(30e6));
            covered += usize::from(fit.lo.unwrap() <= 25e6 && 25e6 <= fit.hi.unwrap());
            let [lo, hi] = crate::estimate::central_95(&fit.draws).unwrap();
            assert!(hi - lo > 0.5 * LIMITS.host_delay_ns, "{lo} {hi}");
        }
        assert!(covered >= 190, "{covered} of 200");
    }
}
