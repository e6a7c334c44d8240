//! ACKs of the other end for one direction: how far they advance, and the window that they advertise.

use super::advertised_window::AdvertisedWindow;
use crate::compact::compact;
use crate::decode::{Flags, Segment};

#[derive(Debug, Default)]
pub struct ReceivedAcks {
    window: AdvertisedWindow,
    /// Duplicates since the last advancing ACK.
    dupacks: u32,
    last_at: i64,
    has_any: bool,
    /// Scale of the next window (RFC 7323, section 2).
    window_shift: u8,
}

compact!(ReceivedAcks { window, dupacks, last_at, has_any, window_shift });

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<ReceivedAcks>() == 48);

/// How an ACK differs from those before it.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedAck {
    pub is_first: bool,
    is_same_window: bool,
}

impl ReceivedAck {
    /// An ACK that does not advance while data is outstanding is a duplicate (RFC 5681, section 2): it
    /// has no data, and the same window or SACK blocks.
    #[inline]
    pub fn is_duplicate(self, s: &Segment<'_>, has_sack: bool) -> bool {
        let is_pure = s.payload == 0 && !s.flags.has(Flags::SYN | Flags::FIN | Flags::RST);
        is_pure && (self.is_same_window || has_sack)
    }
}

impl ReceivedAcks {
    #[inline]
    pub fn on_packet(&mut self, now: i64, s: &Segment<'_>) -> ReceivedAck {
        let ack = ReceivedAck { is_first: !self.has_any, is_same_window: self.window.on_packet(now, s, self.window_shift) };
        (self.has_any, self.last_at) = (true, now);
        ack
    }

    /// SND.UNA advances.
    #[inline]
    pub fn on_advance(&mut self) {
        self.dupacks = 0;
    }

    /// Returns the number of duplicates since the last advancing ACK, this one included.
    pub fn on_duplicate(&mut self) -> u32 {
        self.dupacks = self.dupacks.saturating_add(1);
        self.dupacks
    }

    pub fn set_window_shift(&mut self, shift: u8) {
        self.window_shift = shift;
    }

    #[inline]
    pub fn window(&self) -> &AdvertisedWindow {
        &self.window
    }

    #[inline]
    pub fn dupacks(&self) -> u32 {
        self.dupacks
    }

    #[inline]
    pub fn last_at(&self) -> i64 {
        self.last_at
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.window.memory()
    }

    /// An ACK for this direction was captured.
    #[inline]
    pub fn has_any(&self) -> bool {
        self.has_any
    }
}
