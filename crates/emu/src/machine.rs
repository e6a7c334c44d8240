//! The machine under the emulation: how it is asked for punctuality, and how busy others keep it.

use nix::time::ClockId;
use std::fs;
use std::time::Duration;

/// What else ran, while the emulation did.
pub struct Load {
    before: Option<(u64, u64)>,
    /// CPU time that this process had used.
    used: Option<Duration>,
}

/// What a machine said of itself over a while.
pub struct Busy {
    /// 1-minute load average.
    pub load: f64,
    /// Of all CPU time, the share that the hypervisor gave to others.
    pub steal_percent: f64,
    /// CPU time that this process used, the kernel's for its packets included.
    pub cpu_seconds: f64,
}

impl Load {
    pub fn begin() -> Load {
        Load { before: cpu_time(), used: own_cpu_time() }
    }

    /// Since the beginning.
    pub fn end(&self) -> Busy {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        let cpu = own_cpu_time().zip(self.used).map_or(0.0, |(now, before)| now.saturating_sub(before).as_secs_f64());
        let steal_percent = match (self.before, cpu_time()) {
            (Some((stolen, all)), Some((stolen_now, all_now))) if all_now > all => {
                100.0 * (stolen_now - stolen) as f64 / (all_now - all) as f64
            }
            _ => 0.0,
        };
        Busy { load, steal_percent, cpu_seconds: cpu }
    }
}

fn own_cpu_time() -> Option<Duration> {
    ClockId::CLOCK_PROCESS_CPUTIME_ID.now().ok().map(Duration::from)
}

/// Stolen time and all time, in ticks (man 5 proc, /proc/stat).
fn cpu_time() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = text.lines().next()?.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; guest time is in user time already.
    Some((*ticks.get(7)?, ticks.iter().take(8).sum()))
}

/// Asks for timers that are not rounded and, where that is allowed, that this thread runs before everybody else. What is refused is left; says
/// whether the latter was allowed.
pub fn ask_for_punctuality() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: numbers, and a structure that outlives the call. Children do not inherit the priority.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0
    }
}
