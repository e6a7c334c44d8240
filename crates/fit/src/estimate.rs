//! What an estimator returns: a value with an interval and draws, or bounds.

use ackclock_contract::Document;
use ackclock_core::statistics::quantile_of_sorted;
use serde::Serialize;

/// Whether the packets identify a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Document)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// A value with an interval of 95 %.
    Identified,
    /// An interval alone, of which an end may be open.
    Bounded,
}

/// A parameter in the unit that its field names, with the evidence for it.
#[derive(Debug, Clone, Serialize, Document)]
pub struct Fitted<E> {
    pub status: Status,
    /// None if the parameter is bounded.
    pub value: Option<f64>,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// Draws from the distribution of the parameter; none if it is bounded.
    pub draws: Vec<f64>,
    pub evidence: E,
}

impl<E> Fitted<E> {
    /// A value with the central 95 % of its draws, widened to contain the value.
    pub fn identified(value: f64, draws: Vec<f64>, evidence: E) -> Fitted<E> {
        let [lo, hi] = central_95(&draws).unwrap_or([value; 2]);
        Fitted {
            status: Status::Identified,
            value: Some(value),
            lo: Some(lo.min(value)),
            hi: Some(hi.max(value)),
            draws,
            evidence,
        }
    }

    pub fn bounded(lo: Option<f64>, hi: Option<f64>, evidence: E) -> Fitted<E> {
        Fitted { status: Status::Bounded, value: None, lo, hi, draws: Vec::new(), evidence }
    }

    /// The interval widened to at least this.
    pub fn at_least(mut self, lo: f64, hi: f64) -> Fitted<E> {
        self.lo = self.lo.map(|own| own.min(lo));
        self.hi = self.hi.map(|own| own.max(hi));
        self
    }

    /// Half of the interval's width, relative to the value; 0 without one.
    pub fn half_width(&self) -> f64 {
        match (self.value, self.lo, self.hi) {
            (Some(value), Some(lo), Some(hi)) => (hi - lo) / 2.0 / value,
            _ => 0.0,
        }
    }

    /// The interval of a value widened by this share of it to both sides.
    pub fn widened(self, share: f64) -> Fitted<E> {
        match self.value {
            Some(_) => Fitted { lo: self.lo.map(|lo| lo * (1.0 - share)), hi: self.hi.map(|hi| hi * (1.0 + share)), ..self },
            None => self,
        }
    }
}

/// The central 95 % of a sample.
pub fn central_95(draws: &[f64]) -> Option<[f64; 2]> {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some([quantile_of_sorted(&sorted, 0.025)?, quantile_of_sorted(&sorted, 0.975)?])
}
