//! The machine's network namespace, which this process leaves during an emulation, and the changes
//! that it makes there.

use super::Namespaces;
use super::cleanup_journal::CleanupJournal;
use super::uplink::Uplink;
use crate::EmuError;
use crate::config::EmulationConfig;
use nix::sched::{CloneFlags, setns};
use std::fs::File;

/// The network namespace from which this process came. Dropping it returns there, if permitted, and
/// undoes the changes.
pub struct RootNamespace {
    network: Option<File>,
    journal: CleanupJournal,
    pub uplink: Option<Uplink>,
}

impl RootNamespace {
    /// Must be called before this process enters another network namespace.
    pub fn open(config: &EmulationConfig) -> Result<RootNamespace, EmuError> {
        let mut journal = CleanupJournal::new(config.internet || config.pair.is_some());
        let uplink = config.internet.then(|| Uplink::open(&mut journal)).transpose()?;
        Ok(RootNamespace { network: File::open("/proc/self/ns/net").ok(), journal, uplink })
    }
}

impl Drop for RootNamespace {
    fn drop(&mut self) {
        if let Some(network) = &self.network {
            // Refused in a user namespace, in which this process could not change the machine
            // either.
            let _ = setns(network, CloneFlags::CLONE_NEWNET);
        }
    }
}

impl Namespaces {
    /// Names the namespaces for `ip netns` where permitted. Returns how to enter each: a line
    /// `NAME: COMMAND`.
    pub fn publish_names(&mut self, prefix: &str) -> Result<String, EmuError> {
        let single = self.clients.len() == 1;
        let client = |i: usize| if single { format!("{prefix}-client") } else { format!("{prefix}-client-{}", i + 1) };
        let all: Vec<(String, i32)> = std::iter::once((format!("{prefix}-server"), self.server.pid()))
            .chain(self.clients.iter().enumerate().map(|(i, process)| (client(i), process.pid())))
            .collect();
        let mut text = String::new();
        for (name, pid) in all {
            let command = match self.root.journal.name(&name, pid) {
                Ok(()) => format!("ip netns exec {name} COMMAND"),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(EmuError::Failed(format!("there is a network namespace {name} already: choose another --name")));
                }
                // Without root, the namespace is entered through the emulation's user namespace.
                Err(_) if self.in_user_namespace => {
                    format!("nsenter --preserve-credentials --user --net --target {pid} COMMAND")
                }
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    return Err(EmuError::Failed(error.to_string()));
                }
                Err(_) => format!("nsenter --net --target {pid} COMMAND"),
            };
            text += &format!("{name}: {command}\n");
        }
        Ok(text)
    }
}
