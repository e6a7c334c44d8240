//! The machine's own network, which this process leaves for the time of an emulation, and what it does there.

use super::Places;
use super::internet::WayOut;
use super::marks::Marks;
use crate::EmuError;
use crate::options::Options;
use nix::sched::{CloneFlags, setns};
use std::fs::File;

/// Where this process came from. It goes back there, where it may, and undoes what it has left there.
pub struct Home {
    network: Option<File>,
    marks: Marks,
    pub way_out: Option<WayOut>,
}

impl Home {
    /// To be called before this process leaves.
    pub fn remember(options: &Options) -> Result<Home, EmuError> {
        let mut marks = Marks::new(options.internet || options.pair.is_some());
        let way_out = options.internet.then(|| WayOut::open(&mut marks)).transpose()?;
        Ok(Home { network: File::open("/proc/self/ns/net").ok(), marks, way_out })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(network) = &self.network {
            // Not allowed from a user namespace: then nothing was left at home either.
            let _ = setns(network, CloneFlags::CLONE_NEWNET);
        }
    }
}

impl Places {
    /// Gives the places names, where this machine lets us, and says how each is entered: `NAME: COMMAND` a line.
    pub fn name(&mut self, name: &str) -> Result<String, EmuError> {
        let alone = self.clients.len() == 1;
        let client = |i: usize| if alone { format!("{name}-client") } else { format!("{name}-client-{}", i + 1) };
        let all: Vec<(String, i32)> = std::iter::once((format!("{name}-server"), self.server.pid()))
            .chain(self.clients.iter().enumerate().map(|(i, place)| (client(i), place.pid())))
            .collect();
        let mut said = String::new();
        for (name, pid) in all {
            let how = match self.home.marks.name(&name, pid) {
                Ok(()) => format!("ip netns exec {name} COMMAND"),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    return Err(EmuError::Failed(format!("there is a network namespace {name} already: choose another --name")));
                }
                // Without root: through the user namespace that we made.
                Err(_) if self.in_user_namespace => {
                    format!("nsenter --preserve-credentials --user --net --target {pid} COMMAND")
                }
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                    return Err(EmuError::Failed(error.to_string()));
                }
                Err(_) => format!("nsenter --net --target {pid} COMMAND"),
            };
            said += &format!("{name}: {how}\n");
        }
        Ok(said)
    }
}
