//! A half-duplex channel with perfect arbitration.

use super::medium::nominal_attribute;
use super::roaming::Roaming;
use crate::Keys;
use crate::keys::{Attribute, Kind};
use crate::values::{BitRate, Time};
use ackclock_core::medium::{HalfDuplexConfig, MediumPlan};
use ackclock_core::units::Rate;
use serde_json::json;

/// One frame at a time, in either direction. Stations alternate packet by packet, without
/// collisions: an upper bound for a real medium access.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "half-duplex", plan = HalfDuplex::plan_json, derived = HalfDuplex::derived)]
pub struct HalfDuplex {
    /// One frame at a time in either direction, served in rotation, without collisions.
    #[key(kind)]
    pub kind: Kind,
    /// Rate of the channel.
    #[key(example = "2 Mb/s")]
    pub rate: BitRate,
    /// Pause before another station sends.
    #[key(default = "0 s", example = "1 ms")]
    pub turnaround: Time,
    /// Clients change between cells.
    #[key(example = Roaming::example())]
    pub handover: Option<Roaming>,
}

impl HalfDuplex {
    pub(super) fn nominal_bps(&self) -> [u64; 2] {
        [self.rate.0; 2]
    }

    fn derived(&self, name: &str) -> Option<Attribute> {
        nominal_attribute(name, || self.nominal_bps())
    }

    fn plan_json(&self) -> serde_json::Value {
        let config = HalfDuplexConfig { rate: Rate::from_bps(self.rate.0), turnaround: self.turnaround.0 };
        json!(MediumPlan::HalfDuplex(config))
    }
}
