//! Containers for packets in flight, one per ordering: FIFO, sorted by arrival time, and FIFO per station.

mod fifo;
mod per_station;
mod sorted;

pub use fifo::InFlightFifo;
pub use per_station::InFlightPerStation;
pub use sorted::InFlightSorted;
