//! What packets show about hosts and path beside their data: RTTs, clocks, packet counters, and from
//! them the vantage point.

mod initial_flight;
mod ip_id;
mod rtt;
mod tsval_clock;
mod vantage;

pub use initial_flight::InitialFlight;
pub use ip_id::{IpIdTracker, NumberedPacket};
pub use rtt::RttClues;
pub use tsval_clock::TsvalClock;
pub use vantage::{Vantage, VantagePoint};
