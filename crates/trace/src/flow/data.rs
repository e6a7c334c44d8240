//! Data passes: new, again, or after a hole.

use super::half::Half;
use super::sent::Sent;
use super::seq::{ahead, before, earlier, later};
use super::trouble::{Hole, Repair};
use crate::cause::{COMMON_RTO_MIN, Cause, Filler, Repeat, Verdict, filled, why};
use crate::decode::{Flags, Segment};
use crate::metrics::Course;

/// What the flow knows about where the capture stands, for the data of one end.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// Shortest time from a packet towards this sender to its answer, nanoseconds: nearly zero where the capture is at its end.
    pub turn: Option<i64>,
    /// The same, smoothed, as queues stand now.
    pub turn_now: Option<i64>,
    /// The other end has been seen at all.
    pub both_ways: bool,
    pub sack: bool,
}

/// What a packet's data was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Data {
    /// No data and no SYN or FIN.
    None,
    New,
    /// New, with something before it that has not been seen.
    AfterHole,
    /// Neither: with the reason.
    Odd(Verdict),
}

/// Forward jumps beyond any window (RFC 7323: 1 GiB) start the numbering anew.
const JUMP: i32 = 1 << 30;
/// One old byte after less silence than this is a retransmission, not a keep-alive: timers of common stacks ask after minutes or hours.
const KEEP_ALIVE: i64 = 10_000_000_000;
/// A larger step of the packet number says nothing: another host behind the address, or a new start.
const MOST_UNSEEN: u16 = 2048;
/// Segments kept where nobody acknowledges: a capture of one direction.
const ONE_WAY_ROOM: usize = 64;
/// Packets before a flow's course over time is kept: short flows have none to speak of.
const COURSE_FROM: u64 = 32;
/// A turn shorter than this or a tenth of the whole: the capture is at the sender's end.
const AT_SENDER: i64 = 2_000_000;

impl Half {
    /// A packet of this end. `now` never goes back.
    #[inline]
    pub(super) fn sent(&mut self, now: i64, s: &Segment<'_>, view: &View) -> Data {
        self.advance_clock(now);
        self.count(s);
        self.watch_ids(s);
        if let Some(stamps) = s.options.stamps {
            if self.watched.is_none() {
                self.watched = Some((stamps.value, now));
            }
            if s.space() > 0 {
                self.stamp_clock.passed(stamps.value, now);
            }
        }
        let space = s.space();
        if space == 0 || s.flags.has(Flags::RST) {
            return self.without_data(s);
        }
        if !self.started || s.flags.has(Flags::SYN) {
            self.start(s);
        }
        let off = ahead(self.next, s.seq);
        let data = if off == 0 {
            self.fresh(now, s, view);
            Data::New
        } else if off > 0 {
            self.beyond(now, s, view, off)
        } else {
            self.again(now, s, view)
        };
        self.last_sent_at = now;
        if s.payload > 0 {
            if self.times.first_data.is_none() {
                (self.times.first_data, self.data_ttl) = (Some(now), s.ttl);
            }
            self.times.last_data = now;
        }
        self.flight.reached(u64::from(self.in_flight()));
        data
    }

    #[inline]
    fn count(&mut self, s: &Segment<'_>) {
        let c = &mut self.counts;
        c.packets += 1;
        c.ip_bytes += u64::from(s.ip_len);
        c.bad_checksums += u64::from(s.bad_checksum);
        c.marks += u64::from(s.ecn == 3);
        if s.flags.0 & !(Flags::ACK) != 0 {
            c.pushes += u64::from(s.flags.has(Flags::PSH));
            c.fins += u32::from(s.flags.has(Flags::FIN));
            c.resets += u32::from(s.flags.has(Flags::RST));
            c.syns += u32::from(s.flags.has(Flags::SYN));
            if !s.flags.has(Flags::SYN) {
                c.echoes += u64::from(s.flags.has(Flags::ECE));
                c.reductions += u64::from(s.flags.has(Flags::CWR));
            }
        }
        if s.payload > 0 {
            let segments = self.segments_in(s.payload, s.header_len);
            let c = &mut self.counts;
            c.segments += u64::from(segments);
            c.payload += u64::from(s.payload);
            c.largest_segment = c.largest_segment.max(s.payload.div_ceil(segments));
        }
    }

