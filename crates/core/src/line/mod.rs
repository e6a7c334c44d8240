//! What distance does to packets once they have left a link.

mod delay;
mod duplicate;
mod flying;
mod gilbert;
mod handover;
mod jitter;
mod list;
mod loss;
mod outage;
mod reorder;

pub use delay::Delay;
pub use duplicate::Duplicate;
pub use gilbert::{GilbertElliott, Sojourns};
pub use handover::{Handover, HandoverTerms, Paths};
pub use jitter::{Distribution, Jitter};
pub use list::LossList;
pub use loss::{Loss, LossModel, SignalLoss};
pub use outage::{Outage, OutageError};
pub use reorder::Reorder;
