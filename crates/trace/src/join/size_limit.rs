//! A limit of the packets' size that no router reports to the sender (a black hole of path MTU discovery,
//! RFC 2923, section 2.1): every packet above a size is lost, every smaller one is delivered.

/// A packet of a direction.
#[derive(Debug, Clone, Copy)]
pub struct SizedPacket {
    /// Departure, nanoseconds.
    pub at: i64,
    /// IP bytes.
    pub len: u32,
    /// None if the fate is unknown.
    pub is_lost: Option<bool>,
    /// The segment was sent before.
    pub is_repeat: bool,
}

/// A size above which no packet arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeLimit {
    /// IP bytes of the largest packet that arrived, and of the smallest longer one, which did not.
    pub delivered: u32,
    pub lost_from: u32,
    /// Packets that were lost above the limit.
    pub lost: u32,
    /// The peer sent nothing after the second of them: one that vanished in that moment looks the same.
    pub is_peer_silent: bool,
}

/// Retransmissions of a direction from which one capture may show a limit.
pub const MIN_RETRANSMITTED: u32 = 3;
/// Minimum number of lost packets above the limit.
pub const MIN_LOST: u32 = 4;
/// One in this number of the shorter packets may be lost, as at any path.
const MAX_LOST_BELOW: usize = 10;
/// And these, since few packets are short.
const FEW_LOST_BELOW: usize = 1;
/// The largest packet that any path carries with IPv6 (RFC 8200, section 5), bytes. Hardly a path has a
/// limit below it.
pub const EVERY_PATH: u32 = 1280;
/// With a peer that is silent from the first long packet on: the longest time from its last packet to that one,
/// the minimum number of repeats of long packets, and their time, which ends the timeouts of a short outage.
const SOON_NS: i64 = 1_000_000_000;
const MIN_REPEATS: usize = 3;
const LONG_NS: i64 = 1_000_000_000;

/// The limit that these packets of a direction show, in order of departure; none where a longer packet
/// arrived, shorter ones were lost as well, or no long one was retransmitted: a router has then reported the size.
/// `alive_until` is the last time, nanoseconds, at which the path and the peer are known to carry something.
/// Where nothing arrives afterwards, the size is the reason only if long packets alone were sent, repeated
/// without success, just after the peer had answered all shorter ones.
pub fn find(packets: &[SizedPacket], alive_until: i64) -> Option<SizeLimit> {
    let delivered = packets.iter().filter(|packet| packet.is_lost == Some(false)).map(|packet| packet.len).max()?;
    let is_lost = |packet: &&SizedPacket| packet.is_lost == Some(true);
    let above: Vec<&SizedPacket> = packets.iter().filter(is_lost).filter(|packet| packet.len > delivered).collect();
    let shorter = packets.iter().filter(|packet| packet.is_lost.is_some() && packet.len <= delivered);
    let lost_below = shorter.clone().filter(is_lost).count();
    let is_sharp = lost_below <= FEW_LOST_BELOW.max(shorter.count() / MAX_LOST_BELOW);
    let lost_from = above.iter().map(|packet| packet.len).min()?;
    let repeats = above.iter().filter(|packet| packet.is_repeat).count();
    let is_peer_silent = above.get(1).is_none_or(|second| second.at >= alive_until);
    let is_shown = !is_peer_silent || lost_from > EVERY_PATH && repeats >= MIN_REPEATS && is_sudden(packets, &above, alive_until);
    let lost = above.len() as u32;
    (lost >= MIN_LOST && repeats > 0 && is_sharp && is_shown).then_some(SizeLimit { delivered, lost_from, lost, is_peer_silent })
}

/// Whether the peer's last packet just precedes the first long one, and nothing but long packets, for long enough,
/// follows it: a short one would have had an answer.
fn is_sudden(packets: &[SizedPacket], above: &[&SizedPacket], alive_until: i64) -> bool {
    let [first, .., last] = above else { return false };
    let is_soon = first.at.saturating_sub(alive_until) <= SOON_NS;
    let mut after = packets.iter().filter(|packet| packet.at > alive_until);
    is_soon && last.at - first.at >= LONG_NS && after.all(|packet| packet.len > EVERY_PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn packet(at_ms: i64, len: u32, is_lost: Option<bool>) -> SizedPacket {
        SizedPacket { at: at_ms * MS, len, is_lost, is_repeat: is_lost == Some(true) }
    }

    /// A long packet, a short one and so on, 10 ms apart.
    fn packets(count: usize, is_lost: impl Fn(usize, u32) -> bool) -> Vec<SizedPacket> {
        let len = |i: usize| if i.is_multiple_of(2) { 1500 } else { 400 + i as u32 };
        (0..count).map(|i| packet(i as i64 * 10, len(i), Some(is_lost(i, len(i))))).collect()
    }

    /// A handshake, a flight of long packets, the first of which is retransmitted after these times in ms.
    fn flight(len: u32, repeats: &[i64]) -> Vec<SizedPacket> {
        let handshake = [packet(0, 52, Some(false))];
        let first =
            [SizedPacket { is_repeat: false, ..packet(20, len, Some(true)) }, packet(20, len, None), packet(20, len, None)];
        handshake.into_iter().chain(first).chain(repeats.iter().map(|ms| packet(20 + ms, len, Some(true)))).collect()
    }

    #[test]
    fn limit_is_between_the_longest_packet_that_arrived_and_the_shortest_that_did_not() {
        let found = find(&packets(8, |_, len| len > 1400), i64::MAX);
        assert_eq!(found, Some(SizeLimit { delivered: 407, lost_from: 1500, lost: 4, is_peer_silent: false }));
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
    fn no_limit_is_found_when_no_long_packet_is_retransmitted() {
        let reported: Vec<SizedPacket> =
            packets(40, |_, len| len > 1400).into_iter().map(|packet| SizedPacket { is_repeat: false, ..packet }).collect();
        assert_eq!(find(&reported, i64::MAX), None);
    }

    #[test]
    fn limit_is_found_with_a_silent_peer_when_long_packets_alone_are_repeated_in_vain_after_its_last_answer() {
        let timeouts = [240, 680, 1500];
        let found = find(&flight(1500, &timeouts), 19 * MS);
        assert_eq!(found, Some(SizeLimit { delivered: 52, lost_from: 1500, lost: 4, is_peer_silent: true }));
        assert_eq!(find(&flight(1500, &timeouts[..2]), 19 * MS), None, "an outage of less than a second");
        assert_eq!(find(&flight(1500, &[240, 260, 280]), 19 * MS), None, "repeats of a moment");
        assert_eq!(find(&flight(1280, &timeouts), 19 * MS), None, "every path carries this");
        let late: Vec<SizedPacket> =
            flight(1500, &timeouts).into_iter().map(|p| SizedPacket { at: p.at + 1002 * MS, ..p }).collect();
        assert_eq!(find(&late, 19 * MS), None, "an idle connection");
        let mut short = flight(1500, &timeouts);
        short.insert(4, packet(20, 300, None));
        assert_eq!(find(&short, 19 * MS), None, "a short packet has no answer, either");
        assert!(find(&short, 60 * MS).is_some(), "a short packet has one");
        let mut known = flight(1500, &timeouts);
        known.insert(1, packet(5, 1500, Some(false)));
        assert_eq!(find(&known, 19 * MS), None, "the path carried a long packet");
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
