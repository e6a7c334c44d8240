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

use crate::facts::{DirectionFacts, LinkPacket};
use crate::thresholds::{Edge, LIMITS};

/// The delays of packets that found an empty path, without those that a stall of the host made too small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelayBulk {
    /// The smallest of them, nanoseconds.
    pub floor: f64,
    /// By how much the floor of the path may lie above it, nanoseconds.
    pub late: f64,
    /// Few delays lie far below.
    pub has_outliers: bool,
    /// Distance of the smallest of them from the floor, nanoseconds.
    pub depth: f64,
}

impl DelayBulk {
    /// None if the delays, sorted, are too few or have the lower edge that a path has.
    pub fn of(sorted: &[f64]) -> Option<DelayBulk> {
        let count = sorted.len();
        if count < LIMITS.min_bulk_packets {
            return None;
        }
        LIMITS.edges.iter().find_map(|edge| DelayBulk::above(sorted, *edge))
    }

    /// That above an edge with these shares of the delays below it.
    fn above(sorted: &[f64], Edge { shares, min_outlier_edges, is_narrow, shows_blur }: Edge) -> Option<DelayBulk> {
        let at = |share: f64| sorted[(share * sorted.len() as f64) as usize];
        let [outer, inner, median, upper] = [shares.0, shares.1, 0.5, 0.9].map(at);
        let (below, edge) = (outer - sorted[0], inner - outer);
        if below < edge.max(LIMITS.clock_resolution_ns) || (is_narrow && edge > LIMITS.host_noise_ns) {
            return None;
        }
        let has_outliers = below > min_outlier_edges * edge && below > LIMITS.host_noise_ns;
        if !has_outliers && (!shows_blur || median - outer > LIMITS.host_noise_ns) {
            return None;
        }
        let cut = if has_outliers { outer - LIMITS.outlier_edges * edge } else { sorted[0] };
        let floor = sorted[sorted.partition_point(|delay| *delay < cut)];
        // Arrivals are late, too: up to half of the delays are larger than the path's.
        let late = outer + (upper - outer).min(LIMITS.host_noise_ns) - floor;
        Some(DelayBulk { floor, late, has_outliers, depth: floor - sorted[0] })
    }
}

/// The packets with the latest departures that the floor of the others allows, where hosts timestamped them late.
pub fn corrected(facts: &DirectionFacts) -> DirectionFacts {
    let bulks = bulks(facts);
    let late = bulks.values().map(|bulk| bulk.late).reduce(f64::max);
    let host_stall = bulks.values().filter(|bulk| bulk.has_outliers).map(|bulk| bulk.depth).fold(0.0, f64::max);
    let mut floors: BTreeMap<u32, i64> =
        bulks.into_iter().filter(|(_, bulk)| bulk.has_outliers).map(|(len, bulk)| (len, bulk.floor as i64)).collect();
    // A longer packet takes no less than a shorter one.
    let mut lowest = 0;
    floors.values_mut().for_each(|floor| {
        lowest = lowest.max(*floor);
        *floor = lowest;
    });
    // No later than the next one: what a stall held back has one time, and of a lost packet no arrival shows another.
    let mut packets = facts.packets.clone();
    let mut next = i64::MAX;
    for packet in packets.iter_mut().rev() {
        let floor = floors.range(..=packet.len).next_back();
        let known = packet.arrival().zip(floor).map(|(arrival, (_, floor))| arrival - floor);
        packet.sent = packet.sent.min(next).min(known.unwrap_or(i64::MAX));
        next = packet.sent;
    }
    DirectionFacts { packets, late, host_stall, ..facts.clone() }
}

/// The directions of a run of which one shows that hosts timestamp late: each host does so in both. Where few packets
/// found the path empty, a stall of the sender may have made the smallest delays too small, and none shows it.
pub fn of_both(directions: [&mut DirectionFacts; 2]) {
    if directions.iter().all(|facts| facts.late.is_none()) {
        return;
    }
    let host_stall = directions.iter().map(|facts| facts.host_stall).fold(0.0, f64::max);
    for facts in directions.into_iter().filter(|facts| facts.late.is_none()) {
        let is_blurred = host_stall > 0.0 && !has_edge(facts);
        facts.late = Some(LIMITS.host_delay_ns);
        facts.floor_error = if is_blurred { host_stall } else { 0.0 };
    }
}

