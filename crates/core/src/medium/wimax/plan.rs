//! An IEEE 802.16 cell as users describe it: one table whose modulations are names. The core's
//! configuration has the parts of the standard (frame, maps, contention region, uplink), and indices
//! into the set of modulations, which the names have only once the channel is known. Therefore both
//! exist. The parts that are the same in both are the core's.

use super::amc::AmcConfig;
use super::contention::{BackoffConfig, Region, RegionLayout};
use super::frame::{FrameConfig, Split};
use super::maps::Maps;
use super::pdu::{MIN_FRAGMENT, Pdu};
use super::phy::{Channel, Technique};
use super::qos_class::ServiceFlow;
use super::rate_limit::RateLimitConfig;
use super::retransmission::RetransmissionMode;
use super::{ConnectionConfig, RequestRule, StationConfig, UplinkConfig, WimaxConfig};
use crate::config_form::{is_default, nullable, per_direction};
use crate::medium::Direction;
use crate::medium::radio_channel::{FadingConfig, LossCurve};
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Keys: `docs/inside/plan.md`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WimaxPlan {
    /// 256 is OFDM, other sizes are OFDMA.
    pub fft: u32,
    pub channel_hz: u64,
    /// Ratio of the useful symbol time to the cyclic prefix.
    pub prefix: u32,
    #[serde(rename = "frame_ps")]
    pub frame: Span,
    #[serde(rename = "ttg_ps")]
    pub ttg: Span,
    #[serde(rename = "rtg_ps")]
    pub rtg: Span,
    pub split: Split,
    pub preamble: u32,
    pub map_modulation: String,
    pub map_repetition: u32,
    pub burst_gap: u32,
    pub uplink_preamble: u32,
    pub crc: bool,
    pub contention: ContentionPlan,
    pub grant_frames: u64,
    pub patience_frames: u64,
    pub piggyback: bool,
    #[serde(default, rename = "least_grant_bytes")]
    pub min_grant_bytes: u32,
    pub bundling: bool,
    /// How stations request: by IEEE 802.16, or as NIST's module for ns-2, with its frame.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requests: RequestRule,
    #[serde(with = "per_direction")]
    pub repair: [Option<RetransmissionMode>; 2],
    pub stations: Vec<StationPlan>,
    /// Connections of each station beyond its first.
    #[serde(default)]
    pub connections: Vec<ConnectionConfig>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ContentionPlan {
    pub opportunities: u32,
    pub layout: LayoutPlan,
    /// Exponents of the initial and of the maximum contention window.
    pub backoff: [u32; 2],
    pub tries: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayoutPlan {
    RequestOnly {},
    Whole { modulation: String },
    Fractional { modulation: String },
    Columns { columns: u32 },
}

/// One station; each pair is downlink and uplink.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StationPlan {
    #[serde(with = "per_direction")]
    pub modulation: [String; 2],
    #[serde(with = "per_direction")]
    pub error: [f64; 2],
    pub service: ServiceFlow,
    #[serde(deserialize_with = "nullable")]
    pub fading: Option<FadingConfig>,
    /// Applies with fading.
    pub amc: AmcConfig,
    /// Residual loss rate by SNR, for a station with fading. Absent or null: no residual loss.
    #[serde(default)]
    pub signal_loss: Option<SignalLossPlan>,
    #[serde(with = "per_direction")]
    pub caps: [Vec<RateLimitConfig>; 2],
}

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct SignalLossPlan(#[serde(with = "per_direction")] pub [Option<LossCurve>; 2]);

/// Both maps of NIST's module: the size of its structures, with room for ten elements each.
const NIST_MAP_BYTES: u32 = 240;

impl WimaxPlan {
    /// The core's configuration, or the error in the plan.
    pub fn config(&self) -> Result<WimaxConfig, String> {
        let technique = Technique::of_fft(self.fft)?;
        let nist = self.requests.is_nist();
        let tail_bytes = u32::from(nist);
        let channel = Channel { technique, width_hz: self.channel_hz, prefix: self.prefix, tail_bytes };
        let layout = match &self.contention.layout {
            LayoutPlan::RequestOnly {} => RegionLayout::RequestOnly,
            LayoutPlan::Whole { modulation } => RegionLayout::Whole { mcs: channel.mcs(modulation)? },
            LayoutPlan::Fractional { modulation } => RegionLayout::Fractional { mcs: channel.mcs(modulation)? },
            LayoutPlan::Columns { columns } => RegionLayout::Columns { columns: *columns },
        };
        let [start, end] = self.contention.backoff;
        let config = WimaxConfig {
            frame: FrameConfig {
                channel,
                length: self.frame,
                ttg: self.ttg,
                rtg: self.rtg,
                split: self.split,
                preamble: self.preamble,
                maps: Maps {
                    mcs: channel.mcs(&self.map_modulation)?,
                    repetition: self.map_repetition,
                    bytes: nist.then_some(NIST_MAP_BYTES),
                },
                burst_gap: self.burst_gap,
                uplink_preamble: self.uplink_preamble,
                region: Region { opportunities: self.contention.opportunities, layout },
            },
            pdu: Pdu {
                overhead_bytes: if self.crc && !nist { 10 } else { 6 },
                min_fragment: if nist { 1 } else { MIN_FRAGMENT },
            },
            uplink: UplinkConfig {
                grant_frames: self.grant_frames,
                request_timeout: self.patience_frames,
                backoff: BackoffConfig { start, end, tries: self.contention.tries },
                piggyback: self.piggyback,
                min_grant: self.min_grant_bytes,
                bundling: self.bundling,
                rule: self.requests,
            },
            repair: self.repair.map(Option::unwrap_or_default),
            stations: self.stations.iter().map(|station| station.config(channel)).collect::<Result<_, _>>()?,
            connections: self.connections.clone(),
        };
        config.check()?;
        Ok(config)
    }

    /// Capacity of the cell, down and up, in bit/s, headers included; or the error in it.
    pub fn nominal_bps(&self) -> Result<[u64; 2], String> {
        let config = self.config()?;
        Ok([config.nominal_bps(Direction::Down)?, config.nominal_bps(Direction::Up)?])
    }
}

impl StationPlan {
    fn config(&self, channel: Channel) -> Result<StationConfig, String> {
        let [down, up] = &self.modulation;
        Ok(StationConfig {
            service: self.service,
            mcs: [channel.mcs(down)?, channel.mcs(up)?],
            error: self.error,
            channel: self.fading.clone().map(|fading| (fading, self.amc)),
            loss: self.signal_loss.clone().map_or([None, None], |SignalLossPlan(curves)| curves),
            rate_limits: self.caps.clone(),
        })
    }
}
