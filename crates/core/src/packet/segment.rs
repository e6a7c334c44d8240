//! A simulated TCP segment.

use super::{Ecn, Kind, RareOption};

/// TCP header flags (RFC 9293, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u16);

impl Flags {
    pub const NONE: Flags = Flags(0);
    pub const FIN: Flags = Flags(1);
    pub const SYN: Flags = Flags(2);
    pub const RST: Flags = Flags(4);
    pub const PSH: Flags = Flags(8);
    pub const ACK: Flags = Flags(16);
    pub const ECE: Flags = Flags(64);
    pub const CWR: Flags = Flags(128);
    /// RFC 9768, section 3.1.
    pub const AE: Flags = Flags(256);

    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    pub const fn any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }
}

/// The timestamps option, in ticks of the sending host's timestamp clock (RFC 7323, section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamps {
    pub value: u32,
    pub echo: u32,
}

/// Up to four SACK blocks with edges as on the wire: the low 32 bits of sequence numbers (RFC 2018,
/// section 3).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct SackBlocks {
    len: u8,
    edges: [(u32, u32); 4],
}

impl SackBlocks {
    /// Adds a block. A fifth block is ignored, as the option has no room.
    pub fn push(&mut self, start: u64, end: u64) {
        if usize::from(self.len) < self.edges.len() {
            self.edges[usize::from(self.len)] = (start as u32, end as u32);
            self.len += 1;
        }
    }
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    pub fn raw(&self) -> &[(u32, u32)] {
        &self.edges[..usize::from(self.len)]
    }
    /// The blocks with 64-bit edges near `reference` (the segment's ACK number).
    pub fn near(&self, reference: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.raw().iter().map(move |&(s, e)| (unwrap_seq(s, reference), unwrap_seq(e, reference)))
    }
}

impl PartialEq for SackBlocks {
    /// Entries after the last block are leftovers of an earlier segment.
    fn eq(&self, other: &SackBlocks) -> bool {
        self.raw() == other.raw()
    }
}

impl Eq for SackBlocks {}

/// The 64-bit sequence number nearest to `reference` whose low 32 bits are `wire`.
pub fn unwrap_seq(wire: u32, reference: u64) -> u64 {
    reference.wrapping_add_signed(i64::from(wire.wrapping_sub(reference as u32) as i32))
}

/// Why a segment was retransmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum RetransmitReason {
    #[default]
    No,
    /// A SYN or SYN-ACK whose timer expired.
    Handshake,
    /// Loss detected by duplicate ACKs, SACK or RACK.
    Fast,
    /// The RTO expired.
    Timeout,
    /// Follows an RTO, up to the highest sequence number sent before it (go-back-N).
    AfterTimeout,
    /// A tail loss probe.
    Probe,
}

impl RetransmitReason {
    /// Its name in the ground truth of a capture.
    pub fn name(self) -> &'static str {
        match self {
            RetransmitReason::No => "",
            RetransmitReason::Handshake => "handshake",
            RetransmitReason::Fast => "fast",
            RetransmitReason::Timeout => "timeout",
            RetransmitReason::AfterTimeout => "go_back_n",
            RetransmitReason::Probe => "tail_probe",
        }
    }
}

/// A TCP segment. Sequence numbers count bytes from 0 at the SYN and do not wrap; those on the wire
/// are their low 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Segment {
    pub seq: u64,
    pub ack: u64,
    /// Payload in bytes.
    pub payload: u32,
    /// Advertised window in bytes, scaled and rounded to the window scale.
    pub window: u32,
    pub timestamps: Option<Timestamps>,
    pub flags: Flags,
    /// IP length; the sending host determines the header and option overhead.
    pub len: u16,
    /// Options of SYNs.
    pub syn: Option<SynOptions>,
    pub ecn: Ecn,
    /// The payload has been sent before.
    pub retransmission: bool,
    /// Why it was retransmitted; the ground truth for analyzers.
    pub reason: RetransmitReason,
    /// An ACK filter has removed at least dupthresh duplicates of this ACK (`asymmetry`, sender
    /// adaptation).
    pub dupacks_seen: bool,
    pub rare_option: RareOption,
    /// The last field, since few segments have any.
    pub sack: SackBlocks,
}

/// A segment without SACK blocks fits into one cache line (see [`super::Arena`]).
const _: () = assert!(std::mem::offset_of!(Segment, sack) + std::mem::offset_of!(SackBlocks, edges) <= 64);

/// Options that only SYNs carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SynOptions {
    pub mss: u16,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

impl Segment {
    /// Assigns `other`, which has no SACK blocks. The unused edges are neither read nor written.
    #[inline]
    pub fn write(&mut self, other: Segment) {
        debug_assert!(other.sack.is_empty());
        let Segment {
            seq,
            ack,
            payload,
            window,
            timestamps,
            flags,
            len,
            syn,
            ecn,
            retransmission,
            reason,
            dupacks_seen,
            rare_option,
            sack: _,
        } = other;
        (self.seq, self.ack, self.payload, self.window) = (seq, ack, payload, window);
        (self.timestamps, self.flags, self.len, self.syn) = (timestamps, flags, len, syn);
        (self.ecn, self.retransmission, self.reason, self.dupacks_seen) = (ecn, retransmission, reason, dupacks_seen);
        (self.rare_option, self.sack.len) = (rare_option, 0);
    }

    /// SEG.LEN: payload, plus one each for SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u64 {
        u64::from(self.payload) + u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN))
    }

    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::tcp(self.payload > 0, self.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwrap_seq_returns_the_nearest_sequence_number() {
        let reference = (7u64 << 32) + 10;
        assert_eq!(unwrap_seq(20, reference), (7 << 32) + 20);
        assert_eq!(unwrap_seq(u32::MAX, reference), (7 << 32) - 1);
        assert_eq!(unwrap_seq(5, 0xFFFF_FFF0), (1 << 32) + 5);
    }
}
