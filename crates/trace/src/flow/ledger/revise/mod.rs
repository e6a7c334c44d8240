//! Revisions: later packets show that a past classification was wrong. Only this module changes one;
//! each heuristic is a file.

mod late_original;
mod missed_rto;
mod provisional_rto;
mod rto_in_recovery;
mod slow_start;
mod swapped_ack;
mod syn_ack;

pub use provisional_rto::ProvisionalRto;
pub use rto_in_recovery::{Repeated, RtoCandidate};
pub use slow_start::SlowStartSign;
pub use swapped_ack::{ProcessedAck, SwapCandidate};

use super::super::classify::{Classification, KindRule, SegmentKind};
use super::super::rules::{RULES, is_below_share};
use super::super::sender_model::SenderModel;
use super::Ledger;

/// A revised classification.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Revision {
    /// The last packet of the same end with this kind (`Fast` stands for `Rack` too) has another
    /// classification. Of `Handshake` it is the last SYN or SYN-ACK that counts as new.
    pub was: SegmentKind,
    pub is: Classification,
}

/// Confidence of a revised classification.
const REVISED: f32 = 0.8;

/// So soon after a retransmission that the sender cannot have received feedback about it.
fn is_within_rtt(span: i64, min_rtt: i64) -> bool {
    is_below_share(span, min_rtt, RULES.within_rtt)
}

impl Ledger {
    /// Gives the record at index `at`, one of a recovery, another kind.
    fn reclassify(&mut self, at: usize, is: Classification) {
        let record = &mut self.records[at];
        let was = std::mem::replace(&mut record.kind, is.kind);
        let confidence = self.counts.confidence(was).unwrap_or(REVISED);
        self.counts.remove(was, confidence, record.segments.into());
        self.counts.add(is.kind, is.confidence, record.segments.into());
    }

    /// The record at index `at` was an RTO by this rule, and what follows it go-back-N.
    fn reclassify_as_rto(&mut self, model: &mut SenderModel, at: usize, nxt: u32, rule: KindRule) -> Classification {
        let is = Classification::new(SegmentKind::Timeout, REVISED, rule);
        self.reclassify(at, is);
        self.rtos += 1;
        model.recovery_was_rto(nxt);
        is
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_feedback_arrives_within_three_quarters_of_an_rtt() {
        assert!(is_within_rtt(74, 100) && !is_within_rtt(75, 100));
    }
}
