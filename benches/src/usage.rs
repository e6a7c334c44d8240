//! CPU time, wall time and peak memory of this process.

use std::time::Instant;

pub struct Stopwatch {
    started: Instant,
}

pub struct Usage {
    /// User and system time of the whole process.
    pub cpu_s: f64,
    pub wall_s: f64,
    pub peak_rss_kb: u64,
}

impl Stopwatch {
    #[allow(clippy::disallowed_methods, reason = "a stopwatch reads the clock; no model depends on it")]
    pub fn start() -> Stopwatch {
        Stopwatch { started: Instant::now() }
    }

    pub fn stop(self) -> Usage {
        let usage = resource_usage();
        let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 * 1e-6;
        Usage {
            cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            wall_s: self.started.elapsed().as_secs_f64(),
            peak_rss_kb: usage.ru_maxrss as u64,
        }
    }
}

fn resource_usage() -> libc::rusage {
    // SAFETY: rusage is plain integers, for which zeros are valid, and getrusage writes nothing beyond it.
    unsafe {
        let mut usage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    }
}
