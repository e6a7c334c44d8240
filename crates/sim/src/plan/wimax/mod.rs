//! An IEEE 802.16 cell, and its translation into the core's configuration.

mod amc;
mod rate_limits;
mod station;

pub use station::{ConnectionPlan, StationPlan};

use super::Direction;
use ackclock_core::Span;
use ackclock_core::medium::wimax::arq::ArqConfig;
use ackclock_core::medium::wimax::contention::{BackoffConfig, Region, RegionLayout};
use ackclock_core::medium::wimax::frame::{FrameConfig, Split};
use ackclock_core::medium::wimax::harq::HarqConfig;
use ackclock_core::medium::wimax::maps::Maps;
use ackclock_core::medium::wimax::pdu::Pdu;
use ackclock_core::medium::wimax::phy::{Channel, Technique};
use ackclock_core::medium::wimax::retransmission::RetransmissionMode;
use ackclock_core::medium::wimax::{UplinkConfig, WimaxConfig};
use serde::Deserialize;

/// Keys: `docs/plan.md`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WimaxPlan {
    /// 256 is OFDM, other sizes are OFDMA.
    pub fft: u32,
    pub channel_hz: u64,
    /// Ratio of the useful symbol time to the cyclic prefix.
    pub prefix: u32,
    pub frame_ps: u64,
    pub ttg_ps: u64,
    pub rtg_ps: u64,
    pub split: SplitPlan,
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
    pub repair: PerDirection<Option<RetransmissionPlan>>,
    pub stations: Vec<StationPlan>,
    /// Connections of each station beyond its first.
    #[serde(default)]
    pub connections: Vec<ConnectionPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerDirection<T> {
    pub down: T,
    pub up: T,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SplitPlan {
    Ratio { down: u32, up: u32 },
    Symbols { down: u32, up: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentionPlan {
    pub opportunities: u32,
    pub layout: LayoutPlan,
    /// Exponents of the initial and of the maximum contention window.
    pub backoff: [u32; 2],
    pub tries: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LayoutPlan {
    RequestOnly {},
    Whole { modulation: String },
    Fractional { modulation: String },
    Columns { columns: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RetransmissionPlan {
    Arq { block: u32, window: u32, timer_frames: u64, attempts: u32 },
    Harq { attempts: u32, feedback_frames: u64 },
}

/// Above the size of any frame; keeps the arithmetic of a frame from overflowing.
const MAX_COUNT: u32 = 1 << 16;
/// Connections of a station beyond its first.
const MAX_CONNECTIONS: u32 = 8;
/// Maximum interval or delay in frames.
const MAX_FRAMES: u64 = 1 << 32;

impl WimaxPlan {
    /// The core's configuration, or the error in the plan.
    pub fn config(&self) -> Result<WimaxConfig, String> {
        let channel = self.channel()?;
        let mcs = |name: &str| mcs(channel, name);
        for (key, n) in self.counts() {
            within(key, n, MAX_COUNT)?;
        }
        let layout = match &self.contention.layout {
            LayoutPlan::RequestOnly {} => RegionLayout::RequestOnly,
            LayoutPlan::Whole { modulation } => RegionLayout::Whole { mcs: mcs(modulation)? },
            LayoutPlan::Fractional { modulation } => RegionLayout::Fractional { mcs: mcs(modulation)? },
            LayoutPlan::Columns { columns } => RegionLayout::Columns { columns: *columns },
        };
        if !Region::fits(layout, channel.technique) {
            return Err("contention in columns is for OFDMA, in symbols for OFDM".into());
        }
        let frame = FrameConfig {
            channel,
            length: Span(self.frame_ps),
            ttg: Span(self.ttg_ps),
            rtg: Span(self.rtg_ps),
            split: match self.split {
                SplitPlan::Ratio { down, up } => Split::Ratio { down, up },
                SplitPlan::Symbols { down, up } => Split::Symbols { down, up },
            },
            preamble: self.preamble,
            maps: Maps { mcs: mcs(&self.map_modulation)?, repetition: self.map_repetition },
            burst_gap: self.burst_gap,
            uplink_preamble: self.uplink_preamble,
            region: Region { opportunities: self.contention.opportunities, layout },
        };
        let stations = self.stations.iter().map(|station| station.config(channel)).collect::<Result<_, _>>()?;
        within("the number of connections", self.connections.len() as u32, MAX_CONNECTIONS)?;
        let connections = self.connections.iter().map(ConnectionPlan::config).collect::<Result<_, _>>()?;
        let repair = [retransmission(self.repair.down)?, retransmission(self.repair.up)?];
        let config = WimaxConfig {
            frame,
            pdu: Pdu { overhead_bytes: if self.crc { 10 } else { 6 } },
            uplink: self.uplink()?,
            repair,
            stations,
            connections,
        };
        config.check()?;
        Ok(config)
    }

    fn channel(&self) -> Result<Channel, String> {
        let technique = match self.fft {
            256 => Technique::Ofdm,
            fft @ (128 | 512 | 1024 | 2048) => Technique::Ofdma { fft },
            fft => return Err(format!("an FFT of {fft}: 256 is OFDM; 128, 512, 1024 and 2048 are OFDMA")),
        };
        if !(1_000_000..=100_000_000).contains(&self.channel_hz) {
            return Err(format!("a channel of {} Hz: 1 to 100 MHz are possible", self.channel_hz));
        }
        if ![4, 8, 16, 32].contains(&self.prefix) {
            return Err(format!("a cyclic prefix of 1/{}: 1/4, 1/8, 1/16 and 1/32 are possible", self.prefix));
        }
        if !(1_000_000_000..=1_000_000_000_000).contains(&self.frame_ps) {
            return Err(format!("a frame of {} ps: 1 ms to 1 s are possible", self.frame_ps));
        }
        Ok(Channel { technique, width_hz: self.channel_hz, prefix: self.prefix })
    }

    fn counts(&self) -> [(&'static str, u32); 9] {
        let (SplitPlan::Ratio { down, up } | SplitPlan::Symbols { down, up }) = self.split;
        let columns = if let LayoutPlan::Columns { columns } = self.contention.layout { columns } else { 0 };
        [
            ("split.down", down),
            ("split.up", up),
            ("preamble", self.preamble),
            ("map_repetition", self.map_repetition),
            ("burst_gap", self.burst_gap),
            ("uplink_preamble", self.uplink_preamble),
            ("contention.opportunities", self.contention.opportunities),
            ("contention.columns", columns),
            ("contention.tries", self.contention.tries),
        ]
    }

    fn uplink(&self) -> Result<UplinkConfig, String> {
        let [start, end] = self.contention.backoff;
        if start > end || end > 15 {
            return Err(format!("a back-off from 2^{start} to 2^{end}: exponents rise, to 15 at most"));
        }
        frames("grant_frames", self.grant_frames)?;
        frames("patience_frames", self.patience_frames)?;
        if self.grant_frames == 0 || self.patience_frames == 0 || self.contention.tries == 0 {
            return Err("grant_frames, patience_frames and contention.tries are 1 at least".into());
        }
        Ok(UplinkConfig {
            grant_frames: self.grant_frames,
            request_timeout: self.patience_frames,
            backoff: BackoffConfig { start, end, tries: self.contention.tries },
            piggyback: self.piggyback,
            min_grant: self.min_grant_bytes,
            bundling: self.bundling,
        })
    }
}

fn mcs(channel: Channel, name: &str) -> Result<u8, String> {
    let index = channel.set().iter().position(|mcs| mcs.name == name);
    index.map(|index| index as u8).ok_or_else(|| format!("no modulation '{name}' in this channel's set"))
}

fn retransmission(plan: Option<RetransmissionPlan>) -> Result<RetransmissionMode, String> {
    match plan {
        None => Ok(RetransmissionMode::None),
        Some(RetransmissionPlan::Harq { attempts, feedback_frames }) => {
            frames("harq.feedback_frames", feedback_frames)?;
            if attempts == 0 || feedback_frames == 0 {
                return Err("harq.attempts and harq.feedback_frames are 1 at least".into());
            }
            Ok(RetransmissionMode::Harq(HarqConfig { attempts, feedback: feedback_frames }))
        }
        Some(RetransmissionPlan::Arq { block, window, timer_frames, attempts }) => {
            frames("arq.timer_frames", timer_frames)?;
            within("arq.block", block, 2040)?;
            within("arq.window", window, 1024)?;
            if block < 16 || window == 0 || timer_frames == 0 || attempts == 0 {
                return Err("arq.block is 16 bytes at least; window, timer_frames and attempts are 1 at least".into());
            }
            Ok(RetransmissionMode::Arq(ArqConfig { block, window, timer: timer_frames, attempts }))
        }
    }
}

fn within(key: &str, n: u32, max: u32) -> Result<(), String> {
    if n <= max { Ok(()) } else { Err(format!("{key} is {n}, at most {max} is possible")) }
}

fn frames(key: &str, n: u64) -> Result<(), String> {
    if n <= MAX_FRAMES { Ok(()) } else { Err(format!("{key} is {n} frames, at most {MAX_FRAMES} are possible")) }
}

impl super::Plan {
    /// Capacity of an 802.16 cell (JSON), down and up, in bit/s, headers included; or the error in
    /// it.
    pub fn wimax_bps(text: &str) -> Result<[u64; 2], String> {
        let plan: WimaxPlan = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let config = plan.config()?;
        Ok([config.nominal_bps(Direction::Down)?, config.nominal_bps(Direction::Up)?])
    }
}
