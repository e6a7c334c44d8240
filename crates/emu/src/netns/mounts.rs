//! Mounts /proc and /sys of a command's PID and network namespaces, and files of its own over the
//! machine's, in its mount namespace.
//!
//! A mount on a shared mount propagates to all its peers, also in other mount namespaces (man 7
//! mount_namespaces): a proc mounted on it would cover the machine's. The propagation of the mount
//! below is therefore made private and verified before anything is mounted.

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::Mode;
use nix::sys::statfs::{FsType, PROC_SUPER_MAGIC, SYSFS_MAGIC, fstatfs};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const NONE: Option<&str> = None;
/// Where the files of a command are written before they are mounted; the directory is as it was
/// afterwards.
const SCRATCH: &str = "/tmp";

/// Why a file system was not mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotMounted {
    /// The mount below could not be verified to be private: a mount on it might propagate.
    NotPrivate,
    Refused(Errno),
}

/// A line of /proc/self/mountinfo (man 5 proc_pid_mountinfo).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    id: u64,
    point: PathBuf,
    read_only: bool,
    /// Neither in a peer group nor a slave: mounts do not propagate.
    is_private: bool,
    /// An autofs mount, which mounts a file system on access.
    is_autofs: bool,
}

impl Mount {
    /// 36 35 98:0 /root /point rw,noatime shared:1 master:2 - ext4 /dev/sda1 rw
    fn of_line(line: &[u8]) -> Option<Mount> {
        let mut fields = line.split(|&byte| byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        let point = PathBuf::from(OsString::from_vec(unescape(fields.nth(3)?)));
        let read_only = fields.next()?.split(|&byte| byte == b',').any(|option| option == b"ro");
        let mut propagation = Vec::new();
        loop {
            // A line without the separator is malformed.
            match fields.next()? {
                b"-" => break,
                field => propagation.push(field),
            }
        }
        let is_private = propagation.iter().all(|&field| field == b"unbindable");
        Some(Mount { id, point, read_only, is_private, is_autofs: fields.next() == Some(b"autofs") })
    }
}

/// Decodes octal escapes (`\040`) of space, tab, newline and backslash.
fn unescape(field: &[u8]) -> Vec<u8> {
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

/// The mounts below this process's root; empty if /proc is not mounted.
fn mounts() -> Vec<Mount> {
    let text = fs::read("/proc/self/mountinfo").unwrap_or_default();
    text.split(|&byte| byte == b'\n').filter_map(Mount::of_line).collect()
}

/// Makes all mounts of the mount namespace private where the kernel permits it.
pub fn make_private() {
    if mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE).is_ok() {
        return;
    }
    // In a chroot "/" may be no mount point (EINVAL): the mounts below it are changed one by one.
    for below in mounts().into_iter().filter(|below| !below.is_autofs) {
        let _ = mount(NONE, &below.point, NONE, MsFlags::MS_PRIVATE, NONE);
    }
}

/// A mount point whose mount is private.
struct PrivateMount {
    descriptor: OwnedFd,
    read_only: bool,
}

/// Verifies in mountinfo that the mount at `path` has the given type and is private.
fn verify_private(path: &str, kind: FsType) -> Result<PrivateMount, NotMounted> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let descriptor = open(path, flags, Mode::empty()).map_err(|_| NotMounted::NotPrivate)?;
    let has_kind = fstatfs(&descriptor).is_ok_and(|fs| fs.filesystem_type() == kind);
    let below = mount_of(&descriptor).filter(|below| below.is_private && has_kind).ok_or(NotMounted::NotPrivate)?;
    Ok(PrivateMount { descriptor, read_only: below.read_only })
}

/// The mount of an open file (man 5 proc_pid_fdinfo).
fn mount_of(descriptor: &OwnedFd) -> Option<Mount> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd())).ok()?;
    let id: u64 = text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()?;
    mounts().into_iter().find(|mount| mount.id == id)
}

impl PrivateMount {
    /// Mounts a file system on the verified mount point, by its descriptor.
    fn mount_over(&self, kind: &str) -> Result<(), NotMounted> {
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let flags = if self.read_only { flags | MsFlags::MS_RDONLY } else { flags };
        mount(Some(kind), magic_link(&self.descriptor).as_str(), Some(kind), flags, NONE).map_err(NotMounted::Refused)
    }
}

/// Mounts /proc of this process's PID namespace.
pub fn mount_proc() -> Result<(), NotMounted> {
    verify_private("/proc", PROC_SUPER_MAGIC)?.mount_over("proc")
}

