//! Journal of an emulation's changes to the machine: names of namespaces, a NAT rule, the
//! forwarding switch. They are undone at the end; by the guard if the emulation is killed; by the
//! next emulation if the guard is killed too.

use super::guard::Guard;
use super::journal_dir::{JournalDir, is_own_directory, open_in};
use super::nat;
use super::uplink::UplinkSubnet;
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Paths of the machine's state.
#[derive(Debug, Clone)]
struct MachinePaths {
    journals: PathBuf,
    /// The directory of namespace names of `ip netns`.
    names: PathBuf,
    forwarding: PathBuf,
}

impl MachinePaths {
    fn standard() -> MachinePaths {
        let [journals, names, forwarding] = ["/run/ackclock", "/run/netns", "/proc/sys/net/ipv4/ip_forward"].map(PathBuf::from);
        MachinePaths { journals, names, forwarding }
    }
}

/// A valid name of a network namespace: a file name in the directory of names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamespaceName(String);

impl NamespaceName {
    const MAX_LEN: usize = 80;

    fn new(text: &str) -> Option<NamespaceName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let first = text.bytes().next().filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        (first.is_some() && text.len() <= Self::MAX_LEN && text.bytes().all(allowed)).then(|| NamespaceName(text.into()))
    }
}

/// A change to undo, one line of the journal. A line can describe only changes that an emulation
/// makes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum JournalEntry {
    /// A namespace's name and inode: another process may reuse the name.
    Name { name: NamespaceName, inode: u64 },
    /// The masquerading rule of this subnet.
    Nat(UplinkSubnet),
    /// The forwarding switch, which was off, or on for other emulations only.
    Forwarding,
}

impl JournalEntry {
    fn line(&self) -> String {
        match self {
            JournalEntry::Name { name, inode } => format!("name {} {inode}\n", name.0),
            JournalEntry::Nat(subnet) => format!("nat {}\n", subnet.text()),
            JournalEntry::Forwarding => "forwarding\n".into(),
        }
    }

    fn of_line(line: &str) -> Option<JournalEntry> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["name", name, inode] => Some(JournalEntry::Name { name: NamespaceName::new(name)?, inode: inode.parse().ok()? }),
            ["nat", subnet] => Some(JournalEntry::Nat(UplinkSubnet::of_text(subnet)?)),
            ["forwarding"] => Some(JournalEntry::Forwarding),
            _ => None,
        }
    }
}

/// The journal of this emulation. Dropping it undoes the changes; the process must then be in the
/// machine's network namespace.
#[derive(Debug)]
pub struct CleanupJournal {
    machine: MachinePaths,
    /// The directory of all journals, or why no journal can be written.
    directory: io::Result<JournalDir>,
    file: Option<File>,
    entries: Vec<JournalEntry>,
    guard: Option<Guard>,
}

impl CleanupJournal {
    /// Undoes the changes of killed emulations. Begins a journal if `will_change`. The caller must
    /// have one thread and be in the machine's network namespace.
    pub fn new(will_change: bool) -> CleanupJournal {
        let machine = MachinePaths::standard();
        let identity = machine_identity();
        if let Ok(directory) = JournalDir::open(&machine.journals) {
            undo_ended(&machine, &directory, &identity);
        }
        let directory = if will_change { JournalDir::create(&machine.journals) } else { Err(io::ErrorKind::Unsupported.into()) };
        let mut journal = CleanupJournal { machine, directory, file: None, entries: Vec::new(), guard: None };
        if will_change && let Err(error) = journal.begin(&identity) {
            journal.directory = Err(error);
        }
        journal
    }

    /// Creates the journal's file and starts the guard.
    fn begin(&mut self, identity: &str) -> io::Result<()> {
        let Ok(directory) = &self.directory else { return Ok(()) };
        let process = std::process::id();
        let mut file = directory.begin(process)?;
        file.write_all(format!("{identity} {}\n", start_time(process).unwrap_or(0)).as_bytes())?;
        self.file = Some(file);
        let (machine, identity) = (self.machine.clone(), identity.to_owned());
        self.guard = Some(Guard::start(move || undo_process(&machine, process, &identity))?);
        Ok(())
    }

