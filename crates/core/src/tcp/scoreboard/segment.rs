//! A segment on the scoreboard.

use crate::units::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct SentSegment {
    pub seq: u64,
    pub len: u32,
    /// Number of transmissions.
    pub sends: u16,
    pub(super) marks: u8,
    pub(super) packet: u8,
    /// Time of the last transmission.
    pub sent_at: Time,
}

pub(super) const SACKED: u8 = 1;
pub(super) const LOST: u8 = 2;
/// A retransmission of it is in flight.
pub(super) const RETRANSMITTED: u8 = 4;

/// The next segment left in the same packet.
pub(super) const JOINED: u8 = 1;
/// The application's write set PSH.
pub(super) const PUSHED: u8 = 2;

impl SentSegment {
    /// The segment behind it left in the same packet (a burst that the interface divides).
    pub fn is_joined(&self) -> bool {
        self.packet & JOINED != 0
    }
    /// The application's write set PSH on it.
    pub fn is_pushed(&self) -> bool {
        self.packet & PUSHED != 0
    }
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
