//! An acknowledgement of this direction's data passes.

use super::episode::Episode;
use super::half::Half;
use super::seq::{seq_diff, seq_lt, seq_max};
use super::told::Word;
use super::trouble::Trouble;
use crate::decode::{Flags, SackBlocks, Segment};
use crate::metrics::RttSampleSet;

/// What an acknowledgement said.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Heard {
    /// Bytes newly acknowledged, cumulatively.
    pub news: u32,
    pub duplicate: bool,
    /// A round-trip sample, nanoseconds.
    pub rtt: Option<i64>,
    /// Retransmissions that it showed to have been unnecessary.
    pub spurious: u32,
}

/// Duplicates that cause a retransmission (RFC 5681, section 3.2).
const THIRD: u32 = 3;
/// A report that a repair was not needed comes sooner than this or four round trips.
const LAST_WORD: i64 = 2_000_000_000;

impl Half {
    /// A packet of the other end with the ACK flag.
    #[inline]
    pub(super) fn heard(&mut self, now: i64, s: &Segment<'_>) -> Heard {
        let window = self.take_window(s);
        if !self.started {
            (self.next, self.una, self.started) = (s.ack, s.ack, true);
        }
        if !self.heard {
            self.heard = true;
            if self.sending.as_ref().is_none_or(|s| s.outstanding.is_empty()) {
                self.una = s.ack;
            }
            self.last_news_at = now;
        }
        self.echoed(now, s);
        let mut heard = Heard::default();
        let blocks = if s.options.only_timestamps() { SackBlocks::default() } else { s.options.sack() };
        if !blocks.is_empty() {
            heard.spurious += self.duplicate_report(s.ack, &blocks);
        }
        let ahead_by = seq_diff(self.una, s.ack);
        if ahead_by > 0 {
            self.news(now, s, &mut heard);
        } else if ahead_by == 0 {
            let idle = self.una == self.next;
            // RFC 5681, section 2: data outstanding, no data, the same number and the same window. SACK makes up for a changed window.
            let bare = s.payload == 0 && !s.flags.has(Flags::SYN | Flags::FIN | Flags::RST);
            if bare && !idle && (window == self.window || !blocks.is_empty()) {
                self.duplicates = self.duplicates.saturating_add(1);
                if self.duplicates == THIRD {
                    self.asks(now);
                }
                let amounts = &mut self.sending_mut().amounts;
                amounts.duplicate_acks = amounts.duplicate_acks.saturating_add(1);
                heard.duplicate = true;
            }
        }
        self.window = window;
        if !blocks.is_empty() {
            self.mark(now, &blocks);
        }
        if s.payload == 0
            && !s.flags.has(Flags::RST)
            && let Some(sending) = self.sending.as_deref_mut().filter(|s| s.amounts.payload > 0)
        {
            sending.acks.on_ack(now);
        }
        if ahead_by >= 0 {
            self.passes_on(now, s);
        }
        self.last_heard_at = now;
        heard
    }

    /// The ACK is on its way to the sender.
    #[inline]
    pub(super) fn passes_on(&mut self, now: i64, s: &Segment<'_>) {
        let (una, duplicates) = (self.una, self.duplicates);
        let Some(episode) = self.trouble.as_deref_mut().and_then(|trouble| trouble.episode.as_deref_mut()) else { return };
        if let Some(told) = &mut episode.told {
            let stamp = s.options.timestamps.map(|t| t.value);
            told.passes(Word { at: now, first: now, stamp, una, duplicates, sack_high: episode.sack_high });
        }
    }

    #[inline]
    fn take_window(&mut self, s: &Segment<'_>) -> u32 {
        let syn = s.flags.has(Flags::SYN);
        // A reset offers nothing, whatever its window field says.
        if s.flags.has(Flags::RST) {
            return self.window;
        }
        let window = if syn { u32::from(s.window) } else { u32::from(s.window) << self.window_shift };
        if !syn {
            self.offered.add(window);
            self.counts.zero_windows += u32::from(window == 0 && self.window != 0);
        }
        window
    }

