//! What a wireless LAN is set to: interframe spaces, contention window, retries, frames. IEEE 802.11-2012, clause 9.3.

use super::Format;
use crate::units::Span;

/// Clause 8.3.1: an RTS, a CTS or an ACK, and a compressed block ACK.
const RTS_BYTES: u32 = 20;
const CTS_BYTES: u32 = 14;
const ACK_BYTES: u32 = 14;
const BLOCK_ACK_BYTES: u32 = 32;

/// The network's constants; all stations and the access point have the same.
#[derive(Clone, Debug, PartialEq)]
pub struct WlanConfig {
    pub slot: Span,
    pub sifs: Span,
    /// DIFS, or the AIFS of the access category.
    pub difs: Span,
    /// After a frame that could not be read.
    pub eifs: Span,
    /// CWmin and CWmax: a back-off is drawn from 0 to CW slots, both included.
    pub cw: [u32; 2],
    pub data: Format,
    /// RTS, CTS, ACK and block ACK.
    pub control: Format,
    /// MAC header, FCS and LLC/SNAP around each packet.
    pub header: u32,
    /// Frames longer than this are rts for with an RTS; None is never.
    pub rts_threshold: Option<u32>,
    /// Times that an RTS, or a frame without one, is sent before its packet is given up.
    pub short_retries: u32,
    /// The same for frames that an RTS goes before.
    pub long_retries: u32,
    /// None is one packet for each frame.
    pub aggregate: Option<AmpduConfig>,
    /// The access point has one queue for all its stations.
    pub shared_queue: bool,
    /// Share of MPDUs that arrive damaged, down and up.
    pub frame_error: [f64; 2],
}

/// A-MPDU: several packets to one receiver in one frame, each with a delimiter (clauses 8.6.1 and 9.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmpduConfig {
    /// The block ACK's window, up to 64.
    pub frames: u32,
    pub bytes: u32,
    /// The longest that a frame may be on the air.
    pub air: Span,
}

impl WlanConfig {
    /// Bytes of a packet's MPDU; in an aggregate with delimiter and padding to 4 bytes.
    pub fn mpdu(&self, packet: u16) -> u32 {
        let bytes = self.header + u32::from(packet);
        if self.aggregate.is_some() { (4 + bytes).next_multiple_of(4) } else { bytes }
    }

    /// The frame that answers data.
    pub fn ack_time(&self) -> Span {
        self.control.air(if self.aggregate.is_some() { BLOCK_ACK_BYTES } else { ACK_BYTES })
    }

    pub fn uses_rts(&self, frame_bytes: u32) -> bool {
        self.rts_threshold.is_some_and(|threshold| frame_bytes > threshold)
    }

    pub fn rts(&self) -> Span {
        self.control.air(RTS_BYTES)
    }

    /// From the start of an RTS to that of its data.
    pub fn rts_cts(&self) -> Span {
        self.rts() + self.sifs + self.control.air(CTS_BYTES) + self.sifs
    }

    /// A transmission knows this long after its frame that no answer comes: when the answer would have ended.
    pub fn timeout(&self, rts: bool) -> Span {
        self.sifs + if rts { self.control.air(CTS_BYTES) } else { self.ack_time() }
    }

    /// Times that a frame of so many bytes is sent.
    pub fn retry_limit(&self, frame_bytes: u32) -> u32 {
        if self.uses_rts(frame_bytes) { self.long_retries } else { self.short_retries }
    }

    /// Says why no network could work like that, if none could.
    pub fn check(&self) -> Result<(), String> {
        if self.slot == Span::ZERO {
            return Err("a slot of no length: back-off would not separate anybody".into());
        }
        let [cw_min, cw_max] = self.cw;
        if !(1..=MAX_SLOTS).contains(&cw_min) || !(cw_min..=MAX_SLOTS).contains(&cw_max) {
            return Err(format!("contention window {cw_min} to {cw_max}: 1 to {MAX_SLOTS} are possible, the lower one first"));
        }
        if self.short_retries == 0 || self.long_retries == 0 {
            return Err("a frame is sent at least once: retries must be 1 or more".into());
        }
        if self.header > MAX_HEADER {
            return Err(format!("a header of {} bytes: at most {MAX_HEADER} are possible", self.header));
        }
        match self.aggregate {
            Some(a) if a.frames == 0 || a.bytes == 0 => Err("an aggregate of nothing".into()),
            Some(a) if a.frames > MAX_FRAMES => {
                Err(format!("an aggregate of {} frames: a block ACK covers {MAX_FRAMES}", a.frames))
            }
            _ => Ok(()),
        }
    }
}

const MAX_SLOTS: u32 = 32_767;
const MAX_HEADER: u32 = 1_000;
const MAX_FRAMES: u32 = 1_024;
