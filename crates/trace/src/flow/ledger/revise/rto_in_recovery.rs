//! An RTO in the middle of a recovery, or while SACKs arrive, retransmits what the recovery might have.
//! What follows distinguishes them: a recovery goes on with the ACKs that arrive (RFC 6675, section 5;
//! RFC 6937), the loss window after an RTO stays closed until an ACK advances (RFC 5681, section 3.1).
//!
//! A sender with RACK retransmits a segment again without an RTO, so that of its retransmissions only
//! those are candidates that no ACK has just triggered and that leave an RTO after the transmission of
//! the lowest segment. Linux's timer runs from there if a probe or the reordering timer was armed when
//! the last ACK advanced (`tcp_rearm_rto`), so that the RTO may follow an advancing ACK soon.

use super::super::super::classify::{Classification, KindRule, SegmentKind};
use super::super::super::context::PacketContext;
use super::super::super::rules::{RULES, share_of};
use super::super::super::sender_model::SenderModel;
use super::super::super::seq::seq_lt;
use super::super::Ledger;
use super::{Revision, is_within_rtt};
use crate::compact::compact;

/// A retransmission that may have been an RTO.
#[derive(Debug, Clone, Copy)]
pub struct RtoCandidate {
    at: i64,
    /// Pure ACKs that the other end had sent by then, and duplicate ACKs in transit to the sender.
    peer_pure_acks: u32,
    pending: u32,
    /// It left an RTO after the segment's last copy.
    is_due: bool,
}

compact!(RtoCandidate { at, peer_pure_acks, pending, is_due });

/// What a retransmission repeats.
#[derive(Debug, Clone, Copy)]
pub struct Repeated {
    /// The segment was retransmitted before.
    pub is_further: bool,
    /// Time of its last copy; none if that was not captured.
    pub last_at: Option<i64>,
}

impl Ledger {
    /// A retransmission with this classification was recorded: it becomes the candidate if it is a
    /// further one of the lowest outstanding segment, or an RTO after it, and leaves the sender free to
    /// go on.
    pub fn set_rto_candidate(
        &mut self,
        model: &SenderModel,
        ctx: &PacketContext<'_>,
        classification: Classification,
        repeated: Repeated,
    ) {
        if model.is_in_rto_recovery(ctx.una) {
            return;
        }
        let Some((una, pending)) = model.known_una(ctx.una) else { return };
        let is_due = repeated.last_at.is_some_and(|at| {
            let is_triggered = ctx.now - ctx.last_ack_at.max(ctx.last_sent_at) < RULES.max_ack_delay;
            !is_triggered && ctx.now - at >= share_of(model.rto(ctx), RULES.certain_rto)
        });
        let may_be_rto = if model.may_use_rack(ctx) { is_due && ctx.is_at_sender() } else { repeated.is_further };
        let is_candidate = may_be_rto && classification.kind.is_recovery() && una == ctx.start() && ctx.sender.can_send_more;
        let candidate = RtoCandidate { at: ctx.now, peer_pure_acks: ctx.peer_pure_acks, pending, is_due };
        self.rto_candidate = is_candidate.then(|| Box::new(candidate));
    }

    /// The first data packet after the candidate passes: it was an RTO if the sender left many ACKs
    /// unanswered. New data does not follow an RTO, and packets spaced by a slow link are no silence.
    pub fn check_silence(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        let Some(candidate) = self.rto_candidate.take() else { return };
        let silence = ctx.now - candidate.at;
        let is_spaced = !(candidate.is_due && model.uses_rack(ctx)) && silence < model.last_gap().saturating_mul(2);
        if !seq_lt(ctx.start(), ctx.nxt) || is_spaced {
            return;
        }
        let unanswered = match ctx.is_at_sender() {
            true => ctx.peer_pure_acks.wrapping_sub(candidate.peer_pure_acks),
            false => candidate.pending,
        };
        if is_within_rtt(silence, ctx.vantage.min_feedback_loop()) || unanswered < RULES.max_unanswered_acks {
            return;
        }
        if let Some(at) = self.records.iter().rposition(|record| record.at == candidate.at) {
            let is = self.reclassify_as_rto(model, at, ctx.nxt, KindRule::UnansweredAcks);
            revisions.push(Revision { was: SegmentKind::Fast, is });
        }
    }
}
