//! Options of a SYN.

use crate::compact::compact;
use crate::decode::{Flags, Segment};

/// What an end's SYN or SYN-ACK offered.
#[derive(Debug, Clone, Copy, Default)]
pub struct SynOffer {
    pub is_captured: bool,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    pub ttl: u8,
}

compact!(SynOffer { is_captured, mss, window_scale, sack, timestamps, ecn, ttl });

impl SynOffer {
    pub(super) fn of(s: &Segment<'_>) -> SynOffer {
        let syn = s.options.syn();
        SynOffer {
            is_captured: true,
            mss: syn.mss,
            window_scale: syn.window_scale,
            sack: syn.sack_permitted,
            timestamps: s.options.timestamps.is_some(),
            ecn: s.flags.has(Flags::ECE),
            ttl: s.ttl,
        }
    }

    /// The end permits SACK, as far as known.
    pub fn allows_sack(&self) -> bool {
        !self.is_captured || self.sack
    }
}
