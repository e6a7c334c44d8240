//! The emulator: packets of real hosts cross the simulator's network in real time.
//!
//! The network, its elements and its event loop are the simulator's. This crate adds network
//! namespaces for the real hosts, packet sockets between them and the network, a clock that drives
//! the network, and an audit that decides whether the results are valid.

mod af_packet;
mod audit;
mod bridge;
mod busy_wait;
mod cache_warmup;
mod clock;
mod config;
mod cpu_wait;
#[cfg(test)]
mod driver_parity;
mod egress;
mod grade;
mod link_delay;
mod log;
mod machine_load;
mod netns;
mod packet;
mod poller;
mod port;
mod probe;
mod replay;
mod report;
mod run;
mod scheduling;
mod server_ready;
mod tx_thread;

pub use config::EmulationConfig;
pub use cpu_wait::{CpuWait, ProcessTimes};
pub use grade::{Bound, Grade};
pub use report::{ClientReport, EmulationReport, HopReport};
pub use run::emulate;
pub use server_ready::ServerReady;

use ackclock_core::Problem;
use ackclock_sim::PlanError;

/// Why an emulation failed.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("options cannot be read: {0}")]
    Config(String),
    /// An operation that the operating system refused, and its error.
    #[error("{}", Problem::refused(what, error))]
    Refused { what: &'static str, error: std::io::Error },
    #[error("{0}")]
    Failed(String),
    /// An error with its remedy.
    #[error("{0}")]
    Problem(Problem),
}

impl From<EmuError> for Problem {
    fn from(error: EmuError) -> Problem {
        match error {
            EmuError::Plan(error) => error.into(),
            EmuError::Config(why) => Problem::new(format!("options cannot be read: {why}"), "correct them (docs/inside/plan.md)"),
            EmuError::Refused { what, error } => Problem::refused(what, &error),
            EmuError::Failed(why) => Problem::new(why, ""),
            EmuError::Problem(problem) => problem,
        }
    }
}

impl EmuError {
    pub(crate) fn refused(what: &'static str) -> impl Fn(std::io::Error) -> EmuError {
        move |error| EmuError::Refused { what, error }
    }
}
