//! Data that has been due before passes: it is sent again, or fills a hole.

use super::data::{Data, sent_of};
use super::episode::{AT_ONCE, Hole};
use super::half::Half;
use super::outpaced::Amended;
use super::outstanding::SentRange;
use super::seq::{seq_diff, seq_lt, seq_max, seq_min};
use super::told::{Told, Word};
use super::trouble::Repair;
use super::view::View;
use crate::decode::{Flags, Segment};
use crate::flow::classify::{
    Classification, GapFill, RetransmissionEvidence, SegmentKind, classify_gap_fill, classify_retransmission,
};

/// One old byte after less silence than this is a retransmission, not a keep-alive: timers of common stacks ask after minutes or hours.
const KEEP_ALIVE: i64 = 10_000_000_000;

/// A little less than the shortest first timeout, nanoseconds.
const SHORTEST_INITIAL: i64 = 900_000_000;

impl Half {
    /// At least a part has been due before.
    pub(super) fn again(&mut self, now: i64, s: &Segment<'_>, view: &View, both_ways: bool) -> Data {
        let (start, end) = (s.seq, s.seq.wrapping_add(s.seq_len()));
        // Old data of one byte, or none, from a sender that has nothing outstanding.
        let long_silent = now - self.last_sent_at >= KEEP_ALIVE || self.window == 0;
        if s.payload == 1
            && long_silent
            && !s.flags.has(Flags::SYN | Flags::FIN)
            && self.una == self.next
            && seq_diff(start, self.next) == 1
        {
            return self.question();
        }
        let known_end = seq_min(end, self.next);
        let data = match self.trouble.as_ref().and_then(|t| t.episode().hole_at(seq_max(start, self.una))) {
            Some(hole) if seq_lt(seq_max(start, self.una), seq_min(end, hole.end)) => self.fill(now, s, view, hole),
            _ => self.repeat(now, s, view, known_end),
        };
        if seq_lt(self.next, end) {
            let more = seq_diff(self.next, end) as u32;
            self.sending_mut().amounts.unique += u64::from(more.min(s.payload));
            self.push(now, s, self.next, more, both_ways);
        }
        data
    }

    /// The segment brings what had not been seen.
    fn fill(&mut self, now: i64, s: &Segment<'_>, view: &View, hole: Hole) -> Data {
        let counts_ids = self.counts_ids();
        let filler = GapFill {
            waited: now - hole.found_at,
            sender_rtt: view.turn,
            tsval_diff: s.options.timestamps.zip(hole.stamp).map(|(mine, after)| seq_diff(after, mine.value)),
            ip_id_diff: s.ip_id.zip(hole.id).filter(|_| counts_ids).map(|(mine, after)| mine.wrapping_sub(after) as i16),
        };
        let mut verdict = classify_gap_fill(&filler);
        let start = seq_max(s.seq, hole.start);
        let end = seq_min(s.seq.wrapping_add(s.seq_len()), hole.end);
        let segments = self.segments_in(s.payload, s.header_len);
        if verdict.kind != SegmentKind::Reordered {
            let found = self.situation(now, s, view, None);
            let again = self.went_back(s.seq, &hole);
            // Without SACK the sender has only duplicates to go by, and not all of them need have been seen.
            let mut likely = classify_retransmission(&RetransmissionEvidence {
                sacked_above: found.sacked_above || !view.sack,
                is_first_retransmission: !again,
                was_captured: false,
                ..found
            });
            if likely.kind == SegmentKind::Unexplained {
                // It was missing, so there was a reason.
                likely = Classification::new(SegmentKind::Fast, 0.6);
            }
            verdict = Classification::new(likely.kind, likely.confidence * verdict.confidence);
            verdict = self.outpaces(now, s, view, verdict);
            self.repaired(now, s, verdict, segments);
            self.lost_with(verdict.kind, s, view);
            self.suspects(now, s, verdict, again, view.acks);
            let trouble = self.trouble_mut();
            trouble.oddities_mut().lost_upstream += segments;
            trouble.repairs.iter_mut().rev().take(1).for_each(|repair| repair.filled = true);
        } else {
            self.trouble_mut().tally.add(verdict, segments);
            self.asked_in_vain(hole.found_at, start);
        }
        let outstanding = &mut self.sending_mut().outstanding;
        outstanding.insert(sent_of(now, s, start, seq_diff(start, end).max(0) as u32));
        self.trouble_mut().episode_mut().cover(start, end);
        let amounts = &mut self.sending_mut().amounts;
        amounts.unique += u64::from((seq_diff(start, end).max(0) as u32).min(s.payload));
        amounts.unique_ip_bytes += u64::from(s.ip_len);
        Data::Odd(verdict)
    }

    /// What lies behind the hole has been repaired since it was there: a recovery begins at the lowest (RFC 6675, section 4), so that this has been
    /// sent again before, and lost.
    fn went_back(&self, start: u32, hole: &Hole) -> bool {
        let behind = |r: &Repair| seq_lt(start, r.start) && r.at > hole.found_at && r.kind == SegmentKind::Fast;
        self.trouble.as_ref().is_some_and(|t| t.repairs.iter().any(behind))
    }

