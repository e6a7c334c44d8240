//! Dropping of privileges after the sockets are bound: the server becomes an unprivileged user and
//! cannot regain privileges. With captures allowed it keeps CAP_NET_RAW, as each capture is opened
//! for the address of the requesting client.

use crate::MeasureError;
use ackclock_core::Problem;
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User, geteuid, setgid, setgroups, setuid};

/// Default user.
const DEFAULT_USER: &str = "nobody";
const CAP_NET_RAW: u32 = 13; // linux/capability.h
const LAST_CAPABILITY: u32 = 63;
const VERSION_3: u32 = 0x2008_0522; // _LINUX_CAPABILITY_VERSION_3

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct CapSets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The remaining privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingPrivileges {
    pub uid: u32,
    /// CAP_NET_RAW is kept.
    pub net_raw: bool,
    /// This user namespace maps root only: the UID stays 0, and only the capabilities are dropped.
    pub no_other_user: bool,
}

/// Drops all privileges. Root becomes `user`, or `nobody`; any other user is unchanged.
///
/// # Errors
/// Input: `user` does not exist, or is root. Failed: a system call failed, and the server must not
/// start.
pub fn drop_all(user: Option<&str>, keep_net_raw: bool) -> Result<RemainingPrivileges, MeasureError> {
    let refused = MeasureError::refused::<Errno>("dropping privileges");
    let was_root = geteuid().is_root();
    let name = user.unwrap_or(DEFAULT_USER);
    let mut left = RemainingPrivileges { uid: geteuid().as_raw(), net_raw: false, no_other_user: false };
    let keep = keep_net_raw && permitted().map_err(&refused)? & 1 << CAP_NET_RAW != 0;
    if was_root {
        let account = unprivileged_user(name)?;
        clear_bounding(keep);
        if keep {
            // SAFETY: the arguments are integers.
            Errno::result(unsafe { libc::prctl(libc::PR_SET_KEEPCAPS, 1, 0, 0, 0) }).map_err(&refused)?;
        }
        match become_user(account) {
            Ok(()) => left.uid = account.0.as_raw(),
            // A user namespace of an unprivileged user: its root is that user, with capabilities in
            // the namespace only.
            Err(Errno::EINVAL | Errno::EPERM) if user.is_none() && only_root_is_mapped() => left.no_other_user = true,
            Err(error) => return Err(refused(error)),
        }
    } else if let Some(user) = user {
        let problem = format!("only root can become another user, such as {user}");
        return Err(MeasureError::Input(Problem::new(problem, "leave --user out, or start it as root").of_option("--user")));
    }
    let raw = if keep { 1 << CAP_NET_RAW } else { 0 };
    // A service manager may have dropped all capabilities and forbidden the call.
    if current_sets().map_err(&refused)? != sets(raw) {
        set_capabilities(raw).map_err(&refused)?;
    }
    left.net_raw = keep;
    // SAFETY: the arguments are integers.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).map_err(&refused)?;
    if was_root && !left.no_other_user && setuid(Uid::from_raw(0)).is_ok() {
        return Err(refused(Errno::EPERM));
    }
    Ok(left)
}

fn unprivileged_user(name: &str) -> Result<(Uid, Gid), MeasureError> {
    let entry = User::from_name(name).ok().flatten();
    let none = || MeasureError::Input(Problem::found(format!("\"{name}\""), "a user of this machine").of_option("--user"));
    let user = entry.ok_or_else(none)?;
    if user.uid.is_root() {
        let problem =
            Problem::found(format!("\"{name}\", which is root"), format!("an unprivileged user, such as {DEFAULT_USER}"));
        return Err(MeasureError::Input(problem.of_option("--user")));
    }
    Ok((user.uid, user.gid))
}

fn become_user((uid, gid): (Uid, Gid)) -> Result<(), Errno> {
    setgroups(&[])?;
    setgid(gid)?;
    setuid(uid)
}

/// The user namespace maps one UID.
fn only_root_is_mapped() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let mut lines = map.lines();
    let first: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    lines.next().is_none() && matches!(first.as_slice(), ["0", _, "1"])
}

/// Reduces the bounding set to this. Without CAP_SETPCAP the call fails, and execve cannot add
/// capabilities either.
fn clear_bounding(keep_net_raw: bool) {
    for capability in (0..=LAST_CAPABILITY).filter(|c| !(keep_net_raw && *c == CAP_NET_RAW)) {
        // SAFETY: the arguments are integers; the kernel rejects an unknown capability with EINVAL.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) };
    }
}

fn permitted() -> Result<u32, Errno> {
    current_sets().map(|sets| sets[0].permitted)
}

fn current_sets() -> Result<[CapSets; 2], Errno> {
    let (mut header, mut sets) = (CapHeader { version: VERSION_3, pid: 0 }, [CapSets::default(); 2]);
    // SAFETY: the kernel writes two sets of 32 capabilities each, which `sets` has.
    Errno::result(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) })?;
    Ok(sets)
}

/// Sets of exactly these of the first 32 capabilities.
fn sets(first: u32) -> [CapSets; 2] {
    [CapSets { effective: first, permitted: first, inheritable: 0 }, CapSets::default()]
}

fn set_capabilities(first: u32) -> Result<(), Errno> {
    let (mut header, sets) = (CapHeader { version: VERSION_3, pid: 0 }, sets(first));
    // SAFETY: the kernel reads two sets of 32 capabilities each.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, sets.as_ptr()) }).map(drop)
}
