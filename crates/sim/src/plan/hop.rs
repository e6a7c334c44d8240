//! The hops of a plan.

use super::{FadingPlan, Medium, Roaming, nullable};
use ackclock_core::queue::ack::{AckFilterConfig, AckReconstructorConfig};
use ackclock_core::queue::{DropFrom, QueueConfig};
use serde::Deserialize;

/// A link between two nodes. A hop that only one direction uses has null for the other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    pub name: String,
    /// Each client has a hop of its own.
    pub per_client: bool,
    /// Shared by all clients in both directions, in place of a rate. Each client has its own
    /// queues, and with `per_client` also its own elements after the medium.
    #[serde(deserialize_with = "nullable")]
    pub medium: Option<Medium>,
    /// Roaming between the cells of the medium. Absent or null: no roaming.
    #[serde(default)]
    pub roaming: Option<Roaming>,
    #[serde(deserialize_with = "nullable")]
    pub down: Option<HopDirection>,
    #[serde(deserialize_with = "nullable")]
    pub up: Option<HopDirection>,
}

/// One direction of a hop, in the order in which a packet passes its parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopDirection {
    /// Null: no limit.
    #[serde(deserialize_with = "nullable")]
    pub queue: Option<QueueConfig>,
    /// Absent or null: ACKs are queued like other packets.
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
    /// Absent or null: the path does not change.
    #[serde(default)]
    pub handover: Option<Handover>,
    /// Absent or null: no ACK reconstruction.
    #[serde(default)]
    pub reconstruct: Option<AckReconstructorConfig>,
}

/// Handling of ACKs in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acks {
    /// ACKs have priority over other packets.
    pub first: bool,
    /// `front`: a full queue drops its oldest ACK for a new one.
    pub drop: DropFrom,
    #[serde(deserialize_with = "nullable")]
    pub filter: Option<AckFilterConfig>,
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
    /// Loss that depends on a radio channel's SNR, which changes every `step_ps`; points are (dB,
    /// loss rate).
    Signal {
        fading: FadingPlan,
        step_ps: u64,
        points: Vec<(f64, f64)>,
    },
    /// Numbers of the lost data packets, from 1, retransmissions included.
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

/// Periodic changes of the path. Both directions of a hop with equal settings have the same paths.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handover {
    pub every_ps: u64,
    pub first_ps: u64,
    pub gap_ps: u64,
    pub loss: f64,
    /// Bounds of the additional delay of a path, drawn uniformly.
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