    /// The segment has been seen before.
    fn repeat(&mut self, now: i64, s: &Segment<'_>, view: &View, end: u32) -> Data {
        let segments = self.segments_in(s.payload, s.header_len).max(1);
        let una = self.una;
        let outstanding = &mut self.sending_mut().outstanding;
        let earlier_one = outstanding.first_above(seq_max(s.seq, una)).filter(|e| seq_lt(e.start, end)).copied();
        let opening = s.flags.has(Flags::SYN);
        let answer = opening && s.flags.has(Flags::ACK) && view.syn_again;
        let doubled = || earlier_one.is_some_and(|first| self.is_same_packet(now, s, &first)) || self.is_old_packet(s, end);
        if !answer && doubled() {
            if self.comes_after_its_repair(s, segments) {
                return self.odd(Classification::new(SegmentKind::Reordered, 0.9), segments);
            }
            return self.odd(Classification::new(SegmentKind::NetworkDuplicate, 0.95), segments);
        }
        if answer {
            self.answered_before(now, segments);
        }
        let verdict = if opening {
            Classification::new(SegmentKind::Handshake, 0.99)
        } else if let Some(verdict) = self.asked_before(now, s.seq, view) {
            verdict
        } else {
            self.goes_on(now, s, view, classify_retransmission(&self.situation(now, s, view, earlier_one.as_ref())))
        };
        let verdict = self.outpaces(now, s, view, verdict);
        self.learn_probes(&verdict, end);
        self.repaired(now, s, verdict, segments);
        self.lost_with(verdict.kind, s, view);
        self.mark_again(now, s, seq_max(s.seq, una), end);
        let again = self.trouble.as_ref().is_some_and(|t| t.repairs.iter().filter(|r| r.start == s.seq).count() > 1);
        self.suspects(now, s, verdict, again, view.acks);
        if !self.at_sender(view) && self.trouble.as_ref().is_some_and(|t| t.episode().told.is_none()) {
            let una = seq_min(self.una, s.seq);
            let word = Word { at: now, first: now, stamp: None, una, duplicates: 0, sack_high: None };
            let told = Told::shown(word, view.turn.unwrap_or(0));
            self.trouble_mut().episode_mut().told = Some(Box::new(told));
        }
        Data::Odd(verdict)
    }

    /// The first copy of what was sent again since: overtaken by that, and not lost.
    fn comes_after_its_repair(&mut self, s: &Segment<'_>, segments: u32) -> bool {
        let repairs = self.trouble.as_deref_mut().into_iter().flat_map(|trouble| &mut trouble.repairs);
        let Some(repair) = repairs.rev().find(|repair| repair.start == s.seq && repair.filled) else { return false };
        // The repair itself, twice.
        if s.ip_id == Some(repair.ip_id) && repair.stamp == s.options.timestamps.map(|stamps| stamps.value) {
            return false;
        }
        repair.filled = false;
        let odd = self.trouble_mut().oddities_mut();
        odd.lost_upstream = odd.lost_upstream.saturating_sub(segments);
        true
    }

    /// A second answer to a SYN that came twice: no timer is as short (RFC 6298, section 2.1: one second), so what passed for the first was
    /// one sent again, too.
    fn answered_before(&mut self, now: i64, segments: u32) {
        let first = self.trouble.as_ref().is_none_or(|t| t.tally.count(SegmentKind::Handshake) == 0);
        if !first || now - self.last_sent_at > SHORTEST_INITIAL {
            return;
        }
        let verdict = Classification::new(SegmentKind::Handshake, 0.9);
        self.counts.retransmitted = self.counts.retransmitted.saturating_add(segments);
        let trouble = self.trouble_mut();
        trouble.tally.add(verdict, segments);
        trouble.episode_mut().amended = Some(Amended { was: SegmentKind::Handshake, is: verdict, before_it: None });
    }

    /// A timeout that its stamp showed to be spurious was not taken back: what nobody asked for comes again, or the very ACK with that stamp lets
    /// more go out again. Who takes it back has nothing lost before the next one (RFC 4015, section 3.2).
    fn goes_on(&mut self, now: i64, s: &Segment<'_>, view: &View, verdict: Classification) -> Classification {
        let episode = self.trouble.as_ref().map(|t| t.episode());
        let kept = episode.and_then(|e| e.taken_back).filter(|&point| seq_lt(s.seq, point));
        let at_once = self.at_sender(view)
            && episode.is_some_and(|e| e.taken_at == self.last_heard_at)
            && now - self.last_heard_at < AT_ONCE;
        if kept.is_none() || verdict.kind != SegmentKind::Unexplained && !at_once {
            return verdict;
        }
        let trouble = self.trouble_mut();
        trouble.keeps_timeouts = true;
        let episode = trouble.episode_mut();
        (episode.loss_point, episode.taken_back) = (kept, None);
        Classification::new(SegmentKind::GoBackN, 0.9)
    }

    /// One packet that the network doubled carries the same number and stamp, and comes within the time in which nobody can have asked for it.
    fn is_same_packet(&self, now: i64, s: &Segment<'_>, first: &SentRange) -> bool {
        let soon = now - first.last_at < self.rtt.min().unwrap_or(20_000_000).max(2_000_000) / 2;
        match s.options.timestamps {
            // Nobody sends a segment again within the millisecond that a stamp is good for.
            Some(stamps) => soon && stamps.value == first.tsval,
            None => soon && s.ip_id.is_some_and(|id| id == first.ip_id) && self.counts_ids(),
        }
    }

    /// A sender's packets carry rising numbers and stamps, and what it sends again is a new packet: this one left before others that have
    /// passed, so it is a copy of what has.
    fn is_old_packet(&self, s: &Segment<'_>, end: u32) -> bool {
        if self.counts_ids() && s.ip_id.is_some() {
            return self.id_step() <= 0;
        }
        let newest = !seq_lt(end, self.next);
        s.options.timestamps.is_some()
            && self.sending.as_ref().is_some_and(|sending| sending.stamp_clock.step() < i32::from(newest))
    }
}
