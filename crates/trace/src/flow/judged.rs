//! Was a repair needed? What comes back for it tells.

use super::seq::{seq_diff, seq_lt};
use super::trouble::Trouble;
use crate::decode::Segment;
use crate::flow::classify::SegmentKind;

/// An ACK comes this much before the least RTT has passed at the soonest: clocks and paths vary.
const EARLY: (i64, i64) = (9, 10);

impl Trouble {
    /// The latest repair of this range was a duplicate at the receiver.
    pub(super) fn reported(&mut self, left: u32, right: u32) -> u32 {
        let found = self.repairs.iter_mut().rev().find(|r| seq_lt(r.start, right) && seq_lt(left, r.end));
        let Some(repair) = found.filter(|r| !r.judged) else { return 0 };
        repair.judged = true;
        let (segments, of_timeout) = (u32::from(repair.segments), repair.kind == SegmentKind::Timeout);
        let spurious = &mut self.oddities_mut().spurious;
        spurious.by_dsack += segments;
        spurious.of_timeouts += u32::from(of_timeout);
        segments
    }

    /// Repairs that this ACK covers: was it the first copy that arrived? By the echoed stamp (RFC 3522), or as the ACK comes sooner than any can,
    /// which for timeouts is counted by itself too (papers/README.md, 7.7).
    pub(super) fn judge(&mut self, now: i64, s: &Segment<'_>, una: u32, least: Option<i64>) -> u32 {
        let (mut by_timestamp, mut by_early_ack, mut of_timeouts) = (0, 0, 0);
        let (mut early_timeouts, mut pairs) = (0, 0);
        for repair in self.repairs.iter_mut().filter(|r| !r.judged && r.start == una && !seq_lt(s.ack, r.end)) {
            let echo_is_older =
                s.options.timestamps.zip(repair.stamp).is_some_and(|(stamps, sent)| seq_diff(sent, stamps.echo) < 0);
            let early = least.is_some_and(|rtt| (now - repair.at) * EARLY.1 < rtt * EARLY.0);
            if !(echo_is_older || early) {
                continue;
            }
            repair.judged = true;
            let timeout = repair.kind == SegmentKind::Timeout;
            early_timeouts += u32::from(early && timeout);
            pairs += u32::from(early && repair.pair);
            of_timeouts += u32::from(timeout);
            *(if echo_is_older { &mut by_timestamp } else { &mut by_early_ack }) += u32::from(repair.segments);
            if let (true, true, Some(episode)) = (timeout && !self.keeps_timeouts, echo_is_older, &mut self.episode) {
                // The sender has the same echo, and may take its timeout back (RFC 3522, section 3.2).
                (episode.taken_back, episode.taken_at) = (episode.loss_point.take(), now);
            }
        }
        if by_timestamp + by_early_ack > 0 {
            let odd = self.oddities_mut();
            odd.spurious.by_timestamp += by_timestamp;
            odd.spurious.by_early_ack += by_early_ack;
            odd.spurious.of_timeouts += of_timeouts;
            odd.pairs.early_timeouts += early_timeouts;
            odd.pairs.not_needed += pairs;
        }
        by_timestamp + by_early_ack
    }
}
