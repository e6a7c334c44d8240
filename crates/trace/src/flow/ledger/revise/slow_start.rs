//! Without SACK a fast recovery retransmits one segment in an RTT, triggered by a partial ACK
//! (RFC 6582, section 3.2, step 3). Two within an RTT: an RTO had come before, and what was taken for
//! a recovery is slow start from its first segment on (RFC 5681, section 3.1).

use super::super::super::classify::{Classification, SegmentKind};
use super::super::super::context::PacketContext;
use super::super::super::sender_model::SenderModel;
use super::super::super::seq::seq_lt;
use super::super::Ledger;
use super::{REVISED, Revision, is_within_rtt};

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
                self.revise_last_two(model, ctx, revisions);
                classification
            }
            SegmentKind::Fast
                if !ctx.sack
                    && is_within_rtt(ctx.now - last.at, ctx.vantage.min_feedback_loop())
                    && !is_triggered_by_itself(model, ctx) =>
            {
                self.revise_last_two(model, ctx, revisions);
                Classification::new(SegmentKind::GoBackN, REVISED)
            }
            _ => classification,
        }
    }

    /// The last retransmission was an RTO; or go-back-N, if the one before it was of the same RTT, which
    /// then was the RTO.
    fn revise_last_two(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        let last = self.records.len() - 1;
        let record = self.records[last];
        let is_soon = is_within_rtt(ctx.now - record.at, ctx.vantage.min_feedback_loop());
        let first = last
            .checked_sub(1)
            .filter(|&i| is_soon && self.records[i].kind.is_recovery() && !seq_lt(record.start, self.records[i].end));
        if first.is_some() {
            let is = Classification::new(SegmentKind::GoBackN, REVISED);
            self.reclassify(last, is);
            revisions.push(Revision { was: SegmentKind::Fast, is });
        }
        let is = self.reclassify_as_rto(model, first.unwrap_or(last), ctx.nxt);
        revisions.push(Revision { was: SegmentKind::Fast, is });
    }
}

/// It is the lowest outstanding segment as the sender knows it, or was, or duplicate ACKs asked for it:
/// packets overtake one another.
fn is_triggered_by_itself(model: &SenderModel, ctx: &PacketContext<'_>) -> bool {
    let una = model.known_una(ctx.una).map_or(ctx.una, |(una, _)| una);
    !seq_lt(una, ctx.start()) || model.was_asked_for(ctx.start())
}
