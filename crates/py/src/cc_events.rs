//! The events that a congestion control in Python receives. Times in seconds, amounts in segments,
//! rates in segments per second.

use ackclock_core::tcp::cc::{Ack, Congestion, CongestionSignal};
use ackclock_core::tcp::delivery_rate::LossSample;
use ackclock_core::{Span, Time};
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;

/// Fields of `Ack` by their names in version 1.0, and the engine's names, which they have now.
const FORMER_FIELDS: [(&str, &str); 3] = [("credit", "growth_credit"), ("limited", "cwnd_limited"), ("cleared", "acked_total")];

/// An ACK; `python/ackclock/_native.pyi` documents each field.
#[pyclass(frozen, get_all, name = "Ack", module = "ackclock._native")]
pub struct PyAck {
    now: f64,
    growth_credit: f64,
    acked: u32,
    delivered: u32,
    lost: u32,
    in_flight: u32,
    rtt: Option<f64>,
    srtt: Option<f64>,
    min_rtt: Option<f64>,
    cwnd_limited: bool,
    recovering: bool,
    acked_total: u64,
    sent: u64,
    rate: Option<f64>,
    app_limited: bool,
    prior_delivered: Option<u64>,
    delivered_total: Option<u64>,
    tx_in_flight: Option<u32>,
}

#[pymethods]
impl PyAck {
    /// Called for a field that does not exist. Names the field that replaces a former one.
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        let missing = format!("'Ack' object has no attribute '{name}'");
        let former = FORMER_FIELDS.iter().find(|(former, _)| *former == name);
        Err(PyAttributeError::new_err(match former {
            Some((_, field)) => format!("{missing}; its name is '{field}'"),
            None => missing,
        }))
    }
}

impl From<&Ack> for PyAck {
    fn from(ack: &Ack) -> PyAck {
        PyAck {
            now: ack.now.as_secs(),
            growth_credit: ack.growth_credit,
            acked: ack.acked,
            delivered: ack.delivered,
            lost: ack.lost,
            in_flight: ack.in_flight,
            rtt: ack.rtt.map(Span::as_secs),
            srtt: ack.srtt.map(Span::as_secs),
            min_rtt: ack.min_rtt.map(Span::as_secs),
            cwnd_limited: ack.cwnd_limited,
            recovering: ack.recovering,
            acked_total: ack.acked_total,
            sent: ack.sent,
            rate: ack.rate.and_then(|rate| rate.rate(ack.min_rtt)),
            app_limited: ack.rate.is_some_and(|rate| rate.app_limited),
            prior_delivered: ack.rate.map(|rate| rate.prior_delivered),
            delivered_total: ack.rate.map(|rate| rate.total),
            tx_in_flight: ack.rate.map(|rate| rate.tx_in_flight),
        }
    }
}

/// A congestion signal.
#[pyclass(frozen, get_all, name = "Congestion", module = "ackclock._native")]
pub struct PyCongestion {
    now: f64,
    signal: &'static str,
    flight: f64,
}

impl From<&Congestion> for PyCongestion {
    fn from(congestion: &Congestion) -> PyCongestion {
        let signal = match congestion.signal {
            CongestionSignal::Duplicates => "duplicates",
            CongestionSignal::Timeout => "timeout",
            CongestionSignal::Ecn => "ecn",
        };
        PyCongestion { now: congestion.now.as_secs(), signal, flight: congestion.flight }
    }
}

/// A segment marked lost.
#[pyclass(frozen, get_all, name = "Loss", module = "ackclock._native")]
pub struct PyLoss {
    now: f64,
    segment: u64,
    tx_in_flight: u32,
    lost: u64,
    app_limited: bool,
}

impl PyLoss {
    pub fn new(now: Time, loss: &LossSample) -> PyLoss {
        PyLoss {
            now: now.as_secs(),
            segment: loss.segment,
            tx_in_flight: loss.tx_in_flight,
            lost: loss.lost,
            app_limited: loss.app_limited,
        }
    }
}
