//! What is kept of a direction from its first gap, SACK or retransmission on. Most directions never
//! need it. A retransmission passes through here: evidence, classification, record, revisions.

use super::classify::{Classification, GapFill, GapFiller, KindRule, RetransmissionEvidence, SegmentKind};
use super::classify::{classify_gap_fill, classify_retransmission};
use super::clues::RttClues;
use super::context::PacketContext;
use super::ledger::{Ledger, ProcessedAck, Repeated, Revision};
use super::outstanding::{AckedUncaptured, CaptureGap, CaptureGaps, Outstanding, SendSpace, SentRange};
use super::rules::RULES;
use super::sender_model::SenderModel;
use super::seq::{seq_diff, seq_lt, seq_max, seq_min};
use crate::compact::compact;
use crate::decode::{Flags, Segment};

#[derive(Debug, Default)]
pub struct LossHistory {
    gaps: CaptureGaps,
    /// What the last ACK acknowledged without having been captured.
    uncaptured: Option<Box<AckedUncaptured>>,
    model: SenderModel,
    ledger: Ledger,
}

compact!(LossHistory { gaps, uncaptured, model, ledger });

impl LossHistory {
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Fast recovery or the repair after an RTO is under way.
    #[inline]
    pub fn is_recovering(&self, una: u32) -> bool {
        self.model.is_recovering(una)
    }

    /// Nothing is missing and no recovery is under way.
    #[inline]
    pub fn is_idle(&self, una: u32) -> bool {
        self.gaps.is_empty() && !self.model.is_recovering(una)
    }

    /// An RTO has not been repaired.
    #[inline]
    pub fn has_rto(&self) -> bool {
        self.model.has_rto()
    }

    /// A timer fired or a recovery is under way: no tail loss probe is due.
    pub fn suppresses_probe(&self, una: u32) -> bool {
        self.model.timer_fired() || self.model.is_recovering(una)
    }

    /// New data may be a retransmission that was not captured before.
    #[inline]
    pub fn has_unseen(&self) -> bool {
        self.model.has_unseen()
    }

    pub fn was_sent_unseen(&self, seq: u32) -> bool {
        self.model.was_sent_unseen(seq)
    }

    /// The gap in which `seq` lies.
    pub fn gap_at(&self, seq: u32) -> Option<CaptureGap> {
        self.gaps.at(seq)
    }

    /// An ACK acknowledged `start..end`, which was not captured, and nothing above it.
    pub fn on_uncaptured(&mut self, start: u32, end: u32, now: i64) {
        let gap = CaptureGap { start, end, found_at: now, tsval: None, ip_id: None };
        self.uncaptured = Some(Box::new(AckedUncaptured { gap, acked_at: now, was_gap: false }));
        self.ledger.count_missed(u64::from(end.wrapping_sub(start)));
    }

    /// What was captured just after its own ACK, for a packet at `seq`.
    pub fn captured_late(&self, seq: u32, now: i64) -> Option<AckedUncaptured> {
        self.uncaptured.as_deref().filter(|uncaptured| uncaptured.has(seq, now)).copied()
    }

    // Data packets.

    /// Earlier packets wait for the next one: to follow the sender, or to revise a classification.
    #[inline]
    pub fn awaits_data(&self) -> bool {
        self.model.is_tracking() || self.ledger.awaits_data()
    }

    /// A data packet passes, before it is placed.
    pub fn before_data(&mut self, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        if self.model.is_tracking() {
            self.model.on_data_in_transit(ctx, !self.gaps.is_empty());
        }
        self.ledger.revise_swapped(&mut self.model, ctx, revisions);
        self.ledger.revise_before_sign(&mut self.model, ctx, revisions);
        self.ledger.confirm_or_revert_rto(&mut self.model, ctx, revisions);
        self.ledger.check_silence(&mut self.model, ctx, revisions);
    }

    /// The data packet was processed.
    #[inline]
    pub fn after_data(&mut self, since_ack: i64, gap: i64) {
        self.model.on_sent(since_ack, gap);
    }

