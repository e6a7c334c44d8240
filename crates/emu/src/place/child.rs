//! Processes in namespaces of their own: each waits until its interface is there, then runs a command or just holds the place.

use super::addresses::Addresses;
use super::internet::Subnet;
use super::netlink::{Netlink, interface};
use super::{offload, user};
use crate::EmuError;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stdout, execvp, fork, pause, pipe, read, write};
use std::ffi::CString;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};

/// What a place is to become.
pub struct Wanted<'a> {
    pub interface: &'a str,
    pub own: (Ipv4Addr, Ipv6Addr),
    /// The subnet of them all, as ADDRESS/PREFIX.
    pub around: String,
    /// Empty: only hold the place.
    pub command: &'a [String],
    pub environment: &'a [(&'a str, String)],
    /// Standard output is for somebody else.
    pub quiet_stdout: bool,
    /// The place outlasts its command: what that has left in its sockets still goes out, and later packets are refused as by a host.
    pub stays: bool,
    /// The way out, in the server's place if there is one.
    pub internet: Option<Subnet>,
}

/// A process that stands in a network namespace of its own.
pub struct Child {
    pid: Pid,
    ready: OwnedFd,
    go: OwnedFd,
    /// What its process ended with, once it has.
    exit: Option<i32>,
}

/// Exit status when the namespace could not be made ready: what shells use for a command that cannot be run.
const CANNOT_RUN: i32 = 126;

