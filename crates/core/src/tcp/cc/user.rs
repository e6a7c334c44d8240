//! A congestion control from outside this crate, such as one in Python, called through a trait
//! object.

use super::{Ack, Congestion, CongestionControl, CongestionWindow, EcnAgreement, EcnResponse, Phase};
use crate::tcp::delivery_rate::LossSample;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Further requirements: it moves with its run between threads, and it is cloneable, as the sender
/// saves a copy for an undo.
pub trait UserControl: CongestionControl + fmt::Debug + Send {
    fn copy(&self) -> Box<dyn UserControl>;
}

#[derive(Debug)]
pub struct User(Box<dyn UserControl>);

impl Clone for User {
    fn clone(&self) -> User {
        User(self.0.copy())
    }
}

/// Builds the congestion control of a new connection; part of a host's configuration.
/// A plan has its name and a digest of its code, so that equal plans are equal runs; the code itself
/// is passed beside the plan.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UserVariant {
    name: String,
    #[serde(default)]
    digest: Option<String>,
    #[serde(skip)]
    make: Option<Make>,
}

type Make = Arc<dyn Fn(CongestionWindow) -> Box<dyn UserControl> + Send + Sync>;

impl UserVariant {
    pub fn new(name: &str, make: impl Fn(CongestionWindow) -> Box<dyn UserControl> + Send + Sync + 'static) -> UserVariant {
        UserVariant { name: name.to_owned(), digest: None, make: Some(Arc::new(make)) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Digest of the code, from a plan.
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// None if the code was not passed.
    pub fn build(&self, window: CongestionWindow) -> Option<User> {
        self.make.as_ref().map(|make| User(make(window)))
    }
}

impl fmt::Debug for UserVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserVariant({})", self.name)
    }
}

/// Names are unique within a run, so equal names are equal variants.
impl PartialEq for UserVariant {
    fn eq(&self, other: &UserVariant) -> bool {
        self.name == other.name
    }
}

impl CongestionControl for User {
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }
    fn ecn_response(&self) -> EcnResponse {
        self.0.ecn_response()
    }
    fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) {
        self.0.on_ecn_negotiated(agreement);
    }
    fn on_marks(&mut self, ack: &Ack) {
        self.0.on_marks(ack);
    }
    fn wants_delivery_rate(&self) -> bool {
        self.0.wants_delivery_rate()
    }
    fn on_delivery(&mut self, ack: &Ack) {
        self.0.on_delivery(ack);
    }
    fn on_loss(&mut self, now: Time, loss: &LossSample) {
        self.0.on_loss(now, loss);
    }
    fn on_congestion(&mut self, congestion: &Congestion) {
        self.0.on_congestion(congestion);
    }
    fn on_recovered(&mut self, now: Time, cwnd: f64) {
        self.0.on_recovered(now, cwnd);
    }
    fn on_idle(&mut self, now: Time, idle: Span) {
        self.0.on_idle(now, idle);
    }
    fn undo(&mut self) -> bool {
        self.0.undo()
    }
    fn controls_recovery(&self) -> bool {
        self.0.controls_recovery()
    }
    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        self.0.ssthresh()
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.0.pacing_rate()
    }
    fn halving_floor(&self) -> f64 {
        self.0.halving_floor()
    }
    fn phase(&self) -> Phase {
        self.0.phase()
    }
}
