//! The simulator: a plan becomes a network, a virtual clock runs it, a recorder keeps columns, and a summary says what happened.
//!
//! Everything that moves is in `ackclock-core`; here is only what a run needs around it. The contract is `docs/plan.md`.
#![forbid(unsafe_code)]

pub mod build;
pub mod capture;
pub mod catalogue;
mod ip_id;
pub mod jobs;
pub mod metrics;
pub mod plan;
pub mod recorder;
pub mod run;
pub mod summary;

pub use plan::{Plan, PlanError};
pub use run::{RunError, RunResult, run, run_while};

use ackclock_core::AnyEndpoint;
use ackclock_core::tcp::TcpEndpoint;

/// The endpoint's TCP, if that is what it is.
pub fn tcp_of(endpoint: &AnyEndpoint) -> Option<&TcpEndpoint> {
    match endpoint {
        AnyEndpoint::Tcp(tcp) => Some(tcp),
        AnyEndpoint::UdpSource(_)
        | AnyEndpoint::UdpSink(_)
        | AnyEndpoint::Prober(_)
        | AnyEndpoint::ProbeReflector(_)
        | AnyEndpoint::ExternalHost(_) => None,
    }
}
