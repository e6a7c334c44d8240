//! Throughput models in closed form; `ackclock.models` documents meaning, units and ranges.

use ackclock_core::throughput_models::{self, LossyPath};
use pyo3::prelude::*;

#[pyfunction]
pub fn window_over_rtt(window: f64, rtt: f64) -> f64 {
    throughput_models::window_over_rtt(window, rtt)
}

#[pyfunction]
pub fn mathis(loss: f64, rtt: f64, per_ack: f64) -> f64 {
    throughput_models::mathis(&LossyPath { loss, rtt, rto: 0.0, per_ack, max_window: f64::INFINITY })
}

#[pyfunction]
pub fn padhye_full(loss: f64, rtt: f64, rto: f64, per_ack: f64, max_window: f64) -> f64 {
    throughput_models::padhye_full(&LossyPath { loss, rtt, rto, per_ack, max_window })
}

#[pyfunction]
pub fn padhye_approx(loss: f64, rtt: f64, rto: f64, per_ack: f64, max_window: f64) -> f64 {
    throughput_models::padhye_approx(&LossyPath { loss, rtt, rto, per_ack, max_window })
}

#[pyfunction]
pub fn cubic_response(loss: f64, rtt: f64, c: f64, beta: f64) -> f64 {
    throughput_models::cubic_response(c, beta, rtt, loss)
}
