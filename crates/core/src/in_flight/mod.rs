//! Containers for packets in flight, one per ordering: FIFO, sorted by arrival time, and FIFO per
//! station.

mod by_arrival;
mod fifo;
mod per_station;

pub use by_arrival::InFlightByArrival;
pub use fifo::InFlightFifo;
pub use per_station::InFlightPerStation;
