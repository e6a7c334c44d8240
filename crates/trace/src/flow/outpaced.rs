//! Without SACK a fast recovery sends one segment again in a round trip, as a partial acknowledgement asks for it (RFC 6582, section 3.2, step 3).
//! Two sooner than that: the timer had run out, and what passed for a recovery was slow start from its first segment on (RFC 5681, section 3.1).

use super::doubt::is_soon;
use super::half::Half;
use super::seq::seq_lt;
use super::view::View;
use crate::compact::compact;
use crate::decode::Segment;
use crate::flow::classify::{Classification, SegmentKind};

/// What was taken for something else, for whoever watches the packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amended {
    /// The last packet of this end with that cause; a handshake's is the first one of its kind.
    pub was: SegmentKind,
    pub is: Classification,
    /// The one with that cause before it, where that is another, too.
    pub before_it: Option<Classification>,
}

compact!(Amended { was, is, before_it });

/// How sure an amended cause is.
pub const AMENDED: f32 = 0.8;

impl Half {
    /// What is taken for a fast retransmission, and for what it is if one came just before.
    pub(super) fn outpaces(&mut self, now: i64, s: &Segment<'_>, view: &View, verdict: Classification) -> Classification {
        let Some(trouble) = self.trouble.as_deref().filter(|t| !t.repairing_timeout(self.una)) else { return verdict };
        let least = self.least_around(view);
        let last = trouble.repairs.last().filter(|r| r.kind.is_recovery() && !seq_lt(s.seq, r.end));
        let soon = last.filter(|r| is_soon(now - r.at, least));
        if verdict.kind == SegmentKind::GoBackN {
            // What shows that shows it of what came before as well, where nothing is missing in between.
            if last.is_some_and(|last| last.end == s.seq) {
                self.was_slow_start(now, least);
            }
            return verdict;
        }
        if view.sack || soon.is_none() || verdict.kind != SegmentKind::Fast || self.is_asked_for_by_itself(s) {
            return verdict;
        }
        self.was_slow_start(now, least);
        Classification::new(SegmentKind::GoBackN, AMENDED)
    }

    /// It is the first one outstanding as the sender knows it, or was, or duplicates asked for it: packets overtake one another.
    fn is_asked_for_by_itself(&self, s: &Segment<'_>) -> bool {
        self.trouble.as_deref().is_some_and(|trouble| {
            let known = trouble.episode().told.as_ref().and_then(|told| told.known()).map_or(self.una, |word| word.una);
            !seq_lt(known, s.seq) || trouble.asked.for_this(s.seq)
        })
    }

    /// The last repair, if it was of the same round trip, was go-back-N too, and the one before that of a timer.
    fn was_slow_start(&mut self, now: i64, least: i64) {
        let trouble = self.trouble_mut();
        let last = trouble.repairs.len() - 1;
        let soon = is_soon(now - trouble.repairs[last].at, least);
        let start = trouble.repairs[last].start;
        let first = last
            .checked_sub(1)
            .filter(|&i| soon && trouble.repairs[i].kind.is_recovery() && !seq_lt(start, trouble.repairs[i].end));
        if first.is_some() {
            trouble.renamed(last, Classification::new(SegmentKind::GoBackN, AMENDED));
        }
        self.was_timers(first.unwrap_or(last), first.is_some());
    }

    /// A timer had sent that repair, and what follows is go-back-N; the last one has been seen to be that, too, if `another`.
    pub(super) fn was_timers(&mut self, at: usize, another: bool) {
        let next = self.next;
        let trouble = self.trouble_mut();
        let (timeout, behind) =
            (Classification::new(SegmentKind::Timeout, AMENDED), Classification::new(SegmentKind::GoBackN, AMENDED));
        trouble.renamed(at, timeout);
        trouble.timeouts += 1;
        let episode = trouble.episode_mut();
        episode.loss_point = Some(episode.recovery_point.take().unwrap_or(next));
        let (is, before_it) = if another { (behind, Some(timeout)) } else { (timeout, None) };
        episode.amended = Some(Amended { was: SegmentKind::Fast, is, before_it });
    }
}
