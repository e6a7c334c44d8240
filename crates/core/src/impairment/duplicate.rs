//! Random duplication.

use crate::config_check::{Checked, check_fraction};
use crate::element::{Element, Output, Port};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DuplicateConfig {
    /// Probability with which a packet is duplicated.
    pub mean: f64,
}

impl DuplicateConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        check_fraction("duplicate.mean", self.mean)
    }
}

pub struct Duplicate {
    config: DuplicateConfig,
    rng: Rng,
}

impl Duplicate {
    /// The duplicate of a packet follows at once.
    pub fn new(config: DuplicateConfig, rng: Rng) -> Duplicate {
        Duplicate { config, rng }
    }
}

impl Element for Duplicate {
    fn push(&mut self, _now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        out.forward(Port(0), packet);
        if self.rng.chance(self.config.mean) {
            let duplicate = out.copy(packet);
            out.forward(Port(0), duplicate);
        }
    }

    fn wake(&mut self, _now: Time, _out: &mut Output<'_>) {}

    fn due(&self) -> Time {
        Time::NEVER
    }

    fn occupancy(&self) -> u64 {
        0
    }
}