    /// The time from a stamp to its echo (RFC 7323, section 4).
    #[inline]
    fn echoed(&mut self, now: i64, s: &Segment<'_>) {
        if let (Some(stamps), Some(at)) = (s.options.timestamps, self.watched_at.get()) {
            let past = seq_diff(self.watched, stamps.echo);
            if past >= 0 {
                self.watched_at.clear();
                if past == 0 {
                    self.timestamp_rtt.add(now - at);
                }
            }
        }
    }

    /// The cumulative number moved.
    #[inline]
    fn news(&mut self, now: i64, s: &Segment<'_>, heard: &mut Heard) {
        let news = seq_diff(self.una, s.ack) as u32;
        if let Some(trouble) = self.trouble.as_deref_mut() {
            trouble.timer_fired = false;
            if trouble.is_open() {
                heard.spurious += trouble.answered(now, s, self.una, &self.rtt);
            }
        }
        let mut latest_again = i64::MIN;
        let mut last = None;
        let Half { sending, trouble, sacked, rtt, .. } = self;
        let sending = sending.get_or_insert_default();
        while let Some(sent) = sending.outstanding.pop_acked(s.ack) {
            if sent.transmissions > 1 {
                latest_again = latest_again.max(sent.last_at);
            }
            if let Some(trouble) = trouble.as_deref_mut()
                && !sent.sacked
                && (sent.transmissions == 1 || sent.could_be_acked_by(now, rtt.min().unwrap_or(0)))
            {
                trouble.delivered.add(&sent, now);
            }
            if sent.sacked {
                *sacked -= sent.len.min(*sacked);
            }
            last = Some(sent);
        }
        if let Some(sent) = last {
            // Karn; and a segment that waited for one below it to be repaired says nothing about the path.
            if sent.end() == s.ack && sent.transmissions == 1 && !sent.sacked && latest_again <= sent.first_at {
                let sample = now - sent.first_at;
                self.sampled(sample);
                heard.rtt = Some(sample);
            }
            if s.flags.has(Flags::SYN) && sent.transmissions > 1 {
                self.trouble_mut().syn_turn = Some(now - sent.last_at);
            }
            let (gap, first) = (now - self.last_news_at, seq_diff(self.una, self.next) as u64);
            let emptied = self.emptied;
            let sending = self.sending_mut();
            if sending.amounts.payload > 0 {
                let full = sending.amounts.largest_segment.max(1);
                if sending.amounts.unique == first && !emptied {
                    // Nothing has been acknowledged before (RFC 3390: two to four segments; RFC 6928: ten).
                    sending.small_start = (2..=4).contains(&first.div_ceil(u64::from(full)));
                }
                let segments = if news <= full { 1 } else { news.div_ceil(full) };
                sending.acks.on_advance(segments, sent.first_at, gap);
            }
        }
        self.una = s.ack;
        if seq_lt(self.next, s.ack) {
            // Acknowledged, so it was sent; the capture has not seen it.
            let unseen = seq_diff(self.next, s.ack) as u32;
            self.trouble_mut().oddities_mut().missed_bytes += u64::from(unseen);
            self.next = s.ack;
        }
        let sending = self.sending_mut();
        sending.times.last_advance = now;
        sending.outstanding.shrink();
        if sending.outstanding.is_empty() {
            let blank = sending.is_blank();
            self.sacked = 0;
            if blank {
                self.sending = None;
            }
        }
        self.duplicates = 0;
        self.last_news_at = now;
        heard.news = news;
    }

