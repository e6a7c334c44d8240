//! What an emulation leaves with the machine under it: names of namespaces, a rule that lets traffic out. All of it is undone at the end,
//! and what a killed emulation could not undo, the next one does.

use super::nat;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where notes are kept: a file for each emulation, named after its process.
const NOTES: &str = "/run/ackclock";
/// Where `ip netns` looks for names.
const NAMES: &str = "/run/netns";
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";

/// One thing to undo, a line of the notes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Mark {
    /// A namespace's name.
    Name(PathBuf),
    /// Traffic of this subnet goes out under this machine's address.
    Nat(String),
    /// Forwarding was off.
    Forwarding,
}

impl Mark {
    fn line(&self) -> String {
        match self {
            Mark::Name(path) => format!("name {}", path.display()),
            Mark::Nat(subnet) => format!("nat {subnet}"),
            Mark::Forwarding => "forwarding".into(),
        }
    }

    fn of_line(line: &str) -> Option<Mark> {
        match line.split_once(' ') {
            Some(("name", path)) => Some(Mark::Name(path.into())),
            Some(("nat", subnet)) => Some(Mark::Nat(subnet.into())),
            None if line == "forwarding" => Some(Mark::Forwarding),
            _ => None,
        }
    }

    /// What cannot be undone has gone already.
    fn undo(&self) {
        match self {
            Mark::Name(path) => {
                let _ = umount2(path, MntFlags::MNT_DETACH);
                let _ = fs::remove_file(path);
            }
            Mark::Nat(subnet) => {
                let _ = nat::stop(subnet);
            }
            Mark::Forwarding => {
                let _ = fs::write(FORWARDING, "0");
            }
        }
    }
}

/// This emulation's marks, undone when it is dropped; the process must then be in the namespace in which they were made.
#[derive(Debug)]
pub struct Marks {
    notes: PathBuf,
    text: String,
    made: Vec<Mark>,
}

impl Marks {
    /// None made yet; those of emulations that were killed are undone.
    pub fn new() -> Marks {
        let world = world();
        sweep(Path::new(NOTES), &world);
        let pid = std::process::id();
        Marks {
            notes: Path::new(NOTES).join(pid.to_string()),
            text: format!("{world} {}\n", started(pid).unwrap_or(0)),
            made: Vec::new(),
        }
    }

    /// Noted before it is made, so that nothing is made that nobody knows of.
    fn note(&mut self, mark: Mark) -> io::Result<()> {
        fs::create_dir_all(NOTES)?;
        self.text += &(mark.line() + "\n");
        fs::write(&self.notes, &self.text)?;
        self.made.push(mark);
        Ok(())
    }

    /// Gives the network namespace of a process a name that `ip netns exec` knows.
    pub fn name(&mut self, name: &str, process: i32) -> io::Result<()> {
        let path = Path::new(NAMES).join(name);
        fs::create_dir_all(NAMES)?;
        fs::File::create_new(&path)?;
        self.note(Mark::Name(path.clone()))?;
        let none: Option<&str> = None;
        Ok(mount(Some(format!("/proc/{process}/ns/net").as_str()), &path, none, MsFlags::MS_BIND, none)?)
    }

    /// Lets traffic of a subnet out under this machine's address.
    pub fn let_out(&mut self, subnet: &str) -> io::Result<()> {
        if fs::read_to_string(FORWARDING)?.trim() == "0" {
            self.note(Mark::Forwarding)?;
            fs::write(FORWARDING, "1")?;
        }
        self.note(Mark::Nat(subnet.into()))?;
        nat::start(subnet)
    }
}

impl Drop for Marks {
    fn drop(&mut self) {
        if !self.made.is_empty() {
            self.made.iter().rev().for_each(Mark::undo);
            let _ = fs::remove_file(&self.notes);
        }
    }
}

/// In which world of process numbers, network and machine start this is: others' notes are not ours to judge.
fn world() -> String {
    let of = |what: &str| fs::read_link(format!("/proc/self/ns/{what}")).map(|p| p.display().to_string()).unwrap_or_default();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {} {}", of("pid"), of("net"), boot.trim())
}

/// When a process started, in ticks (man 5 proc, /proc/pid/stat, field 22); none if there is no such process.
fn started(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Undoes what processes of this world have left that are gone.
fn sweep(notes: &Path, world: &str) {
    let Ok(files) = fs::read_dir(notes) else { return };
    for file in files.flatten() {
        let Some(pid) = file.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(text) = fs::read_to_string(file.path()) else { continue };
        let mut lines = text.lines();
        let Some((of_world, start)) = lines.next().and_then(|line| line.rsplit_once(' ')) else { continue };
        if of_world == world && started(pid).map(|s| s.to_string()).as_deref() != Some(start) {
            let marks: Vec<Mark> = lines.filter_map(Mark::of_line).collect();
            marks.iter().rev().for_each(Mark::undo);
            let _ = fs::remove_file(file.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_from_its_line() {
        for mark in [Mark::Name("/run/netns/a b".into()), Mark::Nat("198.18.0.4/30".into()), Mark::Forwarding] {
            assert_eq!(Mark::of_line(&mark.line()), Some(mark));
        }
        assert_eq!(Mark::of_line("something else"), None);
    }

    #[test]
    fn what_the_dead_left_is_undone_and_what_the_living_use_is_not() {
        let folder = std::env::temp_dir().join(format!("ackclock-marks-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (dead, alive) = (folder.join("a name"), folder.join("another name"));
        for path in [&dead, &alive] {
            fs::write(path, "").unwrap();
        }
        let own = std::process::id();
        let notes = |pid: u32, start: u64, world: &str, name: &Path| {
            fs::write(folder.join(pid.to_string()), format!("{world} {start}\nname {}\n", name.display())).unwrap();
        };
        notes(own, started(own).unwrap(), "here", &alive);
        // A number that was another process's before, and one of another world.
        notes(1, 1_000_000_007, "here", &dead);
        notes(2, 1_000_000_007, "elsewhere", &alive);
        sweep(&folder, "here");
        assert!(!dead.exists() && alive.exists());
        assert!(!folder.join("1").exists() && folder.join("2").exists() && folder.join(own.to_string()).exists());
        fs::remove_dir_all(&folder).unwrap();
    }
}
