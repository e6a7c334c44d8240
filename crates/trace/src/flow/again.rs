//! Data that has been due before passes: it is sent again, or fills a hole.

use super::data::{Data, sent_of};
use super::episode::{CALM, Hole};
use super::half::Half;
use super::sent::Sent;
use super::seq::{ahead, before, earlier, later};
use super::told::{Told, Word};
use super::trouble::{Repair, Trouble};
use super::view::View;
use crate::cause::{Cause, Filler, Repeat, Verdict, filled, why};
use crate::decode::{Flags, Segment};

/// One old byte after less silence than this is a retransmission, not a keep-alive: timers of common stacks ask after minutes or hours.
const KEEP_ALIVE: i64 = 10_000_000_000;

impl Half {
    /// At least a part has been due before.
    pub(super) fn again(&mut self, now: i64, s: &Segment<'_>, view: &View, both_ways: bool) -> Data {
        let (start, end) = (s.seq, s.seq.wrapping_add(s.space()));
        // Old data of one byte, or none, from a sender that has nothing outstanding.
        let long_silent = now - self.last_sent_at >= KEEP_ALIVE || self.window == 0;
        if s.payload == 1
            && long_silent
            && !s.flags.has(Flags::SYN | Flags::FIN)
            && self.una == self.next
            && ahead(start, self.next) == 1
        {
            return self.question();
        }
        let known_end = earlier(end, self.next);
        let data = match self.trouble.as_ref().and_then(|t| t.episode().hole_at(later(start, self.una))) {
            Some(hole) if before(later(start, self.una), earlier(end, hole.end)) => self.fill(now, s, view, hole),
            _ => self.repeat(now, s, view, known_end),
        };
        if before(self.next, end) {
            let more = ahead(self.next, end) as u32;
            self.sending_mut().amounts.unique += u64::from(more.min(s.payload));
            self.push(now, s, self.next, more, both_ways);
        }
        data
    }

    /// The segment brings what had not been seen.
    fn fill(&mut self, now: i64, s: &Segment<'_>, view: &View, hole: Hole) -> Data {
        let counts_ids = self.counts_ids();
        let filler = Filler {
            waited: now - hole.found_at,
            turn: view.turn,
            stamp: s.options.stamps.zip(hole.stamp).map(|(mine, after)| ahead(after, mine.value)),
            id: s.ip_id.zip(hole.id).filter(|_| counts_ids).map(|(mine, after)| mine.wrapping_sub(after) as i16),
        };
        let mut verdict = filled(&filler);
        let start = later(s.seq, hole.start);
        let end = earlier(s.seq.wrapping_add(s.space()), hole.end);
        let segments = self.segments_in(s.payload, s.header_len);
        if verdict.cause != Cause::Reordered {
            let found = self.situation(now, s, view, None);
            // Without SACK the sender has only duplicates to go by, and not all of them need have been seen.
            let mut likely =
                why(&Repeat { sacked_above: found.sacked_above || !view.sack, first_repeat: true, seen: false, ..found });
            if likely.cause == Cause::Unexplained {
                // It was missing, so there was a reason.
                likely = Verdict::new(Cause::Fast, 0.6);
            }
            verdict = Verdict::new(likely.cause, likely.confidence * verdict.confidence);
            self.repaired(now, s, verdict, segments);
            self.trouble_mut().oddities_mut().lost_upstream += segments;
        } else {
            self.trouble_mut().tally.add(verdict, segments);
        }
        let outstanding = &mut self.sending_mut().outstanding;
        let at = outstanding.find(start);
        outstanding.fill(at, sent_of(now, s, start, ahead(start, end).max(0) as u32));
        self.trouble_mut().episode_mut().cover(start, end);
        let amounts = &mut self.sending_mut().amounts;
        amounts.unique += u64::from((ahead(start, end).max(0) as u32).min(s.payload));
        amounts.unique_ip_bytes += u64::from(s.ip_len);
        Data::Odd(verdict)
    }