    /// A packet above SND.NXT shows a gap. What was acknowledged without having been captured is none.
    pub fn on_gap(&mut self, ctx: &PacketContext<'_>) {
        self.model.begin_tracking(ctx);
        let (start, end) = (seq_max(ctx.nxt, seq_min(ctx.una, ctx.start())), ctx.start());
        if start != end {
            self.model.begin_episode();
            let (found_at, tsval, ip_id) = (ctx.now, ctx.tsval(), ctx.segment.ip_id);
            self.gaps.add(CaptureGap { start, end, found_at, tsval, ip_id });
        }
    }

    /// New data with uncaptured packets before it: if nothing else explains them, they carried the same
    /// data.
    pub fn on_unseen_packets(&mut self, ctx: &PacketContext<'_>) {
        if self.is_idle(ctx.una) && !self.model.was_sent_unseen(ctx.start()) {
            self.model.begin_unseen(ctx);
        }
    }

    /// A segment that looks new, but was sent before.
    pub fn on_unseen_retransmission(&mut self, ctx: &PacketContext<'_>) -> Classification {
        let likely = classify_retransmission(&RetransmissionEvidence {
            is_first_retransmission: true,
            is_highest_sent: false,
            was_captured: false,
            ..self.evidence(ctx, None)
        });
        let (kind, rule) = match likely.kind {
            SegmentKind::Unexplained if ctx.follows_rto_silence() => (SegmentKind::Timeout, KindRule::UnseenSilence),
            SegmentKind::Unexplained => (SegmentKind::Fast, KindRule::UnseenRetransmission),
            kind => (kind, likely.rule),
        };
        let classification = Classification::new(kind, likely.confidence.min(UNSEEN), rule);
        self.ledger.record(&mut self.model, ctx, classification);
        if is_rto(kind) {
            self.model.extend_rto_to_unseen();
        }
        self.model.shorten_unseen(ctx);
        classification
    }

    /// A segment that fills a gap: reordered, or retransmitted after a loss before the capture point.
    pub fn on_gap_fill(&mut self, ctx: &PacketContext<'_>, gap: &CaptureGap, revisions: &mut Vec<Revision>) -> Classification {
        let (start, end) = gap.overlap(ctx.start(), ctx.end());
        let classification = match classify_gap_fill(&gap_fill(ctx, gap)) {
            GapFiller::Reordered(reordered) => {
                self.ledger.count(reordered, ctx.segments);
                self.model.on_trigger(start, gap.found_at);
                reordered
            }
            GapFiller::Retransmission(confidence) => self.on_lost_upstream(ctx, gap, confidence, revisions),
        };
        self.model.begin_episode();
        self.gaps.fill(start, end);
        classification
    }

    /// A retransmission, with this confidence, of a segment that was lost before the capture point.
    fn on_lost_upstream(
        &mut self,
        ctx: &PacketContext<'_>,
        gap: &CaptureGap,
        confidence: f32,
        revisions: &mut Vec<Revision>,
    ) -> Classification {
        let is_second = self.ledger.is_second_repair(ctx.start(), gap.found_at) || self.model.has_repaired(ctx.start());
        let evidence = self.evidence(ctx, None);
        let mut likely = classify_retransmission(&RetransmissionEvidence {
            // Without SACK the sender has only duplicate ACKs, not all of which need be captured.
            sacked_above: evidence.sacked_above || !ctx.sack,
            is_first_retransmission: !is_second,
            was_captured: false,
            ..evidence
        });
        if likely.kind == SegmentKind::Unexplained {
            // It was missing, so that there was a reason.
            likely = Classification::new(SegmentKind::Fast, MISSING, KindRule::MissingSegment);
        }
        let classification = Classification { confidence: likely.confidence * confidence, ..likely };
        let classification = self.revise(ctx, classification, revisions);
        self.record(ctx, classification);
        self.ledger.set_rto_candidate(&self.model, ctx, classification, Repeated { is_further: is_second, last_at: None });
        self.ledger.on_lost_upstream(ctx.segments);
        classification
    }

