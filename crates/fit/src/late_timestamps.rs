//! Departures that a busy capturing host timestamped late. A timestamp that is late by a stall of the host makes a
//! delay too small, and the smallest delays are what a path without queues is known by: one packet in a
//! thousand that is 4 ms late moves the delay of the path, the packets that found it empty, and all that
//! follows from them.
//!
//! What a path adds to a delay has a sharp lower edge: the delays of packets that found it empty lie close
//! above their floor. Late timestamps blur the edge, and stalls put few delays far below it, at single moments.
//! These packets are set back to the edge. Where the path ends and the hosts begin does not show any more:
//! the floor is between the edge and the bulk of the delays.

use std::collections::BTreeMap;

use crate::facts::{DirectionFacts, LinkPacket, Outcome};
use crate::thresholds::LIMITS;

/// The delays of packets that found an empty path, without those that a stall of the host made too small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayBulk {
    /// The smallest of them, nanoseconds.
    pub floor: f64,
    /// By how much the floor of the path may lie above it, nanoseconds.
    pub late: f64,
    /// Few delays lie far below.
    pub has_outliers: bool,
}

impl DelayBulk {
    /// None if the delays, sorted, are too few or have the lower edge that a path has.
    pub fn of(sorted: &[f64]) -> Option<DelayBulk> {
        let count = sorted.len();
        if count < LIMITS.min_bulk_packets {
            return None;
        }
        let at = |share: f64| sorted[(share * count as f64) as usize];
        let [outer, inner, median] = [LIMITS.edge_shares.0, LIMITS.edge_shares.1, 0.5].map(at);
        let (below, edge) = (outer - sorted[0], inner - outer);
        if below < edge.max(LIMITS.clock_resolution_ns) {
            return None;
        }
        let has_outliers = below > LIMITS.min_outlier_edges * edge && below > LIMITS.host_noise_ns;
        if !has_outliers && median - outer > LIMITS.host_noise_ns {
            return None;
        }
        let cut = if has_outliers { outer - LIMITS.outlier_edges * edge } else { sorted[0] };
        let floor = sorted[sorted.partition_point(|delay| *delay < cut)];
        let late = outer + (median - outer).min(LIMITS.host_noise_ns) - floor;
        Some(DelayBulk { floor, late, has_outliers })
    }
}

/// The packets with the latest departures that the floor of the others allows, where hosts timestamped them late.
pub fn corrected(facts: &DirectionFacts) -> DirectionFacts {
    let bulks = bulks(facts);
    let late = bulks.values().map(|bulk| bulk.late).reduce(f64::max);
    let mut floors: BTreeMap<u32, i64> =
        bulks.into_iter().filter(|(_, bulk)| bulk.has_outliers).map(|(len, bulk)| (len, bulk.floor as i64)).collect();
    // A longer packet takes no less than a shorter one.
    let mut lowest = 0;
    floors.values_mut().for_each(|floor| {
        lowest = lowest.max(*floor);
        *floor = lowest;
    });
    let mut last = i64::MIN;
    let set_back = |packet: &LinkPacket| {
        let floor = floors.range(..=packet.len).next_back();
        let sent = match (packet.outcome, floor) {
            (Outcome::Arrived(arrival), Some((_, floor))) => (arrival - floor).max(last).min(packet.sent),
            _ => packet.sent,
        };
        last = sent;
        LinkPacket { sent, ..*packet }
    };
    DirectionFacts { packets: facts.packets.iter().map(set_back).collect(), late, ..facts.clone() }
}

/// By length, where timestamps are late. ACKs do not show when a packet arrived.
fn bulks(facts: &DirectionFacts) -> BTreeMap<u32, DelayBulk> {
    let Some(floor) = facts.floor().filter(|_| !facts.by_acks) else { return BTreeMap::new() };
    let found = bulks_above(facts, floor);
    if !found.is_empty() {
        return found;
    }
    // Hardly a packet is isolated by a floor that is milliseconds too low. Where most delays are alike no queue
    // stands, whose delays come in steps of a service time; behind a queue that is empty now and then, the packets
    // that found it so agree.
    let all = facts.packets.iter().filter_map(LinkPacket::delay).collect();
    let isolated = facts.isolated(floor).into_iter().filter_map(|index| facts.packets[index].delay()).collect();
    let by_isolated = || alike(isolated, LIMITS.isolated_shares);
    match alike(all, (LIMITS.edge_shares.0, 0.5)).or_else(by_isolated) {
        Some(low) => bulks_above(facts, low),
        None => BTreeMap::new(),
    }
}