    /// Marks what SACK blocks name (RFC 2018). What the last ACK named already is not walked again.
    fn mark(&mut self, now: i64, blocks: &[(u32, u32)]) {
        let (una, next, least) = (self.una, self.next, self.rtt.min().unwrap_or(0));
        let mut delivered = self.trouble_mut().delivered;
        let mut marked = [(0, 0); 4];
        for (place, &(left, right)) in marked.iter_mut().zip(blocks) {
            let sound = seq_lt(left, right) && !seq_lt(left, una) && !seq_lt(next, right);
            if !sound || seq_diff(una, left) < 0 {
                continue;
            }
            *place = (left, right);
            let known = self.trouble_mut().episode().marked.iter().find(|m| m.0 == left && !seq_lt(right, m.1)).copied();
            let from = known.map_or(left, |m| m.1);
            let outstanding = &mut self.sending.get_or_insert_default().outstanding;
            let sacked = &mut self.sacked;
            outstanding.sack(from, right, |range| {
                *sacked += range.len;
                if range.could_be_acked_by(now, least) {
                    delivered.add(range, now);
                }
            });
            let episode = self.trouble_mut().episode_mut();
            episode.sack_high = Some(episode.sack_high.map_or(right, |high| seq_max(high, right)));
        }
        let trouble = self.trouble_mut();
        trouble.delivered = delivered;
        if let Some(episode) = trouble.open_episode() {
            episode.marked = marked;
        }
    }

    /// A first block that lies below the cumulative number, or within the second block, reports a duplicate (RFC 2883).
    /// Returns the retransmissions that it shows to have been unnecessary.
    fn duplicate_report(&mut self, ack: u32, blocks: &[(u32, u32)]) -> u32 {
        let (left, right) = blocks[0];
        let below = !seq_lt(ack, right);
        let within = blocks.get(1).is_some_and(|b| !seq_lt(left, b.0) && !seq_lt(b.1, right));
        if !seq_lt(left, right) || !(below || within) {
            return 0;
        }
        self.trouble_mut().reported(left, right)
    }
}

impl Trouble {
    /// There is something that an ACK may end or judge.
    #[inline]
    fn is_open(&self) -> bool {
        self.episode.is_some() || !self.repairs.is_empty()
    }

    /// An ACK with news: retransmissions that it shows to have been unnecessary.
    #[inline(never)]
    fn answered(&mut self, now: i64, s: &Segment<'_>, una: u32, rtt: &RttSampleSet) -> u32 {
        let spurious = self.judge(now, s, una, rtt.min());
        self.settle(now, s.ack);
        self.forget(now, s.ack, LAST_WORD.max(4 * rtt.max().unwrap_or(0)));
        spurious
    }

    /// Ends what the cumulative number has reached, and forgets holes below it.
    fn settle(&mut self, now: i64, ack: u32) {
        let Some(episode) = self.open_episode() else { return };
        if episode.told.is_none() {
            episode.reached(now, ack);
        }
        if episode.sack_high.is_some_and(|high| !seq_lt(ack, high)) {
            episode.sack_high = None;
        }
        let missed = episode.pass_holes(ack);
        if missed > 0 {
            self.oddities_mut().missed_bytes += missed;
        }
    }
}

impl Episode {
    /// The sender knows this number to be reached.
    pub fn reached(&mut self, now: i64, ack: u32) {
        if let Some(point) = self.loss_point.filter(|p| !seq_lt(ack, *p)) {
            self.repaired = Some((point, now));
            self.loss_point = None;
        }
        if self.recovery_point.is_some_and(|p| !seq_lt(ack, p)) {
            self.recovery_point = None;
        }
    }

    /// Forgets holes below `ack`: their bytes.
    fn pass_holes(&mut self, ack: u32) -> u64 {
        let mut missed = 0;
        while let Some(hole) = self.holes.front_mut().filter(|h| seq_lt(h.start, ack)) {
            let gone = if seq_lt(ack, hole.end) { seq_diff(hole.start, ack) } else { seq_diff(hole.start, hole.end) };
            missed += gone as u64;
            if seq_lt(ack, hole.end) {
                hole.start = ack;
            } else {
                self.holes.pop_front();
            }
        }
        missed
    }
}