    /// The segment has been seen before.
    fn repeat(&mut self, now: i64, s: &Segment<'_>, view: &View, end: u32) -> Data {
        let segments = self.segments_in(s.payload, s.header_len).max(1);
        let una = self.una;
        let outstanding = &mut self.sending_mut().outstanding;
        let at = outstanding.find(later(s.seq, una));
        let earlier_one = outstanding.get(at).filter(|e| before(e.start, end)).copied();
        if earlier_one.is_some_and(|first| self.is_same_packet(now, s, &first)) || self.is_old_packet(s, end) {
            return self.odd(Verdict::new(Cause::NetworkDuplicate, 0.95), segments);
        }
        let verdict = if s.flags.has(Flags::SYN) {
            Verdict::new(Cause::Handshake, 0.99)
        } else {
            why(&self.situation(now, s, view, earlier_one.as_ref()))
        };
        self.learn_probes(&verdict, end);
        self.repaired(now, s, verdict, segments);
        self.mark_again(now, s, at, end);
        if !self.at_sender(view) && self.trouble.as_ref().is_some_and(|t| t.episode().told.is_none()) {
            let una = earlier(self.una, s.seq);
            let word = Word { at: now, first: now, stamp: None, una, duplicates: 0, sack_high: None };
            let told = Told::shown(word, view.turn.unwrap_or(0));
            self.trouble_mut().episode_mut().told = Some(Box::new(told));
        }
        Data::Odd(verdict)
    }

    /// One packet that the network doubled carries the same number and stamp, and comes within the time in which nobody can have asked for it.
    fn is_same_packet(&self, now: i64, s: &Segment<'_>, first: &Sent) -> bool {
        let soon = now - first.last_at < self.rtt.min().unwrap_or(20_000_000).max(2_000_000) / 2;
        match s.options.stamps {
            // Nobody sends a segment again within the millisecond that a stamp is good for.
            Some(stamps) => soon && stamps.value == first.stamp,
            None => soon && s.ip_id.is_some_and(|id| id == first.ip_id) && self.counts_ids(),
        }
    }

    /// A sender's packets carry rising numbers and stamps, and what it sends again is a new packet: this one left before others that have
    /// passed, so it is a copy of what has.
    fn is_old_packet(&self, s: &Segment<'_>, end: u32) -> bool {
        if self.counts_ids() && s.ip_id.is_some() {
            return self.id_step() <= 0;
        }
        let newest = !before(end, self.next);
        s.options.stamps.is_some() && self.sending.as_ref().is_some_and(|sending| sending.stamp_clock.step() < i32::from(newest))
    }

    /// What is due comes, but packets before it have not: with nothing missing before, they carried the same data, and what follows.
    pub(super) fn resumes(&mut self, now: i64, s: &Segment<'_>, view: &View) {
        let unseen = u32::from(self.id_step().clamp(1, 1 << 10) as u16 - 1);
        let calm = self.trouble.as_ref().is_none_or(|t| t.is_calm(self.una) && !t.episode().is_resumed(s.seq));
        if unseen == 0 || s.payload == 0 || !calm || !self.numbers_data() || self.at_sender(view) {
            return;
        }
        let sending = self.sending_mut();
        let bytes = unseen.saturating_mul(sending.amounts.largest_segment);
        sending.ids.unseen -= unseen as i32;
        self.listen_afar(now, view);
        self.trouble_mut().episode_mut().resumed = Some(s.seq.wrapping_add(bytes));
    }

    /// It has been sent before, as far as packet numbers tell.
    pub(super) fn resumed(&mut self, now: i64, s: &Segment<'_>, view: &View) -> Option<Verdict> {
        let end = self.trouble.as_ref()?.episode().resumed.filter(|&end| before(s.seq, end))?;
        let found = self.situation(now, s, view, None);
        let likely = why(&Repeat { first_repeat: true, is_last: false, seen: false, ..found });
        let cause = if likely.cause == Cause::Unexplained { Cause::Fast } else { likely.cause };
        let verdict = Verdict::new(cause, likely.confidence.min(0.8));
        self.repaired(now, s, verdict, self.segments_in(s.payload, s.header_len));
        if matches!(cause, Cause::Timeout | Cause::GoBackN) {
            let episode = self.trouble_mut().episode_mut();
            episode.loss_point = episode.loss_point.map(|point| later(point, end));
        }
        Some(verdict)
    }

