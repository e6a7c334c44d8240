//! When each packet would have arrived without jitter: the end of its service at a FIFO link of known
//! rate (Lindley 1952) and the base delay. A packet of which every predecessor had arrived by then
//! shows jitter itself, also from a standing queue: a link that keeps the order did not hold it back.

use crate::facts::{DirectionFacts, LinkPacket, Outcome};
use crate::thresholds::LIMITS;
use std::collections::VecDeque;

/// The packets of a direction, with what the times say of each lost one: a busy link that served it has a gap of its
/// service between the arrivals around it, and none if a queue before it dropped the packet. None if they say no more
/// than what was known. `ns_per_byte` is of a link whose service times agree.
pub fn served_or_dropped(facts: &DirectionFacts, ns_per_byte: f64) -> Option<DirectionFacts> {
    let floor = facts.floor()?;
    let service = |packet: &LinkPacket| ns_per_byte * f64::from(packet.len);
    if facts.by_acks || facts.flow_queues {
        return None;
    }
    let mut found = facts.clone();
    let mut before: Option<i64> = None;
    let (mut lost, mut others) = (Vec::new(), 0.0);
    for (index, packet) in facts.packets.iter().enumerate() {
        match packet.outcome {
            Outcome::Lost { .. } => lost.push(index),
            Outcome::Uncaptured => others += service(packet),
            Outcome::OutsideCapture => before = None,
            Outcome::Arrived(at) => {
                let behind = before.filter(|&last| packet.sent + floor <= last && !facts.stalled(last, at));
                if let (Some(last), false) = (behind, lost.is_empty()) {
                    let of_lost = lost.iter().map(|&lost| service(&facts.packets[lost])).sum::<f64>() / lost.len() as f64;
                    let served = ((at - last) as f64 - others - service(packet)) / of_lost;
                    let count = libm::round(served);
                    if (served - count).abs() <= LIMITS.max_gap_error && (0.0..=lost.len() as f64).contains(&count) {
                        // The most likely ones.
                        let channel = |index: usize| match facts.packets[index].outcome {
                            Outcome::Lost { channel } => channel,
                            _ => 0.0,
                        };
                        lost.sort_by(|&a, &b| channel(b).total_cmp(&channel(a)));
                        for (rank, &index) in lost.iter().enumerate() {
                            let is_served = rank < count as usize;
                            found.packets[index].outcome = Outcome::Lost { channel: f64::from(u8::from(is_served)) };
                        }
                    }
                }
                (before, others) = (Some(at), 0.0);
                lost.clear();
            }
        }
    }
    (found != *facts).then_some(found)
}

/// The arrival without jitter of each packet that the link served, nanoseconds. The error of the rate
/// adds up over a busy time; the smallest deviations of the arrivals around a packet correct it.
pub fn unjittered_arrivals(facts: &DirectionFacts, base: f64, ns_per_byte: f64) -> Vec<Option<f64>> {
    let mut free = f64::NEG_INFINITY;
    let mut arrivals: Vec<Option<f64>> = Vec::with_capacity(facts.packets.len());
    let mut deviations = Vec::with_capacity(facts.packets.len());
    for packet in &facts.packets {
        let is_served = was_served(packet);
        if is_served {
            free = free.max(packet.sent as f64) + ns_per_byte * f64::from(packet.len);
        }
        let arrival = is_served.then_some(free + base);
        deviations.push(arrival.and_then(|without| Some(packet.arrival()? as f64 - without)));
        arrivals.push(arrival);
    }
    let minima = sliding_minima(&deviations, LIMITS.drift_window);
    arrivals.into_iter().zip(minima).map(|(arrival, min)| Some(arrival? + min)).collect()
}

/// The link sent the packet, as far as is known.
fn was_served(packet: &LinkPacket) -> bool {
    match packet.outcome {
        Outcome::Arrived(_) | Outcome::Uncaptured => true,
        Outcome::Lost { channel } => channel >= LIMITS.channel_probability,
        Outcome::OutsideCapture => false,
    }
}

/// Delays without service and waiting, sorted, of the packets that no predecessor held back, among the
/// first `count` that the link served after it was idle: the error of the rate has not added up yet. Behind a
/// lost packet, which the link may have served or not, none counts until it is idle again.
pub fn early_delays(facts: &DirectionFacts, ns_per_byte: f64, floor: f64, count: usize) -> Vec<f64> {
    let (mut free, mut latest) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    let (mut number, mut is_sure) = (0, true);
    let mut delays = Vec::new();
    for packet in &facts.packets {
        if free <= packet.sent as f64 {
            (number, is_sure) = (0, true);
        }
        if was_served(packet) {
            number += 1;
            free = free.max(packet.sent as f64) + ns_per_byte * f64::from(packet.len);
        }
        is_sure &= !packet.is_lost();
        let Some(arrival) = packet.arrival() else { continue };
        if is_sure && number <= count && latest <= free + floor {
            delays.push(arrival as f64 - free);
        }
        latest = latest.max(arrival as f64);
    }
    delays.sort_unstable_by(f64::total_cmp);
    delays
}

