//! Classification of segments that are not simply new: retransmissions, reordering, duplicates,
//! probes; and of what limits the sender. Pure functions of evidence, which the sender model gathers.

use crate::compact::{Compact, Reader, Writer};

mod gap_fill;
mod kind_rule;
mod reset;
mod retransmission;
mod send_limit;

pub use gap_fill::{GapFill, GapFiller, classify_gap_fill};
pub use kind_rule::KindRule;
pub use reset::{ResetEvidence, ResetKind, classify_reset};
pub use retransmission::{RetransmissionEvidence, classify_retransmission};
pub use send_limit::{ProbeEvidence, SendLimit, SpanEvidence, classify_span, is_new_data_probe};

/// Kind of a segment that is not simply new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SegmentKind {
    /// Fast retransmission, by duplicate ACKs or SACK (RFC 5681, 6675).
    Fast,
    /// Retransmission that only time-based loss detection explains (RACK, RFC 8985): of a lost
    /// retransmission, or with too few duplicate ACKs.
    Rack,
    /// Tail loss probe: the last segment, retransmitted before the RTO (RFC 8985, section 7).
    TailProbe,
    /// RTO (RFC 6298).
    Timeout,
    /// Retransmission after an RTO, up to the highest sequence number sent before it (RFC 5681,
    /// section 3.1).
    GoBackN,
    /// Retransmitted SYN or SYN-ACK.
    Handshake,
    /// Retransmission of which the cause is not known.
    Unexplained,
    /// Arrived after a segment that was sent later.
    Reordered,
    /// Second copy of a packet, made by the network.
    NetworkDuplicate,
    /// Zero-window probe (RFC 9293, section 3.8.6.1).
    WindowProbe,
    /// Keep-alive of an idle sender (RFC 9293, section 3.8.4).
    KeepAlive,
}

impl SegmentKind {
    pub const ALL: [SegmentKind; 11] = [
        SegmentKind::Fast,
        SegmentKind::Rack,
        SegmentKind::TailProbe,
        SegmentKind::Timeout,
        SegmentKind::GoBackN,
        SegmentKind::Handshake,
        SegmentKind::Unexplained,
        SegmentKind::Reordered,
        SegmentKind::NetworkDuplicate,
        SegmentKind::WindowProbe,
        SegmentKind::KeepAlive,
    ];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            SegmentKind::Fast => "fast",
            SegmentKind::Rack => "rack",
            SegmentKind::TailProbe => "tail_probe",
            SegmentKind::Timeout => "timeout",
            SegmentKind::GoBackN => "go_back_n",
            SegmentKind::Handshake => "handshake",
            SegmentKind::Unexplained => "unexplained",
            SegmentKind::Reordered => "reordered",
            SegmentKind::NetworkDuplicate => "network_duplicate",
            SegmentKind::WindowProbe => "zero_window_probe",
            SegmentKind::KeepAlive => "keep_alive",
        }
    }

    /// Loss recovery triggered it, not a timer.
    pub fn is_recovery(self) -> bool {
        matches!(self, SegmentKind::Fast | SegmentKind::Rack)
    }

    /// True if the sender retransmitted it, false if the network reordered or duplicated it or it
    /// is a probe.
    pub fn is_retransmission(self) -> bool {
        (self as u8) <= SegmentKind::Unexplained as u8
    }
}

impl Compact for SegmentKind {
    fn encode(&self, to: &mut Writer) {
        (*self as u8).encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> SegmentKind {
        SegmentKind::ALL[usize::from(u8::decode(from))]
    }
}

/// A kind, its confidence, 0 to 1, and the rule that gave it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Classification {
    pub kind: SegmentKind,
    pub confidence: f32,
    pub rule: KindRule,
}

impl Classification {
    pub fn new(kind: SegmentKind, confidence: f32, rule: KindRule) -> Classification {
        Classification { kind, confidence, rule }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_is_no_retransmission_when_the_network_or_a_probe_made_it() {
        let others: Vec<_> = SegmentKind::ALL.into_iter().filter(|kind| !kind.is_retransmission()).collect();
        let expected = [SegmentKind::Reordered, SegmentKind::NetworkDuplicate, SegmentKind::WindowProbe, SegmentKind::KeepAlive];
        assert_eq!(others, expected);
    }
}
