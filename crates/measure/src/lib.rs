//! Active tests of a live path. Sessions and estimators are state machines and functions without clock or sockets: bytes and times come
//! in, bytes and figures come out (`control`, `udp`, `stamp`, `estimate`). `net` is the loop that has the sockets; `ackclockd` runs it at the far end.
//! docs/measure.md says what is measured how, docs/adr/0006-measurement-protocol.md what is on the wire and who is kept out.

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

/// Nanoseconds of an end's clock, from an origin that the other end does not know.
pub type Nanos = i64;

pub const MS: Nanos = 1_000_000;
pub const SECOND: Nanos = 1_000_000_000;

/// TCP and UDP, unless said otherwise.
pub const DEFAULT_PORT: u16 = 4862;

/// Why a measurement could not be had.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// What was asked cannot be: an unreachable host, a wrong token, a test beyond the far end's limits.
    #[error("{0}")]
    Input(Problem),
    /// It began, and did not end well.
    #[error("{0}")]
    Failed(Problem),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl MeasureError {
    /// The same error, about this file.
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