/// The minimum of the known values within `half` positions of each; 0 where there is none.
fn sliding_minima(values: &[Option<f64>], half: usize) -> Vec<f64> {
    let mut minima = Vec::with_capacity(values.len());
    // Positions of ascending values.
    let mut window: VecDeque<usize> = VecDeque::new();
    let value = |i: usize| values[i].unwrap_or(f64::INFINITY);
    let mut next = 0;
    for at in 0..values.len() {
        while next < values.len() && next <= at + half {
            if values[next].is_some() {
                while window.back().is_some_and(|&last| value(last) >= value(next)) {
                    window.pop_back();
                }
                window.push_back(next);
            }
            next += 1;
        }
        while window.front().is_some_and(|&first| first + half < at) {
            window.pop_front();
        }
        minima.push(window.front().map_or(0.0, |&first| value(first)));
    }
    minima
}

/// The delays, above those without jitter, of the packets that no predecessor held back, sorted.
pub fn jitter_of(facts: &DirectionFacts, unjittered: &[Option<f64>]) -> Vec<f64> {
    let mut latest = f64::NEG_INFINITY;
    let mut above = Vec::new();
    for (packet, without) in facts.packets.iter().zip(unjittered) {
        let (Some(arrival), Some(without)) = (packet.arrival(), without) else { continue };
        if latest <= *without {
            above.push((arrival as f64 - without).max(0.0));
        }
        latest = latest.max(arrival as f64);
    }
    above.sort_unstable_by(f64::total_cmp);
    above
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::rng::Rng;

    /// A standing queue at 10 Mb/s, and exponential jitter with this mean that keeps the order.
    fn link(mean: f64, drift: f64) -> DirectionFacts {
        let mut rng = Rng::for_element(1, "service");
        let (mut free, mut last) = (0.0f64, 0);
        let packets = (0..5000).map(|i| {
            let sent = i * 1_150_000;
            free = free.max(sent as f64) + 1_200_000.0 * (1.0 + drift);
            last = last.max((free + 20e6 + rng.exponential(mean)) as i64);
            LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(last) }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    #[test]
    fn jitter_is_seen_behind_a_standing_queue_when_the_link_keeps_the_order() {
        for drift in [0.0, 1e-3, -1e-3] {
            let facts = link(2e6, drift);
            let above = jitter_of(&facts, &unjittered_arrivals(&facts, 20e6, 800.0));
            let mean = above.iter().sum::<f64>() / above.len() as f64;
            assert!(above.len() > 300 && (mean / 2e6 - 1.0).abs() < 0.12, "{mean} of {} with drift {drift}", above.len());
        }
    }

    #[test]
    fn gap_between_arrivals_shows_whether_the_link_served_a_lost_packet() {
        // A standing queue at 10 Mb/s of which every tenth packet is dropped before the link, or lost behind it.
        let link = |is_served: bool, noise: i64| {
            let (mut free, mut packets) = (0i64, Vec::new());
            for i in 0..500i64 {
                let (sent, is_lost) = (i * 1_000_000, i % 10 == 9);
                free = free.max(sent) + if is_lost && !is_served { 0 } else { 1_200_000 };
                let outcome = if is_lost {
                    Outcome::Lost { channel: 0.6 }
                } else {
                    Outcome::Arrived(free + 20_000_000 + i * 7 % 5 * noise)
                };
                packets.push(LinkPacket { sent, len: 1500, outcome });
            }
            DirectionFacts { packets, ..DirectionFacts::default() }
        };
        let channels = |facts: &DirectionFacts| -> Vec<f64> {
            let of = |packet: &LinkPacket| match packet.outcome {
                Outcome::Lost { channel } => Some(channel),
                _ => None,
            };
            facts.packets.iter().filter_map(of).collect()
        };
        for is_served in [false, true] {
            let found = served_or_dropped(&link(is_served, 10_000), 800.0).unwrap();
            let expected = if is_served { 1.0 } else { 0.0 };
            assert!(channels(&found)[5..49].iter().all(|&channel| channel == expected), "{:?}", channels(&found));
        }
        // By this rate the gaps are no whole number of services.
        assert_eq!(served_or_dropped(&link(false, 0), 540.0), None);
    }

    #[test]
    fn floor_of_early_packets_is_not_lower_when_a_lost_packet_was_not_served() {
        // Bursts of four at 10 Mb/s and 20 ms, of which the second packet never reached the link.
        let arrival = |served: i64| Outcome::Arrived(20_000_000 + 1_200_000 * served);
        let packets = (0..50i64).flat_map(|burst| {
            let sent = burst * 100_000_000;
            let of = |outcome| LinkPacket { sent, len: 1500, outcome };
            let after = |outcome: Outcome| match outcome {
                Outcome::Arrived(at) => Outcome::Arrived(sent + at),
                other => other,
            };
            [arrival(1), Outcome::Lost { channel: 1.0 }, arrival(2), arrival(3)].map(|outcome| of(after(outcome)))
        });
        let facts = DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() };
        let early = early_delays(&facts, 800.0, 20e6, 4);
        assert!(early.len() == 50 && early.iter().all(|delay| (delay - 20e6).abs() < 1.0), "{early:?}");
    }

    #[test]
    fn minima_are_those_of_the_window() {
        let values = [Some(5.0), None, Some(3.0), Some(4.0), Some(9.0)];
        assert_eq!(sliding_minima(&values, 1), [5.0, 3.0, 3.0, 3.0, 4.0]);
        assert_eq!(sliding_minima(&[None], 1), [0.0]);
    }
}
