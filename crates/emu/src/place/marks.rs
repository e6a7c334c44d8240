//! What an emulation leaves with the machine under it: names of namespaces, a rule that lets traffic out. All of it is undone at the end,
//! by its guard where the emulation was killed, and by the next emulation where the guard was killed too.

use super::guard::Guard;
use super::internet::Subnet;
use super::nat;
use super::notes::{Notes, is_own_directory, open_in};
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::sys::statfs::{NSFS_MAGIC, fstatfs};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where things are on the machine.
#[derive(Debug, Clone)]
struct Machine {
    notes: PathBuf,
    /// Where `ip netns` looks for names.
    names: PathBuf,
    forwarding: PathBuf,
}

impl Machine {
    fn this() -> Machine {
        let [notes, names, forwarding] = ["/run/ackclock", "/run/netns", "/proc/sys/net/ipv4/ip_forward"].map(PathBuf::from);
        Machine { notes, names, forwarding }
    }
}

/// The name of a network namespace: of a file in the directory of names, and of no other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamespaceName(String);

impl NamespaceName {
    const LONGEST: usize = 80;

    fn new(text: &str) -> Option<NamespaceName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let first = text.bytes().next().filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        (first.is_some() && text.len() <= Self::LONGEST && text.bytes().all(allowed)).then(|| NamespaceName(text.into()))
    }
}

/// One thing to undo, a line of the notes. A line can name nothing that no emulation makes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    /// A namespace's name and inode: another process may have reused the name.
    Name { name: NamespaceName, inode: u64 },
    /// Traffic of this subnet goes out under this machine's address.
    Nat(Subnet),
    /// Forwarding was off, or on for other emulations only.
    Forwarding,
}

impl Mark {
    fn line(&self) -> String {
        match self {
            Mark::Name { name, inode } => format!("name {} {inode}\n", name.0),
            Mark::Nat(subnet) => format!("nat {}\n", subnet.text()),
            Mark::Forwarding => "forwarding\n".into(),
        }
    }

    fn of_line(line: &str) -> Option<Mark> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["name", name, inode] => Some(Mark::Name { name: NamespaceName::new(name)?, inode: inode.parse().ok()? }),
            ["nat", subnet] => Some(Mark::Nat(Subnet::of_text(subnet)?)),
            ["forwarding"] => Some(Mark::Forwarding),
            _ => None,
        }
    }
}

/// This emulation's marks, undone when it is dropped; the process must then be in the namespace in which they were made.
#[derive(Debug)]
pub struct Marks {
    machine: Machine,
    /// Why notes cannot be written; none if they can.
    notes: io::Result<Notes>,
    file: Option<File>,
    made: Vec<Mark>,
    guard: Option<Guard>,
}

impl Marks {
    /// An empty set of marks; undoes the marks of killed emulations. `any`: marks will be made. The caller has one thread and is in the
    /// machine's network.
    pub fn new(any: bool) -> Marks {
        let machine = Machine::this();
        let world = world();
        if let Ok(notes) = Notes::open(&machine.notes) {
            sweep(&machine, &notes, &world);
        }
        if !any {
            return Marks { machine, notes: Err(io::ErrorKind::Unsupported.into()), file: None, made: Vec::new(), guard: None };
        }
        let notes = Notes::create(&machine.notes);
        let mut marks = Marks { machine, notes, file: None, made: Vec::new(), guard: None };
        if let Err(error) = marks.begin(&world) {
            marks.notes = Err(error);
        }
        marks
    }

    /// An empty note and its guard.
    fn begin(&mut self, world: &str) -> io::Result<()> {
        let Ok(notes) = &self.notes else { return Ok(()) };
        let process = std::process::id();
        let mut file = notes.begin(process)?;
        file.write_all(format!("{world} {}\n", started(process).unwrap_or(0)).as_bytes())?;
        self.file = Some(file);
        let (machine, world) = (self.machine.clone(), world.to_owned());
        self.guard = Some(Guard::start(move || undo_all_of(&machine, process, &world))?);
        Ok(())
    }

    /// Noted before it is made, so that nothing is made that nobody knows of.
    fn note(&mut self, mark: Mark) -> io::Result<()> {
        match (&self.notes, &mut self.file) {
            (Ok(_), Some(file)) => file.write_all(mark.line().as_bytes())?,
            (Err(error), _) => return Err(io::Error::new(error.kind(), error.to_string())),
            (Ok(_), None) => return Err(io::ErrorKind::Unsupported.into()),
        }
        self.made.push(mark);
        Ok(())
    }

