//! Runs the command of a namespace in a PID namespace, which ends with the namespace's process.
//!
//! There are three processes: the namespace's process, which is in the emulator's PID namespace and
//! waits; the init process of the new PID namespace, which reaps orphans; and the command. SIGTERM
//! is forwarded from parent to child, the exit status from child to parent.

use super::fork::fork_single_threaded;
use super::mounts::{self, NotMounted};
use super::process::NamespaceConfig;
use super::status_pipe::StatusMessage;
use super::userns;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, signal, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stdout, execvp, pause};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Exit statuses of a command that could not be run, as in a shell.
pub const NOT_FOUND: i32 = 127;
pub const CANNOT_RUN: i32 = 126;

/// Runs the command of a namespace that is set up. Returns its exit status.
pub fn run(config: &NamespaceConfig<'_>, status_pipe: &OwnedFd) -> i32 {
    if config.command.is_empty() {
        hold();
    }
    let isolated = userns::unshare_pids_and_mounts();
    if let Err(error) = isolated {
        let why = NotMounted::Refused(error);
        let messages =
            [StatusMessage::ProcNotMounted(why), StatusMessage::SysfsNotMounted(why), StatusMessage::NamesNotMounted(why)];
        report(&messages, status_pipe);
    }
    let Some(child) =
        in_child(status_pipe, || if isolated.is_ok() { init(config, status_pipe) } else { execute(config, status_pipe) })
    else {
        return CANNOT_RUN;
    };
    let status = supervise(child);
    if config.outlives_command {
        report(&[StatusMessage::Exited(status)], status_pipe);
        hold();
    }
    status
}

/// Sends status messages. The emulator, which reads them, may have ended.
fn report(messages: &[StatusMessage], to: &OwnedFd) {
    for message in messages {
        let _ = message.send(to);
    }
}

/// Forks. The child exits with the status that `body` returns. None, with a status message, if fork
/// fails.
fn in_child(status_pipe: &OwnedFd, body: impl FnOnce() -> i32) -> Option<Pid> {
    for name in [Signal::SIGCHLD, Signal::SIGTERM] {
        // Signals are blocked before the fork, so that none is lost before sigwait.
        let mut mask = SigSet::empty();
        mask.add(name);
        let _ = mask.thread_block();
    }
    match fork_single_threaded() {
        Ok(ForkResult::Parent { child }) => Some(child),
        Ok(ForkResult::Child) => {
            let _ = prctl::set_pdeathsig(Signal::SIGKILL);
            let status = body();
            // SAFETY: ends the child without running the emulator's exit handlers.
            unsafe { libc::_exit(status) }
        }
        Err(error) => {
            eprintln!("ackclock: a command could not be started: {error}");
            let errno = Errno::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN));
            report(&[StatusMessage::ExecFailed(errno)], status_pipe);
            None
        }
    }
}

/// Waits until the emulator kills this process. Blocks signals to the process group: the namespace
/// must outlive the command.
fn hold() -> ! {
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    loop {
        pause();
    }
}

/// The init process of a PID namespace: mounts the files of names, /proc and /sys for the command,
/// starts the command, and reaps orphans.
fn init(config: &NamespaceConfig<'_>, status_pipe: &OwnedFd) -> i32 {
    mounts::make_private();
    // /proc last: the checks that the other mounts are private read the present one.
    let names = mounts::mount_files(&config.name_files.present());
    let sysfs = mounts::mount_sysfs();
    let proc = mounts::mount_proc();
    let failed = [
        proc.err().map(StatusMessage::ProcNotMounted),
        sysfs.err().map(StatusMessage::SysfsNotMounted),
        names.err().map(StatusMessage::NamesNotMounted),
    ];
    report(&failed.into_iter().flatten().collect::<Vec<StatusMessage>>(), status_pipe);
    in_child(status_pipe, || execute(config, status_pipe)).map_or(CANNOT_RUN, supervise)
}

/// Waits for `child`, reaps every other process that ends, and forwards SIGTERM to `child`. SIGCHLD
/// and SIGTERM must be blocked.
fn supervise(child: Pid) -> i32 {
    ignore_interrupts();
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.add(Signal::SIGTERM);
    loop {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => break,
                Ok(status) if status.pid() == Some(child) => {
                    if let Some(code) = status_of(status) {
                        return code;
                    }
                }
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return CANNOT_RUN,
            }
        }
        if signals.wait() == Ok(Signal::SIGTERM) {
            // The child has not been reaped, so its PID is not reused.
            let _ = kill(child, Signal::SIGTERM);
        }
    }
}

/// Exit status of an ended process as in a shell: 128 + n if signal n killed it.
pub fn status_of(status: WaitStatus) -> Option<i32> {
    match status {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}

/// Ignores SIGINT and SIGQUIT: Ctrl-C is for the command, which shares the terminal, and this
/// process continues to wait.
fn ignore_interrupts() {
    for name in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: SIG_IGN installs no handler.
        let _ = unsafe { signal(name, SigHandler::SigIgn) };
    }
}

/// Replaces this process by the command. Returns a shell's exit status only if execve fails.
fn execute(config: &NamespaceConfig<'_>, status_pipe: &OwnedFd) -> i32 {
    for name in [Signal::SIGPIPE, Signal::SIGXFSZ] {
        // Python ignores these signals, execve keeps them ignored, and the command would not end on
        // a closed pipe. SAFETY: SIG_DFL installs no handler.
        let _ = unsafe { signal(name, SigHandler::SigDfl) };
    }
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&SigSet::all()), None);
    if config.quiet_stdout {
        // SAFETY: if descriptor 2 is closed, dup2 fails and changes nothing.
        let stderr = unsafe { std::os::fd::BorrowedFd::borrow_raw(io::stderr().as_raw_fd()) };
        let _ = dup2_stdout(stderr);
    }
    for (name, value) in config.environment {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(name, value) };
    }
    let arguments: Vec<CString> = config.command.iter().filter_map(|a| CString::new(a.as_bytes()).ok()).collect();
    let error = match arguments.first() {
        Some(program) => {
            let Err(error) = execvp(program, &arguments);
            error
        }
        None => Errno::EINVAL,
    };
    eprintln!("ackclock: {}: {}", config.command[0], error.desc());
    report(&[StatusMessage::ExecFailed(error)], status_pipe);
    if error == Errno::ENOENT { NOT_FOUND } else { CANNOT_RUN }
}
