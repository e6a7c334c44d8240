//! The segments of one flow as the path behind its sender met them: a segment that was retransmitted
//! was lost, and the ACK of one before the first hole shows how long it took.

use super::{FlowArrivals, NumberedArrival};
use crate::flow::seq_diff;
use crate::join::Fate;
use crate::join::policer::{PolicedPacket, PolicedRun};
use crate::join::size_limit::{self, SizeLimit, SizedPacket};

/// Segments, from the first on, that show a policer or a limit of the size.
const MAX_SEGMENTS: usize = 1 << 17;

/// New data with its first transmission and its last one.
#[derive(Debug, Clone, Copy)]
struct SentSegment {
    start: i64,
    end: i64,
    first: usize,
    last: usize,
}

/// The segments of new data, in order of their numbers, and all transmissions, in order of departure.
#[derive(Debug, Default)]
pub struct SentSegments {
    segments: Vec<SentSegment>,
    packets: Vec<PolicedPacket>,
    /// Number of the segments that an ACK covers.
    acked: usize,
    /// The smallest delay, nanoseconds; none without an RTT.
    floor: Option<i64>,
}

impl FlowArrivals {
    /// The size above which nothing was acknowledged of what was `sent`, while shorter segments were, and the
    /// peer went on to send. A handshake that was completed carries segments without data.
    pub fn size_limit(&self, sent: &SentSegments, is_established: bool) -> Option<SizeLimit> {
        let handshake = is_established.then_some(SizedPacket { at: 0, len: self.header, is_lost: Some(false), is_repeat: false });
        let packets: Vec<SizedPacket> = handshake.into_iter().chain(sent.sized()).collect();
        size_limit::find(&packets, self.peer_at?)
    }

    /// The segments of a direction whose capture is at its sender; none without data.
    pub fn sent(&self) -> Option<SentSegments> {
        let origin = self.data.first()?.number;
        let mut sent = SentSegments::default();
        let mut highest = 0;
        for packet in &self.data {
            let start = unwrapped(highest, origin, packet.number);
            let end = start + i64::from(packet.bytes.saturating_sub(self.header));
            if start < highest {
                sent.retransmit(packet, start, end);
            } else {
                sent.send(packet, start, end, i64::from(self.max_payload.max(1)), self.header);
            }
            highest = highest.max(end);
            if sent.packets.len() >= MAX_SEGMENTS {
                break;
            }
        }
        sent.acknowledge(&self.acks, origin);
        Some(sent)
    }
}

impl SentSegments {
    /// The packets as a policer met them; none without an RTT.
    pub fn policed(self) -> Option<PolicedRun> {
        Some(PolicedRun::new(self.packets, self.floor?))
    }

    /// New data, which a network card may divide into segments.
    fn send(&mut self, packet: &NumberedArrival, start: i64, end: i64, full: i64, header: u32) {
        let is_divided = end - start > 2 * full;
        let step = if is_divided { full } else { (end - start).max(1) };
        let mut from = start;
        while from < end {
            let to = (from + step).min(end);
            let index = self.packets.len();
            let len = if is_divided { (to - from) as u32 + header } else { packet.bytes };
            self.packets.push(PolicedPacket { at: packet.at, len, fate: Fate::Uncaptured });
            self.segments.push(SentSegment { start: from, end: to, first: index, last: index });
            from = to;
        }
    }

    /// Of each segment in it the transmission before was lost.
    fn retransmit(&mut self, packet: &NumberedArrival, start: i64, end: i64) {
        let index = self.packets.len();
        self.packets.push(PolicedPacket { at: packet.at, len: packet.bytes, fate: Fate::Uncaptured });
        let first = self.segments.partition_point(|segment| segment.end <= start);
        for segment in self.segments[first..].iter_mut().take_while(|segment| segment.start < end) {
            self.packets[segment.last].fate = Fate::Lost;
            segment.last = index;
        }
    }

