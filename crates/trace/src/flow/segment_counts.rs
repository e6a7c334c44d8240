//! Packets and bytes of one direction.

use crate::compact::compact;
use crate::decode::{Flags, Segment};

/// Counts saturate at 2^32 - 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct SegmentCounts {
    pub ip_bytes: u64,
    pub packets: u32,
    pub pure_acks: u32,
    pub resets: u32,
    /// IP packets with the CE codepoint, and TCP segments with ECE and CWR (RFC 3168).
    pub ce_marks: u32,
    pub ece: u32,
    pub cwr: u32,
    pub bad_checksums: u32,
    pub fins: u8,
}

compact!(SegmentCounts { ip_bytes, packets, pure_acks, resets, ce_marks, ece, cwr, bad_checksums, fins });

impl SegmentCounts {
    #[inline]
    pub(super) fn on_packet(&mut self, s: &Segment<'_>) {
        self.packets = self.packets.saturating_add(1);
        self.ip_bytes += u64::from(s.ip_len);
        if s.bad_checksum {
            self.bad_checksums = self.bad_checksums.saturating_add(1);
        }
        if s.ecn == 3 {
            self.ce_marks = self.ce_marks.saturating_add(1);
        }
        if s.flags.0 & !(Flags::ACK | Flags::PSH) != 0 {
            self.fins = self.fins.saturating_add(u8::from(s.flags.has(Flags::FIN)));
            self.resets = self.resets.saturating_add(u32::from(s.flags.has(Flags::RST)));
            if !s.flags.has(Flags::SYN) {
                self.ece = self.ece.saturating_add(u32::from(s.flags.has(Flags::ECE)));
                self.cwr = self.cwr.saturating_add(u32::from(s.flags.has(Flags::CWR)));
            }
        }
    }

    #[inline]
    pub(super) fn on_pure_ack(&mut self) {
        self.pure_acks = self.pure_acks.saturating_add(1);
    }
}
