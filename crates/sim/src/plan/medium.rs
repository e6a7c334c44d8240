//! The shared medium of a hop.

use super::grants::GrantsPlan;
use super::wimax::WimaxPlan;
use ackclock_core::medium::{RadioConfig, WlanConfig};
use serde::Deserialize;

/// One medium for both directions and all clients.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Medium {
    /// One frame at a time in either direction, with perfect arbitration.
    HalfDuplex {
        bps: u64,
        /// Pause before a radio sends that was not the last sender.
        turnaround_ps: u64,
    },
    /// An 802.16 cell.
    Wimax(Box<WimaxPlan>),
    /// A chain of half-duplex radios.
    PacketRadio(Box<RadioConfig>),
    /// An 802.11 access point and its stations.
    Wlan(Box<WlanConfig>),
    /// A channel shared by requests and grants.
    Grants(Box<GrantsPlan>),
}

impl Medium {
    /// Connections of each station beyond its first.
    pub fn connections(&self) -> u32 {
        if let Medium::Wimax(cell) = self { cell.connections.len() as u32 } else { 0 }
    }
}
