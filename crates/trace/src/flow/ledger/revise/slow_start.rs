//! Without SACK a fast recovery retransmits one segment in an RTT, triggered by a partial ACK
//! (RFC 6582, section 3.2, step 3). Two within an RTT: an RTO had come before, and what was taken for
//! a recovery is slow start from its first segment on (RFC 5681, section 3.1).
//!
//! The partial ACK may be captured just after the second one, so that it is revised with the next data
//! packet, unless an ACK within the maximum swap of the order explains it.

use super::super::super::classify::{Classification, KindRule, SegmentKind};
use super::super::super::context::PacketContext;
use super::super::super::rules::RULES;
use super::super::super::sender_model::SenderModel;
use super::super::super::seq::seq_lt;
use super::super::Ledger;
use super::swapped_ack::ProcessedAck;
use super::{REVISED, Revision, is_within_rtt};
use crate::compact::compact;

/// A retransmission at the sender that shows slow start before it: a second fast one within an RTT, or
/// go-back-N.
#[derive(Debug, Clone, Copy)]
pub struct SlowStartSign {
    at: i64,
    start: u32,
    /// SND.NXT.
    nxt: u32,
    sack: bool,
}

compact!(SlowStartSign { at, start, nxt, sack });

impl Ledger {
    /// A retransmission with this classification, not recorded yet: revises the one or two before it
    /// if they were slow start. Returns the classification, revised in the same way.
    pub fn revise_slow_start(
        &mut self,
        model: &mut SenderModel,
        ctx: &PacketContext<'_>,
        classification: Classification,
        revisions: &mut Vec<Revision>,
    ) -> Classification {
        if model.is_in_rto_recovery(ctx.una) {
            return classification;
        }
        let last = self.records.last().filter(|r| r.kind.is_recovery() && !seq_lt(ctx.start(), r.end));
        let Some(&last) = last else { return classification };
        match classification.kind {
            // Go-back-N shows it for what came directly before it as well.
            SegmentKind::GoBackN if last.end == ctx.start() => {
                if !self.await_swapped_ack(ctx) {
                    self.revise_last_two(model, (self.records.len(), ctx.now, ctx.nxt), ctx, revisions);
                }
                classification
            }
            SegmentKind::Fast
                if !ctx.sack
                    && is_within_rtt(ctx.now - last.at, ctx.vantage.min_feedback_loop())
                    && !is_triggered_by_itself(model, ctx) =>
            {
                if self.await_swapped_ack(ctx) {
                    return classification;
                }
                self.revise_last_two(model, (self.records.len(), ctx.now, ctx.nxt), ctx, revisions);
                Classification::new(SegmentKind::GoBackN, REVISED, KindRule::SlowStart)
            }
            _ => classification,
        }
    }

    /// With the capture at the sender, the next packets decide.
    fn await_swapped_ack(&mut self, ctx: &PacketContext<'_>) -> bool {
        let sign = SlowStartSign { at: ctx.now, start: ctx.start(), nxt: ctx.nxt, sack: ctx.sack };
        self.slow_start_sign = ctx.is_at_sender().then(|| Box::new(sign));
        ctx.is_at_sender()
    }

    /// An ACK was processed: it explains the retransmission if it was captured just after it.
    pub(super) fn explain_sign_by_ack(&mut self, ack: &ProcessedAck) {
        let is_explained =
            |sign: &SlowStartSign| ack.at - sign.at <= RULES.max_capture_swap && ack.can_trigger(sign.start, sign.sack);
        if self.slow_start_sign.as_deref().is_some_and(is_explained) {
            self.slow_start_sign = None;
        }
    }

    /// The next data packet passes, and no ACK has explained the retransmission.
    pub fn revise_before_sign(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        let Some(sign) = self.slow_start_sign.take() else { return };
        let last = self.records.len().saturating_sub(1);
        let Some(record) = self.records.get(last).filter(|record| last > 0 && record.at == sign.at) else { return };
        if !self.records[last - 1].kind.is_recovery() {
            return;
        }
        match record.kind {
            SegmentKind::GoBackN => {}
            kind if kind.is_recovery() && !model.is_in_rto_recovery(ctx.una) => {
                let is = Classification::new(SegmentKind::GoBackN, REVISED, KindRule::SlowStart);
                self.reclassify(last, is);
                revisions.push(Revision { was: SegmentKind::Fast, is });
            }
            _ => return,
        }
        self.revise_last_two(model, (last, sign.at, sign.nxt), ctx, revisions);
    }

    /// The retransmission before index `end`, of a packet at `now`, was an RTO; or go-back-N, if the one
    /// before it was of the same RTT, which then was the RTO.
    fn revise_last_two(
        &mut self,
        model: &mut SenderModel,
        (end, now, nxt): (usize, i64, u32),
        ctx: &PacketContext<'_>,
        revisions: &mut Vec<Revision>,
    ) {
        let last = end - 1;
        let record = self.records[last];
        let is_soon = is_within_rtt(now - record.at, ctx.vantage.min_feedback_loop());
        let first = last
            .checked_sub(1)
            .filter(|&i| is_soon && self.records[i].kind.is_recovery() && !seq_lt(record.start, self.records[i].end));
        // An RTO retransmits the lowest outstanding segment (RFC 6298, section 5.4).
        if seq_lt(ctx.una, self.records[first.unwrap_or(last)].start) {
            return;
        }
        if first.is_some() {
            let is = Classification::new(SegmentKind::GoBackN, REVISED, KindRule::SlowStart);
            self.reclassify(last, is);
            revisions.push(Revision { was: SegmentKind::Fast, is });
        }
        let is = self.reclassify_as_rto(model, first.unwrap_or(last), nxt, KindRule::RtoBeforeSlowStart);
        revisions.push(Revision { was: SegmentKind::Fast, is });
    }
}

/// It is the lowest outstanding segment as the sender knows it, or was, or duplicate ACKs asked for it:
/// packets overtake one another.
fn is_triggered_by_itself(model: &SenderModel, ctx: &PacketContext<'_>) -> bool {
    let una = model.known_una(ctx.una).map_or(ctx.una, |(una, _)| una);
    !seq_lt(una, ctx.start()) || model.was_asked_for(ctx.start())
}