    /// A segment of which at least a part was captured before, with `previous` as its last copy.
    pub fn on_repeat(
        &mut self,
        ctx: &PacketContext<'_>,
        previous: Option<&SentRange>,
        revisions: &mut Vec<Revision>,
    ) -> Classification {
        let is_syn = ctx.segment.flags.has(Flags::SYN);
        let answers_syn = is_syn && ctx.segment.flags.has(Flags::ACK) && ctx.peer_syn_retransmitted;
        let is_copy = || previous.is_some_and(|range| ctx.is_same_packet(range)) || ctx.is_old_packet();
        if !answers_syn && is_copy() {
            let classification = match self.ledger.revise_lost_upstream(ctx) {
                true => Classification::new(SegmentKind::Reordered, 0.9, KindRule::LateOriginal),
                false => Classification::new(SegmentKind::NetworkDuplicate, 0.95, KindRule::SamePacket),
            };
            self.ledger.count(classification, ctx.segments);
            return classification;
        }
        if answers_syn {
            self.ledger.revise_first_syn_ack(ctx.now - ctx.last_sent_at, ctx.peer_rtt, ctx.segments, revisions);
        }
        let classification = if is_syn {
            Classification::new(SegmentKind::Handshake, 0.99, KindRule::RepeatedSyn)
        } else if self.ledger.records_at(ctx.start()) == 0 && self.model.answers_trigger(ctx) {
            Classification::new(SegmentKind::Fast, 0.9, KindRule::TriggerInTransit)
        } else {
            self.classify(ctx, previous)
        };
        let classification = self.revise(ctx, classification, revisions);
        if self.model.learn_stack(ctx, classification) {
            self.ledger.on_probes_shown();
        }
        self.record(ctx, classification);
        let (is_further, last_at) = (self.ledger.records_at(ctx.start()) > 1, previous.map(|range| range.last_at));
        self.ledger.set_rto_candidate(&self.model, ctx, classification, Repeated { is_further, last_at });
        self.ledger.set_due_copy(&mut self.model, ctx, classification, last_at);
        self.model.begin_tracking_by_retransmission(ctx);
        classification
    }

    fn classify(&mut self, ctx: &PacketContext<'_>, previous: Option<&SentRange>) -> Classification {
        let classification = classify_retransmission(&self.evidence(ctx, previous));
        if self.model.resume_undone_rto(ctx, classification.kind == SegmentKind::Unexplained) {
            return Classification::new(SegmentKind::GoBackN, 0.9, KindRule::RepairAfterUndo);
        }
        classification
    }

    fn evidence(&self, ctx: &PacketContext<'_>, previous: Option<&SentRange>) -> RetransmissionEvidence {
        let was_retransmitted = self.ledger.records_at(ctx.start()) > 0;
        self.model.evidence(ctx, previous, was_retransmitted, self.ledger.rare().spurious.by_dsack)
    }

    /// Revises what came before a retransmission, and its own classification with it.
    fn revise(
        &mut self,
        ctx: &PacketContext<'_>,
        classification: Classification,
        revisions: &mut Vec<Revision>,
    ) -> Classification {
        self.ledger.revise_missed_rto(&mut self.model, ctx, classification, revisions);
        self.ledger.revise_slow_start(&mut self.model, ctx, classification, revisions)
    }

    fn record(&mut self, ctx: &PacketContext<'_>, classification: Classification) {
        let (was_recovering, was_repairing) = (self.model.is_recovering(ctx.una), self.model.is_in_rto_recovery(ctx.una));
        let unseen = ctx.unseen_packets();
        self.ledger.record(&mut self.model, ctx, classification);
        if unseen == 0 {
            return;
        }
        let full = ctx.sender.full_segment;
        if is_rto(classification.kind) && was_repairing {
            // What is missing within the repair belongs to it: nothing new leaves before its end (RFC 5681, section 4.3).
        } else if is_rto(classification.kind) {
            self.model.extend_unseen(ctx, self.gaps.segments(full));
        } else if classification.kind.is_recovery() {
            // A recovery retransmits from the lowest gap upwards (RFC 6675, section 5), without SACK one
            // segment. Before it all packets are new.
            let retransmitted = match (was_recovering, ctx.sack) {
                (false, _) => self.gaps.segments_below(ctx.start(), full),
                (true, true) => self.gaps.segments(full).saturating_sub(ctx.segments),
                (true, false) => 1,
            };
            self.model.extend_recovery(ctx, unseen.saturating_sub(retransmitted));
        }
    }