    /// Writes an entry. Every change is recorded before it is made (write-ahead).
    fn record(&mut self, entry: JournalEntry) -> io::Result<()> {
        match (&self.directory, &mut self.file) {
            (Ok(_), Some(file)) => file.write_all(entry.line().as_bytes())?,
            (Err(error), _) => return Err(io::Error::new(error.kind(), error.to_string())),
            (Ok(_), None) => return Err(io::ErrorKind::Unsupported.into()),
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Names the network namespace of a process for `ip netns exec`.
    pub fn name(&mut self, name: &str, process: i32) -> io::Result<()> {
        let Some(valid) = NamespaceName::new(name) else { return Err(io::ErrorKind::InvalidFilename.into()) };
        let namespace = format!("/proc/{process}/ns/net");
        let inode = fs::metadata(&namespace)?.ino();
        // The mode that `ip netns` uses, regardless of the umask.
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&self.machine.names)?;
        let path = self.machine.names.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.record(JournalEntry::Name { name: valid, inode })?;
        File::create_new(&path)?;
        let none: Option<&str> = None;
        Ok(mount(Some(namespace.as_str()), &path, none, MsFlags::MS_BIND, none)?)
    }

    /// Masquerades a subnet's traffic under this machine's address, and enables forwarding.
    pub fn enable_nat(&mut self, subnet: UplinkSubnet) -> io::Result<()> {
        // A second descriptor: `self.directory` is borrowed while the lock is held.
        let directory = JournalDir::create(&self.machine.journals)?;
        directory.with_lock(|| self.enable_forwarding(&directory))?;
        self.record(JournalEntry::Nat(subnet))?;
        nat::add_masquerade(&subnet.text())
    }

    fn enable_forwarding(&mut self, directory: &JournalDir) -> io::Result<()> {
        let is_off = fs::read_to_string(&self.machine.forwarding)?.trim() == "0";
        if is_off || others_need_forwarding(directory, std::process::id(), &machine_identity()) {
            self.record(JournalEntry::Forwarding)?;
            fs::write(&self.machine.forwarding, "1")?;
        }
        Ok(())
    }
}

impl Drop for CleanupJournal {
    fn drop(&mut self) {
        if let Ok(directory) = &self.directory {
            undo(&self.machine, directory, std::process::id(), &self.entries);
        }
        // The file is removed, so the guard has nothing to undo.
        drop(self.guard.take());
    }
}

/// Undoes the changes of a process in reverse order and removes its journal. Errors are ignored: a
/// change that cannot be undone no longer exists.
fn undo(machine: &MachinePaths, directory: &JournalDir, process: u32, entries: &[JournalEntry]) {
    let undo = |entry: &JournalEntry| match entry {
        JournalEntry::Name { name, inode } => remove_name(&machine.names, name, *inode),
        JournalEntry::Nat(subnet) => {
            let _ = nat::remove_masquerade(&subnet.text());
        }
        JournalEntry::Forwarding if others_need_forwarding(directory, process, &machine_identity()) => {}
        JournalEntry::Forwarding => {
            let _ = fs::write(&machine.forwarding, "0");
        }
    };
    directory.with_lock(|| {
        entries.iter().rev().for_each(undo);
        directory.remove(process);
    });
}

/// Removes a name that refers to the namespace with this inode or to none. The name of a later
/// namespace stays.
fn remove_name(names: &Path, name: &NamespaceName, inode: u64) {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let Ok(directory) = open(names, flags, Mode::empty()) else { return };
    if !is_own_directory(&directory) {
        return;
    }
    let file_state = || {
        let file = open_in(&directory, &name.0).ok()?;
        Some((fstatfs(&file).ok()?.filesystem_type() == NSFS_MAGIC, fstat(&file).ok()?))
    };
    if file_state().is_some_and(|(is_namespace, stat)| is_namespace && stat.st_ino == inode) {
        let _ = umount2(&names.join(&name.0), MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW);
    }
    let is_empty_file = |mode: u32, size: i64| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFREG && size == 0;
    if file_state().is_some_and(|(is_namespace, stat)| !is_namespace && is_empty_file(stat.st_mode, stat.st_size)) {
        let _ = unlinkat(&directory, name.0.as_str(), UnlinkatFlags::NoRemoveDir);
    }
}

/// Identity of the PID namespace, the network namespace and the boot. The journal of another
/// identity is not evaluated: its PIDs and names have another meaning.
fn machine_identity() -> String {
    let inode = |kind: &str| fs::read_link(format!("/proc/self/ns/{kind}")).map(|p| p.display().to_string()).unwrap_or_default();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {} {}", inode("pid"), inode("net"), boot.trim())
}

/// Start time of a process in ticks (man 5 proc_pid_stat, field 22). None if there is no such
/// process or it is a zombie.
fn start_time(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

/// Contents of a journal's file. The first line has the machine's identity and the start time of
/// the process.
struct JournalFile {
    identity: String,
    start: String,
    entries: Vec<JournalEntry>,
}

impl JournalFile {
    fn read(directory: &JournalDir, process: u32) -> Option<JournalFile> {
        let text = directory.read(process)?;
        let mut lines = text.lines();
        let (identity, start) = lines.next()?.rsplit_once(' ')?;
        let entries = lines.filter_map(JournalEntry::of_line).collect();
        Some(JournalFile { identity: identity.into(), start: start.into(), entries })
    }

    fn is_alive(&self, process: u32) -> bool {
        start_time(process).is_some_and(|start| start.to_string() == self.start)
    }
}

/// Whether another running emulation of the same identity needs forwarding.
fn others_need_forwarding(directory: &JournalDir, process: u32, identity: &str) -> bool {
    directory.processes().into_iter().filter(|&other| other != process).any(|other| {
        let file = JournalFile::read(directory, other);
        file.is_some_and(|file| {
            file.identity == identity && file.is_alive(other) && file.entries.contains(&JournalEntry::Forwarding)
        })
    })
}

/// Undoes the changes of all ended processes of the same identity.
fn undo_ended(machine: &MachinePaths, directory: &JournalDir, identity: &str) {
    for process in directory.processes() {
        if let Some(file) = JournalFile::read(directory, process)
            && file.identity == identity
            && !file.is_alive(process)
        {
            undo(machine, directory, process, &file.entries);
        }
    }
}

/// Undoes the changes of one ended process.
fn undo_process(machine: &MachinePaths, process: u32, identity: &str) {
    if let Ok(directory) = JournalDir::open(&machine.journals)
        && let Some(file) = JournalFile::read(&directory, process)
        && file.identity == identity
    {
        undo(machine, &directory, process, &file.entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> (PathBuf, MachinePaths, JournalDir) {
        let folder = std::env::temp_dir().join(format!("ackclock-cleanup-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let [journals, names, forwarding] = ["journals", "names", "forwarding"].map(|part| folder.join(part));
        fs::create_dir_all(&names).unwrap();
        fs::write(&forwarding, "1").unwrap();
        let machine = MachinePaths { journals, names, forwarding };
        let directory = JournalDir::create(&machine.journals).unwrap();
        (folder, machine, directory)
    }

    fn write(directory: &JournalDir, process: u32, text: &str) {
        directory.begin(process).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn journal_entry_is_parsed_from_its_line() {
        let name = NamespaceName::new("a-b.c_1").unwrap();
        let nat = JournalEntry::Nat(UplinkSubnet::of_text("198.18.0.4/30").unwrap());
        for entry in [JournalEntry::Name { name, inode: 7 }, nat, JournalEntry::Forwarding] {
            assert_eq!(JournalEntry::of_line(entry.line().trim_end()), Some(entry));
        }
    }

    // finding("S4")
    #[test]
    fn line_is_ignored_when_no_emulation_makes_such_a_change() {
        for name in ["/etc/passwd", "../../etc/passwd", "..", ".hidden", "-x", "", "a b", "a\0", "a/b", &"x".repeat(81)] {
            assert_eq!(JournalEntry::of_line(&format!("name {name} 1")), None, "{name}");
        }
        for subnet in
            ["10.0.0.0/8", "198.18.0.4/29", "198.18.0.5/30", "198.20.0.0/30", "0.0.0.0/0", "198.18.0.4/30; flush ruleset"]
        {
            assert_eq!(JournalEntry::of_line(&format!("nat {subnet}")), None, "{subnet}");
        }
        assert_eq!(JournalEntry::of_line("name a"), None);
        assert_eq!(JournalEntry::of_line("something else"), None);
    }

    // finding("L6")
    #[test]
    fn changes_are_undone_when_their_process_has_ended() {
        let (folder, machine, directory) = machine("dead");
        let (dead, alive) = (machine.names.join("dead"), machine.names.join("alive"));
        for path in [&dead, &alive] {
            fs::write(path, "").unwrap();
        }
        let process = std::process::id();
        write(&directory, process, &format!("here {}\nname alive 1\n", start_time(process).unwrap()));
        // A reused PID, and a journal of another identity.
        write(&directory, 1, "here 1000000007\nforwarding\nname dead 1\n");
        write(&directory, 2, "elsewhere 1000000007\nname alive 1\n");
        undo_ended(&machine, &directory, "here");
        assert!(!dead.exists() && alive.exists());
        assert_eq!(fs::read_to_string(&machine.forwarding).unwrap(), "0");
        let mut remaining = directory.processes();
        remaining.sort_unstable();
        assert_eq!(remaining, [2, process]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn forwarding_stays_when_another_emulation_needs_it() {
        let (folder, machine, directory) = machine("forwarding");
        let process = std::process::id();
        let here = machine_identity();
        write(&directory, process, &format!("{here} {}\nforwarding\n", start_time(process).unwrap()));
        write(&directory, 1, &format!("{here} 1000000007\nforwarding\n"));
        undo_ended(&machine, &directory, &here);
        assert_eq!(fs::read_to_string(&machine.forwarding).unwrap(), "1");
        assert_eq!(directory.processes(), [process]);
        undo_process(&machine, process, &here);
        assert_eq!(fs::read_to_string(&machine.forwarding).unwrap(), "0");
        fs::remove_dir_all(&folder).unwrap();
    }

    // finding("S4")
    #[test]
    fn name_is_kept_when_it_is_not_an_empty_file() {
        let (folder, machine, _) = machine("name");
        let outside = folder.join("outside");
        fs::write(&outside, "").unwrap();
        fs::write(machine.names.join("full"), "text").unwrap();
        std::os::unix::fs::symlink(&outside, machine.names.join("link")).unwrap();
        for name in ["full", "link"] {
            remove_name(&machine.names, &NamespaceName::new(name).unwrap(), 1);
        }
        assert!(outside.exists() && machine.names.join("full").exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