/// The delay with the first of these shares of the delays below it, if that with the second is hardly larger.
fn alike(mut delays: Vec<i64>, shares: (f64, f64)) -> Option<i64> {
    delays.sort_unstable();
    let at = |share: f64| delays.get((share * delays.len() as f64) as usize).copied();
    let (low, high) = at(shares.0).zip(at(shares.1))?;
    (delays.len() >= LIMITS.min_alike && (high - low) as f64 <= LIMITS.host_noise_ns).then_some(low)
}

fn bulks_above(facts: &DirectionFacts, floor: i64) -> BTreeMap<u32, DelayBulk> {
    let mut by_len: BTreeMap<u32, Vec<(i64, f64)>> = BTreeMap::new();
    for index in facts.isolated(floor) {
        let packet = &facts.packets[index];
        if let Some(delay) = packet.delay() {
            by_len.entry(packet.len).or_default().push((packet.sent, delay as f64));
        }
    }
    let of_len = |(len, packets): (u32, Vec<(i64, f64)>)| {
        let mut delays: Vec<f64> = packets.iter().map(|packet| packet.1).collect();
        delays.sort_unstable_by(f64::total_cmp);
        let bulk = DelayBulk::of(&delays)?;
        (!bulk.has_outliers || are_single(&packets, bulk.floor)).then_some((len, bulk))
    };
    by_len.into_iter().filter_map(of_len).collect()
}

