//! The command of a place: started in a process namespace of its own, whose first process is a child of the place's process, so that all
//! of it ends together.
//!
//! Three processes: the place's own, which is in its parent's process namespace and waits; the first process of the new namespace, which
//! reaps orphans; and the command. SIGTERM is forwarded from parent to child, the exit status from child to parent.

use super::child::Wanted;
use super::fork::fork_single_threaded;
use super::mounts::{self, NotMounted};
use super::notice::Notice;
use super::user;
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, signal, sigprocmask};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stdout, execvp, pause};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Exit statuses of a command that could not be run, as shells use them: it is not there, or it cannot be executed.
pub const NOT_FOUND: i32 = 127;
pub const CANNOT_RUN: i32 = 126;

/// Runs the command of a place that is set up. Returns its exit status.
pub fn run(wanted: &Wanted<'_>, notices: &OwnedFd) -> i32 {
    if wanted.command.is_empty() {
        hold();
    }
    let fenced = user::own_processes();
    if let Err(error) = fenced {
        let why = NotMounted::Refused(error);
        report(&[Notice::NoProc(why), Notice::NoSysfs(why)], notices);
    }
    let Some(child) =
        in_child(notices, || if fenced.is_ok() { first_process(wanted, notices) } else { execute(wanted, notices) })
    else {
        return CANNOT_RUN;
    };
    let status = supervise(child);
    if wanted.stays {
        report(&[Notice::Ended(status)], notices);
        hold();
    }
    status
}

/// Sends notices; the emulator, which reads them, may have ended.
fn report(all: &[Notice], to: &OwnedFd) {
    for notice in all {
        let _ = notice.send(to);
    }
}

/// Forks; the child exits with the status that `body` returns. None, with a notice, where fork fails.
fn in_child(notices: &OwnedFd, body: impl FnOnce() -> i32) -> Option<Pid> {
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
            // SAFETY: ends this process at once, without running what the emulator has registered for its own end.
            unsafe { libc::_exit(status) }
        }
        Err(error) => {
            eprintln!("ackclock: a command could not be started: {error}");
            report(&[Notice::NotRun(Errno::from_raw(error.raw_os_error().unwrap_or(libc::EAGAIN)))], notices);
            None
        }
    }
}

/// Waits until the emulator ends this process; ignores signals to its process group, as a command may still need the place.
fn hold() -> ! {
    let _ = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&SigSet::all()), None);
    loop {
        pause();
    }
}

/// The first process of a PID namespace: mounts /proc and /sys for the command, starts the command, and reaps orphans.
fn first_process(wanted: &Wanted<'_>, notices: &OwnedFd) -> i32 {
    mounts::make_private();
    // /sys first: the check that it is private reads the /proc already mounted.
    let sysfs = mounts::own_sysfs();
    let proc = mounts::own_proc();
    let missing = [proc.err().map(Notice::NoProc), sysfs.err().map(Notice::NoSysfs)];
    report(&missing.into_iter().flatten().collect::<Vec<Notice>>(), notices);
    in_child(notices, || execute(wanted, notices)).map_or(CANNOT_RUN, supervise)
}

/// Waits for `child`, reaps every other process that ends, and forwards SIGTERM to `child`. SIGCHLD and SIGTERM must be blocked.
fn supervise(child: Pid) -> i32 {
    ignore_interrupts();
    let mut awaited = SigSet::empty();
    awaited.add(Signal::SIGCHLD);
    awaited.add(Signal::SIGTERM);
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
        if awaited.wait() == Ok(Signal::SIGTERM) {
            // The child has not been reaped, so its PID is not reused.
            let _ = kill(child, Signal::SIGTERM);
        }
    }
}

/// A shell's status of a process that has ended: 128 and the signal's number where one ended it.
pub fn status_of(status: WaitStatus) -> Option<i32> {
    match status {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}

/// Ignores SIGINT: Ctrl-C is for the command, which shares the terminal, and this process continues to wait.
fn ignore_interrupts() {
    for name in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: ignoring a signal installs no code.
        let _ = unsafe { signal(name, SigHandler::SigIgn) };
    }
}

/// Replaces this process by the command; returns a shell's exit status only if execve fails.
fn execute(wanted: &Wanted<'_>, notices: &OwnedFd) -> i32 {
    for name in [Signal::SIGPIPE, Signal::SIGXFSZ] {
        // Python ignores these signals, and execve keeps an ignored signal ignored: the command would not end on it.
        // SAFETY: the default action installs no handler.
        let _ = unsafe { signal(name, SigHandler::SigDfl) };
    }
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&SigSet::all()), None);
    if wanted.quiet_stdout {
        // SAFETY: descriptor 2 is open or it is not, in which case nothing changes.
        let stderr = unsafe { std::os::fd::BorrowedFd::borrow_raw(io::stderr().as_raw_fd()) };
        let _ = dup2_stdout(stderr);
    }
    for (name, value) in wanted.environment {
        // SAFETY: one thread.
        unsafe { std::env::set_var(name, value) };
    }
    let arguments: Vec<CString> = wanted.command.iter().filter_map(|a| CString::new(a.as_bytes()).ok()).collect();
    let error = match arguments.first() {
        Some(program) => {
            let Err(error) = execvp(program, &arguments);
            error
        }
        None => Errno::EINVAL,
    };
    eprintln!("ackclock: {}: {}", wanted.command[0], error.desc());
    report(&[Notice::NotRun(error)], notices);
    if error == Errno::ENOENT { NOT_FOUND } else { CANNOT_RUN }
}
