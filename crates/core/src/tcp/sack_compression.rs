//! SACK compression (Linux since 4.18): after the duplicate ACKs that a fast retransmit needs, an
//! ACK of out-of-order data waits for more, for a share of the RTT (ip-sysctl.rst:
//! `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`).

use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SackCompression {
    /// Maximum of ACKs that one ACK replaces.
    pub segments: u32,
    /// Maximum delay: this share of the RTT, and at most `longest`.
    pub share: f64,
    #[serde(rename = "longest_ps")]
    pub longest: Span,
}

/// Duplicate ACKs sent at once after each advance: a sender acts on the third (RFC 5681, section
/// 3.2).
const AT_ONCE: u32 = 3;
/// Gain of the RTT estimate by timestamps, as for SRTT.
const RTT_GAIN: u64 = 8;

/// A receiver's state of SACK compression.
#[derive(Clone, Debug)]
pub struct SackCompressor {
    rule: SackCompression,
    rtt: Option<Span>,
    /// rcv.nxt at the first duplicate ACK, and duplicate ACKs sent at once since.
    next: u64,
    sent: u32,
    compressed: u32,
}

impl SackCompressor {
    pub fn new(rule: SackCompression) -> SackCompressor {
        SackCompressor { rule, rtt: None, next: 0, sent: 0, compressed: 0 }
    }

    /// RTT by the timestamp echo of a data segment.
    pub fn on_rtt(&mut self, rtt: Span) {
        let old = self.rtt.unwrap_or(rtt);
        self.rtt = Some(Span(old.0 - old.0 / RTT_GAIN + rtt.0 / RTT_GAIN));
    }

    /// An out-of-order segment arrived; `next` is rcv.nxt. Returns the latest time of its ACK;
    /// None: at once.
    pub fn wait(&mut self, now: Time, next: u64) -> Option<Time> {
        if next != self.next {
            (self.next, self.sent) = (next, 0);
        }
        let wait = self.rtt.map_or(Span::ZERO, |rtt| Span((rtt.0 as f64 * self.rule.share) as u64).min(self.rule.longest));
        if self.sent < AT_ONCE {
            self.sent += 1;
            return None;
        }
        if self.compressed >= self.rule.segments || wait == Span::ZERO {
            return None;
        }
        self.compressed += 1;
        Some(now + wait)
    }

    /// ACKs wait for the timer.
    pub fn is_waiting(&self) -> bool {
        self.compressed > 0
    }

    /// An ACK was sent and reports everything received.
    pub fn on_ack_sent(&mut self) {
        self.compressed = 0;
    }
}
