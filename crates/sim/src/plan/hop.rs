//! The hops of a plan.

use super::{MediumPlan, nullable};
use ackclock_core::Span;
use ackclock_core::autorate::AutorateConfig;
use ackclock_core::impairment::{DuplicateConfig, HandoverConfig, JitterConfig, LossConfig, OutageConfig, ReorderConfig};
use ackclock_core::link::{Framing, MtuConfig, PolicerConfig, RateScheduleConfig, ShaperConfig, SlotsConfig};
use ackclock_core::medium::RoamingConfig;
use ackclock_core::queue::ack::{AckFilterConfig, AckReconstructorConfig};
use ackclock_core::queue::{DropFrom, QueueConfig};
use ackclock_core::rng::Rng;
use ackclock_core::schedule::ScheduleConfig;
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
    pub medium: Option<MediumPlan>,
    /// Roaming between the cells of the medium. Absent or null: no roaming.
    #[serde(default)]
    pub roaming: Option<RoamingConfig>,
    #[serde(deserialize_with = "nullable")]
    pub down: Option<HopDirection>,
    #[serde(deserialize_with = "nullable")]
    pub up: Option<HopDirection>,
}

/// One direction of a hop, in the order in which a packet passes its parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopDirection {
    /// Absent or null: a packet of any length passes.
    #[serde(default)]
    pub mtu: Option<MtuConfig>,
    /// Absent or null: everything passes.
    #[serde(default)]
    pub policer: Option<PolicerConfig>,
    /// Absent or null: no shaper.
    #[serde(default)]
    pub shaper: Option<ShaperPlan>,
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
    pub outage: Vec<OutageConfig>,
    #[serde(deserialize_with = "nullable")]
    pub loss: Option<LossConfig>,
    #[serde(deserialize_with = "nullable")]
    pub duplicate: Option<DuplicateConfig>,
    #[serde(rename = "delay_ps")]
    pub delay: Span,
    /// A delay that changes, in addition. Absent or null: none.
    #[serde(default)]
    pub delay_schedule: Option<ScheduleConfig<Span>>,
    #[serde(deserialize_with = "nullable")]
    pub jitter: Option<JitterConfig>,
    #[serde(deserialize_with = "nullable")]
    pub reorder: Option<ReorderConfig>,
    /// Absent or null: the path does not change.
    #[serde(default)]
    pub handover: Option<HandoverConfig>,
    /// Absent or null: no ACK reconstruction.
    #[serde(default)]
    pub reconstruct: Option<AckReconstructorConfig>,
}

/// A shaper and its queue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShaperPlan {
    #[serde(flatten)]
    pub config: ShaperConfig,
    /// Null: no limit.
    #[serde(deserialize_with = "nullable")]
    pub queue: Option<QueueConfig>,
    /// Absent or null: ACKs are queued like other packets.
    #[serde(default)]
    pub acks: Option<Acks>,
    /// What changes its rate, which is then the base rate. Absent: nothing.
    #[serde(default)]
    pub autorate: Option<AutorateConfig>,
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

/// The rate before the choice of its element: a `FusedLink`, a `RateLink` or a `TraceLink`, which
/// depends on the queue.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RatePlan {
    Fixed {
        bps: u64,
    },
    Schedule(RateScheduleConfig),
    /// With the delay and the losses of the same slots.
    Slots(SlotsConfig),
    /// Opportunities of 1500 bytes, repeated with the last time as the period.
    Trace {
        times_ms: Vec<u64>,
        /// Time of the recording at which the run starts. Absent or null: drawn for each seed.
        #[serde(default, rename = "start_ps")]
        start: Option<Span>,
    },
}

/// The part of a recording that a run replays: from `start` on, repeated after `period`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingStart {
    pub start: Span,
    pub period: Span,
}

impl RatePlan {
    /// Where a run with this seed starts in the recording; none for a fixed rate. A drawn start is
    /// a whole millisecond and follows from the seed and the recording alone, so it is the same
    /// for all hosts and queues.
    pub fn recording_start(&self, seed: u64) -> Option<RecordingStart> {
        let RatePlan::Trace { times_ms, start } = self else { return None };
        let period_ms = *times_ms.last()?;
        let start = start.unwrap_or_else(|| {
            let mut rng = Rng::for_element(seed, &format!("recording.{:016x}", digest(times_ms)));
            Span::from_ms(((rng.uniform() * period_ms as f64) as u64).min(period_ms.saturating_sub(1)))
        });
        Some(RecordingStart { start, period: Span::from_ms(period_ms) })
    }
}

/// FNV-1a over whole numbers in place of bytes.
fn digest(times_ms: &[u64]) -> u64 {
    times_ms.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &ms| (hash ^ ms).wrapping_mul(0x0100_0000_01b3))
}

impl HopDirection {
    /// The delay, of one that changes the mean.
    pub fn mean_delay(&self) -> Span {
        let scheduled = self.delay_schedule.as_ref().map_or(Span::ZERO, ScheduleConfig::<Span>::mean);
        let of_slots = self.slots().map_or(Span::ZERO, SlotsConfig::mean_delay);
        self.delay + scheduled + of_slots
    }

    pub fn slots(&self) -> Option<&SlotsConfig> {
        if let Some(RatePlan::Slots(slots)) = &self.rate { Some(slots) } else { None }
    }
}

impl Hop {
    /// The controller of the shaper of this direction.
    pub fn autorate(&self, direction: super::Direction) -> Option<&AutorateConfig> {
        self.direction(direction)?.shaper.as_ref()?.autorate.as_ref()
    }

    pub fn direction(&self, direction: super::Direction) -> Option<&HopDirection> {
        match direction {
            super::Direction::Down => self.down.as_ref(),
            super::Direction::Up => self.up.as_ref(),
        }
    }
}
