//! How packets leave a queue. A link is active: it owns a queue and decides when the next packet goes.

mod flights;
mod framing;
mod rate;
mod stage;
mod trace;
mod wire;

pub use framing::Framing;
pub use rate::RateLink;
pub use stage::Terms;
pub use trace::{OPPORTUNITY_BYTES, TraceError, TraceLink};
pub use wire::Wire;
