//! Load of the machine during an emulation: load average, stolen CPU time, and the emulator's own
//! CPU time.

use nix::time::ClockId;
use std::fs;
use std::time::Duration;

/// Counters at the start of the emulation.
pub struct LoadMeter {
    /// Stolen and total CPU time in ticks; none where /proc/stat cannot be read.
    ticks: Option<(u64, u64)>,
    /// CPU time of this process.
    own: Option<Duration>,
}

pub struct MachineLoad {
    /// 1-minute load average.
    pub load: f64,
    /// Share of all CPU time that the hypervisor gave to other machines.
    pub steal_percent: f64,
    /// CPU time of this process, including the kernel's work on its packets.
    pub cpu_seconds: f64,
}

impl LoadMeter {
    pub fn start() -> LoadMeter {
        LoadMeter { ticks: cpu_ticks(), own: own_cpu_time() }
    }

    /// The load since `start`.
    pub fn read(&self) -> MachineLoad {
        let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        let cpu = own_cpu_time().zip(self.own).map_or(0.0, |(now, before)| now.saturating_sub(before).as_secs_f64());
        let steal_percent = match (self.ticks, cpu_ticks()) {
            (Some((stolen, total)), Some((stolen_now, total_now))) if total_now > total => {
                100.0 * (stolen_now - stolen) as f64 / (total_now - total) as f64
            }
            _ => 0.0,
        };
        MachineLoad { load, steal_percent, cpu_seconds: cpu }
    }
}

fn own_cpu_time() -> Option<Duration> {
    ClockId::CLOCK_PROCESS_CPUTIME_ID.now().ok().map(Duration::from)
}

/// Stolen and total CPU time in ticks (man 5 proc, /proc/stat).
fn cpu_ticks() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<u64> = text.lines().next()?.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal. The guest columns are part of user
    // time.
    Some((*ticks.get(7)?, ticks.iter().take(8).sum()))
}
