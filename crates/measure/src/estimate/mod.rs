//! Estimators: pure functions of the records of both ends. They use no module with sockets (tested
//! in `tests/suite/layers.rs`).
//!
//! `train_times` joins the logs of both ends of a train. `clocks` compares the clocks of the ends
//! by all trains of a session, with the analyzer's algorithm. `direction` has the statistics of a
//! train, `wilson` the interval of a proportion, `responsiveness` the RTT under load, `results` the
//! document of a session.

pub mod clocks;
pub mod direction;
pub mod responsiveness;
pub mod results;
pub mod train_times;
pub mod wilson;
