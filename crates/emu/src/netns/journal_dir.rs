//! The directory of cleanup journals, one file per emulation, named after its PID.
//!
//! Root undoes the changes that a journal lists. A journal is therefore accepted only if no other
//! user can have written it: directory and file belong to this user, no other user has access, and
//! neither is a symbolic link.

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat, mkdirat};
use nix::unistd::{UnlinkatFlags, geteuid, unlinkat};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Modes of the directory and the journals: access for the owner only.
const OWN_DIRECTORY: Mode = Mode::S_IRWXU;
const OWN_FILE: Mode = Mode::S_IRUSR.union(Mode::S_IWUSR);
/// Maximum size of a journal in bytes. A journal has a name for each client.
const MAX_SIZE: u64 = 1 << 24;

#[derive(Debug)]
pub struct JournalDir {
    directory: OwnedFd,
}

impl JournalDir {
    /// Opens or creates the directory.
    pub fn create(path: &Path) -> io::Result<JournalDir> {
        // A umask can only clear bits of mode 0700. `open` checks an existing directory.
        match mkdirat(nix::fcntl::AT_FDCWD, path, OWN_DIRECTORY) {
            Ok(()) | Err(Errno::EEXIST) => JournalDir::open(path),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the directory. PermissionDenied if it belongs to another user or is no directory.
    pub fn open(path: &Path) -> io::Result<JournalDir> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let directory = open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::ELOOP | Errno::ENOTDIR => refused(path, "it is no directory".into()),
            other => other.into(),
        })?;
        let stat = fstat(&directory)?;
        if stat.st_uid != geteuid().as_raw() {
            return Err(refused(path, format!("it belongs to user {}", stat.st_uid)));
        }
        let journals = JournalDir { directory };
        let mode = mode_of(&stat);
        if mode.intersects(Mode::S_IRWXG | Mode::S_IRWXO) {
            fchmod(&journals.directory, OWN_DIRECTORY)?;
            if mode.intersects(Mode::S_IWGRP | Mode::S_IWOTH) {
                // Other users may have created or replaced files: no journal is accepted.
                journals.clear()?;
            }
        }
        Ok(journals)
    }

    /// Runs `body` under an exclusive flock of the directory: one emulation must not disable
    /// forwarding while another enables it.
    pub fn with_lock<T>(&self, body: impl FnOnce() -> T) -> T {
        // SAFETY: an open descriptor of this process. If flock fails, `body` runs without a lock.
        let locked = unsafe { libc::flock(self.directory.as_raw_fd(), libc::LOCK_EX) } == 0;
        let result = body();
        if locked {
            // SAFETY: as above.
            unsafe { libc::flock(self.directory.as_raw_fd(), libc::LOCK_UN) };
        }
        result
    }

    fn clear(&self) -> io::Result<()> {
        for name in self.names()? {
            // A subdirectory is no journal, and stays.
            let _ = unlinkat(&self.directory, name.as_path(), UnlinkatFlags::NoRemoveDir);
        }
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<PathBuf>> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut directory = Dir::openat(&self.directory, ".", flags, Mode::empty())?;
        let names = directory.iter().flatten().map(|entry| PathBuf::from(entry.file_name().to_string_lossy().into_owned()));
        Ok(names.filter(|name| name != Path::new(".") && name != Path::new("..")).collect())
    }

    /// PIDs of the processes that have a journal.
    pub fn processes(&self) -> Vec<u32> {
        let names = self.names().unwrap_or_default();
        names.iter().filter_map(|name| name.to_str()?.parse().ok()).collect()
    }

    /// A process's journal, if it passes the ownership checks.
    pub fn read(&self, process: u32) -> Option<String> {
        // O_NONBLOCK: opening a FIFO must not block.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = openat(&self.directory, name(process).as_path(), flags, Mode::empty()).ok()?;
        let stat = fstat(&file).ok()?;
        let regular = SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG;
        let is_own = stat.st_uid == geteuid().as_raw() && stat.st_nlink == 1;
        let writable = mode_of(&stat).intersects(Mode::S_IWGRP | Mode::S_IWOTH);
        if !regular || !is_own || writable {
            return None;
        }
        let mut text = String::new();
        File::from(file).take(MAX_SIZE).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Creates an empty journal for a process, open for appending.
    pub fn begin(&self, process: u32) -> io::Result<File> {
        // An existing file of that name belongs to an earlier process with the same PID.
        self.remove(process);
        let flags = OFlag::O_WRONLY | OFlag::O_APPEND | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(File::from(openat(&self.directory, name(process).as_path(), flags, OWN_FILE)?))
    }

    pub fn remove(&self, process: u32) {
        let _ = unlinkat(&self.directory, name(process).as_path(), UnlinkatFlags::NoRemoveDir);
    }
}

