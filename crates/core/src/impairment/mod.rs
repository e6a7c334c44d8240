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

pub use delay::Delay;
pub use duplicate::Duplicate;
pub use gilbert::{GilbertElliott, Sojourns};
pub use handover::{Handover, HandoverConfig, Paths};
pub use jitter::{Distribution, Jitter};
pub use loss::{Loss, LossModel, SignalLoss};
pub use loss_list::LossList;
pub use outage::{Outage, OutageError};
pub use reorder::Reorder;