impl Child {
    /// Forks. The process must have one thread only, which whoever got it a namespace has seen to.
    pub fn start(wanted: &Wanted<'_>) -> Result<Child, EmuError> {
        let refused = EmuError::refused("starting a process in a namespace");
        let (ready, tell_ready) = pipe().map_err(|e| refused(e.into()))?;
        let (hear_go, go) = pipe().map_err(|e| refused(e.into()))?;
        // SAFETY: one thread only, so the child finds no lock held by another that does not exist any more.
        match unsafe { fork() }.map_err(|e| refused(e.into()))? {
            ForkResult::Parent { child } => Ok(Child { pid: child, ready, go, exit: None }),
            ForkResult::Child => {
                drop((ready, go));
                let status = settle(wanted, &tell_ready, &hear_go).map_or_else(
                    |error| {
                        eprintln!("ackclock: a namespace could not be made ready: {error}");
                        CANNOT_RUN
                    },
                    |()| become_command(wanted),
                );
                // SAFETY: ends this process at once, without running what the parent has registered for its own end.
                unsafe { libc::_exit(status) }
            }
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Waits until its namespace exists.
    pub fn wait_ready(&self) -> Result<(), EmuError> {
        let mut byte = [0];
        match read(&self.ready, &mut byte) {
            Ok(1) => Ok(()),
            _ => Err(EmuError::Failed("a network namespace could not be made".into())),
        }
    }

    /// Its interface is there: it may go on. Comes back when it has been set up.
    pub fn go(&self) -> Result<(), EmuError> {
        write(&self.go, &[1]).map_err(|e| EmuError::refused("starting a process in a namespace")(e.into()))?;
        self.wait_ready()
    }

    /// Whether it has ended, and with what.
    pub fn ended(&mut self) -> Option<i32> {
        if self.exit.is_none() {
            self.exit = match waitpid(self.pid, Some(nix::sys::wait::WaitPidFlag::WNOHANG)) {
                Ok(status) => status_of(status),
                Err(_) => Some(CANNOT_RUN),
            };
        }
        self.exit
    }

    pub fn signal(&self, signal: Signal) {
        if self.exit.is_none() {
            // It may have ended meanwhile; its number is not given to others before it has been waited for.
            let _ = kill(self.pid, signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.signal(Signal::SIGKILL);
            let _ = waitpid(self.pid, None);
        }
    }
}

fn status_of(status: WaitStatus) -> Option<i32> {
    match status {
        WaitStatus::Exited(_, code) => Some(code),
        WaitStatus::Signaled(_, signal, _) => Some(128 + signal as i32),
        _ => None,
    }
}

/// In the child: a namespace, and in it the interface that the parent puts there.
fn settle(wanted: &Wanted<'_>, ready: &OwnedFd, go: &OwnedFd) -> io::Result<()> {
    // If the emulator dies, so does everything it started.
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    write(ready, &[1])?;
    let mut byte = [0];
    if read(go, &mut byte)? != 1 {
        return Err(io::Error::other("the emulator has gone"));
    }
    let netlink = Netlink::open()?;
    netlink.loopback_up()?;
    let index = interface(wanted.interface)?;
    let socket = nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Inet,
        nix::sys::socket::SockType::Datagram,
        nix::sys::socket::SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    offload::switch_off(&socket, wanted.interface)?;
    // No router stands here: asking for one would only cross the link. Absent where IPv6 is.
    let quiet = format!("/proc/sys/net/ipv6/conf/{}/router_solicitations", wanted.interface);
    let _ = std::fs::write(quiet, "0");
    netlink.up(index)?;
    netlink.add_ipv4(index, wanted.own.0, Addresses::PREFIX_V4)?;
    if let Some(way_out) = wanted.internet {
        way_out.settle(&netlink, &wanted.around)?;
    } else {
        netlink.add_default_route(index, false)?;
    }
    if netlink.add_ipv6(index, wanted.own.1, Addresses::PREFIX_V6).is_ok() {
        netlink.add_default_route(index, true)?;
    }
    write(ready, &[1])?;
    Ok(())
}

/// In the child: the command in a process namespace of its own, whose first process is this one's child, so that all of it ends
/// together. Gives the exit status.
fn become_command(wanted: &Wanted<'_>) -> i32 {
    let everything = SigSet::all();
    let _ = sigprocmask(SigmaskHow::SIG_UNBLOCK, Some(&everything), None);
    if wanted.command.is_empty() {
        hold();
    }
    let fenced = user::own_processes().is_ok();
    // SAFETY: this process has one thread, as its parent had.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            let _ = prctl::set_pdeathsig(Signal::SIGKILL);
            let status = if fenced { first_process(wanted) } else { run(wanted) };
            // SAFETY: as above: ends at once.
            unsafe { libc::_exit(status) }
        }
        Ok(ForkResult::Parent { child }) => {
            let status = wait_for(child);
            if wanted.stays {
                hold();
            }
            status
        }
        Err(_) => CANNOT_RUN,
    }
}

/// Until the emulator ends it.
fn hold() -> ! {
    loop {
        pause();
    }
}

/// The first process of a process namespace: starts the command and takes in whoever is left without a parent.
fn first_process(wanted: &Wanted<'_>) -> i32 {
    let none: Option<&str> = None;
    let _ = mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none);
    let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC, none);
    // SAFETY: one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            let status = run(wanted);
            // SAFETY: as above.
            unsafe { libc::_exit(status) }
        }
        Ok(ForkResult::Parent { child }) => wait_for(child),
        Err(_) => CANNOT_RUN,
    }
}

/// Waits for `child`, and on the way for whatever else ends.
fn wait_for(child: Pid) -> i32 {
    ignore_interrupts();
    loop {
        match waitpid(None, None) {
            Ok(status) if status.pid() == Some(child) => {
                if let Some(code) = status_of(status) {
                    return code;
                }
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return CANNOT_RUN,
        }
    }
}

/// Ctrl-C is for the command, which shares the terminal; who waits for it goes on waiting.
fn ignore_interrupts() {
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: ignoring a signal installs no code.
        let _ = unsafe { nix::sys::signal::signal(signal, nix::sys::signal::SigHandler::SigIgn) };
    }
}

/// Becomes the command; comes back only if that fails, as a shell would say it.
fn run(wanted: &Wanted<'_>) -> i32 {
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
    let Some(program) = arguments.first() else { return CANNOT_RUN };
    let Err(error) = execvp(program, &arguments);
    eprintln!("ackclock: {}: {}", wanted.command[0], error.desc());
    if error == nix::errno::Errno::ENOENT { 127 } else { CANNOT_RUN }
}
