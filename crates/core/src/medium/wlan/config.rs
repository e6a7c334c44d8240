//! Configuration of a wireless LAN: interframe spaces, contention window, retries and frames. IEEE
//! 802.11-2012, clause 9.3.

use super::Format;
use crate::config_check::{Checked, check_span, ensure};
use crate::config_form::{is_default, per_direction};
use crate::medium::check_frame_error;
use crate::units::{PS_PER_S, Span};
use serde::{Deserialize, Serialize};

/// Clause 8.3.1: an RTS, a CTS or an ACK, and a compressed block ACK.
const RTS_BYTES: u32 = 20;
const CTS_BYTES: u32 = 14;
const ACK_BYTES: u32 = 14;
const BLOCK_ACK_BYTES: u32 = 32;

/// Constants of the network, shared by the access point and all stations, with the keys of a plan
/// (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WlanConfig {
    #[serde(rename = "slot_ps")]
    pub slot: Span,
    #[serde(rename = "sifs_ps")]
    pub sifs: Span,
    /// DIFS, or the AIFS of the access category.
    #[serde(rename = "difs_ps")]
    pub difs: Span,
    /// Interframe space after a frame with errors.
    #[serde(rename = "eifs_ps")]
    pub eifs: Span,
    /// CWmin and CWmax: a back-off is drawn from 0 to CW slots, inclusive.
    pub cw: [u32; 2],
    pub data: Format,
    /// RTS, CTS, ACK and block ACK.
    pub control: Format,
    /// MAC header, FCS and LLC/SNAP per packet, in bytes.
    #[serde(rename = "header_bytes")]
    pub header: u32,
    /// Longer frames use RTS/CTS; `None` is never.
    pub rts_threshold: Option<u32>,
    /// Transmissions of an RTS, or of a frame without RTS, before its packet is dropped.
    pub short_retries: u32,
    /// Transmissions of a frame sent with RTS before its packet is dropped.
    pub long_retries: u32,
    /// `None` is one packet per frame.
    pub aggregate: Option<AmpduConfig>,
    /// The access point has a single queue for all stations.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_queue: bool,
    /// Error probability of an MPDU, downlink and uplink.
    #[serde(with = "per_direction")]
    pub frame_error: [f64; 2],
}

/// A-MPDU: several packets to one receiver in one frame, each with a delimiter (clauses 8.6.1 and
/// 9.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AmpduConfig {
    /// Size of the block ACK window.
    pub frames: u32,
    pub bytes: u32,
    /// Maximum air time of a frame.
    #[serde(rename = "air_ps")]
    pub air: Span,
}

impl WlanConfig {
    /// Bytes of a packet's MPDU; in an aggregate with delimiter and padding to 4 bytes.
    pub fn mpdu(&self, packet: u16) -> u32 {
        let bytes = self.header + u32::from(packet);
        if self.aggregate.is_some() { (4 + bytes).next_multiple_of(4) } else { bytes }
    }

    /// Air time of the ACK or block ACK.
    pub fn ack_time(&self) -> Span {
        self.control.air(if self.aggregate.is_some() { BLOCK_ACK_BYTES } else { ACK_BYTES })
    }

    pub fn uses_rts(&self, frame_bytes: u32) -> bool {
        self.rts_threshold.is_some_and(|threshold| frame_bytes > threshold)
    }

    pub fn rts(&self) -> Span {
        self.control.air(RTS_BYTES)
    }

    /// From the start of an RTS to the start of its data frame.
    pub fn rts_cts(&self) -> Span {
        self.rts() + self.sifs + self.control.air(CTS_BYTES) + self.sifs
    }

    /// From the end of a frame until its sender detects a missing response: the end of the expected
    /// response.
    pub fn timeout(&self, rts: bool) -> Span {
        self.sifs + if rts { self.control.air(CTS_BYTES) } else { self.ack_time() }
    }

    /// Rate of a single sender of packets of this size, in bit/s, with the largest aggregates and
    /// without RTS: a cycle has DIFS, the mean back-off, the frame, SIFS and its ACK.
    pub fn nominal_bps(&self, packet: u16) -> u64 {
        let mpdu = self.mpdu(packet);
        let count = self.aggregate.map_or(1, |maximum| {
            let fits = |count: &u32| self.data.air(count * mpdu) <= maximum.air;
            (2..=maximum.frames.min(maximum.bytes / mpdu)).rev().find(fits).unwrap_or(1)
        });
        let backoff = f64::from(self.cw[0]) * self.slot.0 as f64 / 2.0;
        let frame = (self.data.air(count * mpdu) + self.sifs + self.ack_time()).0 as f64;
        let cycle = self.difs.0 as f64 + backoff + frame;
        let bits = f64::from(count) * f64::from(packet) * 8.0;
        ((bits * PS_PER_S as f64 / cycle).round_ties_even() as u64).max(1)
    }

    /// Maximum number of transmissions of a frame of `frame_bytes`.
    pub fn retry_limit(&self, frame_bytes: u32) -> u32 {
        if self.uses_rts(frame_bytes) { self.long_retries } else { self.short_retries }
    }

    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        for (key, span) in [("slot_ps", self.slot), ("sifs_ps", self.sifs), ("difs_ps", self.difs), ("eifs_ps", self.eifs)] {
            check_span(key, span)?;
        }
        self.aggregate.map_or(Ok(()), |aggregate| check_span("air_ps", aggregate.air))?;
        check_frame_error(self.frame_error)?;
        self.data.check("data")?;
        self.control.check("control")?;
        ensure(self.slot > Span::ZERO, || "the slot time is 0".into())?;
        let [cw_min, cw_max] = self.cw;
        ensure((1..=MAX_SLOTS).contains(&cw_min) && (cw_min..=MAX_SLOTS).contains(&cw_max), || {
            format!("contention window {cw_min} to {cw_max} is not an ascending range within 1 to {MAX_SLOTS}")
        })?;
        ensure(self.short_retries > 0 && self.long_retries > 0, || "the retry limit is 0".into())?;
        ensure(self.header <= MAX_HEADER, || format!("the header of {} bytes exceeds {MAX_HEADER}", self.header))?;
        let Some(AmpduConfig { frames, bytes, .. }) = self.aggregate else { return Ok(()) };
        ensure(frames > 0 && bytes > 0, || "the aggregate is limited to 0 frames or bytes".into())?;
        ensure(frames <= MAX_FRAMES, || format!("an aggregate of {frames} frames exceeds the block ACK window of {MAX_FRAMES}"))
    }
}

const MAX_SLOTS: u32 = 32_767;
const MAX_HEADER: u32 = 1_000;
const MAX_FRAMES: u32 = 1_024;