    /// What the rules of [`why`] ask about.
    fn situation(&self, now: i64, s: &Segment<'_>, view: &View, seen: Option<&Sent>) -> Repeat {
        let end = s.seq.wrapping_add(s.space());
        let heard = if self.at_sender(view) { self.last_heard_at } else { i64::MIN };
        let last_of_it = seen.map_or(i64::MIN, |e| e.last_at);
        // Queues before the capture even out the sender's pauses; its own stamps keep them.
        let pause = now - self.last_sent_at.max(heard);
        let quiet =
            if self.at_sender(view) { pause } else { self.sending.as_ref().and_then(|s| s.stamp_clock.pause()).unwrap_or(pause) };
        let age = if self.at_sender(view) { now - self.last_news_at.max(last_of_it) } else { quiet };
        let whole = |(smoothed, deviation): (i64, i64)| {
            if self.at_sender(view) {
                (smoothed, deviation)
            } else {
                // The receiver's own delays are not those of the path.
                (self.rtt.min().unwrap_or(0) + view.turn_now.or(view.turn).unwrap_or(0), 0)
            }
        };
        let trouble = self.trouble.as_deref();
        let episode = trouble.map_or(&CALM, Trouble::episode);
        let told = episode.told.as_deref().and_then(|told| told.known().zip(Some(told)));
        let (una, duplicates, sack_high, stalled) = match told {
            Some((word, told)) => {
                let tick = self.sending.as_ref().map_or(0, |sending| sending.stamp_clock.tick());
                let stalled = told.stalled(now, s.options.stamps.map(|t| t.value), tick);
                // It would have sent something at once.
                let stalled = if told.is_news() { stalled.min(quiet) } else { stalled };
                (word.una, word.duplicates, word.sack_high, stalled)
            }
            None => {
                let stalled = if self.at_sender(view) { now - self.last_news_at } else { quiet };
                (self.una, self.duplicates, episode.sack_high, stalled)
            }
        };
        let open = |point: Option<u32>| point.is_some_and(|p| before(una, p));
        Repeat {
            quiet,
            age: if told.is_some() { stalled } else { age },
            stalled,
            rtt: self.rtt.smoothed().map(whole),
            is_first: !before(una, s.seq),
            is_last: !before(end, self.next),
            first_repeat: match seen {
                Some(e) => e.times == 1,
                None => !trouble.is_some_and(|t| t.repairs.iter().any(|r| r.start == s.seq)),
            },
            sacked_above: sack_high.is_some_and(|high| before(s.seq, high) && before(una, high)),
            duplicates,
            since: seen.map(|e| now - e.last_at),
            least: if self.at_sender(view) { self.rtt.min() } else { view.turn },
            overtaken: trouble.zip(seen).filter(|_| self.at_sender(view)).map(|(t, e)| e.last_at < t.delivered),
            after_timeout: open(episode.loss_point) || self.not_yet_heard(now, s.seq, view),
            in_recovery: open(episode.recovery_point),
            beyond: !self.at_sender(view),
            seen: true,
            afar: told.is_some(),
            timer_fired: trouble.is_some_and(|t| t.timer_fired),
            probes: trouble.and_then(|t| t.probes),
            sack: view.sack,
        }
    }

    /// The sender goes on behind its timeout for as long as the ACK that ended the repair is on its way to it.
    fn not_yet_heard(&self, now: i64, seq: u32, view: &View) -> bool {
        let Some((point, at)) = self.trouble.as_ref().and_then(|t| t.episode().repaired) else { return false };
        let turn = view.turn_now.into_iter().chain(view.turn).max().unwrap_or(0);
        before(seq, point) && !self.at_sender(view) && now - at <= turn * 3 / 2
    }