/// Mounts /sys of this process's network namespace with the mounts inside it (cgroups, tracing).
/// Does nothing if there is no /sys.
pub fn mount_sysfs() -> Result<(), NotMounted> {
    if !Path::new("/sys/class/net").exists() {
        return Ok(());
    }
    let below = verify_private("/sys", SYSFS_MAGIC)?;
    let inside = mounts_in_sysfs();
    below.mount_over("sysfs")?;
    for (point, descriptor) in inside {
        let _ = mount(Some(magic_link(&descriptor).as_str()), &point, NONE, MsFlags::MS_BIND | MsFlags::MS_REC, NONE);
    }
    Ok(())
}

/// Mounts files with the given contents over files of the machine: (path, content). A path that is
/// a symbolic link names its target.
pub fn mount_files(files: &[(&str, &str)]) -> Result<(), NotMounted> {
    let points = files.iter().map(|(path, _)| private_point(path, OFlag::O_PATH)).collect::<Result<Vec<OwnedFd>, _>>()?;
    let scratch = private_point(SCRATCH, OFlag::O_PATH | OFlag::O_DIRECTORY)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("tmpfs"), magic_link(&scratch).as_str(), Some("tmpfs"), flags, Some("mode=0755")).map_err(NotMounted::Refused)?;
    let mounted = files.iter().zip(&points).enumerate().try_for_each(|(number, ((_, content), point))| {
        let source = Path::new(SCRATCH).join(number.to_string());
        write_readable(&source, content)
            .map_err(|e| NotMounted::Refused(Errno::from_raw(e.raw_os_error().unwrap_or(libc::EIO))))?;
        mount(Some(&source), magic_link(point).as_str(), NONE, MsFlags::MS_BIND, NONE).map_err(NotMounted::Refused)
    });
    // The mounted files keep the file system alive.
    let _ = umount2(SCRATCH, MntFlags::MNT_DETACH);
    mounted
}

/// A file or directory whose mount is private.
fn private_point(path: &str, flags: OFlag) -> Result<OwnedFd, NotMounted> {
    let descriptor = open(path, flags | OFlag::O_CLOEXEC, Mode::empty()).map_err(NotMounted::Refused)?;
    let is_private = mount_of(&descriptor).is_some_and(|below| below.is_private);
    if is_private { Ok(descriptor) } else { Err(NotMounted::NotPrivate) }
}

fn magic_link(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

/// Writes a file that all users may read, whatever the umask.
fn write_readable(path: &Path, content: &str) -> io::Result<()> {
    fs::write(path, content)?;
    fs::set_permissions(path, Permissions::from_mode(0o644))
}

/// The outermost mounts in /sys, with open descriptors.
fn mounts_in_sysfs() -> Vec<(PathBuf, OwnedFd)> {
    let mut outermost: Vec<PathBuf> = Vec::new();
    for Mount { point, .. } in mounts() {
        let is_inside = point.starts_with("/sys") && point != Path::new("/sys");
        if is_inside && !outermost.iter().any(|outer| point.starts_with(outer)) {
            outermost.push(point);
        }
    }
    let opened = |point: PathBuf| {
        let descriptor = open(&point, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
        Some((point, descriptor))
    };
    outermost.into_iter().filter_map(opened).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("L1")
    #[test]
    fn mount_is_private_only_when_it_has_neither_peers_nor_a_master() {
        let is_private = |optional: &str| {
            let line = format!("36 35 98:0 / /a\\040b rw,noatime {optional}- proc proc rw");
            let mount = Mount::of_line(line.as_bytes()).unwrap();
            assert_eq!((mount.id, mount.point.to_str()), (36, Some("/a b")));
            mount.is_private
        };
        assert!(is_private("") && is_private("unbindable "));
        assert!(!is_private("shared:1 ") && !is_private("master:2 ") && !is_private("shared:1 master:2 propagate_from:3 "));
        assert!(!is_private("a_field_of_a_later_kernel:1 "));
        assert_eq!(Mount::of_line(b"36 35 98:0 / /proc rw"), None);
        let sysfs = Mount::of_line(b"36 35 98:0 / /sys ro,nosuid - sysfs sysfs rw").unwrap();
        assert!(sysfs.read_only && !sysfs.is_autofs);
        assert!(Mount::of_line(b"36 35 0:30 / /a rw shared:1 - autofs systemd-1 rw").unwrap().is_autofs);
    }
}
