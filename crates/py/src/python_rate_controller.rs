//! Rate controllers in Python: the engine calls a method of an object, which returns the rate.

use crate::python_cc::Faults;
use ackclock_core::Rate;
use ackclock_core::autorate::{RateController, RateLimits, RateSample, UserController};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What a controller knows when a response to a ping arrives. Times in seconds, rates in bits per
/// second.
#[pyclass(frozen, module = "ackclock._native", name = "RateSample", get_all)]
pub struct PyRateSample {
    /// Time since the start of the run.
    now: f64,
    /// Which of the pingers got the response, from 0.
    reflector: u32,
    /// One-way delay in the direction of the shaper; with `pinger_method = "fping"` half of `rtt`.
    delay: f64,
    /// Round-trip time.
    rtt: f64,
    /// Rate that left the shaper in the last interval of the monitor.
    achieved: f64,
    /// Number of readings of `achieved` so far.
    readings: u64,
    /// The shaper's rate.
    rate: f64,
}

impl From<&RateSample> for PyRateSample {
    fn from(sample: &RateSample) -> PyRateSample {
        PyRateSample {
            now: sample.now.as_secs(),
            reflector: sample.reflector,
            delay: sample.delay.as_secs(),
            rtt: sample.rtt.as_secs(),
            achieved: sample.achieved_bps as f64,
            readings: sample.readings,
            rate: sample.rate.bps() as f64,
        }
    }
}

struct PythonRateController {
    /// None if the constructor raised.
    object: Option<Py<PyAny>>,
    faults: Faults,
}

/// A controller for each class: `classes` maps names to classes.
pub fn controllers(classes: &Bound<'_, PyDict>, faults: &Faults) -> PyResult<Vec<UserController>> {
    let controller = |(name, class): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let (name, class, faults) = (name.extract::<String>()?, class.unbind(), faults.clone());
        Ok(UserController::new(&name, move |limits| Box::new(PythonRateController::new(&class, limits, &faults))))
    };
    classes.iter().map(controller).collect()
}

impl PythonRateController {
    fn new(class: &Py<PyAny>, limits: &RateLimits, faults: &Faults) -> PythonRateController {
        let [min, base, max] = [limits.min, limits.base, limits.max].map(|rate| rate.bps() as f64);
        let made = Python::attach(|py| PyResult::Ok(class.bind(py).call1((min, base, max))?.unbind()));
        let object = made.map_err(|error| faults.record(error)).ok();
        PythonRateController { object, faults: faults.clone() }
    }

    fn call(&self, sample: &RateSample) -> PyResult<Option<f64>> {
        let Some(object) = &self.object else { return Ok(None) };
        Python::attach(|py| {
            let object = object.bind(py);
            let rate: Option<f64> = object.call_method1("on_sample", (PyRateSample::from(sample),))?.extract()?;
            match rate.filter(|rate| !(rate.is_finite() && *rate > 0.0)) {
                Some(rate) => {
                    let kind = object.get_type();
                    Err(PyValueError::new_err(format!(
                        "{kind}: on_sample returned {rate}; allowed: bits per second, above 0, or None"
                    )))
                }
                None => Ok(rate),
            }
        })
    }
}

impl RateController for PythonRateController {
    fn on_sample(&mut self, sample: &RateSample) -> Rate {
        if self.faults.any() {
            return sample.rate;
        }
        match self.call(sample) {
            Ok(rate) => rate.map_or(sample.rate, |rate| Rate::from_bps((rate as u64).max(1))),
            Err(error) => {
                self.faults.record(error);
                sample.rate
            }
        }
    }
}
