//! What an emulation is told beside its plan.

use crate::EmuError;
use crate::server_ready::ServerReady;
use serde::Deserialize;
use std::path::PathBuf;

/// Read from JSON; every key must be there, as in a plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// What runs in the first client's namespace; the emulation ends with it. Empty: nothing, and it ends when it is told to.
    pub command: Vec<String>,
    /// What runs in the server's namespace meanwhile; empty for nothing.
    pub server: Vec<String>,
    /// The server socket that the client's command waits for: "none", "any" or {"port": NUMBER}.
    pub server_ready: ServerReady,
    /// Seconds from the command's start to SIGTERM; null waits for the command to end.
    pub seconds: Option<f64>,
    /// The command's standard output goes where standard error goes.
    pub quiet_stdout: bool,
    /// A release later than this is a missed deadline, in microseconds.
    pub deadline_us: f64,
    /// Where the log and the captures go; null for none.
    pub log: Option<PathBuf>,
    /// How often the log looks at queues and simulated flows.
    pub sample_ps: u64,
    /// Namespaces are named after this, for whoever wants to enter them; null leaves them nameless.
    pub pair: Option<String>,
    /// The server's place leads out through this machine. Needs root.
    pub internet: bool,
    /// How deep this emulation is inside others: its addresses depend on it.
    pub depth: u8,
}

impl Options {
    pub fn from_json(text: &str) -> Result<Options, EmuError> {
        let options: Options = serde_json::from_str(text).map_err(|e| EmuError::Options(e.to_string()))?;
        if options.command.is_empty() && options.pair.is_none() {
            return Err(EmuError::Options("there is no command".into()));
        }
        if !(options.deadline_us > 0.0 && options.seconds.is_none_or(|s| s > 0.0)) {
            return Err(EmuError::Options("deadline_us and seconds must be above 0".into()));
        }
        Ok(options)
    }
}
