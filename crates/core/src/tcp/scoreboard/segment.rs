//! A segment on the scoreboard.

use crate::units::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct SentSegment {
    pub seq: u64,
    pub len: u32,
    /// Number of transmissions.
    pub sends: u16,
    pub(super) marks: u8,
    /// Time of the last transmission.
    pub sent_at: Time,
}

pub(super) const SACKED: u8 = 1;
pub(super) const LOST: u8 = 2;
/// A retransmission of it is in flight.
pub(super) const RETRANSMITTED: u8 = 4;

impl SentSegment {
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
    /// SACKed, lost or retransmitted.
    #[inline]
    pub fn is_marked(&self) -> bool {
        self.marks != 0
    }
    pub fn is_sacked(&self) -> bool {
        self.marks & SACKED != 0
    }
    pub fn is_lost(&self) -> bool {
        self.marks & LOST != 0
    }
    pub fn is_retransmitted(&self) -> bool {
        self.marks & RETRANSMITTED != 0
    }
}
