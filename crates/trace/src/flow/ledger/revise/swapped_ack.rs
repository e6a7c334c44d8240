//! A retransmission that no ACK explains, and within microseconds an ACK that would: the order of capture
//! was swapped, as each direction of an interface has a buffer of its own. The ACK triggered it.

use super::super::super::classify::{Classification, KindRule, SegmentKind};
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
    start: u32,
    kind: SegmentKind,
    /// SACK was negotiated.
    sack: bool,
    /// An ACK that triggers it was captured just after it.
    is_explained: bool,
}

compact!(SwapCandidate { at, start, kind, sack, is_explained });

/// An ACK that was processed.
#[derive(Debug, Clone, Copy)]
pub struct ProcessedAck {
    pub at: i64,
    /// SND.UNA, and whether the ACK advanced it.
    pub una: u32,
    pub advances: bool,
    /// Duplicate ACKs since SND.UNA advanced.
    pub dupacks: u32,
    /// It reported new data by SACK.
    pub sacks: bool,
}

impl ProcessedAck {
    /// It can trigger a retransmission of the segment at `start`. Without SACK a sender waits for the
    /// third duplicate, and in recovery for a partial ACK (RFC 6582, section 3.2).
    pub(super) fn can_trigger(&self, start: u32, sack: bool) -> bool {
        let lowest = self.una == start && (self.advances || self.dupacks == RULES.dupthresh);
        if sack { self.advances || self.sacks } else { lowest }
    }
}

/// Confidence that the ACK captured after it triggered it.
const SWAPPED: f32 = 0.7;

impl Ledger {
    /// A retransmission of this kind was recorded. In the repair after an RTO only a further RTO
    /// becomes the candidate.
    pub(in super::super) fn set_swap_candidate(&mut self, ctx: &PacketContext<'_>, kind: SegmentKind, is_repairing: bool) {
        let needs_timer = !kind.is_recovery() && kind != SegmentKind::Handshake && kind.is_retransmission();
        let is_candidate = needs_timer && ctx.is_at_sender() && (!is_repairing || kind == SegmentKind::Timeout);
        let candidate = SwapCandidate { at: ctx.now, start: ctx.start(), kind, sack: ctx.sack, is_explained: false };
        self.swap_candidate = is_candidate.then(|| Box::new(candidate));
    }

    /// An ACK was processed.
    pub fn explain_by_ack(&mut self, ack: &ProcessedAck) {
        self.explain_sign_by_ack(ack);
        let Some(candidate) = self.swap_candidate.as_deref_mut().filter(|candidate| !candidate.is_explained) else { return };
        if ack.at - candidate.at > RULES.max_capture_swap {
            self.swap_candidate = None;
        } else if ack.can_trigger(candidate.start, candidate.sack) {
            candidate.is_explained = true;
        }
    }

    /// The next data packet will revise a retransmission, although its episode is over by then.
    pub fn is_swap_explained(&self) -> bool {
        self.swap_candidate.as_ref().is_some_and(|candidate| candidate.is_explained)
    }

    /// The next data packet passes.
    pub fn revise_swapped(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        let Some(candidate) = self.swap_candidate.take().filter(|candidate| candidate.is_explained) else { return };
        if candidate.kind == SegmentKind::Timeout {
            return self.revert_rto(model, ctx, revisions);
        }
        let is_it = |record: &super::super::Retransmission| record.at == candidate.at && record.kind == candidate.kind;
        let Some(at) = self.records.iter().rposition(is_it) else { return };
        let is = Classification::new(SegmentKind::Fast, SWAPPED, KindRule::SwappedAck);
        self.reclassify(at, is);
        if candidate.kind == SegmentKind::Unexplained {
            self.recoveries += u32::from(model.on_fast_retransmission(ctx));
        } else {
            model.revert_rto(None, ctx.nxt);
        }
        revisions.push(Revision { was: candidate.kind, is });
    }
}