    /// From here on it matters what the sender knows when.
    pub(super) fn listen_afar(&mut self, now: i64, view: &View) {
        if self.at_sender(view) || self.trouble.as_ref().is_some_and(|t| t.episode().told.is_some()) {
            return;
        }
        let word = Word { at: now, first: now, stamp: None, una: self.una, duplicates: self.duplicates, sack_high: None };
        let turn = view.turn.unwrap_or(0);
        self.trouble_mut().episode_mut().told = Some(Box::new(Told::new(word, turn)));
    }

    /// A packet of the sender shows what it has been told.
    pub(super) fn hear_afar(&mut self, now: i64, s: &Segment<'_>, other: &Half) {
        let turn = View::of(self, other).turn.unwrap_or(0);
        let Some(episode) = self.trouble.as_deref_mut().and_then(Trouble::open_episode) else { return };
        let Some(told) = &mut episode.told else { return };
        told.sent(now, s.options.stamps, turn);
        let (known, over) = (told.known(), told.is_up_to_date());
        if let Some(known) = known {
            episode.reached(now, known.una);
        }
        if over && episode.holes.is_empty() && episode.loss_point.is_none() && episode.recovery_point.is_none() {
            episode.told = None;
        }
    }

    /// A timer that sends the beginning of several outstanding segments, with no probe before, is that of a sender without probes.
    fn learn_probes(&mut self, verdict: &Verdict, end: u32) {
        let (is_last, next_fired) =
            (!before(end, self.next), self.trouble.as_ref().is_some_and(|t| t.timer_fired || t.repairing(self.una)));
        let trouble = self.trouble_mut();
        match verdict.cause {
            Cause::TailProbe if is_last && verdict.confidence > 0.95 => trouble.probes = Some(true),
            Cause::Timeout if !is_last && !next_fired && trouble.probes.is_none() => trouble.probes = Some(false),
            _ => {}
        }
    }

    /// Books a retransmission and what state it puts the sender into.
    fn repaired(&mut self, now: i64, s: &Segment<'_>, verdict: Verdict, segments: u32) {
        let (next, una) = (self.next, self.una);
        self.counts.retransmitted = self.counts.retransmitted.saturating_add(segments);
        let earlier_cause =
            self.trouble.as_ref().and_then(|t| t.repairs.iter().rev().find(|r| r.start == s.seq).map(|r| r.cause));
        let trouble = self.trouble_mut();
        trouble.tally.add(verdict, segments);
        match verdict.cause {
            Cause::Timeout => {
                trouble.timeouts += 1;
                trouble.timer_fired = true;
                (trouble.episode_mut().loss_point, trouble.episode_mut().recovery_point) = (Some(next), None);
                if matches!(earlier_cause, Some(Cause::Fast | Cause::Rack)) {
                    trouble.oddities_mut().fast_then_timeout += 1;
                }
            }
            // The timeout itself was not seen, or not recognised.
            Cause::GoBackN if trouble.episode().loss_point.is_none_or(|p| !before(una, p)) => {
                trouble.episode_mut().loss_point = Some(next);
            }
            Cause::TailProbe => trouble.timer_fired = true,
            Cause::Fast | Cause::Rack if !trouble.episode().recovery_point.is_some_and(|p| before(una, p)) => {
                trouble.episode_mut().recovery_point = Some(next);
                trouble.recoveries += 1;
            }
            _ => {}
        }
        let (start, end) = (s.seq, s.seq.wrapping_add(s.space()));
        let stamp = s.options.stamps.map(|t| t.value);
        trouble.add_repair(Repair { start, end, at: now, stamp, cause: verdict.cause, judged: false, segments });
    }

    fn mark_again(&mut self, now: i64, s: &Segment<'_>, from: usize, end: u32) {
        let stamp = s.options.stamps.map_or(0, |t| t.value);
        let mut i = from;
        while let Some(sent) = self.sending_mut().outstanding.get_mut(i).filter(|e| before(e.start, end)) {
            sent.times = sent.times.saturating_add(1);
            (sent.last_at, sent.stamp) = (now, stamp);
            sent.ip_id = s.ip_id.unwrap_or(0);
            i += 1;
        }
    }
}
