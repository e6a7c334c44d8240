//! Namespaces of this process's own: with root where there is root, with a user namespace where there is not.

use super::fork::require_one_thread;
use crate::EmuError;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};
use std::fs;

/// Moves this process into a network namespace in which it may do as it likes. Says whether that took a user namespace.
pub fn enter_own_network() -> Result<bool, EmuError> {
    require_one_thread().map_err(|error| EmuError::Failed(error.to_string()))?;
    let (user, group) = (Uid::effective(), Gid::effective());
    if unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(false);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|error| {
        let why =
            "this machine allows neither network namespaces nor user namespaces (see max_user_namespaces in /proc/sys/user)";
        EmuError::Failed(format!("{why}: {error}"))
    })?;
    // Inside, root stands for who called; a group may only be mapped once nobody can drop groups any more (man 7 user_namespaces).
    let write = |file: &str, text: String| fs::write(file, text).map_err(EmuError::refused("mapping users into the namespace"));
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))?;
    Ok(true)
}

/// A process id namespace and mounts of its own for what this process starts next, so that nothing that a command leaves behind
/// outlives the emulation.
pub fn own_processes() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
}
