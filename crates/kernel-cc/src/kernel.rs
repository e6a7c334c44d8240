//! Loads programs into the kernel and unloads them. A program lives as long as its BPF link, and a
//! link as long as its pin, a file on the BPF file system.

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
/// The kernel unregisters a congestion control some time after the last reference to its link is
/// gone.
const UNLOAD_POLLS: u32 = 200;
const UNLOAD_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Messages of libbpf, for error messages.
static LIBBPF_LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Whether a congestion control is available, and whether this program has loaded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadState {
    Loaded,
    NotLoaded,
    /// The kernel has a congestion control of this name, but it is not pinned in `FOLDER`.
    LoadedByOther,
}

impl LoadState {
    pub fn label(self) -> &'static str {
        match self {
            LoadState::Loaded => "loaded",
            LoadState::NotLoaded => "not loaded",
            LoadState::LoadedByOther => "loaded by another program",
        }
    }
}

/// # Errors
/// The kernel's list of congestion controls cannot be read.
pub fn state(control: Control) -> Result<LoadState, String> {
    let names = fs::read_to_string(AVAILABLE).map_err(|e| format!("{AVAILABLE}: {e}"))?;
    Ok(match names.split_whitespace().any(|name| name == control.kernel_name) {
        true if pin(control).exists() => LoadState::Loaded,
        true => LoadState::LoadedByOther,
        false => LoadState::NotLoaded,
    })
}

/// Loads the congestion controls that are not loaded. On an error none of them stays loaded.
///
/// # Errors
/// The message of the kernel or of libbpf.
pub fn load(controls: &[Control]) -> Result<(), String> {
    make_folder()?;
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, line| {
        if let Ok(mut log) = LIBBPF_LOG.lock() {
            log.push(line);
        }
    })));
    let mut new = Vec::new();
    for &control in controls {
        let result = match state(control)? {
            LoadState::Loaded => continue,
            LoadState::LoadedByOther => Err(format!("{} is {}", control.kernel_name, LoadState::LoadedByOther.label())),
            LoadState::NotLoaded => register(control),
        };
        if let Err(why) = result {
            let _ = unload(&new);
            return Err(format!("{}: {why}", control.variant));
        }
        new.push(control);
    }
    Ok(())
}

fn register(control: Control) -> Result<(), String> {
    // The pin of a link whose congestion control was deleted remains.
    match fs::remove_file(pin(control)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(format!("{}: {error}", pin(control).display())),
        _ => {}
    }
    let open = ObjectBuilder::default().open_memory(control.object).map_err(failure)?;
    let mut object = open.load().map_err(failure)?;
    let mut map = object.maps_mut().find(|map| map.name() == "control").ok_or("the program has no control")?;
    // A link that could not be pinned is closed when this process ends, which unregisters the
    // congestion control.
    map.attach_struct_ops().and_then(|mut link| link.pin(pin(control))).map_err(failure)
}

/// The error and the last three lines of libbpf's log, as one line.
fn failure(error: libbpf_rs::Error) -> String {
    let log = LIBBPF_LOG.lock().map(|log| log.concat()).unwrap_or_default();
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join("; ");
    if last.is_empty() { format!("{error:#}") } else { format!("{error:#} ({last})") }
}

/// Waits until the kernel has unregistered a congestion control.
#[expect(clippy::disallowed_methods, reason = "not part of a model: waits for the kernel")]
fn wait_unloaded(control: Control) -> Result<(), String> {
    for _ in 0..UNLOAD_POLLS {
        if state(control)? == LoadState::NotLoaded {
            return Ok(());
        }
        sleep(UNLOAD_POLL_INTERVAL);
    }
    Err(format!("{}: another process holds its link", control.kernel_name))
}

/// Unloads the congestion controls that are loaded. A connection that uses one keeps it until the
/// connection ends.
///
/// # Errors
/// A pin cannot be removed, the kernel keeps a congestion control registered, or the folder belongs
/// to another user.
pub fn unload(controls: &[Control]) -> Result<(), String> {
    if !pins::is_own(Path::new(FOLDER), pins::effective_uid()?)? {
        return Ok(());
    }
    for &control in controls {
        match fs::remove_file(pin(control)) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(format!("{}: {error}", pin(control).display())),
        }
        wait_unloaded(control)?;
    }
    // Fails if other controls are loaded, or if the folder does not exist: neither is an error.
    let _ = fs::remove_dir(FOLDER);
    Ok(())
}

fn pin(control: Control) -> PathBuf {
    Path::new(FOLDER).join(control.kernel_name)
}

fn make_folder() -> Result<(), String> {
    let mounted = statfs(BPFFS).is_ok_and(|fs| fs.filesystem_type() == BPF_FS_MAGIC);
    if !mounted {
        return Err(format!("no BPF file system on {BPFFS}; mount one: mount -t bpf -o mode=0755 bpf {BPFFS}"));
    }
    pins::make(Path::new(FOLDER), pins::effective_uid()?)
}
