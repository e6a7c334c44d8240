//! Figures gathered packet by packet, each in constant memory.

mod acks;
mod correlation;
mod counters;
mod course;
mod level;
mod rtt;
mod samples;

pub use acks::{ACK_BINS_MS, AckClock};
pub use correlation::pearson;
pub use course::{BINS, Course};
pub use level::{Level, Settling};
pub use rtt::Rtt;
pub use samples::Samples;
