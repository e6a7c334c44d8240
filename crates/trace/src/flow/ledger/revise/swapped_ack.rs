//! A retransmission that no ACK explains, and within microseconds an ACK that would: the order of capture
//! was swapped, as each direction of an interface has a buffer of its own. The ACK triggered it.

use super::super::super::classify::{Classification, SegmentKind};
use super::super::super::context::PacketContext;
use super::super::super::rules::RULES;
use super::super::super::sender_model::SenderModel;
use super::super::Ledger;
use super::Revision;
use crate::compact::compact;

/// A retransmission at the sender that is classified as a timer's, or not explained.
#[derive(Debug, Clone, Copy)]
pub struct SwapCandidate {
    at: i64,
    kind: SegmentKind,
    /// An ACK that triggers it was captured just after it.
    is_explained: bool,
}

compact!(SwapCandidate { at, kind, is_explained });

/// Confidence that the ACK captured after it triggered it.
const SWAPPED: f32 = 0.7;

impl Ledger {
    /// A retransmission of this kind was recorded, outside the repair after an RTO.
    pub(in super::super) fn set_swap_candidate(&mut self, ctx: &PacketContext<'_>, kind: SegmentKind, is_repairing: bool) {
        let needs_timer = !kind.is_recovery() && kind != SegmentKind::Handshake && kind.is_retransmission();
        let is_candidate = needs_timer && ctx.is_at_sender() && ctx.sack && !is_repairing;
        let candidate = SwapCandidate { at: ctx.now, kind, is_explained: false };
        self.swap_candidate = is_candidate.then(|| Box::new(candidate));
    }

    /// An ACK arrives that advances or reports new data by SACK.
    pub fn explain_by_ack(&mut self, now: i64) {
        let Some(candidate) = self.swap_candidate.as_deref_mut().filter(|candidate| !candidate.is_explained) else { return };
        match now - candidate.at <= RULES.max_capture_swap {
            true => candidate.is_explained = true,
            false => self.swap_candidate = None,
        }
    }

    /// The next data packet passes.
    pub fn revise_swapped(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        let Some(candidate) = self.swap_candidate.take().filter(|candidate| candidate.is_explained) else { return };
        if candidate.kind == SegmentKind::Timeout {
            return self.revert_rto(model, ctx, revisions);
        }
        let is_it = |record: &super::super::Retransmission| record.at == candidate.at && record.kind == candidate.kind;
        let Some(at) = self.records.iter().rposition(is_it) else { return };
        let is = Classification::new(SegmentKind::Fast, SWAPPED);
        self.reclassify(at, is);
        if candidate.kind == SegmentKind::Unexplained {
            self.recoveries += u32::from(model.on_fast_retransmission(ctx));
        } else {
            model.revert_rto(None, ctx.nxt);
        }
        revisions.push(Revision { was: candidate.kind, is });
    }
}