/// Most of the delays below the floor are at single moments: what a stall held back has its end as timestamp. A
/// path that is faster for a time has them in a row.
fn are_single(packets: &[(i64, f64)], floor: f64) -> bool {
    let runs: Vec<&[(i64, f64)]> =
        packets.chunk_by(|a, b| (a.1 < floor) == (b.1 < floor)).filter(|run| run[0].1 < floor).collect();
    let single = runs.iter().filter(|run| run[run.len() - 1].0 - run[0].0 <= LIMITS.stall_bunch_ns).count();
    single as f64 >= LIMITS.min_single_share * runs.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::rng::Rng;

    const US: i64 = 1000;

    /// 10,000 packets, each 10 ms, over a path of 20 ms; `more` is what each takes longer.
    fn path(mut more: impl FnMut(i64) -> i64) -> DirectionFacts {
        let packets = (0..10_000i64).map(|i| {
            let sent = 10_000 * US * i;
            LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(sent + 20_000 * US + more(i)) }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    /// Both hosts timestamp 30 us late on average, and the sender's stalls at one packet in `every` for up to 4 ms.
    fn stamped(mut facts: DirectionFacts, every: i64) -> DirectionFacts {
        let mut rng = Rng::for_element(1, "host");
        for (i, packet) in facts.packets.iter_mut().enumerate() {
            let is_stall = every > 0 && (i as i64 + 7) % every == 0;
            let arrival = packet.arrival().unwrap() + rng.exponential(30e3) as i64;
            packet.sent += rng.exponential(30e3) as i64 + if is_stall { (4e6 * rng.uniform()) as i64 } else { 0 };
            packet.outcome = Outcome::Arrived(arrival);
        }
        facts
    }

    #[test]
    fn floor_of_the_path_is_in_its_range_when_few_timestamps_are_late() {
        for every in [997, 200] {
            let late = stamped(path(|_| 0), every);
            assert!(late.floor().unwrap() < 17_500 * US);
            let mended = corrected(&late);
            let (floor, range) = (mended.floor().unwrap(), mended.late.unwrap() as i64);
            assert!((19_500 * US..=20_000 * US).contains(&floor) && floor + range >= 19_990 * US, "{floor} {range}");
            assert!(floor + range < 20_100 * US, "{floor} {range}");
        }
        // Jitter has a sharp edge of its own.
        let mut rng = Rng::for_element(2, "jitter");
        let mended = corrected(&stamped(path(move |_| (6e6 * rng.uniform()) as i64), 500));
        let (floor, range) = (mended.floor().unwrap(), mended.late.unwrap() as i64);
        assert!(floor <= 20_000 * US && (20_000 * US..20_400 * US).contains(&(floor + range)), "{floor} {range}");
    }

    #[test]
    fn late_timestamps_are_found_where_packets_follow_each_other_closely() {
        // ACKs each 1 ms: a floor that is 4 ms too low isolates none.
        let mut facts = path(|_| 0);
        for (i, packet) in facts.packets.iter_mut().enumerate() {
            packet.sent = 1000 * US * i as i64;
            packet.outcome = Outcome::Arrived(packet.sent + 20_000 * US);
        }
        let mended = corrected(&stamped(facts, 500));
        let (floor, range) = (mended.floor().unwrap(), mended.late.unwrap() as i64);
        assert!(floor >= 19_500 * US && (19_980 * US..20_100 * US).contains(&(floor + range)), "{floor} {range}");
    }

    #[test]
    fn timestamps_are_right_before_a_queue_that_is_empty_now_and_then() {
        // A sawtooth of up to 60 ms, in steps of a service time.
        let mut facts = path(|_| 0);
        for (i, packet) in facts.packets.iter_mut().enumerate() {
            packet.sent = 1000 * US * i as i64;
            packet.outcome = Outcome::Arrived(packet.sent + 20_000 * US + (i as i64 % 600 / 10) * 1000 * US);
        }
        assert!(corrected(&facts).late.is_none());
    }

    #[test]
    fn late_timestamps_are_found_before_a_queue_that_is_empty_now_and_then() {
        // Bursts of 20 packets each 60 ms at a link of 1 ms a packet: one in 20 finds it empty.
        let mut facts = path(|_| 0);
        for (i, packet) in facts.packets.iter_mut().enumerate() {
            packet.sent = (i as i64 / 20 * 60_000 + i as i64 % 20 * 200) * US;
            packet.outcome = Outcome::Arrived((i as i64 / 20 * 60_000 + i as i64 % 20 * 1000 + 20_000) * US);
        }
        assert!(corrected(&facts).late.is_none());
        let mended = corrected(&stamped(facts, 203));
        let (floor, range) = (mended.floor().unwrap(), mended.late.unwrap() as i64);
        assert!(floor >= 19_500 * US && (19_980 * US..20_100 * US).contains(&(floor + range)), "{floor} {range}");
    }

    #[test]
    fn range_of_the_floor_has_the_blur_of_hosts_that_do_not_stall() {
        let mended = corrected(&stamped(path(|_| 0), 0));
        let reach = mended.floor().unwrap() + mended.late.unwrap() as i64;
        assert!((19_980 * US..20_020 * US).contains(&reach), "{reach}");
    }

    #[test]
    fn nothing_is_late_where_a_path_has_its_edge() {
        let mut rng = Rng::for_element(3, "jitter");
        assert!(corrected(&path(|_| 0)).late.is_none());
        assert!(corrected(&path(|_| rng.exponential(3e6) as i64)).late.is_none());
        assert!(corrected(&path(|_| (4e6 * rng.uniform()) as i64)).late.is_none());
        assert!(corrected(&path(|_| rng.normal(8e6, 1e6).max(0.0) as i64)).late.is_none());
        // Frames of 5 ms, and a queue of others that is empty now and then.
        assert!(corrected(&path(|i| (i * 10_000 * US / 3).rem_euclid(5000 * US))).late.is_none());
        assert!(corrected(&path(|i| (i % 150) * 200 * US)).late.is_none());
    }

    #[test]
    fn timestamps_are_right_where_the_path_is_faster_for_a_time() {
        // The others' queue, of 3 ms, is empty for half a second; a bucket passes what comes after an idle time.
        let facts = path(|i| if (4000..4050).contains(&i) { 0 } else { 3000 * US });
        assert_eq!(corrected(&facts), facts);
    }
}
