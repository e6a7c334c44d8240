//! Links. A link is active: it owns a queue and decides when the next packet is transmitted.

mod fragments;
mod framing;
mod fused_link;
mod lindley;
mod mtu;
mod policer;
mod rate;
mod rate_schedule;
mod shaper;
mod slotted_rate;
mod token_bucket;
mod trace;
mod tunnel;

pub use framing::{AAL5_TRAILER, Cells, Framing, LinkLayer};
pub use fused_link::FusedLink;
pub use lindley::LinkConfig;
pub use mtu::{MIN_MTU, MtuCheck, MtuConfig, REPORT_PORT};
pub use policer::{Exceed, Policer, PolicerConfig};
pub use rate::{LinkRate, RateLink};
pub use rate_schedule::{RateSchedule, RateScheduleConfig};
pub use shaper::{Shaper, ShaperConfig};
pub use slotted_rate::{GrantCycleConfig, MIN_SLOT, SlotsConfig, SlottedRate, of_quantiles};
pub use token_bucket::TokenBucket;
pub use trace::{OPPORTUNITY_BYTES, TraceError, TraceLink};
pub use tunnel::{TunnelConfig, TunnelEntry, TunnelExit, TunnelKind};
