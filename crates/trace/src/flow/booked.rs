//! A retransmission goes into the books: the state that it puts its sender into, and what its copies say later.

use super::doubt::Doubt;
use super::half::Half;
use super::seq::seq_lt;
use super::trouble::Repair;
use crate::decode::Segment;
use crate::flow::classify::{Classification, SegmentKind};

impl Half {
    /// A timer that sends the beginning of several outstanding segments, with no probe before, is that of a sender without probes.
    pub(super) fn learn_probes(&mut self, verdict: &Classification, end: u32) {
        let (is_last, next_fired) =
            (!seq_lt(end, self.next), self.trouble.as_ref().is_some_and(|t| t.timer_fired || t.repairing(self.una)));
        let trouble = self.trouble_mut();
        match verdict.kind {
            SegmentKind::TailProbe if is_last && verdict.confidence > 0.95 => trouble.probes = Some(true),
            SegmentKind::Timeout if !is_last && !next_fired && trouble.probes.is_none() => trouble.probes = Some(false),
            _ => {}
        }
    }

    /// Books a retransmission and what state it puts the sender into.
    pub(super) fn repaired(&mut self, now: i64, s: &Segment<'_>, verdict: Classification, segments: u32) {
        let (next, una) = (self.next, self.una);
        self.counts.retransmitted = self.counts.retransmitted.saturating_add(segments);
        let earlier_cause = self.trouble.as_ref().and_then(|t| t.repairs.iter().rev().find(|r| r.start == s.seq).map(|r| r.kind));
        let (start, end) = (s.seq, s.seq.wrapping_add(s.seq_len()));
        let mut in_pair = false;
        let trouble = self.trouble_mut();
        trouble.tally.add(verdict, segments);
        match verdict.kind {
            SegmentKind::Timeout => {
                trouble.timeouts += 1;
                trouble.timer_fired = true;
                let pair = earlier_cause.is_some_and(SegmentKind::is_recovery);
                if pair {
                    trouble.oddities_mut().fast_then_timeout += 1;
                }
                let episode = trouble.episode_mut();
                let open = |point: Option<u32>| point.filter(|&p| seq_lt(una, p));
                // With news on its way to the sender, anything may follow.
                let doubtful = episode.told.is_some() && open(episode.loss_point).is_none() && !seq_lt(s.seq, una);
                let recovery_point = open(episode.recovery_point);
                let doubt = Doubt { at: now, recovery_point, pair, segments, confidence: verdict.confidence };
                episode.doubt = doubtful.then_some(doubt);
                (episode.loss_point, episode.recovery_point) = (Some(next), None);
                if recovery_point.is_some() {
                    in_pair = true;
                    let pairs = &mut trouble.oddities_mut().pairs;
                    pairs.all += 1;
                    // The ACK for the first covered it already, as it passed on its way to the sender.
                    pairs.not_needed += u32::from(!seq_lt(una, end));
                }
            }
            // The timeout itself was not seen, or not recognised.
            SegmentKind::GoBackN if trouble.episode().loss_point.is_none_or(|p| !seq_lt(una, p)) => {
                trouble.episode_mut().loss_point = Some(next);
            }
            SegmentKind::TailProbe => trouble.timer_fired = true,
            SegmentKind::Fast | SegmentKind::Rack if !trouble.episode().recovery_point.is_some_and(|p| seq_lt(una, p)) => {
                trouble.episode_mut().recovery_point = Some(next);
                trouble.recoveries += 1;
            }
            _ => {}
        }
        let stamp = s.options.timestamps.map(|t| t.value);
        trouble.add_repair(Repair {
            start,
            end,
            at: now,
            stamp,
            kind: verdict.kind,
            judged: false,
            segments: segments.min(u32::from(u16::MAX)) as u16,
            ip_id: s.ip_id.unwrap_or(0),
            pair: in_pair,
            filled: false,
        });
    }

    pub(super) fn mark_again(&mut self, now: i64, s: &Segment<'_>, from: u32, end: u32) {
        let stamp = s.options.timestamps.map_or(0, |t| t.value);
        self.sending_mut().outstanding.retransmit(from, end, now, stamp, s.ip_id.unwrap_or(0));
    }
}
