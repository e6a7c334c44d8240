//! fork(2), for single-threaded processes only. The child has a copy of the calling thread and of
//! all locks in their present state. A lock that another thread held, such as the allocator's, is
//! never released in the child.

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{ForkResult, fork};
use std::fs;
use std::io;

/// Forks. Fails without a fork if this process has several threads.
#[expect(clippy::disallowed_methods, reason = "the only caller: it checks the number of threads first")]
pub fn fork_single_threaded() -> io::Result<ForkResult> {
    require_single_thread()?;
    // SAFETY: the kernel has confirmed that this process has one thread, and only that thread could
    // start another.
    Ok(unsafe { fork() }?)
}

/// Fails if this process has several threads.
pub fn require_single_thread() -> io::Result<()> {
    // man 2 unshare: CLONE_THREAD has no effect, but fails with EINVAL if the process has several
    // threads. This is the kernel's own count and works without /proc.
    let single = match unshare(CloneFlags::CLONE_THREAD) {
        Ok(()) => true,
        Err(Errno::EINVAL) => false,
        // A seccomp filter may refuse every unshare.
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
        // The test harness has a main thread beside the test's thread.
        let error = fork_single_threaded().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("needs a process with one thread"), "{error}");
    }
}
