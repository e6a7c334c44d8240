//! Assertions about a segment that the endpoint sent.

use ackclock_core::packet::{Ecn, Flags, Segment};
use std::ops::Range;

/// A segment that the endpoint sent.
pub struct SegmentCheck(pub Segment);

impl SegmentCheck {
    fn bytes(&self) -> Range<u64> {
        self.0.seq..self.0.seq + u64::from(self.0.payload)
    }
    pub fn syn(self) -> SegmentCheck {
        assert!(self.0.flags.has(Flags::SYN), "{:?}", self.0);
        self
    }
    /// New data.
    pub fn data(self, bytes: Range<u64>) -> SegmentCheck {
        assert_eq!((self.bytes(), self.0.retransmission), (bytes, false), "new data: {:?}", self.0);
        self
    }
    /// A retransmission.
    pub fn retransmitted(self, bytes: Range<u64>) -> SegmentCheck {
        assert_eq!((self.bytes(), self.0.retransmission), (bytes, true), "a retransmission: {:?}", self.0);
        self
    }
    /// No payload, and this ACK number.
    pub fn ack(self, ack: u64) -> SegmentCheck {
        assert_eq!((self.0.payload, self.0.ack), (0, ack), "an ACK: {:?}", self.0);
        self
    }
    pub fn acknowledging(self, ack: u64) -> SegmentCheck {
        assert_eq!(self.0.ack, ack, "{:?}", self.0);
        self
    }
    pub fn window(self, bytes: u32) -> SegmentCheck {
        assert_eq!(self.0.window, bytes, "window: {:?}", self.0);
        self
    }
    pub fn sacks(self, blocks: &[Range<u64>]) -> SegmentCheck {
        let acked: Vec<_> = self.0.sack.near(self.0.ack).map(|(s, e)| s..e).collect();
        assert_eq!(acked, blocks, "SACK blocks: {:?}", self.0);
        self
    }
    pub fn has_flags(self, flags: Flags) -> SegmentCheck {
        assert!(self.0.flags.has(flags), "flags {flags:?}: {:?}", self.0);
        self
    }
    pub fn lacks_flags(self, flags: Flags) -> SegmentCheck {
        assert!(!self.0.flags.any(flags), "none of {flags:?}: {:?}", self.0);
        self
    }
    /// The IP header's ECN bits.
    pub fn with_codepoint(self, ecn: Ecn) -> SegmentCheck {
        assert_eq!(self.0.ecn, ecn, "{:?}", self.0);
        self
    }
    pub fn fin(self) -> SegmentCheck {
        assert!(self.0.flags.has(Flags::FIN), "a FIN: {:?}", self.0);
        self
    }
    pub fn no_fin(self) -> SegmentCheck {
        assert!(!self.0.flags.has(Flags::FIN), "no FIN yet: {:?}", self.0);
        self
    }
    pub fn echoes(self, value: u32) -> SegmentCheck {
        assert_eq!(self.0.timestamps.map(|t| t.echo), Some(value), "timestamp echo: {:?}", self.0);
        self
    }
}