/// The smallest delays of packets that found the path empty are alike, at several moments: those that stalls made too
/// small differ.
fn has_edge(facts: &DirectionFacts) -> bool {
    let (Some(floor), Some(len)) = (facts.floor(), facts.common_len()) else { return false };
    let isolated = facts.isolated(floor).into_iter().map(|index| &facts.packets[index]).filter(|packet| packet.len == len);
    let mut moments: Vec<(i64, i64)> = isolated.filter_map(|packet| Some((packet.delay()?, packet.sent))).collect();
    moments.sort_unstable_by_key(|&(delay, sent)| (sent, delay));
    moments.dedup_by(|next, kept| {
        let is_same = next.1 - kept.1 <= LIMITS.stall_bunch_ns;
        kept.0 = if is_same { kept.0.min(next.0) } else { kept.0 };
        is_same
    });
    moments.sort_unstable();
    let outer = moments.get(((LIMITS.alike_moments * moments.len() as f64) as usize).max(LIMITS.min_alike_moments));
    outer.is_some_and(|outer| (outer.0 - moments[0].0) as f64 <= LIMITS.host_noise_ns)
}

/// By length, where timestamps are late. ACKs do not show when a packet arrived.
fn bulks(facts: &DirectionFacts) -> BTreeMap<u32, DelayBulk> {
    let Some(floor) = facts.floor().filter(|_| !facts.by_acks) else { return BTreeMap::new() };
    let mut found = bulks_above(facts, floor);
    if !found.is_empty() {
        // A floor that was too low isolated few packets, of which more are late.
        for _ in 0..LIMITS.rate_rounds {
            let lowest = found.values().map(|bulk| bulk.floor as i64).min().unwrap_or(floor);
            let next = bulks_above(facts, lowest);
            if next.is_empty() || next == found {
                break;
            }
            found = next;
        }
        return found;
    }
    // Hardly a packet is isolated by a floor that is milliseconds too low. Where most delays are alike no queue
    // stands, whose delays come in steps of a service time; behind a queue that is empty now and then, the packets
    // that found it so agree: most of those that seem to, or of all packets as many as a busy link is empty for.
    let sorted = |mut delays: Vec<i64>| {
        delays.sort_unstable();
        delays
    };
    let all = sorted(facts.packets.iter().filter_map(LinkPacket::delay).collect());
    let isolated = sorted(facts.isolated(floor).into_iter().filter_map(|index| facts.packets[index].delay()).collect());
    let outer = LIMITS.edges[0].shares.0;
    let likely =
        [alike(&all, (outer, 0.5)), alike(&isolated, LIMITS.isolated_shares), alike(&all, (LIMITS.stalled_share, outer))];
    let found = likely.into_iter().flatten().map(|low| bulks_above(facts, low)).find(|bulks| !bulks.is_empty());
    found.unwrap_or_default()
}

