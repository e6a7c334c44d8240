//! A process that undoes an emulation's changes to the machine (names, NAT rule, forwarding) if the
//! emulation is killed by SIGKILL.

use super::fork::fork_single_threaded;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl, open};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::sys::stat::Mode;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, chdir, dup2_stderr, dup2_stdin, dup2_stdout, pipe2, read, setsid};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// The guard process waits on a pipe whose write end only the emulator's processes hold, and ends
/// with the emulation.
#[derive(Debug)]
pub struct Guard {
    pid: Pid,
    /// Write end of the pipe. The kernel closes it when this process ends, also by SIGKILL.
    writer: Option<OwnedFd>,
}

impl Guard {
    /// Forks. When this process has ended or dropped the guard, the child calls `undo` in the
    /// present namespaces of this process.
    pub fn start(undo: impl FnOnce()) -> io::Result<Guard> {
        let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
        match fork_single_threaded()? {
            ForkResult::Parent { child } => Ok(Guard { pid: child, writer: Some(writer) }),
            ForkResult::Child => {
                drop(writer);
                if wait_for_close(&reader).is_ok() {
                    undo();
                }
                // SAFETY: ends the child without running the parent's exit handlers.
                unsafe { libc::_exit(0) }
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.writer.take());
        let _ = waitpid(self.pid, None);
    }
}

/// In the child: closes the inherited descriptors and waits until the write end of the pipe is
/// closed.
fn wait_for_close(reader: &OwnedFd) -> io::Result<()> {
    // A signal to the emulation's terminal, session or process group must not end the guard.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)?;
    setsid()?;
    chdir("/")?;
    prctl::set_name(c"ackclock-guard")?;
    let reader = keep_only(reader)?;
    loop {
        match read(&reader, &mut [0]) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Closes every descriptor but this one, returns a duplicate of it, and opens /dev/null as
/// descriptors 0 to 2.
fn keep_only(reader: &OwnedFd) -> io::Result<OwnedFd> {
    let null = open("/dev/null", OFlag::O_RDWR, Mode::empty())?;
    // Descriptors 0 to 2 are replaced below, so the duplicate is 3 or higher.
    let copy = fcntl(reader, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    std::mem::forget(null);
    let number = copy as libc::c_uint;
    for (first, last) in [(3, number - 1), (number + 1, libc::c_uint::MAX)] {
        if first <= last {
            // SAFETY: integer arguments. No code uses a closed descriptor: this process ends
            // without running destructors.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
