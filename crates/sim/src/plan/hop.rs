//! The hops of a plan: what a packet meets in each direction.

use super::{Acks, FadingPlan, Medium, Queue, Reconstruction, Roaming, nullable};
use serde::Deserialize;

/// Two places and what lies between them. A hop that only one direction uses has null for the other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    pub name: String,
    /// Each client has its own.
    pub per_client: bool,
    /// Clients contend for it in both directions, in place of a rate. Each has its own queues then, and `per_client` says whether it
    /// also has its own of what comes after the medium.
    #[serde(deserialize_with = "nullable")]
    pub medium: Option<Medium>,
    /// Clients change between the medium's cells. Absent or null: they stay.
    #[serde(default)]
    pub roaming: Option<Roaming>,
    #[serde(deserialize_with = "nullable")]
    pub down: Option<HopDirection>,
    #[serde(deserialize_with = "nullable")]
    pub up: Option<HopDirection>,
}

/// One direction of a hop, in the order in which a packet meets its parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopDirection {
    /// Null waits without limit.
    #[serde(deserialize_with = "nullable")]
    pub queue: Option<Queue>,
    /// Absent or null: ACKs wait like everything else.
    #[serde(default)]
    pub acks: Option<Acks>,
    /// Null is unlimited.
    #[serde(deserialize_with = "nullable")]
    pub rate: Option<RatePlan>,
    pub framing: Framing,
    pub outage: Vec<OutageSpan>,
    #[serde(deserialize_with = "nullable")]
    pub loss: Option<Loss>,
    #[serde(deserialize_with = "nullable")]
    pub duplicate: Option<Duplication>,
    pub delay_ps: u64,
    #[serde(deserialize_with = "nullable")]
    pub jitter: Option<Jitter>,
    #[serde(deserialize_with = "nullable")]
    pub reorder: Option<Reordering>,
    /// Absent or null: the path stays the same.
    #[serde(default)]
    pub handover: Option<Handover>,
    /// Absent or null: none are made.
    #[serde(default)]
    pub reconstruct: Option<Reconstruction>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RatePlan {
    Fixed {
        bps: u64,
    },
    /// Opportunities of 1500 bytes, repeated with the last time as the period.
    Trace {
        times_ms: Vec<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Framing {
    None,
    Slip,
    Cslip,
    Atm { overhead: u16 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageSpan {
    pub start_ps: u64,
    pub end_ps: u64,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    Bernoulli {
        mean: f64,
    },
    /// Mean sojourns in continuous time.
    GilbertElliott {
        good_ps: u64,
        bad_ps: u64,
        loss_good: f64,
        loss_bad: f64,
    },
    /// A share that follows a signal, which moves once in each `step_ps`; points are (dB, share).
    Signal {
        fading: FadingPlan,
        step_ps: u64,
        points: Vec<(f64, f64)>,
    },
    /// Data packets from 1 at the first one, retransmissions included.
    List {
        packets: Vec<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Duplication {
    pub mean: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitter {
    Uniform { low_ps: u64, high_ps: u64, in_order: bool },
    Normal { mean_ps: u64, sd_ps: u64, in_order: bool },
    Exponential { mean_ps: u64, in_order: bool },
    Pareto { mean_ps: u64, shape: f64, in_order: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reordering {
    pub mean: f64,
    pub delay_ps: u64,
}

/// The path changes every so often; both directions of a hop that say the same share the paths.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    pub every_ps: u64,
    pub first_ps: u64,
    pub gap_ps: u64,
    pub loss: f64,
    /// What a path adds to the delay is drawn between these.
    pub low_ps: u64,
    pub high_ps: u64,
}

impl Hop {
    pub fn direction(&self, direction: super::Direction) -> Option<&HopDirection> {
        match direction {
            super::Direction::Down => self.down.as_ref(),
            super::Direction::Up => self.up.as_ref(),
        }
    }
}
