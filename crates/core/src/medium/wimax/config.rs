//! All that a cell is set to, and why a cell could not work.

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

/// How the uplink is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UplinkConfig {
    /// Frames from the one in which a request is heard to the one whose uplink it is granted.
    pub grant_frames: u64,
    /// Frames after which a request without a grant was in vain (T16).
    pub request_timeout: u64,
    pub backoff: BackoffConfig,
    /// Requests may ride on data.
    pub piggyback: bool,
    /// Packets that came after the request may ride in its grant.
    pub bundling: bool,
    /// A best-effort grant is never for fewer bytes: what the request did not name may ride in the rest.
    pub min_grant: u32,
}

/// What differs between stations.
#[derive(Clone, Debug, PartialEq)]
pub struct StationConfig {
    pub service: ServiceFlow,
    /// The strongest modulation down and up, as indices into the set.
    pub mcs: [u8; 2],
    /// The probability that a burst (under ARQ: a block) breaks, down and up.
    pub error: [f64; 2],
    /// None is a channel that does not change.
    pub channel: Option<(Process, AmcConfig)>,
    /// What is lost above all repair, down and up, by the signal of a channel that changes.
    pub loss: [Option<LossCurve>; 2],
    /// Down and up.
    pub rate_limits: [Vec<RateLimitConfig>; 2],
}

/// A connection that each station has beside its first: a classifier, and what the base station grants it (IEEE 802.16-2004, 5.2 and 6.3.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// What rides on it; the first that covers a packet has it.
    pub traffic: TrafficFilter,
    pub service: ServiceFlow,
}

/// All that a cell is set to.
#[derive(Clone, Debug, PartialEq)]
pub struct WimaxConfig {
    pub frame: FrameConfig,
    pub pdu: Pdu,
    pub uplink: UplinkConfig,
    pub repair: [RetransmissionMode; 2],
    /// Of stations from 0 on; those beyond are as the last.
    pub stations: Vec<StationConfig>,
    /// Beside the one that every station has.
    pub connections: Vec<ConnectionConfig>,
}

impl WimaxConfig {
    pub fn station(&self, station: u32) -> &StationConfig {
        &self.stations[(station as usize).min(self.stations.len() - 1)]
    }

    /// What a lone station with the first station's modulation gets in one direction, headers included, in bits a second.
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

    /// Says why a cell could not work, if it could not.
    pub fn check(&self) -> Result<(), String> {
        self.check_at(1.0)
    }

    /// The same for stations that have only this share of the channel's speed.
    pub fn check_at(&self, speed: f64) -> Result<(), String> {
        let frame = self.frame.layout()?;
        let set = self.frame.channel.set();
        if self.stations.is_empty() {
            return Err("no station is described".into());
        }
        self.check_connections()?;
        for station in &self.stations {
            // On a channel that changes the weakest modulation may have to do.
            let weakest = if station.channel.is_some() { 0 } else { station.mcs[1].min(set.len() as u8 - 1) };
            let bytes = (frame.up.slots() - self.frame.uplink_preamble)
                * at_speed(self.frame.channel.slot_bytes(&set[usize::from(weakest)]), speed);
            if bytes < self.pdu.min_bytes() + PER_GRANT {
                let name = set[usize::from(weakest)].name;
                return Err(format!("the uplink of a frame carries {bytes} bytes at {name}, too few for a header and a piece"));
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
    /// A limiter of everything would be kept by each connection for itself.
    fn check_connections(&self) -> Result<(), String> {
        let rate_limits = || self.stations.iter().flat_map(|station| station.rate_limits.iter().flatten());
        if !self.connections.is_empty() && rate_limits().any(|limiter| limiter.traffic == TrafficFilter::All) {
            return Err("stations have several connections, and a cap is of all traffic: let it be of tcp or of udp".into());
        }
        Ok(())
    }
}

/// Bytes of a slot for a station with this share of the channel's speed.
pub fn at_speed(slot_bytes: u32, speed: f64) -> u32 {
    if speed == 1.0 { slot_bytes } else { ((f64::from(slot_bytes) * speed) as u32).max(1) }
}

/// Room for a request that rides on data.
const PER_GRANT: u32 = 2;
