//! An 802.16 cell in a plan, and what the core makes of it.

use super::{Toward, nullable};
use ackclock_core::Span;
use ackclock_core::medium::wimax::amc::AmcTerms;
use ackclock_core::medium::wimax::arq::ArqTerms;
use ackclock_core::medium::wimax::caps::{CapRate, CapTerms, Excess, Traffic};
use ackclock_core::medium::wimax::contention::{BackoffTerms, Layout, Region};
use ackclock_core::medium::wimax::fading::{Level, Process};
use ackclock_core::medium::wimax::frame::{FrameTerms, Split};
use ackclock_core::medium::wimax::harq::HarqTerms;
use ackclock_core::medium::wimax::maps::Maps;
use ackclock_core::medium::wimax::pdu::Pdu;
use ackclock_core::medium::wimax::phy::{Channel, Technique};
use ackclock_core::medium::wimax::repair::Repair;
use ackclock_core::medium::wimax::service::{Class, Service};
use ackclock_core::medium::wimax::{StationTerms, Terms, UplinkTerms};
use serde::Deserialize;

/// Keys as in docs/plan.md.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WimaxPlan {
    /// 256 is OFDM, other sizes are OFDMA.
    pub fft: u32,
    pub channel_hz: u64,
    /// The cyclic prefix is one part in this many.
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
    #[serde(default)]
    pub least_grant_bytes: u32,
    pub bundling: bool,
    pub repair: PerWay<Option<RepairPlan>>,
    pub stations: Vec<StationPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerWay<T> {
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
    /// The window is 2^start at first, and 2^end at most.
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
pub enum RepairPlan {
    Arq { block: u32, window: u32, timer_frames: u64, attempts: u32 },
    Harq { attempts: u32, feedback_frames: u64 },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationPlan {
    pub modulation: PerWay<String>,
    pub error: PerWay<f64>,
    pub service: ServicePlan,
    #[serde(deserialize_with = "nullable")]
    pub fading: Option<FadingPlan>,
    pub amc: AmcPlan,
    pub caps: PerWay<Vec<CapPlan>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServicePlan {
    pub class: ClassPlan,
    pub interval_frames: u64,
    pub bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassPlan {
    Ugs,
    Ertps,
    Rtps,
    Nrtps,
    Be,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FadingPlan {
    Ar1 { mean_db: f64, sd_db: f64, correlation_ps: u64 },
    Markov { levels: Vec<LevelPlan> },
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelPlan {
    pub db: f64,
    pub stay_ps: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmcPlan {
    pub hysteresis_db: f64,
    pub delay_frames: u64,
    pub up_offset_db: f64,
    pub decade_db: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapPlan {
    pub traffic: TrafficPlan,
    /// The same twice is a fixed rate.
    pub low_bps: u64,
    pub high_bps: u64,
    /// How long a rate between them lasts.
    pub every_ps: u64,
    pub burst: u64,
    /// Null: what is too fast is dropped; else it waits behind at most so many bytes.
    #[serde(deserialize_with = "nullable")]
    pub buffer: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficPlan {
    All,
    Tcp,
    Udp,
}

/// More than any frame holds, and little enough for the arithmetic of a frame.
const MOST: u32 = 1 << 16;
/// The longest interval or delay in frames.
const MOST_FRAMES: u64 = 1 << 32;
/// The quality of a channel, in dB, to either side of 0.
const MOST_DB: f64 = 200.0;

impl WimaxPlan {
    /// What the core is told; or what is wrong.
    pub fn terms(&self) -> Result<Terms, String> {
        let channel = self.channel()?;
        let mcs = |name: &str| mcs(channel, name);
        for (what, n) in self.counts() {
            within(what, n, MOST)?;
        }
        let layout = match &self.contention.layout {
            LayoutPlan::RequestOnly {} => Layout::RequestOnly,
            LayoutPlan::Whole { modulation } => Layout::Whole { mcs: mcs(modulation)? },
            LayoutPlan::Fractional { modulation } => Layout::Fractional { mcs: mcs(modulation)? },
            LayoutPlan::Columns { columns } => Layout::Columns { columns: *columns },
        };
        if !Region::fits(layout, channel.technique) {
            return Err("contention in columns is for OFDMA, in symbols for OFDM".into());
        }
        let frame = FrameTerms {
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
        let stations = self.stations.iter().map(|station| station.terms(channel)).collect::<Result<_, _>>()?;
        let repair = [repair(self.repair.down)?, repair(self.repair.up)?];
        let terms = Terms { frame, pdu: Pdu { around: if self.crc { 10 } else { 6 } }, uplink: self.uplink()?, repair, stations };
        terms.check()?;
        Ok(terms)
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

    fn uplink(&self) -> Result<UplinkTerms, String> {
        let [start, end] = self.contention.backoff;
        if start > end || end > 15 {
            return Err(format!("a back-off from 2^{start} to 2^{end}: exponents rise, to 15 at most"));
        }
        frames("grant_frames", self.grant_frames)?;
        frames("patience_frames", self.patience_frames)?;
        if self.grant_frames == 0 || self.patience_frames == 0 || self.contention.tries == 0 {
            return Err("grant_frames, patience_frames and contention.tries are 1 at least".into());
        }
        Ok(UplinkTerms {
            grant_frames: self.grant_frames,
            patience: self.patience_frames,
            backoff: BackoffTerms { start, end, tries: self.contention.tries },
            piggyback: self.piggyback,
            least_grant: self.least_grant_bytes,
            bundling: self.bundling,
        })
    }
}

impl StationPlan {
    fn terms(&self, channel: Channel) -> Result<StationTerms, String> {
        let fading = self.fading.as_ref().map(|fading| Ok::<_, String>((process(fading)?, self.amc()?))).transpose()?;
        for p in [self.error.down, self.error.up] {
            if !(0.0..=1.0).contains(&p) {
                return Err(format!("an error of {p}: a probability is from 0 to 1"));
            }
        }
        frames("service.interval_frames", self.service.interval_frames)?;
        within("service.bytes", self.service.bytes, MOST)?;
        Ok(StationTerms {
            service: self.service.into(),
            mcs: [mcs(channel, &self.modulation.down)?, mcs(channel, &self.modulation.up)?],
            error: [self.error.down, self.error.up],
            channel: fading,
            caps: [caps(&self.caps.down)?, caps(&self.caps.up)?],
        })
    }

    fn amc(&self) -> Result<AmcTerms, String> {
        let AmcPlan { hysteresis_db, delay_frames, up_offset_db, decade_db } = self.amc;
        frames("amc.delay_frames", delay_frames)?;
        decibels(hysteresis_db)?;
        decibels(up_offset_db)?;
        decibels(decade_db)?;
        if decade_db <= 0.0 || hysteresis_db < 0.0 {
            return Err("amc.decade_db is above 0 and amc.hysteresis_db not below".into());
        }
        Ok(AmcTerms { hysteresis_db, delay: delay_frames, up_offset_db, decade_db })
    }
}

impl From<ServicePlan> for Service {
    fn from(plan: ServicePlan) -> Service {
        let class = match plan.class {
            ClassPlan::Ugs => Class::Ugs,
            ClassPlan::Ertps => Class::Ertps,
            ClassPlan::Rtps => Class::Rtps,
            ClassPlan::Nrtps => Class::Nrtps,
            ClassPlan::Be => Class::BestEffort,
        };
        Service { class, interval: plan.interval_frames, bytes: plan.bytes }
    }
}

fn mcs(channel: Channel, name: &str) -> Result<u8, String> {
    let found = channel.set().iter().position(|mcs| mcs.name == name);
    found.map(|at| at as u8).ok_or_else(|| format!("no modulation '{name}' in this channel's set"))
}

fn process(plan: &FadingPlan) -> Result<Process, String> {
    match plan {
        FadingPlan::Ar1 { mean_db, sd_db, correlation_ps } => {
            decibels(*mean_db)?;
            decibels(*sd_db)?;
            if *sd_db < 0.0 || *correlation_ps == 0 {
                return Err("a fading channel's sd is not below 0 and its correlation above".into());
            }
            Ok(Process::Ar1 { mean_db: *mean_db, sd_db: *sd_db, correlation: Span(*correlation_ps) })
        }
        FadingPlan::Markov { levels } => {
            if levels.is_empty() || levels.iter().any(|level| level.stay_ps == 0) {
                return Err("a channel of levels has one at least, each with a time above 0".into());
            }
            levels.iter().try_for_each(|level| decibels(level.db))?;
            let level = |level: &LevelPlan| Level { db: level.db, stay: Span(level.stay_ps) };
            Ok(Process::Markov { levels: levels.iter().map(level).collect() })
        }
    }
}

fn repair(plan: Option<RepairPlan>) -> Result<Repair, String> {
    match plan {
        None => Ok(Repair::None),
        Some(RepairPlan::Harq { attempts, feedback_frames }) => {
            frames("harq.feedback_frames", feedback_frames)?;
            if attempts == 0 || feedback_frames == 0 {
                return Err("harq.attempts and harq.feedback_frames are 1 at least".into());
            }
            Ok(Repair::Harq(HarqTerms { attempts, feedback: feedback_frames }))
        }
        Some(RepairPlan::Arq { block, window, timer_frames, attempts }) => {
            frames("arq.timer_frames", timer_frames)?;
            within("arq.block", block, 2040)?;
            within("arq.window", window, 1024)?;
            if block < 16 || window == 0 || timer_frames == 0 || attempts == 0 {
                return Err("arq.block is 16 bytes at least; window, timer_frames and attempts are 1 at least".into());
            }
            Ok(Repair::Arq(ArqTerms { block, window, timer: timer_frames, attempts }))
        }
    }
}

fn caps(plans: &[CapPlan]) -> Result<Vec<CapTerms>, String> {
    plans.iter().map(cap).collect()
}

fn cap(plan: &CapPlan) -> Result<CapTerms, String> {
    if plan.low_bps == 0 || plan.low_bps > plan.high_bps || plan.burst == 0 || plan.every_ps == 0 {
        return Err("a cap's rates are above 0 and rise, its burst and the time of a rate are above 0".into());
    }
    let rate = if plan.low_bps == plan.high_bps {
        CapRate::Fixed { bps: plan.low_bps }
    } else {
        CapRate::Wandering { low_bps: plan.low_bps, high_bps: plan.high_bps, every: Span(plan.every_ps) }
    };
    let traffic = match plan.traffic {
        TrafficPlan::All => Traffic::All,
        TrafficPlan::Tcp => Traffic::Tcp,
        TrafficPlan::Udp => Traffic::Udp,
    };
    let excess = plan.buffer.map_or(Excess::Dropped, |bytes| Excess::Waits { bytes });
    Ok(CapTerms { traffic, rate, burst: plan.burst, excess })
}

fn within(what: &str, n: u32, most: u32) -> Result<(), String> {
    if n <= most { Ok(()) } else { Err(format!("{what} is {n}, at most {most} is possible")) }
}

fn frames(what: &str, n: u64) -> Result<(), String> {
    if n <= MOST_FRAMES { Ok(()) } else { Err(format!("{what} is {n} frames, at most {MOST_FRAMES} are possible")) }
}

fn decibels(db: f64) -> Result<(), String> {
    if db.abs() <= MOST_DB { Ok(()) } else { Err(format!("{db} dB: at most {MOST_DB} to either side of 0 are possible")) }
}

impl super::Plan {
    /// The most that an 802.16 cell carries down and up in bits a second, headers included; or what is wrong with it (JSON).
    pub fn wimax_bps(text: &str) -> Result<[u64; 2], String> {
        let plan: WimaxPlan = serde_json::from_str(text).map_err(|e| e.to_string())?;
        let terms = plan.terms()?;
        let way = |toward: Toward| terms.nominal_bps(crate::build::direction(toward));
        Ok([way(Toward::Down)?, way(Toward::Up)?])
    }
}
