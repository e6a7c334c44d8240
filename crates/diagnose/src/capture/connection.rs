//! The facts of the rules about a connection.

use ackclock_trace::report::{FlowReport, ListenerFacts};

/// A connection, and what a second capture has of it.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    pub flow: &'a FlowReport,
    /// The same flow in the second of two captures.
    pub partner: Option<&'a FlowReport>,
    /// Without a partner: the only flow with its addresses and ports in the second capture, if it is
    /// the only one with them in the first.
    pub namesake: Option<&'a FlowReport>,
    /// Unix times of the first packets of both captures.
    pub starts_s: [f64; 2],
    /// What other connections show if the server left a SYN without an answer.
    pub listener: Option<ListenerFacts>,
}

impl Connection<'_> {
    /// Share of the flow's duration; none if that is 0.
    pub fn share(&self, seconds: f64) -> Option<f64> {
        (self.flow.duration_s > 0.0).then(|| (seconds / self.flow.duration_s).min(1.0))
    }
}
