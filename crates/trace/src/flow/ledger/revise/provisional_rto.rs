//! An RTO that was inferred by a remote capture is provisional until the next packet: an RTO leaves
//! the sender a window of one segment until an ACK advances (RFC 5681, section 3.1), so that nothing
//! else can follow within an RTT. If something does, ACKs triggered the retransmission.

use super::super::super::classify::{Classification, KindRule, SegmentKind};
use super::super::super::context::PacketContext;
use super::super::super::sender_model::SenderModel;
use super::super::Ledger;
use super::{Revision, is_within_rtt};
use crate::compact::compact;

/// What is reverted if it was no RTO.
#[derive(Debug, Clone, Copy)]
pub struct ProvisionalRto {
    pub at: i64,
    pub tsval: Option<u32>,
    /// End of the recovery that was under way, and of the repair after an earlier RTO.
    pub recovery_high: Option<u32>,
    pub rto_high: Option<u32>,
    /// No ACK can have triggered it: if it was no RTO, one came before it that was not captured.
    pub is_untriggered: bool,
    /// It followed a fast retransmission of the same data.
    pub follows_fast: bool,
    pub segments: u32,
    pub confidence: f32,
}

compact!(ProvisionalRto { at, tsval, recovery_high, rto_high, is_untriggered, follows_fast, segments, confidence });

/// Confidence that ACKs triggered it after all.
const REVERTED: f32 = 0.7;

impl Ledger {
    /// A data packet passes: confirms the last RTO or reverts it. At the sender any ACK confirms it.
    pub fn confirm_or_revert_rto(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        let Some(rto) = self.provisional_rto.as_deref().copied() else { return };
        let is_answered = ctx.is_at_sender() && ctx.last_ack_at > rto.at;
        if is_answered || !is_within_rtt(ctx.since(rto.at, rto.tsval), ctx.vantage.min_feedback_loop()) {
            self.provisional_rto = None;
        } else if ctx.segment.payload > 0 && if ctx.is_at_sender() { ctx.sack } else { ctx.is_sent_last() } {
            self.revert_rto(model, ctx, revisions);
        }
    }

    /// The provisional RTO was none.
    pub(super) fn revert_rto(&mut self, model: &mut SenderModel, ctx: &PacketContext<'_>, revisions: &mut Vec<Revision>) {
        let Some(rto) = self.provisional_rto.take() else { return };
        revisions.push(self.revert(*rto));
        match rto.rto_high {
            Some(high) => model.revert_further_rto(high),
            None if rto.is_untriggered => {}
            None => model.revert_rto(rto.recovery_high, ctx.nxt),
        }
    }

    fn revert(&mut self, rto: ProvisionalRto) -> Revision {
        let is_repair = rto.rto_high.is_some() || rto.is_untriggered;
        let kind = if is_repair { SegmentKind::GoBackN } else { SegmentKind::Fast };
        let is = Classification::new(kind, REVERTED, KindRule::RevertedRto);
        self.counts.remove(SegmentKind::Timeout, rto.confidence, rto.segments);
        self.counts.add(is.kind, is.confidence, rto.segments);
        self.rtos -= 1;
        match rto.recovery_high {
            Some(_) => self.rare_mut().pairs.all -= 1,
            None => self.recoveries += u32::from(!is_repair),
        }
        if rto.follows_fast {
            self.rare_mut().fast_then_timeout -= 1;
        }
        let is_it = |kind: SegmentKind, at: i64| kind == SegmentKind::Timeout && at == rto.at;
        if let Some(record) = self.records.iter_mut().rev().find(|record| is_it(record.kind, record.at)) {
            (record.kind, record.is_pair) = (kind, false);
        }
        Revision { was: SegmentKind::Timeout, is }
    }
}
