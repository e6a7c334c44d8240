//! Random delay per packet, with or without reordering.

use crate::config_check::{Checked, check_shape, check_span, ensure};
use crate::element::{Element, Output, Port};
use crate::event_heap::EventHeap;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Distribution of the delay, with the keys of a plan (docs/inside/plan.md). Negative values become
/// 0.
///
/// With `in_order` no packet leaves before an earlier one: it is delayed to the same instant.
/// Otherwise packets may be reordered.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum JitterConfig {
    Uniform {
        #[serde(rename = "low_ps")]
        low: Span,
        #[serde(rename = "high_ps")]
        high: Span,
        in_order: bool,
    },
    Normal {
        #[serde(rename = "mean_ps")]
        mean: Span,
        #[serde(rename = "sd_ps")]
        sd: Span,
        in_order: bool,
    },
    Exponential {
        #[serde(rename = "mean_ps")]
        mean: Span,
        in_order: bool,
    },
    Pareto {
        #[serde(rename = "mean_ps")]
        mean: Span,
        shape: f64,
        in_order: bool,
    },
}

impl JitterConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        match *self {
            JitterConfig::Uniform { low, high, .. } => {
                check_span("jitter.high_ps", high)?;
                ensure(low <= high, || format!("jitter.low_ps {} is above jitter.high_ps {}", low.0, high.0))
            }
            JitterConfig::Normal { mean, sd, .. } => {
                check_span("jitter.mean_ps", mean)?;
                check_span("jitter.sd_ps", sd)
            }
            JitterConfig::Exponential { mean, .. } => check_span("jitter.mean_ps", mean),
            JitterConfig::Pareto { mean, shape, .. } => {
                check_span("jitter.mean_ps", mean)?;
                check_shape(shape)
            }
        }
    }

    /// No packet leaves before an earlier one.
    pub fn in_order(self) -> bool {
        match self {
            JitterConfig::Uniform { in_order, .. }
            | JitterConfig::Normal { in_order, .. }
            | JitterConfig::Exponential { in_order, .. }
            | JitterConfig::Pareto { in_order, .. } => in_order,
        }
    }

    fn draw(self, rng: &mut Rng) -> Span {
        match self {
            JitterConfig::Uniform { low, high, .. } => rng.uniform_span(low, high),
            JitterConfig::Normal { mean, sd, .. } => Span::from_secs_f64(rng.normal(mean.as_secs(), sd.as_secs())),
            JitterConfig::Exponential { mean, .. } => rng.exponential_span(mean),
            JitterConfig::Pareto { mean, shape, .. } => Span::from_secs_f64(rng.pareto(mean.as_secs(), shape)),
        }
    }
}

pub struct Jitter {
    config: JitterConfig,
    rng: Rng,
    in_flight: EventHeap<Packet>,
    /// Departure time of the last packet.
    last: Time,
}

impl Jitter {
    pub fn new(config: JitterConfig, rng: Rng) -> Jitter {
        Jitter { config, rng, in_flight: EventHeap::default(), last: Time::ZERO }
    }
}

impl Element for Jitter {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Output<'_>) {
        let mut leaves = now + self.config.draw(&mut self.rng);
        if self.config.in_order() {
            leaves = leaves.max(self.last);
            self.last = leaves;
        }
        self.in_flight.push(leaves, packet);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some(packet) = self.in_flight.pop(now) {
            out.forward(Port(0), packet);
        }
    }

    fn due(&self) -> Time {
        self.in_flight.due()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }
}
