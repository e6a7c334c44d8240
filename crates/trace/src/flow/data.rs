//! Data passes: new, again, or after a hole.

use super::episode::Hole;
use super::half::Half;
use super::outstanding::SentRange;
use super::seq::{seq_diff, seq_max, seq_min};
use super::view::View;
use crate::decode::{Flags, Segment};
use crate::flow::classify::{COMMON_RTO_MIN, Classification, SegmentKind};
use crate::metrics::ByteTimeline;

/// What a packet's data was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Data {
    /// No data and no SYN or FIN.
    None,
    New,
    /// New, with something before it that has not been seen.
    AfterHole,
    /// Neither: with the reason.
    Odd(Classification),
}

/// Forward jumps beyond any window (RFC 7323: 1 GiB) start the numbering anew.
const JUMP: i32 = 1 << 30;
/// Segments kept where nobody acknowledges: a capture of one direction.
const ONE_WAY_ROOM: usize = 64;
/// Packets before a flow's course over time is kept: short flows have none to speak of.
const COURSE_FROM: u32 = 32;

impl Half {
    /// A packet of this end. `now` never goes back.
    #[inline]
    pub(super) fn sent(&mut self, now: i64, s: &Segment<'_>, other: &Half) -> Data {
        self.count(s);
        self.watch_ids(s);
        if let Some(stamps) = s.options.timestamps {
            if !self.watched_at.is_some() {
                self.watched = stamps.value;
                self.watched_at.set(now);
            }
            if s.seq_len() > 0 {
                self.sending_mut().stamp_clock.on_packet(stamps.value, now);
            }
        }
        let space = s.seq_len();
        if space == 0 || s.flags.has(Flags::RST) {
            return self.without_data(s);
        }
        if !self.started || s.flags.has(Flags::SYN) {
            self.start(s);
        }
        if self.trouble.as_ref().is_some_and(|t| t.episode.as_ref().is_some_and(|e| e.told.is_some())) {
            self.hear_afar(now, s, other);
            self.bears_out(now, s, other);
        }
        self.falls_silent(now, s, other);
        let off = seq_diff(self.next, s.seq);
        let data = if off == 0 {
            self.fresh(now, s, other)
        } else if off > 0 {
            self.beyond(now, s, other, off)
        } else {
            self.again(now, s, &View::of(self, other), other.counts.packets > 0)
        };
        let gap = now.saturating_sub(self.last_sent_at);
        self.last_sent_at = now;
        if let Some(trouble) = self.trouble.as_deref_mut()
            && let Some(episode) = &mut trouble.episode
        {
            episode.acted_on = trouble.delivered;
            episode.left(now - self.last_heard_at, gap);
        }
        if s.payload > 0 {
            let times = &mut self.sending_mut().times;
            times.last_data = now;
            if !times.first_data.is_some() {
                times.first_data.set(now);
                self.data_ttl = s.ttl;
            }
        }
        let flight = self.in_flight();
        self.sending_mut().flight.update_max(flight);
        data
    }

    #[inline]
    fn count(&mut self, s: &Segment<'_>) {
        let c = &mut self.counts;
        c.packets = c.packets.saturating_add(1);
        c.ip_bytes += u64::from(s.ip_len);
        if s.bad_checksum {
            c.bad_checksums = c.bad_checksums.saturating_add(1);
        }
        if s.ecn == 3 {
            c.marks = c.marks.saturating_add(1);
        }
        if s.flags.0 & !(Flags::ACK | Flags::PSH) != 0 {
            c.fins = c.fins.saturating_add(u8::from(s.flags.has(Flags::FIN)));
            c.resets = c.resets.saturating_add(u32::from(s.flags.has(Flags::RST)));
            if !s.flags.has(Flags::SYN) {
                c.echoes = c.echoes.saturating_add(u32::from(s.flags.has(Flags::ECE)));
                c.reductions = c.reductions.saturating_add(u32::from(s.flags.has(Flags::CWR)));
            }
        }
        if s.payload > 0 {
            let segments = self.segments_in(s.payload, s.header_len);
            let a = &mut self.sending_mut().amounts;
            a.segments = a.segments.saturating_add(segments);
            a.payload += u64::from(s.payload);
            a.largest_segment = a.largest_segment.max(s.payload.div_ceil(segments));
        }
    }

    /// No sequence space: an acknowledgement, or a question to a silent peer (RFC 9293, section 3.8.4: one below what is due).
    #[inline]
    fn without_data(&mut self, s: &Segment<'_>) -> Data {
        if s.flags.has(Flags::RST) || !s.flags.has(Flags::ACK) {
            return Data::None;
        }
        self.counts.pure_acks = self.counts.pure_acks.saturating_add(1);
        if !self.started {
            (self.next, self.una, self.started) = (s.seq, s.seq, true);
        }
        if seq_diff(s.seq, self.una) == 1 && self.heard && self.payload() > 0 {
            return self.question();
        }
        Data::None
    }

    pub(super) fn question(&mut self) -> Data {
        let cause = if self.window == 0 { SegmentKind::WindowProbe } else { SegmentKind::KeepAlive };
        self.odd(Classification::new(cause, 0.95), 1)
    }

    pub(super) fn odd(&mut self, verdict: Classification, segments: u32) -> Data {
        self.trouble_mut().tally.add(verdict, segments);
        Data::Odd(verdict)
    }