    /// Delays of the segments that were sent once and that an ACK covers without a hole below them.
    fn acknowledge(&mut self, acks: &[NumberedArrival], origin: u32) {
        let (mut next, mut acked) = (0, 0);
        for ack in acks {
            acked = unwrapped(acked, origin, ack.number).max(acked);
            let mut is_held = false;
            while let Some(segment) = self.segments.get(next).filter(|segment| segment.end <= acked) {
                is_held |= segment.first != segment.last;
                let packet = &mut self.packets[segment.first];
                let delay = ack.at.saturating_sub(packet.at);
                if !is_held && delay >= 0 {
                    packet.fate = Fate::Arrived(delay);
                    self.floor = Some(self.floor.map_or(delay, |min| min.min(delay)));
                }
                next += 1;
            }
        }
        self.acked = next;
    }

    /// The packets in order of departure. The fate is known of the only copy of an acknowledged segment, or its
    /// shorter last one, and of all copies of one that was retransmitted and is not acknowledged.
    fn sized(&self) -> impl Iterator<Item = SizedPacket> + '_ {
        let mut lost: Vec<Option<bool>> = self.packets.iter().map(|packet| (packet.fate == Fate::Lost).then_some(true)).collect();
        let mut repeats = vec![true; self.packets.len()];
        for (number, segment) in self.segments.iter().enumerate() {
            repeats[segment.first] = false;
            let is_retransmitted = segment.first != segment.last;
            let is_acked = number < self.acked;
            let is_shorter = self.packets[segment.last].len < self.packets[segment.first].len;
            if is_acked && (!is_retransmitted || is_shorter) {
                lost[segment.last] = Some(false);
            } else if !is_acked && is_retransmitted {
                lost[segment.last] = Some(true);
            }
        }
        let packets = self.packets.iter().zip(lost).zip(repeats);
        packets.map(|((packet, is_lost), is_repeat)| SizedPacket { at: packet.at, len: packet.len, is_lost, is_repeat })
    }
}

/// The position of a sequence number near one that is known.
fn unwrapped(near: i64, origin: u32, number: u32) -> i64 {
    near + i64::from(seq_diff(origin.wrapping_add(near as u32), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(at: i64, bytes: u32, number: u32) -> NumberedArrival {
        NumberedArrival { at, bytes, number }
    }

    fn policed(data: &[(i64, u32, u32)], acks: &[(i64, u32)]) -> Vec<(i64, u32, Fate)> {
        let origin = u32::MAX - 500;
        let mut sent = SentSegments::default();
        let mut highest = 0;
        for &(at, payload, number) in data {
            let (start, end) = (i64::from(number), i64::from(number + payload));
            let packet = arrival(at, payload + 40, origin.wrapping_add(number));
            assert_eq!(unwrapped(highest, origin, packet.number), start);
            if start < highest {
                sent.retransmit(&packet, start, end)
            } else {
                sent.send(&packet, start, end, 1000, 40)
            }
            highest = highest.max(end);
        }
        let acks: Vec<NumberedArrival> =
            acks.iter().map(|&(at, number)| arrival(at, 1000, origin.wrapping_add(number))).collect();
        sent.acknowledge(&acks, origin);
        sent.packets.iter().map(|packet| (packet.at, packet.len, packet.fate)).collect()
    }

    #[test]
    fn segment_is_lost_when_it_is_retransmitted_and_has_a_delay_when_no_hole_precedes_it() {
        let data = [(0, 1000, 0), (1, 1000, 1000), (2, 1000, 2000), (30, 1000, 1000), (60, 1000, 3000)];
        let packets = policed(&data, &[(20, 1000), (50, 3000), (80, 4000)]);
        let fates: Vec<Fate> = packets.iter().map(|packet| packet.2).collect();
        assert_eq!(fates, [Fate::Arrived(20), Fate::Lost, Fate::Uncaptured, Fate::Uncaptured, Fate::Arrived(20)]);
    }

    #[test]
    fn segments_that_a_card_divides_are_lost_one_by_one() {
        let packets = policed(&[(0, 3500, 0), (30, 1000, 2000)], &[(20, 2000), (50, 3500)]);
        let lens: Vec<(u32, bool)> = packets.iter().map(|packet| (packet.1, packet.2 == Fate::Lost)).collect();
        assert_eq!(lens, [(1040, false), (1040, false), (1040, true), (540, false), (1040, false)]);
    }
}
