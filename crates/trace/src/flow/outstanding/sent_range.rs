//! A range of sequence numbers that was sent in one packet.

use super::super::rules::{RULES, is_below_share};
use super::super::seq::seq_lt;
use crate::compact::{Compact, Reader, Writer, compact};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentRange {
    pub start: u32,
    pub len: u32,
    /// Times of the first and of the last copy.
    pub first_at: i64,
    pub last_at: i64,
    /// TSval of the last copy; zero without timestamps.
    pub tsval: u32,
    /// IP identification of the last copy; zero if there is none.
    pub ip_id: u16,
    /// Number of captured copies; saturates at 255.
    pub transmissions: u8,
    pub sacked: SackMark,
}

/// Whether a range was SACKed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SackMark {
    #[default]
    No,
    Sacked,
    /// SACKed so long after it passed that earlier ACKs had no block for it: a remote sender need not
    /// have received this one.
    Late,
}

impl Compact for SackMark {
    fn encode(&self, to: &mut Writer) {
        to.bit(self.is_sacked());
        if self.is_sacked() {
            to.bit(*self == SackMark::Late);
        }
    }

    fn decode(from: &mut Reader<'_>) -> SackMark {
        match from.bit() {
            true if from.bit() => SackMark::Late,
            true => SackMark::Sacked,
            false => SackMark::No,
        }
    }
}

impl SackMark {
    #[inline]
    pub fn is_sacked(self) -> bool {
        self != SackMark::No
    }
}

compact!(SentRange { start, len, first_at, last_at, tsval, ip_id, transmissions, sacked });

const _: () = assert!(size_of::<SentRange>() == 32);

impl SentRange {
    #[inline]
    pub fn end(&self) -> u32 {
        self.start.wrapping_add(self.len)
    }

    /// Sent once and not SACKed.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.transmissions == 1 && !self.sacked.is_sacked()
    }

    /// Position of the last copy in the order of transmission.
    #[inline]
    pub fn xmit_order(&self) -> XmitOrder {
        XmitOrder { at: self.last_at, end: self.end() }
    }

    /// True if an ACK at `now` can be for the last copy. The minimum RTT may have been measured with a
    /// queue.
    #[inline]
    pub fn could_be_acked_by(&self, now: i64, min_rtt: i64) -> bool {
        self.transmissions == 1 || !is_below_share(now - self.last_at, min_rtt, RULES.early_ack)
    }
}

/// Position in the order of transmission: by time, then by sequence number (RFC 8985, section 6.2,
/// step 2, `RACK_sent_after`).
#[derive(Debug, Clone, Copy, Default)]
pub struct XmitOrder {
    pub at: i64,
    pub end: u32,
}

impl XmitOrder {
    #[inline]
    pub fn is_after(&self, other: &XmitOrder) -> bool {
        self.at > other.at || self.at == other.at && seq_lt(other.end, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ack_can_be_for_the_last_copy_when_it_arrives_within_a_tenth_of_the_minimum_rtt() {
        let copy =
            SentRange { start: 0, len: 1, first_at: 0, last_at: 50, tsval: 0, ip_id: 0, transmissions: 2, sacked: SackMark::No };
        assert!(copy.could_be_acked_by(140, 100) && !copy.could_be_acked_by(139, 100));
        assert!(SentRange { transmissions: 1, ..copy }.could_be_acked_by(51, 100));
    }
}
