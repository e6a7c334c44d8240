//! A host between its network interface and its TCP: the time until it processes a packet, the segments
//! that it merges on arrival, and the fragments that it puts together.

mod arrival;
mod gro;
mod processing;
mod reassembly;

pub use arrival::HostArrival;
pub use gro::Gro;
pub use processing::{ProcessingClock, ProcessingJitter, ProcessingTimes};
pub use reassembly::{Reassembler, Reassembly};