    fn start(&mut self, s: &Segment<'_>) {
        if s.flags.has(Flags::SYN) {
            let syn = s.options.syn();
            self.choices.seen = true;
            self.choices.mss = syn.mss;
            self.choices.window_scale = syn.window_scale;
            self.choices.sack = syn.sack_permitted;
            self.choices.timestamps = s.options.timestamps.is_some();
            self.choices.ecn = s.flags.has(Flags::ECE);
            self.choices.ttl = s.ttl;
        }
        if !self.started {
            (self.next, self.una, self.started) = (s.seq, s.seq, true);
        }
    }

    /// Exactly what was due.
    #[inline]
    fn fresh(&mut self, now: i64, s: &Segment<'_>, other: &Half) -> Data {
        // Neither has anything to say without a gap in the numbers, or with nothing that goes on behind one.
        let goes_on = self.trouble.as_ref().is_some_and(|t| t.episode.as_ref().is_some_and(|e| e.resumed.is_some()));
        let resumed = if self.id_step() > 1 || goes_on { self.behind_gap(now, s, other) } else { None };
        if self.una == self.next {
            self.last_news_at = self.last_news_at.max(now);
        } else {
            self.maybe_probe(now, s, other);
        }
        self.settle_unseen(0, other);
        self.push(now, s, s.seq, s.seq_len(), other.counts.packets > 0);
        let amounts = &mut self.sending_mut().amounts;
        amounts.unique += u64::from(s.payload);
        amounts.unique_ip_bytes += if s.payload > 0 { u64::from(s.ip_len) } else { 0 };
        self.brought(now, s);
        resumed.map_or(Data::New, Data::Odd)
    }

    #[inline(never)]
    fn behind_gap(&mut self, now: i64, s: &Segment<'_>, other: &Half) -> Option<Classification> {
        let view = View::of(self, other);
        self.resumes(now, s, &view);
        self.resumed(now, s, &view)
    }

    /// What new data says of the application, and when it came.
    #[inline]
    fn brought(&mut self, now: i64, s: &Segment<'_>) {
        let full = self.largest_segment();
        self.emptied = s.flags.has(Flags::PSH) && full > 0 && !s.payload.is_multiple_of(full);
        if self.counts.packets >= COURSE_FROM {
            self.sending_mut().course.get_or_insert_with(|| Box::new(ByteTimeline::new(now))).add(now, s.payload);
        }
    }

    #[inline]
    pub(super) fn push(&mut self, now: i64, s: &Segment<'_>, start: u32, len: u32, both_ways: bool) {
        let room = if both_ways { usize::MAX } else { ONE_WAY_ROOM };
        self.sending_mut().outstanding.push(sent_of(now, s, start, len), room);
        self.next = start.wrapping_add(len);
    }

    /// A tail-loss probe may carry new data (RFC 8985, section 7.3): one segment out of a silence, while the oldest outstanding one
    /// waits for longer than any ACK should take. An application that writes now and then has its earlier data acknowledged.
    #[inline]
    fn maybe_probe(&mut self, now: i64, s: &Segment<'_>, other: &Half) {
        let quiet = now - self.last_sent_at.max(self.last_heard_at);
        if quiet < 10_000_000 {
            return;
        }
        let view = View::of(self, other);
        let (Some((srtt, deviation)), true) = (self.rtt.smoothed(), view.sack && self.at_sender(&view)) else { return };
        let trouble = self.trouble.as_deref();
        let fired = trouble.is_some_and(|t| t.timer_fired || t.repairing(self.una));
        let waiting = self.sending.as_ref().and_then(|s| s.outstanding.first()).map_or(0, |head| now - head.last_at);
        // The probe is due after two RTTs, and never after the timeout, which counts from the oldest segment (section 7.2).
        let due = (2 * srtt).min(srtt + (4 * deviation).max(COMMON_RTO_MIN)) * 8 / 10;
        if !fired && s.payload > 0 && quiet >= srtt / 4 && waiting >= due {
            let trouble = self.trouble_mut();
            trouble.oddities_mut().new_probes += 1;
            trouble.timer_fired = true;
        }
    }

    /// Something before it is missing.
    fn beyond(&mut self, now: i64, s: &Segment<'_>, other: &Half, off: i32) -> Data {
        if off >= JUMP {
            self.sending_mut().outstanding.clear();
            self.sacked = 0;
            (self.next, self.una) = (s.seq, s.seq);
            return self.fresh(now, s, other);
        }
        self.listen_afar(now, &View::of(self, other));
        let (start, end) = (self.next, s.seq);
        // What was acknowledged without having been seen is no hole any more, but lost to the capture.
        let start = seq_max(start, seq_min(self.una, end));
        if start != end {
            let stamp = s.options.timestamps.map(|t| t.value);
            self.trouble_mut().episode_mut().add_hole(Hole { start, end, found_at: now, stamp, id: s.ip_id });
        }
        let full = self.largest_segment();
        let missing = if full > 0 { (off as u32).div_ceil(full) } else { 1 };
        self.settle_unseen(missing, other);
        self.push(now, s, s.seq, s.seq_len(), other.counts.packets > 0);
        let amounts = &mut self.sending_mut().amounts;
        amounts.unique += u64::from(s.payload);
        amounts.unique_ip_bytes += u64::from(s.ip_len);
        self.brought(now, s);
        Data::AfterHole
    }
}

#[inline]
pub(super) fn sent_of(now: i64, s: &Segment<'_>, start: u32, len: u32) -> SentRange {
    SentRange {
        start,
        len,
        first_at: now,
        last_at: now,
        tsval: s.options.timestamps.map_or(0, |t| t.value),
        ip_id: s.ip_id.unwrap_or(0),
        transmissions: 1,
        sacked: false,
    }
}