    /// Learns whether this sender counts its packets in the IP header, and how many of them have not been seen.
    #[inline]
    fn watch_ids(&mut self, s: &Segment<'_>) {
        let Some(id) = s.ip_id else { return };
        // A SYN with ACK often carries zero; it says nothing about the rest.
        if s.flags.has(Flags::SYN) {
            return;
        }
        let step = id.wrapping_sub(self.last_id);
        let consumed = if s.payload > self.mss { self.segments_in(s.payload, s.header_len) as u16 } else { 1 };
        self.ids_seen += 1;
        self.ids_up += u32::from((1..=64).contains(&step));
        if self.trouble.as_ref().is_none_or(|t| t.is_calm(self.una)) {
            self.ids_calm += 1;
            self.ids_by_one += u32::from(step == 1);
        }
        if self.ids_seen == 1 || (1..=MOST_UNSEEN).contains(&step) {
            if self.ids_seen > 1 && step > 1 {
                self.unseen += i32::from(step - 1);
                if self.trouble.as_ref().is_some_and(|t| t.loss_point.is_some()) {
                    self.unseen_after_timeout += u32::from(step - 1);
                }
            }
            self.last_id = id.wrapping_add(consumed - 1);
        } else if step.wrapping_neg() > MOST_UNSEEN {
            self.last_id = id.wrapping_add(consumed - 1);
        } else if s.payload == 0 {
            // An acknowledgement that was overtaken is not missing any more. Data is settled by its hole.
            self.unseen -= 1;
        }
        if self.ids_seen >= 1 << 20 {
            (self.ids_seen, self.ids_up) = (self.ids_seen / 2, self.ids_up / 2);
            (self.ids_calm, self.ids_by_one) = (self.ids_calm / 2, self.ids_by_one / 2);
        }
    }

    /// No sequence space: an acknowledgement, or a question to a silent peer (RFC 9293, section 3.8.4: one below what is due).
    #[inline]
    fn without_data(&mut self, s: &Segment<'_>) -> Data {
        if s.flags.has(Flags::RST) || !s.flags.has(Flags::ACK) {
            return Data::None;
        }
        self.counts.pure_acks += 1;
        if !self.started {
            (self.next, self.una, self.started) = (s.seq, s.seq, true);
        }
        if ahead(s.seq, self.una) == 1 && self.heard && self.counts.payload > 0 {
            return self.question();
        }
        Data::None
    }

    fn question(&mut self) -> Data {
        let cause = if self.window == 0 { Cause::WindowProbe } else { Cause::KeepAlive };
        self.odd(Verdict::new(cause, 0.95), 1)
    }

    fn odd(&mut self, verdict: Verdict, segments: u32) -> Data {
        self.trouble_mut().tally.add(verdict, segments);
        Data::Odd(verdict)
    }

    fn start(&mut self, s: &Segment<'_>) {
        if s.flags.has(Flags::SYN) {
            let o = &s.options;
            self.choices.seen = true;
            self.choices.mss = o.syn.mss;
            self.choices.window_scale = o.syn.window_scale;
            self.choices.sack = o.syn.sack_permitted;
            self.choices.stamps = o.stamps.is_some();
            self.choices.ecn = s.flags.has(Flags::ECE);
            self.choices.ttl = s.ttl;
        }
        if !self.started {
            (self.next, self.una, self.started) = (s.seq, s.seq, true);
        }
    }

    /// Exactly what was due.
    #[inline]
    fn fresh(&mut self, now: i64, s: &Segment<'_>, view: &View) {
        if self.una == self.next {
            self.last_news_at = self.last_news_at.max(now);
        } else {
            self.maybe_probe(now, s, view);
        }
        self.settle_unseen(0, view);
        self.push(now, s, s.seq, s.space(), view);
        self.counts.unique += u64::from(s.payload);
        self.counts.unique_ip_bytes += if s.payload > 0 { u64::from(s.ip_len) } else { 0 };
        self.brought(now, s);
    }

    /// What new data says of the application, and when it came.
    #[inline]
    fn brought(&mut self, now: i64, s: &Segment<'_>) {
        let full = self.counts.largest_segment;
        self.emptied = s.flags.has(Flags::PSH) && full > 0 && !s.payload.is_multiple_of(full);
        if self.counts.packets >= COURSE_FROM {
            self.course.get_or_insert_with(|| Box::new(Course::new(now))).add(now, s.payload);
        }
    }

    #[inline]
    fn push(&mut self, now: i64, s: &Segment<'_>, start: u32, len: u32, view: &View) {
        let room = if view.both_ways { usize::MAX } else { ONE_WAY_ROOM };
        self.outstanding.push(sent_of(now, s, start, len), room);
        self.next = start.wrapping_add(len);
    }

