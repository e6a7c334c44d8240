//! Cell configuration and its validation.

use super::amc::AmcConfig;
use super::contention::BackoffConfig;
use super::frame::FrameConfig;
use super::pdu::Pdu;
use super::phy::Technique;
use super::qos_class::ServiceFlow;
use super::rate_limit::{RateLimitConfig, TrafficFilter};
use super::retransmission::RetransmissionMode;
use crate::config_check::{Checked, ensure};
use crate::medium::Direction;
use crate::medium::radio_channel::{FadingConfig, LossCurve};
use crate::units::PS_PER_S;
use serde::{Deserialize, Serialize};

/// How stations request bandwidth, and how the base station accounts for requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestRule {
    /// IEEE 802.16: in the slots of the contention region, granted `grant_frames` later.
    #[default]
    Standard,
    /// As NIST's module for ns-2 was released: a received request is the demand at once, and the
    /// data that arrive after it, those of the same frame, too, are subtracted.
    NistReleased,
    /// NIST's module with the bookkeeping corrected: a request is the demand from the next map on.
    NistCorrected,
}

impl RequestRule {
    /// True with the frame, the contention and the schedulers of NIST's module.
    pub fn is_nist(self) -> bool {
        self != RequestRule::Standard
    }
}

/// Bursts of a direction in a frame of NIST's module: its maps have ten elements.
pub(super) const NIST_MAX_BURSTS: usize = 7;

/// Uplink bandwidth requests and grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkConfig {
    /// Frames from the reception of a request to the granted uplink.
    pub grant_frames: u64,
    /// Frames after which a request without a grant has failed (T16).
    pub request_timeout: u64,
    pub backoff: BackoffConfig,
    /// Requests may be piggybacked on data.
    pub piggyback: bool,
    /// Packets that arrive after the request may use its grant.
    pub bundling: bool,
    /// Minimum size of a best-effort grant in bytes; data beyond the request may use the rest.
    pub min_grant: u32,
    /// With one of NIST's, `grant_frames`, `piggyback`, `bundling` and `min_grant` have no effect.
    pub rule: RequestRule,
}

/// Configuration per station.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    pub service: ServiceFlow,
    /// The highest MCS, downlink and uplink, as indices into the set.
    pub mcs: [u8; 2],
    /// Error probability of a burst (ARQ: block), downlink and uplink.
    pub error: [f64; 2],
    /// `None` is a constant channel.
    pub channel: Option<(FadingConfig, AmcConfig)>,
    /// Residual loss after retransmission by the signal of a varying channel, downlink and uplink.
    pub loss: [Option<LossCurve>; 2],
    /// Downlink and uplink.
    pub rate_limits: [Vec<RateLimitConfig>; 2],
}

/// An additional connection of each station: a classifier and its service flow (IEEE 802.16-2004,
/// 5.2 and 6.3.14), with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionConfig {
    /// Traffic that it carries; the first connection that matches a packet carries it.
    pub traffic: TrafficFilter,
    pub service: ServiceFlow,
}

/// Above the size of any frame; keeps the arithmetic of a frame from overflowing.
pub(super) const MAX_COUNT: u32 = 1 << 16;
/// Connections of a station beyond its first.
const MAX_CONNECTIONS: u32 = 8;
/// Maximum interval or delay in frames.
const MAX_FRAMES: u64 = 1 << 32;

pub(super) fn check_count(key: &str, n: u32, max: u32) -> Checked {
    ensure(n <= max, || format!("{key} is {n}, at most {max} is possible"))
}

pub(super) fn check_frames(key: &str, n: u64) -> Checked {
    ensure(n <= MAX_FRAMES, || format!("{key} is {n} frames, at most {MAX_FRAMES} are possible"))
}

impl UplinkConfig {
    fn check(&self) -> Checked {
        self.backoff.check()?;
        check_frames("grant_frames", self.grant_frames)?;
        check_frames("patience_frames", self.request_timeout)?;
        ensure(self.grant_frames > 0 && self.request_timeout > 0 && self.backoff.tries > 0, || {
            "grant_frames, patience_frames and contention.tries are 1 at least".into()
        })
    }
}

impl StationConfig {
    fn check(&self) -> Checked {
        if let Some((fading, amc)) = &self.channel {
            fading.check()?;
            amc.check()?;
        }
        for p in self.error {
            ensure((0.0..=1.0).contains(&p), || format!("an error of {p}: a probability is from 0 to 1"))?;
        }
        self.service.check()?;
        ensure(self.channel.is_some() || self.loss.iter().all(Option::is_none), || {
            "a loss by signal needs a signal that moves: its fading is null".into()
        })?;
        self.loss.iter().flatten().try_for_each(LossCurve::check)?;
        self.rate_limits.iter().flatten().try_for_each(RateLimitConfig::check)
    }
}

