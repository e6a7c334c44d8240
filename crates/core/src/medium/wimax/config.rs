//! Cell configuration and its validation.

use super::amc::AmcConfig;
use super::contention::BackoffConfig;
use super::frame::FrameConfig;
use super::pdu::Pdu;
use super::qos_class::ServiceFlow;
use super::rate_limit::{RateLimitConfig, TrafficFilter};
use super::retransmission::RetransmissionMode;
use crate::medium::Direction;
use crate::medium::radio_channel::{LossCurve, Process};
use crate::units::PS_PER_S;

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
    pub channel: Option<(Process, AmcConfig)>,
    /// Residual loss after retransmission by the signal of a varying channel, downlink and uplink.
    pub loss: [Option<LossCurve>; 2],
    /// Downlink and uplink.
    pub rate_limits: [Vec<RateLimitConfig>; 2],
}

/// An additional connection of each station: a classifier and its service flow (IEEE 802.16-2004,
/// 5.2 and 6.3.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// Traffic that it carries; the first connection that matches a packet carries it.
    pub traffic: TrafficFilter,
    pub service: ServiceFlow,
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
