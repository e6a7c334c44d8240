//! Fewer SACKs while segments arrive out of order, as in Linux since 4.18: after the duplicates that a fast retransmission needs, an ACK
//! waits for more of them, for a share of the round trip (ip-sysctl.rst: `tcp_comp_sack_nr`, `tcp_comp_sack_delay_ns`).

use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SackCompression {
    /// Most ACKs that one stands for beside itself.
    pub segments: u32,
    /// How long one waits: this part of the round trip, but no longer than that.
    pub share: f64,
    pub longest: Span,
}

/// Duplicates that go out at once after each advance: a sender acts on the third (RFC 5681, section 3.2).
const AT_ONCE: u32 = 3;
/// Gain of the round-trip estimate by timestamps, as for SRTT.
const RTT_GAIN: u64 = 8;

/// A receiver's SACKs that wait.
#[derive(Clone, Debug)]
pub struct SackCompressor {
    rule: SackCompression,
    rtt: Option<Span>,
    /// First byte missing when the duplicates began, and how many went out at once since.
    next: u64,
    sent: u32,
    compressed: u32,
}

impl SackCompressor {
    pub fn new(rule: SackCompression) -> SackCompressor {
        SackCompressor { rule, rtt: None, next: 0, sent: 0, compressed: 0 }
    }

    /// A data segment's timestamp echo.
    pub fn on_rtt(&mut self, rtt: Span) {
        let old = self.rtt.unwrap_or(rtt);
        self.rtt = Some(Span(old.0 - old.0 / RTT_GAIN + rtt.0 / RTT_GAIN));
    }

    /// A segment came out of order, `next` being the first byte missing: when its ACK goes out at the latest; none is at once.
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

    /// An ACK has gone out, which says it all.
    pub fn on_ack_sent(&mut self) {
        self.compressed = 0;
    }
}