    /// A tail loss probe with new data.
    pub fn on_new_data_probe(&mut self) {
        self.ledger.count_probe_candidate();
        self.model.on_probe();
    }

    // ACKs.

    /// An advancing ACK, before `una` moves. Returns the segments that it shows to be spuriously
    /// retransmitted.
    #[inline]
    pub fn on_advance(&mut self, now: i64, s: &Segment<'_>, una: u32, rtt: &RttClues) -> u32 {
        self.model.on_advance();
        if !self.model.has_episode() && self.ledger.is_quiet(now, max_record_age(rtt)) {
            return 0;
        }
        self.settle(now, s, una, rtt)
    }

    #[inline(never)]
    fn settle(&mut self, now: i64, s: &Segment<'_>, una: u32, rtt: &RttClues) -> u32 {
        let spurious = self.ledger.on_advance(&mut self.model, now, s, una, rtt.min_feedback());
        self.model.complete_recovery(now, s.ack);
        let gap = self.gaps.first().filter(|gap| seq_lt(gap.start, s.ack));
        self.uncaptured = gap.map(|gap| Box::new(AckedUncaptured { gap, acked_at: now, was_gap: true }));
        self.ledger.count_missed(self.gaps.on_acked(s.ack));
        self.ledger.drop_old(now, s.ack, max_record_age(rtt));
        if self.model.end_episode(now, s.ack, !self.gaps.is_empty()) {
            self.ledger.on_episode_end();
        }
        self.gaps.shrink();
        spurious
    }

    /// An ACK was processed.
    #[inline]
    pub fn after_ack(&mut self, at: i64, (una, advances): (u32, bool), dupacks: u32) {
        if self.ledger.awaits_data() {
            let sacks = self.model.was_sacked_at(at);
            self.ledger.explain_by_ack(&ProcessedAck { at, una, advances, dupacks, sacks });
        }
    }

    /// A range is acknowledged.
    #[inline]
    pub fn on_range_acked(&mut self, range: &SentRange, now: i64, min_rtt: i64) {
        self.model.on_range_acked(range, now, min_rtt);
    }

    /// Marks what SACK blocks report (RFC 2018), except what the last ACK reported.
    pub fn on_sack(
        &mut self,
        now: i64,
        (blocks, advances): (&[(u32, u32)], bool),
        space: &mut SendSpace,
        outstanding: &mut Outstanding,
        rtt: &mut RttClues,
    ) {
        let min_rtt = rtt.min_feedback().unwrap_or(0);
        let srtt = rtt.from_acks().smoothed().map_or(0, |(srtt, _)| srtt);
        let late_before = now.saturating_sub(srtt.saturating_mul(RULES.late_sack_rtts)).saturating_sub(RULES.queue_slack);
        let (mut first_sent_at, mut last_sent_at) = (i64::MAX, i64::MIN);
        let mut marked = [(0, 0); 4];
        for (place, &(left, right)) in marked.iter_mut().zip(blocks) {
            if !seq_lt(left, right) || seq_lt(left, space.una()) || seq_lt(space.nxt(), right) {
                continue;
            }
            *place = (left, right);
            let from = self.model.first_newly_sacked(left, right);
            outstanding.sack((from, right), late_before, |range| {
                space.on_sacked(range.len);
                self.model.on_range_sacked(range, now, min_rtt);
                if range.transmissions == 1 {
                    first_sent_at = first_sent_at.min(range.first_at);
                    last_sent_at = last_sent_at.max(range.first_at);
                }
            });
            self.model.on_sack_block(right);
        }
        self.model.remember_sacks(marked);
        if first_sent_at < now {
            rtt.on_sack_sample(now - last_sent_at);
            if !advances {
                self.model.on_sack_rtt(now - first_sent_at, rtt.from_acks().smoothed());
            }
        }
    }

