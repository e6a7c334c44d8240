//! A limit of the packets' size that no router reports to the sender (a black hole of path MTU discovery,
//! RFC 2923, section 2.1): every packet above a size is lost, every smaller one is delivered.

/// A packet of which the fate is known.
#[derive(Debug, Clone, Copy)]
pub struct SizedPacket {
    /// Departure, nanoseconds.
    pub at: i64,
    /// IP bytes.
    pub len: u32,
    pub is_lost: bool,
}

/// A size above which no packet arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeLimit {
    /// IP bytes of the largest packet that arrived, and of the smallest longer one, which did not.
    pub delivered: u32,
    pub lost_from: u32,
    /// Packets that were lost above the limit.
    pub lost: u32,
}

/// Retransmissions of a direction from which one capture may show a limit.
pub const MIN_RETRANSMITTED: u32 = 3;
/// Minimum number of lost packets above the limit.
pub const MIN_LOST: u32 = 4;
/// One in this number of the shorter packets may be lost, as at any path.
const MAX_LOST_BELOW: usize = 10;
/// And these, since few packets are short.
const FEW_LOST_BELOW: usize = 1;

/// The limit that these packets of a direction show, in order of departure; none where a longer packet
/// arrived, or shorter ones were lost as well. `alive_until` is the last time, nanoseconds, at which the
/// path and the peer are known to carry something: where nothing arrives, its size is not the reason.
pub fn find(packets: &[SizedPacket], alive_until: i64) -> Option<SizeLimit> {
    let delivered = packets.iter().filter(|packet| !packet.is_lost).map(|packet| packet.len).max()?;
    let above: Vec<&SizedPacket> = packets.iter().filter(|packet| packet.len > delivered).collect();
    let (shorter, lost_below) = (packets.len() - above.len(), packets.iter().filter(|p| p.is_lost && p.len <= delivered).count());
    let is_alive = above.get(1).is_some_and(|second| second.at < alive_until);
    let is_sharp = lost_below <= FEW_LOST_BELOW.max(shorter / MAX_LOST_BELOW);
    let lost_from = above.iter().map(|packet| packet.len).min()?;
    let lost = above.len() as u32;
    (lost >= MIN_LOST && is_alive && is_sharp).then_some(SizeLimit { delivered, lost_from, lost })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long packet, a short one and so on, 10 ms apart.
    fn packets(count: usize, is_lost: impl Fn(usize, u32) -> bool) -> Vec<SizedPacket> {
        let len = |i: usize| if i.is_multiple_of(2) { 1500 } else { 400 + i as u32 };
        (0..count).map(|i| SizedPacket { at: i as i64 * 10_000_000, len: len(i), is_lost: is_lost(i, len(i)) }).collect()
    }

    #[test]
    fn limit_is_between_the_longest_packet_that_arrived_and_the_shortest_that_did_not() {
        let found = find(&packets(8, |_, len| len > 1400), i64::MAX);
        assert_eq!(found, Some(SizeLimit { delivered: 407, lost_from: 1500, lost: 4 }));
        assert_eq!(find(&packets(6, |_, len| len > 1400), i64::MAX), None, "three losses");
    }

    #[test]
    fn no_limit_is_found_when_a_long_packet_arrived_or_short_ones_are_lost_as_well() {
        assert_eq!(find(&packets(40, |i, len| len > 1400 && i != 20), i64::MAX), None);
        // A bucket of less than a full packet drops short packets that follow each other, too.
        assert_eq!(find(&packets(40, |i, len| len > 1400 || i % 8 == 3), i64::MAX), None);
        assert_eq!(find(&packets(40, |i, _| i % 3 == 0), i64::MAX), None, "losses of any size");
    }

    #[test]
    fn no_limit_is_found_when_nothing_arrives_after_the_first_losses() {
        let gone = packets(40, |i, _| i >= 10);
        assert_eq!(find(&gone, gone[9].at), None);
        let hole = packets(40, |_, len| len > 1400);
        assert_eq!(find(&hole, hole[2].at), None, "the peer's last sign precedes the second loss");
        assert!(find(&hole, hole[3].at).is_some());
    }
}
