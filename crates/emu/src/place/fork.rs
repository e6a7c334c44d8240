//! fork(2), for processes of one thread only. A child has a copy of the calling thread and of every lock in its state at the fork: a lock that another
//! thread held is never released there, the allocator's included.

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{ForkResult, fork};
use std::fs;
use std::io;

/// Forks. An error, and no fork, where this process has several threads.
#[expect(clippy::disallowed_methods, reason = "the only caller: it checks the number of threads first")]
pub fn fork_single_threaded() -> io::Result<ForkResult> {
    require_one_thread()?;
    // SAFETY: the kernel has confirmed that this process has one thread, and only that thread could start another.
    Ok(unsafe { fork() }?)
}

/// An error where this process has several threads.
pub fn require_one_thread() -> io::Result<()> {
    // man 2 unshare: CLONE_THREAD has no effect, but fails with EINVAL where the process has several threads. The kernel's own count, also
    // where no /proc is mounted.
    let single = match unshare(CloneFlags::CLONE_THREAD) {
        Ok(()) => true,
        Err(Errno::EINVAL) => false,
        // A filter of system calls may refuse every unshare.
        Err(error) => threads().ok_or(error)? == 1,
    };
    if single {
        return Ok(());
    }
    let count = threads().map_or("several".into(), |count| count.to_string());
    Err(io::Error::other(format!(
        "an emulation needs a process with one thread, this one has {count}; run `ackclock emulate` by itself"
    )))
}

fn threads() -> Option<usize> {
    fs::read_dir("/proc/self/task").map(Iterator::count).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("L12")
    #[test]
    fn fork_is_refused_when_the_process_has_several_threads() {
        // The test harness runs this in a thread beside its main thread.
        let error = fork_single_threaded().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("needs a process with one thread"), "{error}");
    }
}