    /// Gives the network namespace of a process a name that `ip netns exec` knows.
    pub fn name(&mut self, name: &str, process: i32) -> io::Result<()> {
        let Some(valid) = NamespaceName::new(name) else { return Err(io::ErrorKind::InvalidFilename.into()) };
        let namespace = format!("/proc/{process}/ns/net");
        let inode = fs::metadata(&namespace)?.ino();
        // As `ip netns` makes it, whatever the umask.
        fs::DirBuilder::new().recursive(true).mode(0o755).create(&self.machine.names)?;
        let path = self.machine.names.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.note(Mark::Name { name: valid, inode })?;
        File::create_new(&path)?;
        let none: Option<&str> = None;
        Ok(mount(Some(namespace.as_str()), &path, none, MsFlags::MS_BIND, none)?)
    }

    /// Lets traffic of a subnet out under this machine's address.
    pub fn let_out(&mut self, subnet: Subnet) -> io::Result<()> {
        // A descriptor of its own, as this borrows the notes while the lock is held.
        match Notes::create(&self.machine.notes) {
            Ok(notes) => notes.alone(|| self.forward(&notes))?,
            Err(error) => return Err(error),
        }
        self.note(Mark::Nat(subnet))?;
        nat::start(&subnet.text())
    }

    fn forward(&mut self, notes: &Notes) -> io::Result<()> {
        let off = fs::read_to_string(&self.machine.forwarding)?.trim() == "0";
        if off || others_forward(notes, std::process::id(), &world()) {
            self.note(Mark::Forwarding)?;
            fs::write(&self.machine.forwarding, "1")?;
        }
        Ok(())
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if let Ok(notes) = &self.notes {
            undo(&self.machine, notes, std::process::id(), &self.made);
        }
        // The note is removed, so the guard has nothing to undo.
        drop(self.guard.take());
    }
}

/// Undoes the marks of a process in reverse order and removes its note. A mark that cannot be undone no longer exists.
fn undo(machine: &Machine, notes: &Notes, process: u32, made: &[Mark]) {
    let undo = |mark: &Mark| match mark {
        Mark::Name { name, inode } => remove_name(&machine.names, name, *inode),
        Mark::Nat(subnet) => {
            let _ = nat::stop(&subnet.text());
        }
        Mark::Forwarding if others_forward(notes, process, &world()) => {}
        Mark::Forwarding => {
            let _ = fs::write(&machine.forwarding, "0");
        }
    };
    notes.alone(|| {
        made.iter().rev().for_each(undo);
        notes.remove(process);
    });
}

/// Removes the name if it refers to this namespace or to none. The name of a later namespace stays.
fn remove_name(names: &Path, name: &NamespaceName, inode: u64) {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let Ok(directory) = open(names, flags, Mode::empty()) else { return };
    if !is_own_directory(&directory) {
        return;
    }
    let found = || {
        let file = open_in(&directory, &name.0).ok()?;
        Some((fstatfs(&file).ok()?.filesystem_type() == NSFS_MAGIC, fstat(&file).ok()?))
    };
    if found().is_some_and(|(namespace, stat)| namespace && stat.st_ino == inode) {
        let _ = umount2(&names.join(&name.0), MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW);
    }
    let empty = |mode: u32, size: i64| SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == SFlag::S_IFREG && size == 0;
    if found().is_some_and(|(namespace, stat)| !namespace && empty(stat.st_mode, stat.st_size)) {
        let _ = unlinkat(&directory, name.0.as_str(), UnlinkatFlags::NoRemoveDir);
    }
}

/// In which world of process numbers, network and machine start this is: others' notes are not ours to judge.
fn world() -> String {
    let of = |what: &str| fs::read_link(format!("/proc/self/ns/{what}")).map(|p| p.display().to_string()).unwrap_or_default();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {} {}", of("pid"), of("net"), boot.trim())
}

/// When a process started, in ticks (man 5 proc_pid_stat, field 22); none if there is no such process, or only its exit status is left.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

/// A note's contents: the machine's identity (`world`), the start time of the process, and its marks.
struct Note {
    world: String,
    start: String,
    marks: Vec<Mark>,
}

impl Note {
    fn read(notes: &Notes, process: u32) -> Option<Note> {
        let text = notes.read(process)?;
        let mut lines = text.lines();
        let (world, start) = lines.next()?.rsplit_once(' ')?;
        Some(Note { world: world.into(), start: start.into(), marks: lines.filter_map(Mark::of_line).collect() })
    }

    fn is_alive(&self, process: u32) -> bool {
        started(process).is_some_and(|start| start.to_string() == self.start)
    }
}

