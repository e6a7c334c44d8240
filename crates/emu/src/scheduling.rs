//! Real-time scheduling of the emulating threads.

/// Requests 1 ns of timer slack and SCHED_FIFO for the calling thread. Returns whether SCHED_FIFO
/// was granted; a refusal is no error.
pub fn request_realtime() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: integers, and a structure that outlives the call. Child processes do not inherit the
    // priority.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0
    }
}
