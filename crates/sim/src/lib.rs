//! The simulator: builds the network of a plan, runs it on a virtual clock, records time series,
//! and summarizes the run.
//!
//! All protocol state machines are in `ackclock-core`. `docs/inside/plan.md` specifies plan, series
//! and summary.
#![forbid(unsafe_code)]

pub mod batch;
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

pub use batch::{BatchError, BatchPool, BatchRun};
pub use plan::{Plan, PlanError};
pub use run::{RunError, RunResult, run, run_while};

use ackclock_core::Time;
use ackclock_core::app::AnyApp;
use ackclock_core::endpoint::{AnyEndpoint, OtherEndpoint};
use ackclock_core::tcp::TcpEndpoint;

/// The TCP of an endpoint, if it has one.
pub fn tcp_of(endpoint: &AnyEndpoint) -> Option<&TcpEndpoint> {
    match endpoint {
        AnyEndpoint::Tcp(tcp) => Some(tcp),
        AnyEndpoint::UdpSource(_)
        | AnyEndpoint::UdpSink(_)
        | AnyEndpoint::Prober(_)
        | AnyEndpoint::ProbeReflector(_)
        | AnyEndpoint::CallEnd(_)
        | AnyEndpoint::GameClient(_)
        | AnyEndpoint::Conference(_)
        | AnyEndpoint::Pinger(_)
        | AnyEndpoint::PingReflector(_)
        | AnyEndpoint::ExternalHost(_)
        | AnyEndpoint::Other(_) => None,
    }
}

/// What another transport shows of an endpoint, if it has one.
pub fn other_of(endpoint: &AnyEndpoint) -> Option<&dyn OtherEndpoint> {
    if let AnyEndpoint::Other(other) = endpoint { Some(&**other) } else { None }
}

/// The application over an endpoint's transport, if it has one.
pub fn app_of(endpoint: &AnyEndpoint) -> Option<&AnyApp> {
    match tcp_of(endpoint) {
        Some(tcp) => Some(tcp.app()),
        None => Some(other_of(endpoint)?.app()),
    }
}

/// When the last of an endpoint's data had arrived, of a stream that ends.
pub fn finished_at(endpoint: &AnyEndpoint) -> Option<Time> {
    match tcp_of(endpoint) {
        Some(tcp) => tcp.receiver_stats().finished,
        None => other_of(endpoint)?.transport().finished,
    }
}
