//! A host between its network interface and its TCP: the time until it processes a packet, and the
//! segments that it merges on arrival.

mod arrival;
mod gro;
mod processing;

pub use arrival::HostArrival;
pub use gro::Gro;
pub use processing::{ProcessingClock, ProcessingJitter, ProcessingTimes};
