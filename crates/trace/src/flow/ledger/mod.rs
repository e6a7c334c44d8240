//! The classifications of one direction: records of retransmissions whose ACK may still show
//! something about them, and counts. Only `revise` changes a past classification.

mod kind_counts;
mod rare_counts;
mod retransmission;
pub mod revise;
mod spurious;

pub use kind_counts::KindCounts;
pub use rare_counts::{ProbeTimes, RareCounts};
pub use retransmission::Retransmission;
pub use revise::{ProcessedAck, Repeated, Revision};

use super::classify::{Classification, SegmentKind};
use super::context::PacketContext;
use super::sender_model::SenderModel;
use super::seq::seq_lt;
use crate::compact::compact;
use revise::{ProvisionalRto, RtoCandidate, SlowStartSign, SwapCandidate};

/// With fewer duplicate ACKs a remote sender without SACK has not received three, even if one was not
/// captured.
const MIN_DUPACKS: u32 = 2;
/// Maximum number of records; the oldest are dropped.
const MAX_RECORDS: usize = 512;

#[derive(Debug, Default)]
pub struct Ledger {
    counts: KindCounts,
    /// In the order of time.
    records: Vec<Retransmission>,
    /// All records lie below SND.UNA.
    is_passed: bool,
    rare: Option<Box<RareCounts>>,
    provisional_rto: Option<Box<ProvisionalRto>>,
    rto_candidate: Option<Box<RtoCandidate>>,
    swap_candidate: Option<Box<SwapCandidate>>,
    slow_start_sign: Option<Box<SlowStartSign>>,
    /// Segments.
    retransmitted: u32,
    rtos: u32,
    recoveries: u32,
}

compact!(Ledger {
    counts,
    records,
    is_passed,
    rare,
    provisional_rto,
    rto_candidate,
    swap_candidate,
    slow_start_sign,
    retransmitted,
    rtos,
    recoveries,
});

impl Ledger {
    /// Records a retransmission, and with it what state it puts the sender into.
    pub fn record(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, classification: Classification) {
        let segments = ctx.segments;
        let is_repairing = model.is_in_rto_recovery(ctx.una);
        let earlier = self.records.iter().rev().find(|record| record.start == ctx.start()).map(|record| record.kind);
        let mut is_pair = false;
        self.retransmitted = self.retransmitted.saturating_add(segments);
        self.counts.add(classification.kind, classification.confidence, segments);
        match classification.kind {
            SegmentKind::Timeout => {
                self.rtos += 1;
                let follows_fast = earlier.is_some_and(SegmentKind::is_recovery);
                if follows_fast {
                    self.rare_mut().fast_then_timeout += 1;
                }
                let start = model.on_rto(ctx);
                is_pair = start.recovery_high.is_some();
                if is_pair {
                    let pairs = &mut self.rare_mut().pairs;
                    pairs.all += 1;
                    // The ACK for the first covered it already, as it passed on its way to the sender.
                    pairs.not_needed += u32::from(!seq_lt(ctx.una, ctx.end()));
                }
                let confidence = classification.confidence;
                let (recovery_high, rto_high) = (start.recovery_high, start.rto_high);
                let (at, tsval) = (ctx.now, ctx.tsval());
                let is_untriggered = !ctx.is_at_sender() && !ctx.sack && recovery_high.is_none() && ctx.dupacks < MIN_DUPACKS;
                let provisional =
                    ProvisionalRto { at, tsval, recovery_high, rto_high, is_untriggered, follows_fast, segments, confidence };
                self.provisional_rto = start.is_provisional.then(|| Box::new(provisional));
            }
            SegmentKind::GoBackN => model.on_go_back_n(ctx),
            SegmentKind::TailProbe => model.on_probe(),
            SegmentKind::Fast | SegmentKind::Rack => self.recoveries += u32::from(model.on_fast_retransmission(ctx)),
            _ => {}
        }
        self.push(Retransmission {
            start: ctx.start(),
            end: ctx.end(),
            at: ctx.now,
            tsval: ctx.tsval(),
            kind: classification.kind,
            is_settled: false,
            segments: segments.min(u32::from(u16::MAX)) as u16,
            ip_id: ctx.segment.ip_id.unwrap_or(0),
            is_pair,
            fills_gap: false,
        });
        self.set_swap_candidate(ctx, classification.kind, is_repairing);
    }

    fn push(&mut self, record: Retransmission) {
        if self.records.len() == MAX_RECORDS {
            self.records.remove(0);
        }
        if self.records.len() == self.records.capacity() {
            // Mostly one or two wait for their ACK.
            self.records.reserve_exact(1 + self.records.len() / 2);
        }
        self.records.push(record);
        self.is_passed = false;
    }

    /// The last record is of a segment whose first copy was not captured.
    pub fn on_lost_upstream(&mut self, segments: u32) {
        self.rare_mut().lost_upstream += segments;
        if let Some(last) = self.records.last_mut() {
            last.fills_gap = true;
        }
    }

    /// Counts a segment that is no retransmission, or none of data.
    pub fn count(&mut self, classification: Classification, segments: u32) {
        self.counts.add(classification.kind, classification.confidence, segments);
    }

    /// Counts retransmissions that only IP identifications show, `after_rto` of them after an RTO.
    pub fn count_unseen(&mut self, lost: u32, after_rto: u32) {
        self.retransmitted = self.retransmitted.saturating_add(lost);
        self.counts.add(SegmentKind::GoBackN, UNSEEN, after_rto);
        self.counts.add(SegmentKind::Fast, UNSEEN, lost - after_rto);
        self.rare_mut().unseen += lost;
    }

