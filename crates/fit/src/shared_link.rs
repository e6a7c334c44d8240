//! A link that serves others as well, of which no capture has the packets. They fill its queue: the bytes that
//! wait when a packet comes follow from its delay and the link's own rate, not from the packets that are known; and
//! a packet that is lost while a queue stands is as likely the queue's as the channel's.

use crate::facts::{DirectionFacts, LinkPacket, Outcome};
use crate::thresholds::LIMITS;

/// A link with a rate of its own.
#[derive(Debug, Clone, Copy)]
pub struct SharedLink {
    /// Delay of a packet of length zero, nanoseconds.
    pub base: f64,
    /// Service time at the link's own rate, nanoseconds.
    pub ns_per_byte: f64,
}

impl SharedLink {
    /// The backlog in bytes that each packet met by its delay, itself included; a lost one met that of the packet
    /// before it.
    fn backlogs(self, facts: &DirectionFacts) -> Vec<f64> {
        let mut before = 0.0;
        let of_packet = |packet: &LinkPacket| match packet.delay() {
            Some(delay) => {
                before = (delay as f64 - self.base) / self.ns_per_byte;
                before
            }
            None => before + f64::from(packet.len),
        };
        facts.packets.iter().map(of_packet).collect()
    }

    /// The largest backlog of a packet that arrived, bytes.
    pub fn largest(self, facts: &DirectionFacts) -> f64 {
        largest_of(facts, &self.backlogs(facts))
    }

    /// The packets with no loss of the channel while a queue stands: from a share of the largest backlog on.
    pub fn attributed(self, facts: &DirectionFacts) -> DirectionFacts {
        let backlogs = self.backlogs(facts);
        let standing = LIMITS.min_standing * largest_of(facts, &backlogs);
        let of_packet = |(packet, &backlog): (&LinkPacket, &f64)| match packet.outcome {
            Outcome::Lost { .. } if backlog >= standing => LinkPacket { outcome: Outcome::Lost { channel: 0.0 }, ..*packet },
            _ => *packet,
        };
        let packets = facts.packets.iter().zip(&backlogs).map(of_packet).collect();
        DirectionFacts { packets, ..facts.clone() }
    }
}

fn largest_of(facts: &DirectionFacts, backlogs: &[f64]) -> f64 {
    let arrived = facts.packets.iter().zip(backlogs).filter(|(packet, _)| packet.arrival().is_some());
    arrived.map(|(_, &backlog)| backlog).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunFacts, Status, fit_link};

    const MS: i64 = 1_000_000;
    const LINK: SharedLink = SharedLink { base: 20e6, ns_per_byte: MS as f64 / 1500.0 };

    /// 1500 B each 2 ms over 12 Mb/s and 20 ms; packets of others wait before them for 0 to 40 ms and back in each
    /// 2 s. `lost` are lost, by the packets that wait before them.
    fn link(lost: impl Fn(i64, i64) -> bool) -> DirectionFacts {
        let packets = (0..10_000i64).map(|i| {
            let waiting = (40 - (i % 1000 - 500).abs() * 40 / 500).max(0);
            let outcome = match lost(i, waiting) {
                true => Outcome::Lost { channel: 0.9 },
                false => Outcome::Arrived(2 * i * MS + 20 * MS + (waiting + 1) * MS),
            };
            LinkPacket { sent: 2 * i * MS, len: 1500, outcome }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    fn of_channel(facts: &DirectionFacts) -> usize {
        facts.packets.iter().filter(|packet| packet.outcome == Outcome::Lost { channel: 0.9 }).count()
    }

    #[test]
    fn losses_of_a_standing_queue_are_not_the_channels() {
        let facts = link(|i, waiting| waiting == 39 && i % 2 == 0);
        assert!(of_channel(&facts) > 100 && of_channel(&LINK.attributed(&facts)) == 0);
        assert!((LINK.largest(&facts) - 61_500.0).abs() < 1.0, "{}", LINK.largest(&facts));
    }

    #[test]
    fn losses_at_a_short_queue_stay_the_channels() {
        let facts = link(|i, waiting| waiting < 15 && i % 97 == 0);
        assert!(of_channel(&facts) > 30);
        assert_eq!(of_channel(&LINK.attributed(&facts)), of_channel(&facts));
    }

    #[test]
    fn link_without_others_has_no_rate_beside_its_own() {
        let mut free = 0;
        let packets = (0..10_000i64).map(|i| {
            let sent = i * MS * 9 / 10;
            free = free.max(sent) + MS;
            let outcome = if i % 61 == 5 { Outcome::Lost { channel: 1.0 } } else { Outcome::Arrived(free + 20 * MS) };
            LinkPacket { sent, len: 1500, outcome }
        });
        let down = DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() };
        let fit = fit_link(&[RunFacts { down, ..RunFacts::default() }], 100, 1).down;
        assert_eq!((fit.rate.evidence.own, fit.loss.mean.status), (None, Status::Identified), "{:?}", fit.rate.evidence);
    }
}
