//! A process that undoes what an emulation has made with the machine when the emulation is killed: nothing that is killed undoes anything.

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

/// Ends with the emulation: it waits on a pipe whose other end only the emulator's processes hold.
#[derive(Debug)]
pub struct Guard {
    pid: Pid,
    /// Closed when this process ends, however it ends.
    held: Option<OwnedFd>,
}

impl Guard {
    /// Forks; when this process has gone, or has dropped the guard, the child does `undo` in the namespaces in which this process is now.
    pub fn start(undo: impl FnOnce()) -> io::Result<Guard> {
        let (waiting, held) = pipe2(OFlag::O_CLOEXEC)?;
        match fork_single_threaded()? {
            ForkResult::Parent { child } => Ok(Guard { pid: child, held: Some(held) }),
            ForkResult::Child => {
                drop(held);
                if watch(&waiting).is_ok() {
                    undo();
                }
                // SAFETY: ends this process at once, without running what the parent has registered for its own end.
                unsafe { libc::_exit(0) }
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.held.take());
        let _ = waitpid(self.pid, None);
    }
}

/// In the child: lets go of what it does not need, and waits until the other end is closed.
fn watch(waiting: &OwnedFd) -> io::Result<()> {
    // What ends the emulation with its terminal, session or process group must not end its guard.
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None)?;
    setsid()?;
    chdir("/")?;
    prctl::set_name(c"ackclock-guard")?;
    let waiting = keep_only(waiting)?;
    loop {
        match read(&waiting, &mut [0]) {
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Closes every descriptor but this one, of which it gives a copy; the standard ones lead nowhere.
fn keep_only(waiting: &OwnedFd) -> io::Result<OwnedFd> {
    let null = open("/dev/null", OFlag::O_RDWR, Mode::empty())?;
    // Above the standard ones, which are about to change.
    let copy = fcntl(waiting, FcntlArg::F_DUPFD_CLOEXEC(3))?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    std::mem::forget(null);
    let number = copy as libc::c_uint;
    for (first, last) in [(3, number - 1), (number + 1, libc::c_uint::MAX)] {
        if first <= last {
            // SAFETY: numbers only. Nothing here uses what is closed: this process ends without running anybody's destructors.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
    // SAFETY: just made, and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
