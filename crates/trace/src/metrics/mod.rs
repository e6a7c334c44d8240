//! Figures gathered packet by packet, each in constant memory.

mod acks;
mod histogram;
mod level;
mod rtt;

pub use acks::{ACK_BINS_MS, AckClock};
pub use histogram::LogHistogram;
pub use level::Level;
pub use rtt::Rtt;
