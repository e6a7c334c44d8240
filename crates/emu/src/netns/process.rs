//! The process of a namespace: it waits for its interface, configures it, and on demand runs a
//! command or only keeps the namespace alive.

use super::addresses::Addresses;
use super::command::{self, CANNOT_RUN, status_of};
use super::fork::fork_single_threaded;
use super::mounts::NotMounted;
use super::name_files::NameFiles;
use super::netlink::{Netlink, interface_index};
use super::offload;
use super::status_pipe::StatusMessage;
use super::uplink::UplinkSubnet;
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

/// The configuration of a namespace.
pub struct NamespaceConfig<'a> {
    /// Name of the interface to the link.
    pub interface: &'a str,
    pub addresses: (Ipv4Addr, Ipv6Addr),
    /// The subnet of all hosts, as ADDRESS/PREFIX.
    pub subnet: String,
    /// Empty: only keep the namespace alive.
    pub command: &'a [String],
    pub environment: &'a [(&'a str, String)],
    /// What the command sees as /etc/hosts and /etc/resolv.conf.
    pub name_files: &'a NameFiles,
    /// Redirects the command's standard output to standard error.
    pub quiet_stdout: bool,
    /// Keeps the namespace after the command's end: data in its sockets is still sent, and later
    /// packets are answered by the kernel.
    pub outlives_command: bool,
    /// Uplink to the machine's network, in the server's namespace if there is one.
    pub uplink: Option<UplinkSubnet>,
}

/// A child process in a network namespace of its own.
pub struct NamespaceProcess {
    pid: Pid,
    status: OwnedFd,
    /// A byte on this pipe lets the process configure its interface; the next one lets it start its
    /// command.
    go: OwnedFd,
    /// Exit status of the process, once it has ended.
    exit: Option<i32>,
    /// Exit status of the command, if the namespace outlives it.
    pub command_exit: Option<i32>,
    /// Error of execve(2).
    pub exec_error: Option<Errno>,
    pub no_proc: Option<NotMounted>,
    pub no_sysfs: Option<NotMounted>,
    pub no_names: Option<NotMounted>,
}

impl NamespaceProcess {
    /// Forks. The calling process must have one thread.
    pub fn start(config: &NamespaceConfig<'_>) -> Result<NamespaceProcess, EmuError> {
        let refused = EmuError::refused("starting a process in a namespace");
        // O_CLOEXEC: the command inherits neither pipe.
        let (status, status_writer) = pipe2(OFlag::O_CLOEXEC).map_err(|e| refused(e.into()))?;
        let (go_reader, go) = pipe2(OFlag::O_CLOEXEC).map_err(|e| refused(e.into()))?;
        match fork_single_threaded().map_err(refused)? {
            ForkResult::Parent { child } => Ok(NamespaceProcess {
                pid: child,
                status,
                go,
                exit: None,
                command_exit: None,
                exec_error: None,
                no_proc: None,
                no_sysfs: None,
                no_names: None,
            }),
            ForkResult::Child => {
                drop((status, go));
                let exit = set_up(config, &status_writer, &go_reader).map_or_else(
                    |error| {
                        eprintln!("ackclock: a namespace could not be set up: {error}");
                        CANNOT_RUN
                    },
                    |()| command::run(config, &status_writer),
                );
                // SAFETY: ends the child without running the parent's exit handlers.
                unsafe { libc::_exit(exit) }
            }
        }
    }

    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Waits until a step of the set-up is complete.
    pub fn wait_ready(&self) -> Result<(), EmuError> {
        match StatusMessage::receive(&self.status) {
            Some(StatusMessage::Ready) => Ok(()),
            _ => Err(EmuError::Failed("a network namespace could not be made".into())),
        }
    }

    /// Reads the status messages that have arrived since the set-up.
    pub fn read_status(&mut self) {
        while let Some(message) = StatusMessage::poll(&self.status) {
            match message {
                StatusMessage::Ready => {}
                StatusMessage::ProcNotMounted(why) => self.no_proc = Some(why),
                StatusMessage::SysfsNotMounted(why) => self.no_sysfs = Some(why),
                StatusMessage::NamesNotMounted(why) => self.no_names = Some(why),
                StatusMessage::ExecFailed(error) => self.exec_error = Some(error),
                StatusMessage::Exited(status) => self.command_exit = Some(status),
            }
        }
    }

    /// Lets the process configure its interface, which must exist. Returns when it is configured.
    pub fn configure(&self) -> Result<(), EmuError> {
        self.proceed()?;
        self.wait_ready()
    }

    /// Lets the configured process start its command.
    pub fn start_command(&self) -> Result<(), EmuError> {
        self.proceed()
    }

    fn proceed(&self) -> Result<(), EmuError> {
        let written = write(&self.go, &[1]);
        written.map(drop).map_err(|error| EmuError::refused("starting a process in a namespace")(error.into()))
    }

    /// Exit status of the process; none while it runs.
    pub fn exit_status(&mut self) -> Option<i32> {
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
            // The process may have ended, but its PID is not reused before waitpid.
            let _ = kill(self.pid, signal);
        }
    }

    /// Kills the process and every process in its namespaces. Returns its exit status, also if it
    /// ended earlier.
    pub fn kill(&mut self) -> i32 {
        if self.exit_status().is_none() {
            self.signal(Signal::SIGKILL);
            self.exit = waitpid(self.pid, None).ok().and_then(status_of);
        }
        self.exit.unwrap_or(CANNOT_RUN)
    }
}

impl Drop for NamespaceProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// In the child: enters a network namespace, waits until the parent has put the interface there,
/// configures it, and waits until the command is to start.
fn set_up(config: &NamespaceConfig<'_>, status: &OwnedFd, go: &OwnedFd) -> io::Result<()> {
    // The process must not outlive the emulator.
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    unshare(CloneFlags::CLONE_NEWNET)?;
    StatusMessage::Ready.send(status)?;
    wait_for(go)?;
    let netlink = Netlink::open()?;
    netlink.loopback_up()?;
    let index = interface_index(config.interface)?;
    let socket = nix::sys::socket::socket(
        nix::sys::socket::AddressFamily::Inet,
        nix::sys::socket::SockType::Datagram,
        nix::sys::socket::SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    offload::disable(&socket, config.interface)?;
    // There is no router: a router solicitation would only cross the link. The file is absent
    // without IPv6.
    let solicitations = format!("/proc/sys/net/ipv6/conf/{}/router_solicitations", config.interface);
    let _ = std::fs::write(solicitations, "0");
    netlink.up_without_arp(index)?;
    netlink.add_ipv4(index, config.addresses.0, Addresses::PREFIX_V4)?;
    if let Some(uplink) = config.uplink {
        uplink.configure(&netlink, &config.subnet)?;
    } else {
        netlink.add_default_route(index, false)?;
    }
    if netlink.add_ipv6(index, config.addresses.1, Addresses::PREFIX_V6).is_ok() {
        netlink.add_default_route(index, true)?;
    }
    StatusMessage::Ready.send(status)?;
    wait_for(go)
}

fn wait_for(go: &OwnedFd) -> io::Result<()> {
    match read(go, &mut [0])? {
        1 => Ok(()),
        _ => Err(io::Error::other("the emulator has ended")),
    }
}