    /// A tail-loss probe may carry new data (RFC 8985, section 7.3): one segment out of a silence, while the oldest outstanding one
    /// waits for longer than any ACK should take. An application that writes now and then has its earlier data acknowledged.
    #[inline]
    fn maybe_probe(&mut self, now: i64, s: &Segment<'_>, view: &View) {
        let quiet = now - self.last_sent_at.max(self.last_heard_at);
        if quiet < 10_000_000 {
            return;
        }
        let (Some((srtt, deviation)), true) = (self.rtt.smoothed(), view.sack && self.at_sender(view)) else { return };
        let trouble = self.trouble.as_deref();
        let fired = trouble.is_some_and(|t| t.timer_fired || t.repairing(self.una));
        let waiting = self.outstanding.get(0).map_or(0, |head| now - head.last_at);
        // The probe is due after two RTTs, and never after the timeout, which counts from the oldest segment (section 7.2).
        let due = (2 * srtt).min(srtt + (4 * deviation).max(COMMON_RTO_MIN)) * 8 / 10;
        if !fired && s.payload > 0 && quiet >= srtt / 4 && waiting >= due {
            let trouble = self.trouble_mut();
            trouble.new_probes += 1;
            trouble.timer_fired = true;
        }
    }

    fn at_sender(&self, view: &View) -> bool {
        let whole = self.rtt.min().unwrap_or(0);
        match view.turn {
            Some(turn) => turn <= AT_SENDER.max((turn + whole) / 10),
            None => whole > AT_SENDER,
        }
    }

    /// Something before it is missing.
    fn beyond(&mut self, now: i64, s: &Segment<'_>, view: &View, off: i32) -> Data {
        if off >= JUMP {
            self.outstanding.clear();
            self.sacked = 0;
            (self.next, self.una) = (s.seq, s.seq);
            self.fresh(now, s, view);
            return Data::New;
        }
        let (start, end) = (self.next, s.seq);
        // What was acknowledged without having been seen is no hole any more, but lost to the capture.
        let start = later(start, earlier(self.una, end));
        if start != end {
            let stamp = s.options.stamps.map(|t| t.value);
            self.trouble_mut().add_hole(Hole { start, end, found_at: now, stamp, id: s.ip_id });
        }
        let missing = if self.counts.largest_segment > 0 { (off as u32).div_ceil(self.counts.largest_segment) } else { 1 };
        self.settle_unseen(missing, view);
        self.push(now, s, s.seq, s.space(), view);
        self.counts.unique += u64::from(s.payload);
        self.counts.unique_ip_bytes += u64::from(s.ip_len);
        self.brought(now, s);
        Data::AfterHole
    }

    /// The sender's packet numbers tell of packets that never came by. New data settles the account: what the hole before it
    /// does not explain was sent again and lost. Pure ACKs are numbered too, so a sender of many of them says nothing.
    #[inline]
    fn settle_unseen(&mut self, missing: u32, view: &View) {
        self.unseen = self.unseen.saturating_sub(missing.min(1 << 20) as i32);
        if self.unseen <= 0 || !self.numbers_alone() || self.counts.pure_acks * 10 > self.counts.segments || self.at_sender(view)
        {
            return;
        }
        let lost = self.unseen as u32;
        let behind = lost.min(self.unseen_after_timeout);
        (self.unseen, self.unseen_after_timeout) = (0, 0);
        self.counts.retransmitted += u64::from(lost);
        let trouble = self.trouble_mut();
        trouble.tally.add(Verdict::new(Cause::GoBackN, 0.6), behind);
        trouble.tally.add(Verdict::new(Cause::Fast, 0.6), lost - behind);
        trouble.unseen_again += lost;
    }

    /// At least a part has been due before.
    fn again(&mut self, now: i64, s: &Segment<'_>, view: &View) -> Data {
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
        let data = match self.trouble.as_ref().and_then(|t| t.hole_at(later(start, self.una))) {
            Some(hole) if before(self.una, hole.end) => self.fill(now, s, view, hole),
            _ => self.repeat(now, s, view, known_end),
        };
        if before(self.next, end) {
            let more = ahead(self.next, end) as u32;
            self.counts.unique += u64::from(more.min(s.payload));
            self.push(now, s, self.next, more, view);
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
            let likely = why(&Repeat { sacked_above: true, first_repeat: true, ..found });
            verdict = Verdict::new(likely.cause, likely.confidence * verdict.confidence);
            self.repaired(now, s, verdict, segments);
            self.trouble_mut().lost_upstream += segments;
        } else {
            self.trouble_mut().tally.add(verdict, segments);
        }
        let at = self.outstanding.find(start);
        self.outstanding.fill(at, sent_of(now, s, start, ahead(start, end).max(0) as u32));
        self.trouble_mut().cover(start, end);
        self.counts.unique += u64::from((ahead(start, end).max(0) as u32).min(s.payload));
        self.counts.unique_ip_bytes += u64::from(s.ip_len);
        Data::Odd(verdict)
    }

