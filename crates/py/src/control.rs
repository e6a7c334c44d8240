//! A congestion control written in Python: an object whose methods the engine calls and whose attributes it reads after each call.

use crate::hear::{PyAck, PyCongestion, PyLoss};
use ackclock_core::tcp::cc::{Ack, Congestion, CongestionControl, CongestionWindow, UserControl, UserVariant};
use ackclock_core::tcp::delivery_rate::LossSample;
use ackclock_core::{Span, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception that any of a run's congestion controls raised. From then on none is called any more.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Option<PyErr>>>);

impl Faults {
    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
    pub fn any(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Debug)]
struct Control {
    /// None if it could not be made; the run ends soon.
    object: Option<Py<PyAny>>,
    faults: Faults,
    watches: bool,
    view: View,
}

/// What its attributes said after the last call.
#[derive(Clone, Copy, Debug)]
struct View {
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    halving_floor: Option<f64>,
}

impl View {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<View> {
        let number = |name: &str| -> PyResult<f64> { object.getattr(name)?.extract() };
        let maybe = |name: &str| -> PyResult<Option<f64>> { object.getattr(name)?.extract() };
        let view = View {
            cwnd: number("cwnd")?,
            ssthresh: number("ssthresh")?,
            pacing_rate: maybe("pacing_rate")?,
            halving_floor: maybe("halving_floor")?,
        };
        view.check().map_err(|what| PyValueError::new_err(format!("{}: {what}", object.get_type())))?;
        Ok(view)
    }

    fn check(&self) -> Result<(), String> {
        if !(self.cwnd.is_finite() && self.cwnd >= 1.0) {
            return Err(format!("cwnd is {}; allowed: a number of segments, 1 or more", self.cwnd));
        }
        if self.ssthresh.is_nan() || self.ssthresh < 1.0 {
            return Err(format!("ssthresh is {}; allowed: a number of segments, 1 or more, or infinity", self.ssthresh));
        }
        if self.pacing_rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(format!("pacing_rate is {:?}; allowed: segments a second, above 0, or None", self.pacing_rate));
        }
        if self.halving_floor.is_some_and(f64::is_nan) { Err("halving_floor is not a number".into()) } else { Ok(()) }
    }
}

/// The engine's kind for each class: `classes` is name to class.
pub fn variants(classes: &Bound<'_, PyDict>, faults: &Faults) -> PyResult<Vec<UserVariant>> {
    let one = |(name, class): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let (name, class, faults) = (name.extract::<String>()?, class.unbind(), faults.clone());
        Ok(UserVariant::new(&name, move |window| Box::new(Control::make(&class, window, &faults))))
    };
    classes.iter().map(one).collect()
}

impl Control {
    fn make(class: &Py<PyAny>, window: CongestionWindow, faults: &Faults) -> Control {
        let made = Python::attach(|py| {
            let class = class.bind(py);
            let object = class.call1((window.cwnd, window.ssthresh))?;
            let view = View::of(&object)?;
            let watches = class.getattr("watches_deliveries")?.call0()?.extract()?;
            PyResult::Ok(Control { object: Some(object.unbind()), faults: faults.clone(), watches, view })
        });
        made.unwrap_or_else(|error| {
            faults.note(error);
            let view = View { cwnd: 1.0, ssthresh: 1.0, pacing_rate: None, halving_floor: None };
            Control { object: None, faults: faults.clone(), watches: false, view }
        })
    }

    /// Calls a method, then reads the attributes.
    fn call(&mut self, method: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        if self.faults.any() {
            return;
        }
        let Some(object) = &self.object else { return };
        let view = Python::attach(|py| {
            let object = object.bind(py);
            method(object)?;
            View::of(object)
        });
        match view {
            Ok(view) => self.view = view,
            Err(error) => self.faults.note(error),
        }
    }
}

impl UserControl for Control {
    fn copy(&self) -> Box<dyn UserControl> {
        let copied = Python::attach(|py| {
            let object = self.object.as_ref().filter(|_| !self.faults.any());
            object.map(|o| PyResult::Ok(py.import("copy")?.call_method1("deepcopy", (o,))?.unbind())).transpose()
        });
        let object = copied.unwrap_or_else(|error| {
            self.faults.note(error);
            None
        });
        Box::new(Control { object, faults: self.faults.clone(), ..*self })
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack) {
        let ack = PyAck::from(ack);
        self.call(|object| object.call_method1("on_ack", (ack,)).map(drop));
    }
    fn wants_delivery_rate(&self) -> bool {
        self.watches
    }
    fn on_delivery(&mut self, ack: &Ack) {
        if self.watches {
            let ack = PyAck::from(ack);
            self.call(|object| object.call_method1("on_delivery", (ack,)).map(drop));
        }
    }
    fn on_loss(&mut self, now: Time, loss: &LossSample) {
        if self.watches {
            let loss = PyLoss::new(now, loss);
            self.call(|object| object.call_method1("on_loss", (loss,)).map(drop));
        }
    }
    fn on_congestion(&mut self, congestion: &Congestion) {
        let congestion = PyCongestion::from(congestion);
        self.call(|object| object.call_method1("on_congestion", (congestion,)).map(drop));
    }
    fn on_recovered(&mut self, now: Time, cwnd: f64) {
        self.call(|object| object.call_method1("on_recovered", (now.as_secs(), cwnd)).map(drop));
    }
    fn on_idle(&mut self, now: Time, idle: Span) {
        self.call(|object| object.call_method1("on_idle", (now.as_secs(), idle.as_secs())).map(drop));
    }
    fn cwnd(&self) -> f64 {
        self.view.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.view.ssthresh
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.view.pacing_rate
    }
    fn halving_floor(&self) -> f64 {
        self.view.halving_floor.unwrap_or(self.view.ssthresh)
    }
}
