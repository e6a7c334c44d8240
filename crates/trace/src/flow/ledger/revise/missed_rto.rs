//! Go-back-N shows an RTO before it. If none was recognized, as SACKs clocked the sender at that moment,
//! it was the last retransmission of the lowest outstanding segment that left an RTO after the segment's
//! last copy and after the last advancing ACK (RFC 6298, section 5), and what followed it is go-back-N.

use super::super::super::classify::{Classification, KindRule, SegmentKind};
use super::super::super::context::PacketContext;
use super::super::super::sender_model::{DueCopy, SenderModel};
use super::super::super::seq::seq_lt;
use super::super::Ledger;
use super::{REVISED, Revision};

impl Ledger {
    /// A retransmission with this classification was recorded, at the sender: remembers it if the RTO was
    /// due, `last_at` after the segment's last copy.
    pub fn set_due_copy(
        &mut self,
        model: &mut SenderModel,
        ctx: &PacketContext<'_>,
        classification: Classification,
        last_at: Option<i64>,
    ) {
        let may_be_rto = classification.kind.is_recovery() && ctx.is_at_sender() && ctx.sack && ctx.una == ctx.start();
        let Some(last_at) = last_at.filter(|_| may_be_rto && !model.is_in_rto_recovery(ctx.una)) else { return };
        if model.is_rto_due(ctx, ctx.now - last_at.max(ctx.last_advance_at)) {
            model.set_due_copy(DueCopy { at: ctx.now, nxt: ctx.nxt });
        }
    }

    /// A retransmission with this classification, not recorded yet: go-back-N without an RTO revises what
    /// came before it.
    pub fn revise_missed_rto(
        &mut self,
        model: &mut SenderModel,
        ctx: &PacketContext<'_>,
        classification: Classification,
        revisions: &mut Vec<Revision>,
    ) {
        if classification.kind != SegmentKind::GoBackN || model.is_in_rto_recovery(ctx.una) {
            return;
        }
        let Some(due) = model.take_due_copy().filter(|due| seq_lt(ctx.una, due.nxt)) else { return };
        let is_it = |record: &super::super::Retransmission| record.at == due.at && record.kind.is_recovery();
        let Some(first) = self.records.iter().position(is_it) else { return };
        for at in (first + 1..self.records.len()).rev() {
            if self.records[at].kind.is_recovery() {
                let is = Classification::new(SegmentKind::GoBackN, REVISED, KindRule::RepairAfterMissedRto);
                self.reclassify(at, is);
                revisions.push(Revision { was: SegmentKind::Fast, is });
            }
        }
        let is = self.reclassify_as_rto(model, first, due.nxt, KindRule::MissedRto);
        revisions.push(Revision { was: SegmentKind::Fast, is });
    }
}
