//! Parameters of a link from the packets of a path between two captures: pure functions of
//! departures, arrivals, sizes and losses. Each estimate has a 95 % interval and draws; what the
//! packets do not identify is bounded. One file has one parameter; `thresholds` has the limits of
//! all of them with their reasons.
#![forbid(unsafe_code)]

mod arrival_shape;
mod arrivals;
mod delay;
mod estimate;
mod facts;
mod frame_period;
mod framing;
mod jitter;
mod late_timestamps;
mod link_fit;
mod loss;
mod policer;
mod queue;
mod rate;
mod rate_by_size;
mod recorded_rate;
mod reordering;
mod service;
mod shaper;
mod shared_link;
mod stalls;
mod thresholds;

pub use arrival_shape::ArrivalShape;
pub use arrivals::{carried, max_carried};
pub use delay::BaseDelay;
pub use estimate::{Fitted, Status};
pub use facts::{DirectionFacts, LinkPacket, Outcome};
pub use frame_period::FramePeriod;
pub use framing::{FramingEvidence, FramingFit, LineCells};
pub use jitter::{Jitter, JitterFamily};
pub use link_fit::{DirectionFit, LinkFit, LinkShape, RunFacts, fit_link};
pub use loss::{ChannelFit, ChannelLoss};
pub use policer::{PolicerEvidence, PolicerFit};
pub use queue::{QueueFinding, QueueLimit};
pub use rate::{RateMethod, ServiceRate};
pub use recorded_rate::RecordedRate;
pub use reordering::Reordering;
pub use shaper::{ShaperEvidence, ShaperFit};
pub use stalls::PeriodicStalls;
