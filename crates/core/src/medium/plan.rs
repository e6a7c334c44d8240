//! The shared medium of a hop, with the keys of a plan (docs/inside/plan.md).

use super::{GrantConfig, HalfDuplexConfig, RadioConfig, RoamingConfig, WimaxPlan, WlanConfig};
use crate::config_check::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// One medium for both directions and all clients.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MediumPlan {
    /// One frame at a time in either direction, with perfect arbitration.
    HalfDuplex(HalfDuplexConfig),
    /// An 802.16 cell.
    Wimax(Box<WimaxPlan>),
    /// A chain of half-duplex radios.
    PacketRadio(Box<RadioConfig>),
    /// An 802.11 access point and its stations.
    Wlan(Box<WlanConfig>),
    /// A channel shared by requests and grants.
    Grants(Box<GrantConfig>),
}

impl MediumPlan {
    /// Connections of each station beyond its first.
    pub fn connections(&self) -> u32 {
        if let MediumPlan::Wimax(cell) = self { cell.connections.len() as u32 } else { 0 }
    }

    /// Returns the error in the medium with this roaming, if any.
    pub fn check(&self, roaming: Option<&RoamingConfig>) -> Checked {
        roaming.map_or(Ok(()), RoamingConfig::check)?;
        let roams = roaming.is_some();
        match self {
            MediumPlan::HalfDuplex(config) => config.check(),
            MediumPlan::Wimax(cell) => {
                ensure(cell.connections.is_empty() || !roams, || "roaming and connections: only one of them is possible".into())?;
                cell.config()?.check_at(roaming.map_or(1.0, RoamingConfig::slowest))
            }
            MediumPlan::PacketRadio(config) => {
                ensure(!roams, || "packet radio has no cells for roaming".into())?;
                config.check()
            }
            MediumPlan::Wlan(config) => {
                ensure(!config.shared_queue || !roams, || "roaming and shared_queue: only one of them is possible".into())?;
                config.check()
            }
            MediumPlan::Grants(config) => config.check(),
        }
    }
}
