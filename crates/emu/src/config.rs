//! The configuration of an emulation, beside its plan.

use crate::EmuError;
use crate::server_ready::ServerReady;
use serde::Deserialize;
use std::path::PathBuf;

/// Read from JSON. Every key is required, as in a plan.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulationConfig {
    /// Command in the first client's namespace. The emulation ends with it; if it is empty, at a
    /// signal or the time limit.
    pub command: Vec<String>,
    /// Command in the server's namespace; empty for none.
    pub server: Vec<String>,
    /// The server socket that the client's command waits for: "none", "any" or {"port": NUMBER}.
    pub server_ready: ServerReady,
    /// Seconds from the command's start to SIGTERM; null waits for the command to end.
    pub seconds: Option<f64>,
    /// Redirects the command's standard output to standard error.
    pub quiet_stdout: bool,
    /// A packet released later than this after its due time is late, in microseconds; null follows
    /// from the link and the machine's timer.
    pub deadline_us: Option<f64>,
    /// Folder of the log and the captures; null for none.
    pub log: Option<PathBuf>,
    /// Sampling interval of queues and simulated flows in the log.
    pub sample_ps: u64,
    /// Prefix of the namespaces' names for `ip netns`; null for no names.
    pub pair: Option<String>,
    /// Routes the server's namespace to the machine's own network. Requires root.
    pub internet: bool,
    /// Names of the server beside `server`, for the commands' /etc/hosts.
    pub names: Vec<String>,
    /// Nesting depth of this emulation in others, which selects its addresses.
    pub depth: u8,
}

impl EmulationConfig {
    pub fn from_json(text: &str) -> Result<EmulationConfig, EmuError> {
        let config: EmulationConfig = serde_json::from_str(text).map_err(|e| EmuError::Config(e.to_string()))?;
        if config.command.is_empty() && config.pair.is_none() {
            return Err(EmuError::Config("there is no command".into()));
        }
        if !(config.deadline_us.is_none_or(|us| us > 0.0) && config.seconds.is_none_or(|s| s > 0.0)) {
            return Err(EmuError::Config("deadline_us and seconds must be above 0".into()));
        }
        Ok(config)
    }
}
