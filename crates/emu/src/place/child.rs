//! Processes in namespaces of their own: each waits until its interface is there, then runs a command or just holds the place.

use super::addresses::Addresses;
use super::command::{self, CANNOT_RUN, status_of};
use super::fork::fork_single_threaded;
use super::internet::Subnet;
use super::mounts::NotMounted;
use super::netlink::{Netlink, interface};
use super::notice::Notice;
use super::offload;
use crate::EmuError;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, pipe2, read, write};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

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
    notices: OwnedFd,
    go: OwnedFd,
    /// What its process ended with, once it has.
    exit: Option<i32>,
    /// Exit status of the command, where the place outlives it.
    pub command_ended: Option<i32>,
    /// Why its command was not run.
    pub not_run: Option<Errno>,
    pub no_proc: Option<NotMounted>,
    pub no_sysfs: Option<NotMounted>,
}

impl Child {
    /// Forks; the calling process must have one thread.
    pub fn start(wanted: &Wanted<'_>) -> Result<Child, EmuError> {
        let refused = EmuError::refused("starting a process in a namespace");
        // A command inherits neither end.
        let (notices, to_notices) = pipe2(OFlag::O_CLOEXEC).map_err(|e| refused(e.into()))?;
        let (from_go, go) = pipe2(OFlag::O_CLOEXEC).map_err(|e| refused(e.into()))?;
        match fork_single_threaded().map_err(refused)? {
            ForkResult::Parent { child } => Ok(Child {
                pid: child,
                notices,
                go,
                exit: None,
                command_ended: None,
                not_run: None,
                no_proc: None,
                no_sysfs: None,
            }),
            ForkResult::Child => {
                drop((notices, go));
                let status = settle(wanted, &to_notices, &from_go).map_or_else(
                    |error| {
                        eprintln!("ackclock: a namespace could not be made ready: {error}");
                        CANNOT_RUN
                    },
                    |()| command::run(wanted, &to_notices),
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
        match Notice::receive(&self.notices) {
            Some(Notice::Ready) => Ok(()),
            _ => Err(EmuError::Failed("a network namespace could not be made".into())),
        }
    }

    /// Reads the notices that the child has sent since it was ready.
    pub fn read_notices(&mut self) {
        while let Some(notice) = Notice::poll(&self.notices) {
            match notice {
                Notice::Ready => {}
                Notice::NoProc(why) => self.no_proc = Some(why),
                Notice::NoSysfs(why) => self.no_sysfs = Some(why),
                Notice::NotRun(error) => self.not_run = Some(error),
                Notice::Ended(status) => self.command_ended = Some(status),
            }
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

    /// Ends the child and every process in it. Returns its exit status, also where it ended earlier.
    pub fn kill(&mut self) -> i32 {
        if self.ended().is_none() {
            self.signal(Signal::SIGKILL);
            self.exit = waitpid(self.pid, None).ok().and_then(status_of);
        }
        self.exit.unwrap_or(CANNOT_RUN)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// In the child: a namespace, and in it the interface that the parent puts there.
fn settle(wanted: &Wanted<'_>, notices: &OwnedFd, go: &OwnedFd) -> io::Result<()> {
    // If the emulator dies, so does everything it started.
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    Notice::Ready.send(notices)?;
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
    Notice::Ready.send(notices)
}