    /// A probe of an idle connection or of a closed window, after the other end's last packet at `answered_at`.
    pub fn on_probe(&mut self, now: i64, kind: SegmentKind, answered_at: i64) {
        let probes = &mut self.rare_mut().probes;
        if kind == SegmentKind::KeepAlive {
            if answered_at >= probes.last_at {
                (probes.keep_alives, probes.first_at) = (0, now);
            }
            probes.keep_alives = probes.keep_alives.saturating_add(1);
        }
        probes.last_at = now;
    }

    /// A closed window opened with a packet of the other end, whose last one before it came at `previous_at`: it
    /// answers a probe if one was sent since.
    pub fn on_window_opened(&mut self, previous_at: i64) {
        if let Some(rare) = self.rare.as_deref_mut().filter(|rare| rare.probes.last_at > previous_at) {
            rare.probes.answers_opened += 1;
        }
    }

    /// Counts a new segment that was sent when a tail loss probe was due.
    pub fn count_probe_candidate(&mut self) {
        self.rare_mut().probe_candidates += 1;
    }

    /// The sender is known to use tail loss probes.
    pub fn on_probes_shown(&mut self) {
        self.rare_mut().shows_probes = true;
    }

    /// Counts acknowledged bytes that were not captured.
    pub fn count_missed(&mut self, bytes: u64) {
        if bytes > 0 {
            self.rare_mut().missed_bytes += bytes;
        }
    }

    /// This number of bytes that counted as missed was captured after its ACK.
    pub fn uncount_missed(&mut self, bytes: u32) {
        if let Some(rare) = self.rare.as_deref_mut() {
            rare.missed_bytes = rare.missed_bytes.saturating_sub(bytes.into());
        }
    }

    /// Drops records below `una` about which nothing can be found any more: they are settled, or older
    /// than `max_age` nanoseconds.
    pub fn drop_old(&mut self, now: i64, una: u32, max_age: i64) {
        let is_old = |record: &Retransmission| !seq_lt(una, record.end) && (record.is_settled || now - record.at > max_age);
        // The sign of slow start may still revise them.
        if self.slow_start_sign.is_some() {
            return;
        }
        let old = self.records.iter().take_while(|record| is_old(record)).count();
        if old > 0 {
            self.records.drain(..old);
            self.records.shrink_to(self.records.len() + self.records.len() / 2);
        }
        self.is_passed = self.records.iter().all(|record| !seq_lt(una, record.end));
    }

    /// The episode is over: nothing can revise its classifications any more but what is known already.
    pub fn on_episode_end(&mut self) {
        self.rto_candidate = None;
        if !self.is_swap_explained() {
            (self.provisional_rto, self.swap_candidate) = (None, None);
        }
    }

    /// The next data packet may revise the last classification.
    #[inline]
    pub fn awaits_data(&self) -> bool {
        self.rto_candidate.is_some()
            || self.provisional_rto.is_some()
            || self.swap_candidate.is_some()
            || self.slow_start_sign.is_some()
    }

    /// An ACK finds nothing out and drops nothing: no record is left above SND.UNA, and none is old.
    #[inline]
    pub fn is_quiet(&self, now: i64, max_age: i64) -> bool {
        (self.is_passed || self.records.is_empty())
            && self.records.first().is_none_or(|record| !record.is_settled && now - record.at <= max_age)
    }

    /// Times of the retransmissions that include `seq`, as far as they are recorded.
    pub fn times_at(&self, seq: u32) -> impl Iterator<Item = i64> + '_ {
        let includes = move |r: &&Retransmission| !seq_lt(seq, r.start) && seq_lt(seq, r.end);
        self.records.iter().filter(includes).map(|record| record.at)
    }

    /// Records that begin at `seq`.
    pub fn records_at(&self, seq: u32) -> usize {
        self.records.iter().filter(|record| record.start == seq).count()
    }

    /// What lies above the gap was retransmitted since `found_at`. A recovery begins at the lowest
    /// segment (RFC 6675, section 4), so that the segment at `seq` was retransmitted before, and lost.
    pub fn is_second_repair(&self, seq: u32, found_at: i64) -> bool {
        let is_above = |r: &Retransmission| seq_lt(seq, r.start) && r.at > found_at && r.kind == SegmentKind::Fast;
        self.records.iter().any(is_above)
    }

    pub fn counts(&self) -> &KindCounts {
        &self.counts
    }

    pub fn rare(&self) -> RareCounts {
        self.rare.as_deref().copied().unwrap_or_default()
    }

    fn rare_mut(&mut self) -> &mut RareCounts {
        self.rare.get_or_insert_default()
    }

    /// Retransmitted segments.
    pub fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// Number of RTOs.
    pub fn rtos(&self) -> u32 {
        self.rtos
    }

    /// Number of fast recoveries.
    pub fn recoveries(&self) -> u32 {
        self.recoveries
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.counts.memory()
            + self.records.capacity() * size_of::<Retransmission>()
            + self.rare.as_ref().map_or(0, |_| size_of::<RareCounts>())
            + self.provisional_rto.as_ref().map_or(0, |_| size_of::<ProvisionalRto>())
            + self.rto_candidate.as_ref().map_or(0, |_| size_of::<RtoCandidate>())
            + self.swap_candidate.as_ref().map_or(0, |_| size_of::<SwapCandidate>())
            + self.slow_start_sign.as_ref().map_or(0, |_| size_of::<SlowStartSign>())
    }
}

/// Confidence of what only IP identifications show.
const UNSEEN: f32 = 0.6;