    /// The segment has been seen before.
    fn repeat(&mut self, now: i64, s: &Segment<'_>, view: &View, end: u32) -> Data {
        let segments = self.segments_in(s.payload, s.header_len).max(1);
        let at = self.outstanding.find(later(s.seq, self.una));
        let earlier_one = self.outstanding.get(at).filter(|e| before(e.start, end)).copied();
        if let Some(first) = earlier_one
            && self.is_same_packet(now, s, &first)
        {
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
        Data::Odd(verdict)
    }

    /// One packet that the network doubled carries the same number and stamp, and comes within the time in which nobody can have asked for it.
    fn is_same_packet(&self, now: i64, s: &Segment<'_>, first: &Sent) -> bool {
        let soon = now - first.last_at < self.rtt.min().unwrap_or(20_000_000).max(2_000_000) / 2;
        let same_stamp = s.options.stamps.is_none_or(|t| t.value == first.stamp);
        let same_id = match s.ip_id {
            Some(id) => id == first.ip_id && self.counts_ids(),
            None => s.options.stamps.is_some(),
        };
        soon && same_stamp && same_id
    }

    /// What the rules of [`why`] ask about.
    fn situation(&self, now: i64, s: &Segment<'_>, view: &View, seen: Option<&Sent>) -> Repeat {
        let end = s.seq.wrapping_add(s.space());
        let heard = if self.at_sender(view) { self.last_heard_at } else { i64::MIN };
        let last_of_it = seen.map_or(i64::MIN, |e| e.last_at);
        // Queues before the capture even out the sender's pauses; its own stamps keep them.
        let pause = now - self.last_sent_at.max(heard);
        let quiet = if self.at_sender(view) { pause } else { self.stamp_clock.pause().unwrap_or(pause) };
        let age = if self.at_sender(view) { now - self.last_news_at.max(last_of_it) } else { quiet };
        let whole = |(smoothed, deviation): (i64, i64)| {
            if self.at_sender(view) {
                (smoothed, deviation)
            } else {
                (smoothed + view.turn_now.or(view.turn).unwrap_or(0), deviation)
            }
        };
        let trouble = self.trouble.as_deref();
        let open = |point: Option<u32>| point.is_some_and(|p| before(self.una, p));
        Repeat {
            quiet,
            age,
            rtt: self.rtt.smoothed().map(whole),
            is_first: !before(self.una, s.seq),
            is_last: !before(end, self.next),
            first_repeat: seen.is_none_or(|e| e.times == 1),
            sacked_above: trouble.and_then(|t| t.sack_high).is_some_and(|high| before(s.seq, high) && before(self.una, high)),
            duplicates: self.duplicates,
            after_timeout: trouble.is_some_and(|t| open(t.loss_point)),
            in_recovery: trouble.is_some_and(|t| open(t.recovery_point)),
            timer_fired: trouble.is_some_and(|t| t.timer_fired),
            probes: trouble.and_then(|t| t.probes),
            sack: view.sack,
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
        self.counts.retransmitted += u64::from(segments);
        self.counts.retransmitted_bytes += u64::from(s.payload);
        let earlier_cause =
            self.trouble.as_ref().and_then(|t| t.repairs.iter().rev().find(|r| r.start == s.seq).map(|r| r.cause));
        let trouble = self.trouble_mut();
        trouble.tally.add(verdict, segments);
        match verdict.cause {
            Cause::Timeout => {
                trouble.timeouts += 1;
                trouble.timer_fired = true;
                trouble.loss_point = Some(next);
                trouble.recovery_point = None;
                if matches!(earlier_cause, Some(Cause::Fast | Cause::Rack)) {
                    trouble.fast_then_timeout += 1;
                }
            }
            Cause::TailProbe => trouble.timer_fired = true,
            Cause::Fast | Cause::Rack if !trouble.recovery_point.is_some_and(|p| before(una, p)) => {
                trouble.recovery_point = Some(next);
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
        while let Some(sent) = self.outstanding.get_mut(i).filter(|e| before(e.start, end)) {
            sent.times = sent.times.saturating_add(1);
            (sent.last_at, sent.stamp) = (now, stamp);
            sent.ip_id = s.ip_id.unwrap_or(0);
            i += 1;
        }
    }
}

#[inline]
fn sent_of(now: i64, s: &Segment<'_>, start: u32, len: u32) -> Sent {
    Sent {
        start,
        len,
        first_at: now,
        last_at: now,
        stamp: s.options.stamps.map_or(0, |t| t.value),
        ip_id: s.ip_id.unwrap_or(0),
        times: 1,
        sacked: false,
    }
}
