//! Options of a SYN.

use crate::compact::compact;
use crate::decode::{Flags, Segment};

/// NOPs in a row that stacks do not send: a window scale option is three bytes behind a NOP.
const ERASED_NOPS: u8 = 4;

/// What an end's SYN or SYN-ACK offered.
#[derive(Debug, Clone, Copy, Default)]
pub struct SynOffer {
    pub is_captured: bool,
    /// Copies that were captured; saturates at 255.
    pub copies: u8,
    /// Sequence number, and TSval of the last copy; zero without timestamps.
    pub seq: u32,
    pub tsval: u32,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    pub ttl: u8,
    /// Four NOPs and more in a row, as a device leaves that takes an option away: no stack has as many.
    pub is_option_erased: bool,
}

compact!(SynOffer { is_captured, copies, seq, tsval, mss, window_scale, sack, timestamps, ecn, ttl, is_option_erased });

impl SynOffer {
    pub(super) fn of(s: &Segment<'_>) -> SynOffer {
        let syn = s.options.syn();
        SynOffer {
            is_captured: true,
            copies: 1,
            seq: s.seq,
            tsval: s.options.timestamps.map_or(0, |timestamps| timestamps.value),
            mss: syn.mss,
            window_scale: syn.window_scale,
            sack: syn.sack_permitted,
            timestamps: s.options.timestamps.is_some(),
            ecn: s.flags.has(Flags::ECE),
            ttl: s.ttl,
            is_option_erased: syn.nops >= ERASED_NOPS,
        }
    }

    /// The end permits SACK, as far as known.
    pub fn allows_sack(&self) -> bool {
        !self.is_captured || self.sack
    }
}
