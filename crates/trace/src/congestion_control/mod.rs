//! Which congestion control a sender uses, from a capture. Each congestion control of the engine is
//! replayed with the ACKs that the sender received, and its window is compared with the flight seen.
//!
//! `flight_log` keeps what a direction sent and received, `script` divides it into rounds, reductions
//! and the windows to compare, `replay` runs one congestion control along it, `identify` weighs the
//! candidates.

mod echoed_acks;
mod family;
mod flight_log;
mod identifications;
mod identify;
mod probe_rtt;
mod replay;
mod script;

pub use family::{CcFamily, family_of};
pub use flight_log::{FlightLog, FlightRecorder, LoggedDirection};
pub use identifications::{Examined, Identifications};
pub use identify::{CcIdentification, identify};

#[cfg(test)]
mod tests;