fn name(process: u32) -> PathBuf {
    PathBuf::from(process.to_string())
}

fn mode_of(stat: &FileStat) -> Mode {
    Mode::from_bits_truncate(stat.st_mode)
}

fn refused(path: &Path, why: String) -> io::Error {
    let message = format!("{} cannot hold cleanup journals: {why}; remove it", path.display());
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Whether only this user can change the directory.
pub fn is_own_directory(directory: &OwnedFd) -> bool {
    let is_own = |stat: FileStat| stat.st_uid == geteuid().as_raw() && !mode_of(&stat).intersects(Mode::S_IWGRP | Mode::S_IWOTH);
    fstat(directory).is_ok_and(is_own)
}

/// Opens a name in a directory without following a symbolic link.
pub fn open_in(directory: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    Ok(openat(directory, name, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ackclock-journals-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    // finding("S4")
    #[test]
    fn journal_has_mode_0600_when_the_directory_is_new() {
        let path = folder("new");
        let journals = JournalDir::create(&path).unwrap();
        journals.begin(7).unwrap().write_all(b"text").unwrap();
        let bits = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((bits(&path), bits(&path.join("7"))), (0o700, 0o600));
        assert_eq!((journals.processes(), journals.read(7).as_deref()), (vec![7], Some("text")));
        journals.remove(7);
        assert_eq!(journals.read(7), None);
        std::fs::remove_dir_all(&path).unwrap();
    }

    // finding("S4")
    #[test]
    fn journals_are_rejected_when_others_can_write_to_their_directory() {
        let path = folder("open");
        std::fs::create_dir(&path).unwrap();
        mode(&path, 0o777);
        std::fs::write(path.join("7"), "forged").unwrap();
        let journals = JournalDir::open(&path).unwrap();
        assert_eq!((journals.read(7), journals.processes()), (None, vec![]));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::remove_dir_all(&path).unwrap();
    }

    // finding("S4")
    #[test]
    fn journal_is_rejected_when_it_is_a_symlink_or_writable_by_others_or_has_two_links() {
        let path = folder("odd");
        let journals = JournalDir::create(&path).unwrap();
        journals.begin(1).unwrap().write_all(b"own").unwrap();
        symlink(path.join("1"), path.join("2")).unwrap();
        std::fs::write(path.join("3"), "anybody's").unwrap();
        mode(&path.join("3"), 0o666);
        nix::unistd::mkfifo(&path.join("4"), Mode::S_IRWXU).unwrap();
        std::fs::create_dir(path.join("5")).unwrap();
        assert_eq!(journals.read(1).as_deref(), Some("own"));
        assert!((2..6).all(|process| journals.read(process).is_none()));
        std::fs::hard_link(path.join("1"), path.join("6")).unwrap();
        assert!(journals.read(1).is_none() && journals.read(6).is_none());
        std::fs::remove_dir_all(&path).unwrap();
    }

    // finding("S4")
    #[test]
    fn directory_is_refused_when_it_is_a_link_or_belongs_to_another_user() {
        let path = folder("else");
        std::fs::create_dir(&path).unwrap();
        let link = folder("link");
        let _ = std::fs::remove_file(&link);
        symlink(&path, &link).unwrap();
        assert!(JournalDir::open(&link).is_err() && JournalDir::create(&link).is_err());
        std::fs::remove_file(&link).unwrap();
        if geteuid().is_root() {
            chown(&path, Some(65_534), None).unwrap();
            let error = JournalDir::create(&path).unwrap_err().to_string();
            assert!(error.contains("belongs to user 65534"), "{error}");
        }
        std::fs::remove_dir_all(&path).unwrap();
    }
}
