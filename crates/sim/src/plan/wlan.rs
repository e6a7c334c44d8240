//! An IEEE 802.11 network (`docs/plan.md`).

use super::FrameError;
use super::check::{Checked, fraction, span};
use ackclock_core::medium::WlanConfig;
use ackclock_core::medium::wlan::{AmpduConfig, Format};
use ackclock_core::{Rate, Span};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WlanPlan {
    pub slot_ps: u64,
    pub sifs_ps: u64,
    /// DIFS, or AIFS.
    pub difs_ps: u64,
    pub eifs_ps: u64,
    /// CWmin and CWmax.
    pub cw: [u32; 2],
    pub data: FormatPlan,
    pub control: FormatPlan,
    pub header_bytes: u32,
    /// Null: no RTS.
    pub rts_threshold: Option<u32>,
    pub short_retries: u32,
    pub long_retries: u32,
    /// Null: one packet in each frame.
    pub aggregate: Option<AggregatePlan>,
    pub frame_error: FrameError,
    /// The access point has one queue for all its clients. Absent: one for each.
    #[serde(default)]
    pub shared_queue: bool,
}

/// PHY parameters of a frame. `symbol_ps` 0 is DSSS.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormatPlan {
    pub bps: u64,
    pub preamble_ps: u64,
    pub symbol_ps: u64,
    pub extension_ps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AggregatePlan {
    pub frames: u32,
    pub bytes: u32,
    pub air_ps: u64,
}

impl FormatPlan {
    fn format(&self, name: &str) -> Result<Format, String> {
        if self.bps == 0 || Rate::from_bps(self.bps).time_to_send(1).0 == 0 {
            return Err(format!("{name}.bps is {}: no such rate is possible", self.bps));
        }
        for (key, ps) in [("preamble_ps", self.preamble_ps), ("symbol_ps", self.symbol_ps), ("extension_ps", self.extension_ps)] {
            span(key, ps)?;
        }
        Ok(Format {
            rate: Rate::from_bps(self.bps),
            preamble: Span(self.preamble_ps),
            symbol: Span(self.symbol_ps),
            extension: Span(self.extension_ps),
        })
    }
}

impl WlanPlan {
    /// The core's configuration, or the error in the plan.
    pub fn config(&self) -> Result<WlanConfig, String> {
        self.check()?;
        let config = WlanConfig {
            slot: Span(self.slot_ps),
            sifs: Span(self.sifs_ps),
            difs: Span(self.difs_ps),
            eifs: Span(self.eifs_ps),
            cw: self.cw,
            data: self.data.format("data")?,
            control: self.control.format("control")?,
            header: self.header_bytes,
            rts_threshold: self.rts_threshold,
            short_retries: self.short_retries,
            long_retries: self.long_retries,
            shared_queue: self.shared_queue,
            aggregate: self.aggregate.map(|a| AmpduConfig { frames: a.frames, bytes: a.bytes, air: Span(a.air_ps) }),
            frame_error: [self.frame_error.down, self.frame_error.up],
        };
        config.check().map(|()| config)
    }

    fn check(&self) -> Checked {
        for (key, ps) in
            [("slot_ps", self.slot_ps), ("sifs_ps", self.sifs_ps), ("difs_ps", self.difs_ps), ("eifs_ps", self.eifs_ps)]
        {
            span(key, ps)?;
        }
        if let Some(aggregate) = self.aggregate {
            span("air_ps", aggregate.air_ps)?;
        }
        fraction("frame_error.down", self.frame_error.down)?;
        fraction("frame_error.up", self.frame_error.up)
    }
}