    /// An RTT sample from an ACK.
    #[inline]
    pub fn on_ack_rtt(&mut self, sample: i64) {
        self.model.on_ack_rtt(sample);
    }

    /// A D-SACK (RFC 2883): a first block below the cumulative ACK, or within the second block. Returns
    /// the segments that it shows to be spuriously retransmitted.
    pub fn on_dsack(&mut self, ack: u32, blocks: &[(u32, u32)]) -> u32 {
        let (left, right) = blocks[0];
        let is_below = !seq_lt(ack, right);
        let is_within = blocks.get(1).is_some_and(|block| !seq_lt(left, block.0) && !seq_lt(block.1, right));
        if !seq_lt(left, right) || !(is_below || is_within) {
            return 0;
        }
        self.ledger.on_dsack(left, right)
    }

    /// The third duplicate ACK in a row passes (RFC 5681, section 3.2).
    pub fn on_third_dupack(&mut self, una: u32, now: i64) {
        self.model.on_trigger(una, now);
    }

    /// A duplicate ACK passes on its way to a remote sender, which knows the last advancing ACK until
    /// then: its time and SND.UNA, and the number of duplicates.
    pub fn begin_tracking_by_dupack(&mut self, now: i64, s: &Segment<'_>, known: (i64, u32, u32), remote_rtt: i64) {
        let (advanced_at, una, dupacks) = known;
        if !self.model.is_tracking() {
            self.model.begin_tracking_by_dupack(advanced_at, una, dupacks, remote_rtt);
            self.model.on_ack_in_transit(now, s, una, dupacks);
        }
    }

    /// An ACK passes on its way to the sender.
    #[inline]
    pub fn on_ack_in_transit(&mut self, now: i64, s: &Segment<'_>, una: u32, dupacks: u32) {
        self.model.on_ack_in_transit(now, s, una, dupacks);
    }

    /// Memory in bytes, heap included.
    pub fn memory(&self) -> usize {
        size_of::<LossHistory>() + self.gaps.memory() + self.model.memory() + self.ledger.memory()
    }
}

/// For how long an ACK may show that a retransmission was spurious.
#[inline]
fn max_record_age(rtt: &RttClues) -> i64 {
    RULES.spurious_after.max(RULES.spurious_after_rtts * rtt.from_acks().max().unwrap_or(0))
}

/// Confidence of the kind of a segment that only IP identifications show to be retransmitted.
const UNSEEN: f32 = 0.8;
/// Confidence that ACKs triggered a retransmission without a known trigger.
const MISSING: f32 = 0.6;

/// An RTO, or what follows it.
fn is_rto(kind: SegmentKind) -> bool {
    matches!(kind, SegmentKind::Timeout | SegmentKind::GoBackN)
}

fn gap_fill(ctx: &PacketContext<'_>, gap: &CaptureGap) -> GapFill {
    let ip_ids = ctx.segment.ip_id.zip(gap.ip_id).filter(|_| ctx.sender.ip_id.is_monotonic());
    GapFill {
        waited: ctx.now - gap.found_at,
        sender_rtt: ctx.vantage.remote_rtt(),
        tsval_diff: ctx.tsval().zip(gap.tsval).map(|(own, after)| seq_diff(after, own)),
        ip_id_diff: ip_ids.map(|(own, after)| own.wrapping_sub(after) as i16),
        is_triggered_last: ctx.dupacks >= RULES.dupthresh && ctx.segment.ip_id.is_some() && ctx.sender.ip_id.steps_on(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retransmission_may_be_found_spurious_for_two_seconds_or_four_rtts() {
        let age = |rtt: i64| {
            let mut clues = RttClues::default();
            clues.on_sample(rtt);
            max_record_age(&clues)
        };
        assert_eq!([1_000_000, 600_000_000].map(age), [2_000_000_000, 2_400_000_000]);
    }
}