/// Configuration of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct WimaxConfig {
    pub frame: FrameConfig,
    pub pdu: Pdu,
    pub uplink: UplinkConfig,
    pub repair: [RetransmissionMode; 2],
    /// Configuration of stations from 0 on; the last entry applies to all further stations.
    pub stations: Vec<StationConfig>,
    /// In addition to the one that every station has.
    pub connections: Vec<ConnectionConfig>,
}

impl WimaxConfig {
    pub fn station(&self, station: u32) -> &StationConfig {
        &self.stations[(station as usize).min(self.stations.len() - 1)]
    }

    /// Rate of a single station with the first station's MCS in one direction, headers included, in
    /// bit/s.
    pub fn nominal_bps(&self, direction: Direction) -> Result<u64, String> {
        let frame = self.frame.layout()?;
        let set = self.frame.channel.set();
        let slots = match direction {
            Direction::Down => frame.down.slots() - self.frame.overhead(&frame, 1, 1),
            Direction::Up => frame.up.slots() - self.frame.uplink_preamble,
        };
        let mcs = self.station(0).mcs[direction as usize];
        let bits = 8 * slots * self.frame.channel.slot_bytes(&set[usize::from(mcs).min(set.len() - 1)]);
        Ok((u128::from(bits) * u128::from(PS_PER_S) / u128::from(frame.length.0.max(1))) as u64)
    }

    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Result<(), String> {
        self.check_at(1.0)
    }

    /// As `check`, for stations with this share of the channel's speed.
    pub fn check_at(&self, speed: f64) -> Result<(), String> {
        self.check_values()?;
        let frame = self.frame.layout()?;
        let set = self.frame.channel.set();
        if self.stations.is_empty() {
            return Err("no station is configured".into());
        }
        self.check_connections()?;
        for station in &self.stations {
            // On a varying channel the lowest MCS must suffice.
            let weakest = if station.channel.is_some() { 0 } else { station.mcs[1].min(set.len() as u8 - 1) };
            let bytes = (frame.up.slots() - self.frame.uplink_preamble)
                * at_speed(self.frame.channel.slot_bytes(&set[usize::from(weakest)]), speed);
            if bytes < self.pdu.min_bytes() + PER_GRANT {
                let name = set[usize::from(weakest)].name;
                return Err(format!(
                    "the uplink of a frame carries {bytes} bytes at {name}, too few for a header and a fragment"
                ));
            }
            let block = self
                .repair
                .iter()
                .filter_map(|repair| if let RetransmissionMode::Arq(arq) = repair { Some(arq.block) } else { None })
                .max();
            if let Some(block) = block.filter(|&block| block > bytes) {
                return Err(format!(
                    "an ARQ block of {block} bytes does not fit into the uplink of a frame, which carries {bytes}"
                ));
            }
        }
        Ok(())
    }
}

impl WimaxConfig {
    /// Checks each value by itself.
    fn check_values(&self) -> Checked {
        self.frame.check()?;
        self.stations.iter().try_for_each(StationConfig::check)?;
        check_count("the number of connections", self.connections.len() as u32, MAX_CONNECTIONS)?;
        self.connections.iter().try_for_each(|connection| connection.service.check())?;
        ensure(!self.uplink.rule.is_nist() || self.frame.channel.technique == Technique::Ofdm, || {
            "NIST's module has OFDM alone".into()
        })?;
        ensure(!self.uplink.rule.is_nist() || self.repair == [RetransmissionMode::None; 2], || {
            "NIST's module has neither ARQ nor HARQ".into()
        })?;
        self.repair.iter().try_for_each(|repair| match repair {
            RetransmissionMode::None => Ok(()),
            RetransmissionMode::Arq(arq) => arq.check(),
            RetransmissionMode::Harq(harq) => harq.check(),
        })?;
        self.uplink.check()
    }

    /// A limit on all traffic would apply to each connection separately.
    fn check_connections(&self) -> Result<(), String> {
        let rate_limits = || self.stations.iter().flat_map(|station| station.rate_limits.iter().flatten());
        if !self.connections.is_empty() && rate_limits().any(|limiter| limiter.traffic == TrafficFilter::All) {
            return Err("stations have several connections, so a cap must be of tcp or of udp, not of all traffic".into());
        }
        Ok(())
    }
}

/// Bytes per slot for a station with this share of the channel's speed.
pub fn at_speed(slot_bytes: u32, speed: f64) -> u32 {
    if speed == 1.0 { slot_bytes } else { ((f64::from(slot_bytes) * speed) as u32).max(1) }
}

/// Size of a piggybacked request.
const PER_GRANT: u32 = 2;
