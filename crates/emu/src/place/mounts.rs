//! /proc and /sys of a command's own: of its process namespace and of its network namespace, in a mount namespace of its own.
//!
//! A mount on a shared mount appears in every peer of it, other mount namespaces included (man 7 mount_namespaces), and a proc mounted here
//! would cover the machine's. So nothing is mounted before the propagation of the mount below has been made private and read back.

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sys::stat::Mode;
use nix::sys::statfs::{FsType, PROC_SUPER_MAGIC, SYSFS_MAGIC, fstatfs};
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const NONE: Option<&str> = None;

/// Why a file system of its own was not mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotMounted {
    /// What is mounted there now is not proven private: a mount on it might appear outside.
    NotPrivate,
    Refused(Errno),
}

/// A line of /proc/self/mountinfo (man 5 proc_pid_mountinfo).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    id: u64,
    point: PathBuf,
    read_only: bool,
    /// No peer group, no master: neither sends nor receives mounts.
    private: bool,
    /// A process mounts something there when it is looked at.
    automounts: bool,
}

impl Mount {
    /// 36 35 98:0 /root /point rw,noatime shared:1 master:2 - ext4 /dev/sda1 rw
    fn of_line(line: &[u8]) -> Option<Mount> {
        let mut fields = line.split(|&byte| byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let point = PathBuf::from(OsString::from_vec(unescaped(fields.nth(3)?)));
        let read_only = fields.next()?.split(|&byte| byte == b',').any(|option| option == b"ro");
        let mut propagation = Vec::new();
        loop {
            // A line without the separator is malformed.
            match fields.next()? {
                b"-" => break,
                field => propagation.push(field),
            }
        }
        let private = propagation.iter().all(|&field| field == b"unbindable");
        Some(Mount { id, point, read_only, private, automounts: fields.next() == Some(b"autofs") })
    }
}

/// Space, tab, newline and backslash are written as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        match (first, code) {
            (b'\\', Some(code)) => {
                plain.push(code);
                rest = &after[3..];
            }
            _ => {
                plain.push(first);
                rest = after;
            }
        }
    }
    plain
}

/// The mounts that this process can reach from its root; none where no proc is mounted.
fn mounts() -> Vec<Mount> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    text.split(|&byte| byte == b'\n').filter_map(Mount::of_line).collect()
}

/// Enters a new mount namespace and makes its mounts private where the kernel allows it.
pub fn make_private() {
    if mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).is_ok() {
        return;
    }
    // In a chroot "/" is no mount point (EINVAL), but what is mounted below it are.
    for found in mounts().into_iter().filter(|found| !found.automounts) {
        let _ = mount(NONE, &found.point, NONE, MsFlags::MS_PRIVATE, NONE);
    }
}

/// An open descriptor of a mount point whose mount is private.
struct Proven {
    at: OwnedFd,
    read_only: bool,
}

/// Checks in mountinfo that the mount at `path` is of that type and private.
fn prove(path: &str, kind: FsType) -> Result<Proven, NotMounted> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let at = open(path, flags, Mode::empty()).map_err(|_| NotMounted::NotPrivate)?;
    let same_kind = fstatfs(&at).is_ok_and(|found| found.filesystem_type() == kind);
    let found = mount_of(&at).filter(|found| found.private && same_kind).ok_or(NotMounted::NotPrivate)?;
    Ok(Proven { at, read_only: found.read_only })
}

/// The mount in which a descriptor lies (man 5 proc_pid_fdinfo).
fn mount_of(descriptor: &OwnedFd) -> Option<Mount> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd())).ok()?;
    let id: u64 = text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()?;
    mounts().into_iter().find(|found| found.id == id)
}

impl Proven {
    /// Mounts on the checked mount point, by its descriptor.
    fn cover(&self, kind: &str) -> Result<(), NotMounted> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let flags = if self.read_only { flags | MsFlags::MS_RDONLY } else { flags };
        let point = format!("/proc/self/fd/{}", self.at.as_raw_fd());
        mount(Some(kind), point.as_str(), Some(kind), flags, NONE).map_err(NotMounted::Refused)
    }
}

/// /proc of this process's own process namespace.
pub fn own_proc() -> Result<(), NotMounted> {
    let proven = prove("/proc", PROC_SUPER_MAGIC)?;
    proven.cover("proc")
}

/// /sys of this process's own network namespace, with what else was mounted in it (cgroups, tracing). A place without /sys stays without.
pub fn own_sysfs() -> Result<(), NotMounted> {
    if !Path::new("/sys/class/net").exists() {
        return Ok(());
    }
    let proven = prove("/sys", SYSFS_MAGIC)?;
    let inside = mounts_in_sysfs();
    proven.cover("sysfs")?;
    for (point, at) in inside {
        let from = format!("/proc/self/fd/{}", at.as_raw_fd());
        let _ = mount(Some(from.as_str()), &point, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE);
    }
    Ok(())
}

/// Open descriptors of the mounts in /sys.
fn mounts_in_sysfs() -> Vec<(PathBuf, OwnedFd)> {
    let mut outermost: Vec<PathBuf> = Vec::new();
    for Mount { point, .. } in mounts() {
        let inside = point.starts_with("/sys") && point != Path::new("/sys");
        if inside && !outermost.iter().any(|outer| point.starts_with(outer)) {
            outermost.push(point);
        }
    }
    let held = |point: PathBuf| {
        let at = open(&point, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
        Some((point, at))
    };
    outermost.into_iter().filter_map(held).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("L1")
    #[test]
    fn mount_is_private_only_when_it_has_neither_peers_nor_a_master() {
        let private = |optional: &str| {
            let line = format!("36 35 98:0 / /a\\040b rw,noatime {optional}- proc proc rw");
            let found = Mount::of_line(line.as_bytes()).unwrap();
            assert_eq!((found.id, found.point.to_str()), (36, Some("/a b")));
            found.private
        };
        assert!(private("") && private("unbindable "));
        assert!(!private("shared:1 ") && !private("master:2 ") && !private("shared:1 master:2 propagate_from:3 "));
        assert!(!private("a_field_of_a_later_kernel:1 "));
        assert_eq!(Mount::of_line(b"36 35 98:0 / /proc rw"), None);
        let sysfs = Mount::of_line(b"36 35 98:0 / /sys ro,nosuid - sysfs sysfs rw").unwrap();
        assert!(sysfs.read_only && !sysfs.automounts);
        assert!(Mount::of_line(b"36 35 0:30 / /a rw shared:1 - autofs systemd-1 rw").unwrap().automounts);
    }
}
