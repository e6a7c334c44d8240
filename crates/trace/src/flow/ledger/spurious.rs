//! Spurious retransmissions: by D-SACK (RFC 2883), by the echoed timestamp (Eifel, RFC 3522), by an
//! ACK that is too early to be for the retransmission.

use super::super::classify::SegmentKind;
use super::super::rules::{RULES, is_below_share};
use super::super::sender_model::SenderModel;
use super::super::seq::{seq_diff, seq_lt};
use super::Ledger;
use crate::decode::Segment;

impl Ledger {
    /// A D-SACK reports `left..right`. Returns the segments of the retransmission that it shows to be
    /// spurious.
    pub fn on_dsack(&mut self, left: u32, right: u32) -> u32 {
        let found = self.records.iter_mut().rev().find(|r| seq_lt(r.start, right) && seq_lt(left, r.end));
        let Some(record) = found.filter(|r| !r.is_settled) else { return 0 };
        record.is_settled = true;
        let (segments, is_rto) = (u32::from(record.segments), record.kind == SegmentKind::Timeout);
        let spurious = &mut self.rare_mut().spurious;
        spurious.by_dsack += segments;
        spurious.of_timeouts += u32::from(is_rto);
        segments
    }

    /// An advancing ACK: finds out whether the first copy of the lowest segment arrived. Returns the
    /// segments of spurious retransmissions. Early ACKs of RTOs are counted by themselves as well
    /// (papers/README.md, 7.7).
    pub fn on_advance(&mut self, model: &mut SenderModel, now: i64, s: &Segment<'_>, una: u32, min_rtt: Option<i64>) -> u32 {
        let (mut by_timestamp, mut by_early_ack, mut of_timeouts) = (0, 0, 0);
        let (mut early_timeouts, mut pairs) = (0, 0);
        for record in self.records.iter_mut().filter(|r| !r.is_settled && r.start == una && !seq_lt(s.ack, r.end)) {
            let timestamps = s.options.timestamps.zip(record.tsval);
            let is_echo_older = timestamps.is_some_and(|(timestamps, tsval)| seq_diff(tsval, timestamps.echo) < 0);
            // Near the receiver the RTT is the host's response time, which varies.
            let path_rtt = min_rtt.filter(|&rtt| rtt > RULES.max_host_rtt);
            let is_early = path_rtt.is_some_and(|rtt| is_below_share(now - record.at, rtt, RULES.early_ack));
            if !(is_echo_older || is_early) {
                continue;
            }
            record.is_settled = true;
            let is_rto = record.kind == SegmentKind::Timeout;
            early_timeouts += u32::from(is_early && is_rto);
            pairs += u32::from(is_early && record.is_pair);
            of_timeouts += u32::from(is_rto);
            *(if is_echo_older { &mut by_timestamp } else { &mut by_early_ack }) += u32::from(record.segments);
            if is_rto && is_echo_older {
                model.undo_rto(now);
            }
        }
        if by_timestamp + by_early_ack > 0 {
            let rare = self.rare_mut();
            rare.spurious.by_timestamp += by_timestamp;
            rare.spurious.by_early_ack += by_early_ack;
            rare.spurious.of_timeouts += of_timeouts;
            rare.pairs.early_timeouts += early_timeouts;
            rare.pairs.not_needed += pairs;
        }
        by_timestamp + by_early_ack
    }
}
