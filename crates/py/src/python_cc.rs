//! Congestion control in Python: the engine calls methods of an object and reads its attributes
//! after each call.

use crate::cc_events::{PyAck, PyCongestion, PyLoss};
use crate::python_rate_controller::controllers;
use ackclock_core::autorate::UserController;
use ackclock_core::tcp::cc::{Ack, Congestion, CongestionControl, CongestionWindow, UserControl, UserVariant};
use ackclock_core::tcp::delivery_rate::LossSample;
use ackclock_core::{Span, Time};
use ackclock_sim::Plan;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception of a run's classes. After it, none of them is called.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<Option<PyErr>>>);

impl Faults {
    pub fn record(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
    pub fn any(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The classes of a run.
#[derive(Clone, Debug, Default)]
pub struct UserCode {
    variants: Vec<UserVariant>,
    controllers: Vec<UserController>,
}

impl UserCode {
    /// `classes` maps names to classes, each of which is used where a plan names it.
    pub fn of(classes: Option<&Bound<'_, PyDict>>, faults: &Faults) -> PyResult<UserCode> {
        let Some(classes) = classes else { return Ok(UserCode::default()) };
        Ok(UserCode { variants: variants(classes, faults)?, controllers: controllers(classes, faults)? })
    }

    pub fn pass_to(self, plan: Plan) -> Plan {
        plan.with_user_code(self.variants, self.controllers)
    }
}

#[derive(Debug)]
struct PythonControl {
    /// None if the constructor raised.
    object: Option<Py<PyAny>>,
    faults: Faults,
    wants_deliveries: bool,
    attributes: Attributes,
}

/// The object's attributes after the last call.
#[derive(Clone, Copy, Debug)]
struct Attributes {
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    halving_floor: Option<f64>,
}

impl Attributes {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Attributes> {
        let number = |name: &str| -> PyResult<f64> { object.getattr(name)?.extract() };
        let optional = |name: &str| -> PyResult<Option<f64>> { object.getattr(name)?.extract() };
        let attributes = Attributes {
            cwnd: number("cwnd")?,
            ssthresh: number("ssthresh")?,
            pacing_rate: optional("pacing_rate")?,
            halving_floor: optional("halving_floor")?,
        };
        attributes.check().map_err(|error| PyValueError::new_err(format!("{}: {error}", object.get_type())))?;
        Ok(attributes)
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

/// A variant for each class: `classes` maps names to classes.
pub fn variants(classes: &Bound<'_, PyDict>, faults: &Faults) -> PyResult<Vec<UserVariant>> {
    let variant = |(name, class): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let (name, class, faults) = (name.extract::<String>()?, class.unbind(), faults.clone());
        Ok(UserVariant::new(&name, move |window| Box::new(PythonControl::new(&class, window, &faults))))
    };
    classes.iter().map(variant).collect()
}

impl PythonControl {
    fn new(class: &Py<PyAny>, window: CongestionWindow, faults: &Faults) -> PythonControl {
        let control = Python::attach(|py| {
            let class = class.bind(py);
            let object = class.call1((window.cwnd, window.ssthresh))?;
            let attributes = Attributes::of(&object)?;
            let wants_deliveries = class.getattr("watches_deliveries")?.call0()?.extract()?;
            PyResult::Ok(PythonControl { object: Some(object.unbind()), faults: faults.clone(), wants_deliveries, attributes })
        });
        control.unwrap_or_else(|error| {
            faults.record(error);
            let attributes = Attributes { cwnd: 1.0, ssthresh: 1.0, pacing_rate: None, halving_floor: None };
            PythonControl { object: None, faults: faults.clone(), wants_deliveries: false, attributes }
        })
    }

    /// Calls a method, then reads the attributes.
    fn call(&mut self, method: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>) {
        if self.faults.any() {
            return;
        }
        let Some(object) = &self.object else { return };
        let attributes = Python::attach(|py| {
            let object = object.bind(py);
            method(object)?;
            Attributes::of(object)
        });
        match attributes {
            Ok(attributes) => self.attributes = attributes,
            Err(error) => self.faults.record(error),
        }
    }
}

impl UserControl for PythonControl {
    fn copy(&self) -> Box<dyn UserControl> {
        let copy = Python::attach(|py| {
            let object = self.object.as_ref().filter(|_| !self.faults.any());
            object.map(|o| PyResult::Ok(py.import("copy")?.call_method1("deepcopy", (o,))?.unbind())).transpose()
        });
        let object = copy.unwrap_or_else(|error| {
            self.faults.record(error);
            None
        });
        Box::new(PythonControl { object, faults: self.faults.clone(), ..*self })
    }
}

impl CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &Ack) {
        let ack = PyAck::from(ack);
        self.call(|object| object.call_method1("on_ack", (ack,)).map(drop));
    }
    fn wants_delivery_rate(&self) -> bool {
        self.wants_deliveries
    }
    fn on_delivery(&mut self, ack: &Ack) {
        if self.wants_deliveries {
            let ack = PyAck::from(ack);
            self.call(|object| object.call_method1("on_delivery", (ack,)).map(drop));
        }
    }
    fn on_loss(&mut self, now: Time, loss: &LossSample) {
        if self.wants_deliveries {
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
        self.attributes.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.attributes.ssthresh
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.attributes.pacing_rate
    }
    fn halving_floor(&self) -> f64 {
        self.attributes.halving_floor.unwrap_or(self.attributes.ssthresh)
    }
}