/// The delay with the first of these shares of the sorted delays below it, if that with the second is hardly larger.
fn alike(delays: &[i64], shares: (f64, f64)) -> Option<i64> {
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
/// path that is faster for a time has them in a row. The first moment of all is none of these: no queue was there yet.
fn are_single(packets: &[(i64, f64)], floor: f64) -> bool {
    let runs: Vec<&[(i64, f64)]> =
        packets.chunk_by(|a, b| (a.1 < floor) == (b.1 < floor)).filter(|run| run[0].1 < floor).collect();
    let is_single = |run: &[(i64, f64)]| run[run.len() - 1].0 - run[0].0 <= LIMITS.stall_bunch_ns && run[0] != packets[0];
    let single = runs.iter().filter(|run| is_single(run)).count();
    single as f64 >= LIMITS.min_single_share * runs.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Outcome;
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
        assert!((19_990 * US..20_050 * US).contains(&reach), "{reach}");
    }

    #[test]
    fn floor_is_found_where_a_fast_link_passes_many_packets_in_a_stall() {
        // 10 of 300 packets leave during a stall of 4 ms, whose end is their time.
        let mut facts = stamped(path(|_| 0), 0);
        for (i, packet) in facts.packets.iter_mut().enumerate().filter(|(i, _)| i % 300 < 10) {
            let delay = packet.delay().unwrap();
            let end = (i / 300 * 300) as i64 * 10_000 * US + 4000 * US;
            packet.outcome = Outcome::Arrived(end - 4000 * US + (i % 300) as i64 * 400 * US + delay);
            packet.sent = end;
        }
        let delays = |facts: &DirectionFacts| facts.packets.iter().filter_map(LinkPacket::delay).collect::<Vec<i64>>();
        let mut sorted = delays(&facts);
        sorted.sort_unstable();
        assert!(sorted[sorted.len() / 50] < 19_000 * US);
        let mended = corrected(&facts);
        let (floor, range) = (mended.floor().unwrap(), mended.late.unwrap() as i64);
        assert!(floor >= 19_500 * US && (19_980 * US..20_100 * US).contains(&(floor + range)), "{floor} {range}");
    }

    #[test]
    fn packets_behind_a_lost_one_are_set_back_as_well() {
        // 6 packets of a stall have its end as their time; the third was lost.
        let mut facts = stamped(path(|_| 0), 0);
        for (i, packet) in facts.packets.iter_mut().enumerate().filter(|(i, _)| i % 1000 < 6) {
            let first = (i / 1000 * 1000) as i64 * 10_000 * US;
            let sent = first + (i % 1000) as i64 * 500 * US;
            packet.outcome = Outcome::Arrived(sent + 20_000 * US);
            if i % 1000 == 2 {
                packet.outcome = Outcome::Lost { channel: 1.0 };
            }
            packet.sent = first + 3000 * US;
        }
        let mended = corrected(&facts);
        assert!(mended.floor().unwrap() >= 19_500 * US, "{:?}", mended.floor());
        assert!(mended.packets.windows(2).all(|pair| pair[0].sent <= pair[1].sent));
    }

    #[test]
    fn floor_may_be_too_low_where_few_packets_that_found_the_path_empty_differ() {
        let stalled = |sent: i64| DirectionFacts { late: Some(100e3), host_stall: 3e6, ..path(|_| sent % 2 * US) };
        // A standing queue, which 3 packets found empty.
        let of = |delays: [i64; 3]| {
            let mut facts = path(|_| 50_000 * US);
            for (i, delay) in delays.into_iter().enumerate() {
                let packet = &mut facts.packets[i];
                packet.sent = i as i64 * 100_000 * US - 500_000 * US;
                packet.outcome = Outcome::Arrived(packet.sent + delay * US);
            }
            let mut other = stalled(0);
            of_both([&mut facts, &mut other]);
            (facts.late, facts.floor_error)
        };
        assert_eq!(of([18_000, 20_000, 20_500]), (Some(LIMITS.host_delay_ns), 3e6));
        assert_eq!(of([20_040, 20_000, 20_500]), (Some(LIMITS.host_delay_ns), 0.0));
        let [mut one, mut other] = [path(|_| 0), path(|_| 0)];
        of_both([&mut one, &mut other]);
        assert_eq!((one.late, other.floor_error), (None, 0.0));
    }

    #[test]
    fn nothing_is_late_where_a_path_has_its_edge() {
        let mut rng = Rng::for_element(3, "jitter");
        assert!(corrected(&path(|_| 0)).late.is_none());
        assert!(corrected(&path(|_| rng.exponential(3e6) as i64)).late.is_none());
        assert!(corrected(&path(|_| (4e6 * rng.uniform()) as i64)).late.is_none());
        assert!(corrected(&path(|_| rng.normal(8e6, 1e6).max(0.0) as i64)).late.is_none());
        assert!(corrected(&path(|_| rng.normal(1e6, 0.1e6).max(0.0) as i64)).late.is_none());
        // Frames of 5 ms, and a queue of others that is empty now and then.
        assert!(corrected(&path(|i| (i * 10_000 * US / 3).rem_euclid(5000 * US))).late.is_none());
        assert!(corrected(&path(|i| (i % 150) * 200 * US)).late.is_none());
    }

    #[test]
    fn timestamps_are_right_where_all_but_the_first_packets_wait_in_a_queue_of_one_length() {
        // A burst of three at a link that serves a packet in 20 ms, and then one with each departure of another.
        let sent = (0..1500i64).map(|i| 20_000 * US * (i - 2).max(0));
        let packets = sent.enumerate().map(|(i, sent)| {
            let arrival = 20_000 * US * (i as i64 + 1) + 4_000 * US;
            LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(arrival) }
        });
        let facts = DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() };
        assert_eq!(corrected(&facts), facts);
    }

    #[test]
    fn timestamps_are_right_where_the_path_is_faster_for_a_time() {
        // The others' queue, of 3 ms, is empty for half a second; a bucket passes what comes after an idle time.
        let facts = path(|i| if (4000..4050).contains(&i) { 0 } else { 3000 * US });
        assert_eq!(corrected(&facts), facts);
    }
}
