//! Go-back-N of what was lost with its first copy arrives like new data: only gaps in the sender's packet numbers tell it.

use super::half::Half;
use super::seq::{seq_diff, seq_lt, seq_max};
use super::view::View;
use crate::decode::Segment;
use crate::flow::classify::{Classification, RetransmissionEvidence, SegmentKind, classify_retransmission};

impl Half {
    /// What is due comes, but packets before it have not: with nothing missing before, they carried the same data, and what follows.
    pub(super) fn resumes(&mut self, now: i64, s: &Segment<'_>, view: &View) {
        let unseen = u32::from(self.id_step().clamp(1, 1 << 10) as u16 - 1);
        let calm = self.trouble.as_ref().is_none_or(|t| t.is_calm(self.una) && !t.episode().is_resumed(s.seq));
        if unseen == 0 || s.payload == 0 || !calm || !self.numbers_data() || self.at_sender(view) {
            return;
        }
        let bytes = unseen.saturating_mul(self.largest_segment());
        self.listen_afar(now, view);
        self.trouble_mut().episode_mut().resumed = Some(s.seq.wrapping_add(bytes));
    }

    /// All that was outstanding is sent again: with it, what was lost together with its first copy, of which nothing else tells. Packets that
    /// are missing before this one were sent after everything that came, and were new but for the repairs of what was known to be missing.
    pub(super) fn lost_with(&mut self, cause: SegmentKind, s: &Segment<'_>, view: &View) {
        let unseen = u32::from(self.id_step().clamp(1, 1 << 10) as u16 - 1);
        if !matches!(cause, SegmentKind::Timeout | SegmentKind::GoBackN)
            || unseen == 0
            || s.payload == 0
            || self.at_sender(view)
            || !self.numbers_data()
        {
            return;
        }
        let (next, full) = (self.next, self.largest_segment());
        let asked = self.duplicates >= 3 || self.trouble.as_ref().is_some_and(|t| t.repairing(self.una));
        let holes: u32 = self
            .trouble
            .iter()
            .flat_map(|t| &t.episode().holes)
            .map(|h| (seq_diff(h.start, h.end) as u32).div_ceil(full.max(1)))
            .sum();
        let again = if asked && view.sack { holes } else { u32::from(asked) };
        let fresh = unseen.saturating_sub(again);
        let end = next.wrapping_add(fresh.saturating_mul(full));
        let episode = self.trouble_mut().episode_mut();
        episode.resumed = Some(episode.resumed.map_or(end, |known| seq_max(known, end)));
        episode.loss_point = episode.loss_point.map(|point| seq_max(point, end));
    }

    /// It has been sent before, as far as packet numbers tell.
    pub(super) fn resumed(&mut self, now: i64, s: &Segment<'_>, view: &View) -> Option<Classification> {
        let end = self.trouble.as_ref()?.episode().resumed.filter(|&end| seq_lt(s.seq, end))?;
        let found = self.situation(now, s, view, None);
        let likely = classify_retransmission(&RetransmissionEvidence {
            is_first_retransmission: true,
            is_highest_sent: false,
            was_captured: false,
            ..found
        });
        let cause = if likely.kind == SegmentKind::Unexplained { SegmentKind::Fast } else { likely.kind };
        let verdict = Classification::new(cause, likely.confidence.min(0.8));
        let segments = self.segments_in(s.payload, s.header_len);
        self.repaired(now, s, verdict, segments);
        // Its first copy is one of those that did not come by.
        let ids = &mut self.sending_mut().ids;
        ids.unseen -= (segments as i32).min(ids.unseen.max(0));
        if matches!(cause, SegmentKind::Timeout | SegmentKind::GoBackN) {
            let episode = self.trouble_mut().episode_mut();
            episode.loss_point = episode.loss_point.map(|point| seq_max(point, end));
        }
        Some(verdict)
    }
}
