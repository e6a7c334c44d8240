//! Into the kernel and out of it. A control lives as long as its link, and the link as long as its file on the BPF file system.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

use libbpf_rs::{MapCore, ObjectBuilder, PrintLevel};
use nix::sys::statfs::{BPF_FS_MAGIC, statfs};

use crate::controls::Control;
use crate::pins;

const BPFFS: &str = "/sys/fs/bpf";
const FOLDER: &str = "/sys/fs/bpf/ackclock";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// The kernel lets a control go a little after its link's last reference has gone.
const PATIENCE: (u32, Duration) = (200, Duration::from_millis(10));

/// What libbpf said last: the reason of a failure, where there is one.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether it is there, and whether it is ours to unload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Loaded,
    NotLoaded,
    /// The name is taken, but no file of ours holds it.
    Elsewhere,
}

impl State {
    pub fn words(self) -> &'static str {
        match self {
            State::Loaded => "loaded",
            State::NotLoaded => "not loaded",
            State::Elsewhere => "loaded by another program",
        }
    }
}

/// # Errors
/// The machine is no Linux with /proc.
pub fn state(control: Control) -> Result<State, String> {
    let names = fs::read_to_string(AVAILABLE).map_err(|e| format!("{AVAILABLE}: {e}"))?;
    Ok(match names.split_whitespace().any(|name| name == control.kernel_name) {
        true if file(control).exists() => State::Loaded,
        true => State::Elsewhere,
        false => State::NotLoaded,
    })
}

/// Loads those that are not loaded yet; all of them or, on an error, none.
///
/// # Errors
/// What the kernel or libbpf says.
pub fn load(controls: &[Control]) -> Result<(), String> {
    folder()?;
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
        if let Ok(mut said) = SAID.lock() {
            said.push(line);
        }
    })));
    let mut new = Vec::new();
    for &control in controls {
        let done = match state(control)? {
            State::Loaded => continue,
            State::Elsewhere => Err(format!("{} is {}", control.kernel_name, State::Elsewhere.words())),
            State::NotLoaded => register(control),
        };
        if let Err(why) = done {
            let _ = unload(&new);
            return Err(format!("{}: {why}", control.variant));
        }
        new.push(control);
    }
    Ok(())
}

fn register(control: Control) -> Result<(), String> {
    // A link that has gone (its control was deleted by hand) leaves its file.
    match fs::remove_file(file(control)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(format!("{}: {error}", file(control).display())),
        _ => {}
    }
    let open = ObjectBuilder::default().open_memory(control.object).map_err(failure)?;
    let mut object = open.load().map_err(failure)?;
    let mut map = object.maps_mut().find(|map| map.name() == "control").ok_or("the program has no control")?;
    // Unpinned, the link and with it the control end when this process does: nothing is left half loaded.
    map.attach_struct_ops().and_then(|mut link| link.pin(file(control))).map_err(failure)
}

/// One line: the error, and the last that libbpf said of it.
fn failure(error: libbpf_rs::Error) -> String {
    let said = SAID.lock().map(|said| said.concat()).unwrap_or_default();
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    if last.is_empty() { format!("{error:#}") } else { format!("{error:#} ({last})") }
}

/// Waits until the kernel has let it go.
#[expect(clippy::disallowed_methods, reason = "nothing of a model: a program that waits for the kernel")]
fn await_gone(control: Control) -> Result<(), String> {
    for _ in 0..PATIENCE.0 {
        if state(control)? == State::NotLoaded {
            return Ok(());
        }
        sleep(PATIENCE.1);
    }
    Err(format!("{}: another process holds its link", control.kernel_name))
}

/// Unloads those that are loaded. Connections that use one keep it until they end.
///
/// # Errors
/// A control's file cannot be removed, the kernel holds on to it, or the folder is another user's.
pub fn unload(controls: &[Control]) -> Result<(), String> {
    if !pins::is_own(Path::new(FOLDER), pins::me()?)? {
        return Ok(());
    }
    for &control in controls {
        match fs::remove_file(file(control)) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: {error}", file(control).display())),
        }
        await_gone(control)?;
    }
    // Not empty, or never made: either is well.
    let _ = fs::remove_dir(FOLDER);
    Ok(())
}

fn file(control: Control) -> PathBuf {
    Path::new(FOLDER).join(control.kernel_name)
}

fn folder() -> Result<(), String> {
    let mounted = statfs(BPFFS).is_ok_and(|fs| fs.filesystem_type() == BPF_FS_MAGIC);
    if !mounted {
        return Err(format!("no BPF file system on {BPFFS}; mount one: mount -t bpf -o mode=0755 bpf {BPFFS}"));
    }
    pins::make(Path::new(FOLDER), pins::me()?)
}
