//! Random reordering: some packets are delayed, and later packets overtake them.

use crate::config_check::{Checked, check_fraction, check_span};
use crate::element::{Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReorderConfig {
    /// Probability with which a packet is delayed; other packets pass at once.
    pub mean: f64,
    #[serde(rename = "delay_ps")]
    pub delay: Span,
}

impl ReorderConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        check_fraction("reorder.mean", self.mean)?;
        check_span("reorder.delay_ps", self.delay)
    }
}

pub struct Reorder {
    config: ReorderConfig,
    rng: Rng,
    in_flight: InFlightFifo,
}

impl Reorder {
    pub fn new(config: ReorderConfig, rng: Rng) -> Reorder {
        Reorder { config, rng, in_flight: InFlightFifo::default() }
    }
}

impl Element for Reorder {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        // Packets that leave at this instant arrived earlier.
        self.wake(now, out);
        if self.rng.chance(self.config.mean) {
            self.in_flight.push(now + self.config.delay, packet);
        } else {
            out.forward(Port(0), packet);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.in_flight.forward_due(now, out);
    }

    fn due(&self) -> Time {
        self.in_flight.due()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }
}
