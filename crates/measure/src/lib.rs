//! Active tests of a live path. The protocol (`control`, `udp`, `stamp`, `path`) consists of state
//! machines without sockets and clocks: bytes and times are arguments. The estimators (`estimate`)
//! are functions of `record` and of tables. Only `net` opens sockets and reads clocks; `daemon` is
//! the command line of `ackclockd`, which runs the server of `net`.
//! docs/reference/measure.md describes the tests and the estimators;
//! docs/inside/adr/0006-measurement-protocol.md describes the wire format and the threat model.

pub mod control;
pub mod daemon;
pub mod estimate;
pub mod net;
pub mod path;
pub mod quotas;
pub mod rate_budget;
pub mod record;
pub mod stamp;
pub mod test_spec;
pub mod token;
pub mod udp;

use ackclock_core::Problem;

/// Time in nanoseconds by one end's clock. The origins of the two ends differ.
pub type Nanos = i64;

pub const MS: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;

/// Default port, TCP and UDP.
pub const DEFAULT_PORT: u16 = 4862;

/// Error of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// Bad input: an unreachable host, a wrong token, a test above the far end's limits.
    #[error("{0}")]
    Input(Problem),
    /// The measurement started and failed.
    #[error("{0}")]
    Failed(Problem),
    /// The user stopped the measurement.
    #[error("interrupted")]
    Interrupted,
}

impl MeasureError {
    /// Adds the file that the error is about.
    pub(crate) fn in_file(self, path: &std::path::Path) -> MeasureError {
        match self {
            MeasureError::Input(problem) => MeasureError::Input(problem.in_file(path)),
            other => other,
        }
    }

    pub(crate) fn refused<E: Into<std::io::Error>>(what: &'static str) -> impl Fn(E) -> MeasureError {
        move |error| MeasureError::Failed(Problem::refused(what, &error.into()))
    }
}
