//! What packets show about hosts and path beside their data: clocks, counters, RTTs.
mod tsval_clock;
pub use tsval_clock::TsvalClock;
