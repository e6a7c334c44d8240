//! Moves this process into new namespaces, with a user namespace if it lacks privileges.

use super::fork::require_single_thread;
use crate::EmuError;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid};
use std::fs;

/// Moves this process into a new network namespace that it may configure. Returns whether that
/// required a user namespace.
pub fn enter_netns() -> Result<bool, EmuError> {
    require_single_thread().map_err(|error| EmuError::Failed(error.to_string()))?;
    let (user, group) = (Uid::effective(), Gid::effective());
    if unshare(CloneFlags::CLONE_NEWNET).is_ok() {
        return Ok(false);
    }
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|error| {
        let why =
            "this machine allows neither network namespaces nor user namespaces (see max_user_namespaces in /proc/sys/user)";
        EmuError::Failed(format!("{why}: {error}"))
    })?;
    // Root in the namespace is mapped to the caller. A gid map requires that setgroups is denied
    // (man 7 user_namespaces).
    let write = |file: &str, text: String| fs::write(file, text).map_err(EmuError::refused("mapping users into the namespace"));
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))?;
    Ok(true)
}

/// Unshares the PID namespace of future children and the mount namespace: no process of a command
/// outlives the emulation.
pub fn unshare_pids_and_mounts() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS)
}
