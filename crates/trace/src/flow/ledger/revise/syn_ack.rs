//! A second SYN-ACK in answer to a retransmitted SYN comes sooner than any RTO (RFC 6298, section 2.1:
//! one second): the SYN-ACK that counted as the first was a retransmission as well, unless it came sooner
//! after the first SYN. The second SYN comes early if a queue on the path held the first one.

use super::super::super::classify::{Classification, KindRule, SegmentKind};
use super::super::super::rules::RULES;
use super::super::Ledger;
use super::Revision;

/// Confidence of the revised classification.
const REPEATED: f32 = 0.9;

impl Ledger {
    /// A SYN-ACK passes that was captured before, `since_last` after the previous one. `first_delay` is the
    /// time from the first SYN to the first SYN-ACK, if no SYN came between them.
    pub fn revise_first_syn_ack(
        &mut self,
        since_last: i64,
        first_delay: Option<i64>,
        segments: u32,
        revisions: &mut Vec<Revision>,
    ) {
        let is_first = first_delay.is_some_and(|delay| delay < RULES.min_initial_rto);
        if self.counts.count(SegmentKind::Handshake) > 0 || since_last > RULES.min_initial_rto || is_first {
            return;
        }
        let is = Classification::new(SegmentKind::Handshake, REPEATED, KindRule::EarlySynAck);
        self.retransmitted = self.retransmitted.saturating_add(segments);
        self.counts.add(is.kind, is.confidence, segments);
        revisions.push(Revision { was: SegmentKind::Handshake, is });
    }
}
