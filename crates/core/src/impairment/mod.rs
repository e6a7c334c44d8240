//! Impairments of a path segment after the link: delay, jitter, loss, reordering, duplication,
//! outages and handovers.

mod delay;
mod duplicate;
mod gilbert;
mod handover;
mod jitter;
mod loss;
mod loss_list;
mod outage;
mod reorder;
mod send_delay;
mod varying_delay;

pub use delay::Delay;
pub use duplicate::{Duplicate, DuplicateConfig};
pub use gilbert::{GilbertElliott, ScheduledFades, Sojourns};
pub use handover::{Handover, HandoverConfig};
pub use jitter::{Jitter, JitterConfig};
pub use loss::{Loss, LossConfig, SignalLossConfig};
pub use loss_list::{ListedPackets, LossList};
pub use outage::{Outage, OutageConfig};
pub use reorder::{Reorder, ReorderConfig};
pub use send_delay::{SendDelay, SendDelayConfig};
pub use varying_delay::VaryingDelay;
