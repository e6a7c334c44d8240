//! Division of segments in flight that have become longer than the path allows.

use super::segment::{JOINED, LOST, PUSHED};
use super::{Index, Scoreboard, SentSegment};
use std::collections::VecDeque;

/// A segment after the division.
struct Piece {
    sent: SentSegment,
    /// Index of the segment before, in which it began.
    former: Index,
    newly_lost: bool,
}

impl Scoreboard {
    /// Divides every packet in flight with a segment of more than `max` bytes into segments of `max`, and
    /// marks them lost. All segments get new indices, above those of before. Returns the former index of
    /// each; none if no segment is too long, and then nothing changes.
    pub fn resegment(&mut self, max: u32) -> Option<Vec<Index>> {
        if !self.ring.iter().any(|sent| sent.len > max && !sent.is_sacked()) {
            return None;
        }
        let former: Vec<SentSegment> = self.ring.iter().copied().collect();
        let (base, end) = (self.base, self.end_index());
        let mut segments: Vec<Piece> = Vec::with_capacity(former.len() + 1);
        let mut at = 0;
        while at < former.len() {
            let length = packet_len(&former[at..]);
            let packet = &former[at..at + length];
            let index = base + at as u64;
            if packet[0].is_sacked() || packet.iter().all(|sent| sent.len <= max) {
                let whole = |(&sent, former)| Piece { sent, former, newly_lost: false };
                segments.extend(packet.iter().zip(index..).map(whole));
            } else {
                divide(packet, index, max, &mut segments);
            }
            at += length;
        }
        self.replace(&segments, end);
        Some(segments.into_iter().map(|piece| piece.former).collect())
    }

    fn replace(&mut self, segments: &[Piece], base: Index) {
        while self.ring.pop_front().is_some() {}
        self.base = base;
        (self.sacked_out, self.lost_out, self.retrans_out) = (0, 0, 0);
        self.highest_sacked = None;
        let mut moved = VecDeque::new();
        for (index, Piece { sent, former, newly_lost }) in (base..).zip(segments) {
            self.ring.push_back(*sent);
            self.sacked_out += u32::from(sent.is_sacked());
            self.lost_out += u32::from(sent.is_lost());
            self.retrans_out += u32::from(sent.is_retransmitted());
            if sent.is_sacked() {
                self.highest_sacked = Some(index);
            }
            if *newly_lost {
                self.losses += 1;
                self.lost_log.iter_mut().for_each(|log| log.push(index));
            }
            if sent.is_retransmitted() {
                moved.extend(self.retransmissions.iter().filter(|(of, _)| of == former).map(|&(_, next)| (index, next)));
            }
        }
        self.retransmissions = moved;
        (self.scanned, self.sacked_below_scan, self.retransmit_from) = (base, 0, base);
    }
}

/// Segments of the packet at the front that are not SACKed; one that is SACKed is alone.
fn packet_len(segments: &[SentSegment]) -> usize {
    if segments[0].is_sacked() {
        return 1;
    }
    let joined = segments.windows(2).take_while(|pair| pair[0].is_joined() && !pair[1].is_sacked());
    1 + joined.count()
}

fn divide(packet: &[SentSegment], index: Index, max: u32, into: &mut Vec<Piece>) {
    let (Some(first), Some(last)) = (packet.first(), packet.last()) else { return };
    let mut seq = first.seq;
    while seq < last.end() {
        let len = u64::from(max).min(last.end() - seq);
        let from = packet.partition_point(|sent| sent.end() <= seq);
        let of = packet[from.min(packet.len() - 1)];
        let ends = seq + len == last.end();
        let flags = if ends { last.packet & (PUSHED | JOINED) } else { JOINED };
        let newly_lost = !of.is_lost() || of.is_retransmitted();
        let sent = SentSegment { seq, len: len as u32, marks: LOST, packet: flags, ..of };
        into.push(Piece { sent, former: index + from as u64, newly_lost });
        seq += len;
    }
}
