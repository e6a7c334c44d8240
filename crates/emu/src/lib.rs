//! The emulator: real hosts' packets cross the core's elements in real time.
//!
//! The network, its elements and its loop are the simulator's own; here are the clock, the namespaces in which real hosts stand, the
//! packet sockets through which their traffic comes and goes, and the audit that says whether the figures can be believed.

mod audit;
mod clock;
mod crossing;
mod door;
mod drive;
mod gate;
mod helper;
mod log;
mod machine;
mod options;
mod outlet;
mod packet;
#[cfg(test)]
mod parity;
mod place;
mod report;
mod server_ready;
mod tap;
mod wait;
mod warm;

pub use options::Options;
pub use report::{ClientReport, HopReport, Report};
pub use server_ready::ServerReady;

use ackclock_core::Problem;
use ackclock_sim::PlanError;

/// Why an emulation could not be had.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("options cannot be read: {0}")]
    Options(String),
    /// What the operating system refused, and what it said.
    #[error("{}", Problem::refused(what, error))]
    Refused { what: &'static str, error: std::io::Error },
    #[error("{0}")]
    Failed(String),
    /// The error carries its remedy.
    #[error("{0}")]
    Problem(Problem),
}

impl From<EmuError> for Problem {
    fn from(error: EmuError) -> Problem {
        match error {
            EmuError::Plan(bad) => bad.into(),
            EmuError::Options(why) => Problem::new(format!("options cannot be read: {why}"), "correct them (docs/plan.md)"),
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

pub use drive::emulate;