/// Whether other emulations of this world that still run need forwarding.
fn others_forward(notes: &Notes, process: u32, world: &str) -> bool {
    notes.processes().into_iter().filter(|&other| other != process).any(|other| {
        let note = Note::read(notes, other);
        note.is_some_and(|note| note.world == world && note.is_alive(other) && note.marks.contains(&Mark::Forwarding))
    })
}

/// Undoes the marks of this world's ended processes.
fn sweep(machine: &Machine, notes: &Notes, world: &str) {
    for process in notes.processes() {
        if let Some(note) = Note::read(notes, process)
            && note.world == world
            && !note.is_alive(process)
        {
            undo(machine, notes, process, &note.marks);
        }
    }
}

/// Undoes the marks of one process that has ended.
fn undo_all_of(machine: &Machine, process: u32, world: &str) {
    if let Ok(notes) = Notes::open(&machine.notes)
        && let Some(note) = Note::read(&notes, process)
        && note.world == world
    {
        undo(machine, &notes, process, &note.marks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> (PathBuf, Machine, Notes) {
        let folder = std::env::temp_dir().join(format!("ackclock-marks-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let [notes, names, forwarding] = ["notes", "names", "forwarding"].map(|part| folder.join(part));
        fs::create_dir_all(&names).unwrap();
        fs::write(&forwarding, "1").unwrap();
        let machine = Machine { notes, names, forwarding };
        let notes = Notes::create(&machine.notes).unwrap();
        (folder, machine, notes)
    }

    fn note(notes: &Notes, process: u32, text: &str) {
        notes.begin(process).unwrap().write_all(text.as_bytes()).unwrap();
    }

    #[test]
    fn mark_is_read_back_from_its_line() {
        let name = NamespaceName::new("a-b.c_1").unwrap();
        for mark in [Mark::Name { name, inode: 7 }, Mark::Nat(Subnet::of_text("198.18.0.4/30").unwrap()), Mark::Forwarding] {
            assert_eq!(Mark::of_line(mark.line().trim_end()), Some(mark));
        }
    }

    // finding("S4")
    #[test]
    fn line_is_ignored_when_it_names_what_no_emulation_makes() {
        for name in ["/etc/passwd", "../../etc/passwd", "..", ".hidden", "-x", "", "a b", "a\0", "a/b", &"x".repeat(81)] {
            assert_eq!(Mark::of_line(&format!("name {name} 1")), None, "{name}");
        }
        for subnet in
            ["10.0.0.0/8", "198.18.0.4/29", "198.18.0.5/30", "198.20.0.0/30", "0.0.0.0/0", "198.18.0.4/30; flush ruleset"]
        {
            assert_eq!(Mark::of_line(&format!("nat {subnet}")), None, "{subnet}");
        }
        assert_eq!(Mark::of_line("name a"), None);
        assert_eq!(Mark::of_line("something else"), None);
    }

    // finding("L6")
    #[test]
    fn marks_are_undone_when_their_process_is_gone() {
        let (folder, machine, notes) = machine("dead");
        let (dead, alive) = (machine.names.join("dead"), machine.names.join("alive"));
        for path in [&dead, &alive] {
            fs::write(path, "").unwrap();
        }
        let own = std::process::id();
        note(&notes, own, &format!("here {}\nname alive 1\n", started(own).unwrap()));
        // A number that was another process's before, and one of another world.
        note(&notes, 1, "here 1000000007\nforwarding\nname dead 1\n");
        note(&notes, 2, "elsewhere 1000000007\nname alive 1\n");
        sweep(&machine, &notes, "here");
        assert!(!dead.exists() && alive.exists());
        assert_eq!(fs::read_to_string(&machine.forwarding).unwrap(), "0");
        let mut left = notes.processes();
        left.sort_unstable();
        assert_eq!(left, [2, own]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn forwarding_stays_when_another_emulation_needs_it() {
        let (folder, machine, notes) = machine("forwarding");
        let own = std::process::id();
        let here = world();
        note(&notes, own, &format!("{here} {}\nforwarding\n", started(own).unwrap()));
        note(&notes, 1, &format!("{here} 1000000007\nforwarding\n"));
        sweep(&machine, &notes, &here);
        assert_eq!(fs::read_to_string(&machine.forwarding).unwrap(), "1");
        assert_eq!(notes.processes(), [own]);
        undo_all_of(&machine, own, &here);
        assert_eq!(fs::read_to_string(&machine.forwarding).unwrap(), "0");
        fs::remove_dir_all(&folder).unwrap();
    }

    // finding("S4")
    #[test]
    fn name_stays_when_it_is_not_an_empty_file() {
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
