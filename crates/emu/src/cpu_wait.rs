//! The time that the processes of the commands waited for a CPU.
//!
//! A thread of normal priority samples /proc/PID/task/TID/schedstat: nanoseconds on a CPU and in a
//! run queue (the kernel's Documentation/scheduler/sched-stats.rst). What a thread does between its
//! last sample and its end does not count, at most `MAX_INTERVAL` of it.

use crate::clock::MonotonicClock;
use ackclock_contract::Document;
use ackclock_core::Span;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The interval between two samples grows from the first, as commands may be short.
const FIRST_INTERVAL: Span = Span::from_ms(5);
const MAX_INTERVAL: Span = Span::from_ms(100);
/// Lower bound of an interval as a multiple of a sample's duration: the thread takes at most 5 % of
/// a CPU, however many threads the commands have.
const INTERVAL_PER_SAMPLE: u64 = 20;

/// Processes at both ends; null without a command, or where the kernel does not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Document)]
pub struct CpuWait {
    pub server: Option<ProcessTimes>,
    pub client: Option<ProcessTimes>,
}

/// Times of a command's processes during the emulation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Document)]
pub struct ProcessTimes {
    /// CPU time of all threads.
    pub run_s: f64,
    /// Time of all threads in a run queue, ready to run.
    pub wait_s: f64,
    /// Share of the emulation in which the thread that waited longest waited, in percent.
    pub max_wait_percent: f64,
}

/// Nanoseconds of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ThreadTimes {
    run_ns: u64,
    wait_ns: u64,
}

/// The threads below the process of a namespace.
#[derive(Debug, Default)]
struct ProcessTree {
    root: i32,
    /// By thread ID: the times when the emulation began, and at the last sample.
    threads: BTreeMap<i32, (ThreadTimes, ThreadTimes)>,
    /// Earlier threads whose IDs were given again.
    reused: Vec<ThreadTimes>,
}

/// The sampling thread.
pub struct CpuWaitSampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<[ProcessTree; 2]>,
}

impl CpuWaitSampler {
    /// Starts the thread for the commands of two namespaces' processes. None if it cannot start.
    pub fn start(server: i32, client: i32) -> Option<CpuWaitSampler> {
        let stop = Arc::new(AtomicBool::new(false));
        let is_stopped = Arc::clone(&stop);
        let mut trees = [server, client].map(|root| ProcessTree { root, ..ProcessTree::default() });
        for tree in &mut trees {
            tree.sample(Path::new("/proc"));
            // The set-up and the start of the server are not part of the emulation.
            tree.threads.values_mut().for_each(|(begin, now)| *begin = *now);
        }
        let body = move || {
            let clock = MonotonicClock::start();
            let mut interval = FIRST_INTERVAL;
            while !is_stopped.load(Ordering::Acquire) {
                thread::park_timeout(Duration::from_nanos(interval.0 / 1000));
                let begin = clock.now();
                trees.iter_mut().for_each(|tree| tree.sample(Path::new("/proc")));
                interval = Span(interval.0 * 2).min(MAX_INTERVAL).max(Span((clock.now() - begin).0 * INTERVAL_PER_SAMPLE));
            }
            trees
        };
        let thread = thread::Builder::new().name("cpu-wait".into()).spawn(body).ok()?;
        Some(CpuWaitSampler { stop, thread })
    }

    /// The times of an emulation that took `seconds`. Must be called before the processes end.
    pub fn finish(self, seconds: f64) -> CpuWait {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let Ok([server, client]) = self.thread.join() else { return CpuWait::default() };
        CpuWait { server: server.times(seconds), client: client.times(seconds) }
    }
}

impl ProcessTree {
    /// Reads the times of all threads below the root; a thread that has ended keeps its last.
    fn sample(&mut self, proc: &Path) {
        let mut processes = children(proc, self.root);
        while let Some(process) = processes.pop() {
            processes.extend(children(proc, process));
            for thread in numbers(&proc.join(format!("{process}/task"))) {
                if let Some(times) = schedstat(&proc.join(format!("{process}/task/{thread}/schedstat"))) {
                    self.update(thread, times);
                }
            }
        }
    }

    fn update(&mut self, thread: i32, times: ThreadTimes) {
        let (begin, last) = self.threads.entry(thread).or_default();
        if times.run_ns < last.run_ns || times.wait_ns < last.wait_ns {
            self.reused.push(last.since(*begin));
            *begin = ThreadTimes::default();
        }
        *last = times;
    }

    /// None without a thread.
    fn times(&self, seconds: f64) -> Option<ProcessTimes> {
        let all = || self.threads.values().map(|(begin, last)| last.since(*begin)).chain(self.reused.iter().copied());
        let longest = all().map(|thread| thread.wait_ns).max()?;
        let seconds_of = |ns: u64| ns as f64 * 1e-9;
        Some(ProcessTimes {
            run_s: seconds_of(all().map(|thread| thread.run_ns).sum()),
            wait_s: seconds_of(all().map(|thread| thread.wait_ns).sum()),
            max_wait_percent: if seconds > 0.0 { 100.0 * seconds_of(longest) / seconds } else { 0.0 },
        })
    }
}

impl ThreadTimes {
    fn since(self, begin: ThreadTimes) -> ThreadTimes {
        ThreadTimes { run_ns: self.run_ns - begin.run_ns, wait_ns: self.wait_ns - begin.wait_ns }
    }
}

/// `RUN WAIT TIMESLICES` (man 5 proc_pid_schedstat). None where the kernel does not count: then all
/// are 0.
fn schedstat(path: &Path) -> Option<ThreadTimes> {
    let text = fs::read_to_string(path).ok()?;
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    let (run_ns, wait_ns, slices) = (fields.next()?.ok()?, fields.next()?.ok()?, fields.next()?.ok()?);
    (slices > 0).then_some(ThreadTimes { run_ns, wait_ns })
}

/// The child processes of a process.
fn children(proc: &Path, process: i32) -> Vec<i32> {
    let tasks = proc.join(format!("{process}/task"));
    let of_thread = |thread: i32| fs::read_to_string(tasks.join(format!("{thread}/children"))).unwrap_or_default();
    let texts = numbers(&tasks).into_iter().map(of_thread);
    texts.flat_map(|text| text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// The entries of a folder whose names are numbers.
fn numbers(folder: &Path) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(run_ns: u64, wait_ns: u64) -> ThreadTimes {
        ThreadTimes { run_ns, wait_ns }
    }

    // finding("R6")
    #[test]
    fn waits_are_summed_over_threads_when_an_id_is_given_again() {
        let mut tree = ProcessTree::default();
        tree.threads.insert(7, (times(100_000_000, 50_000_000), times(100_000_000, 50_000_000)));
        tree.update(7, times(300_000_000, 250_000_000));
        tree.update(8, times(1_000_000_000, 100_000_000));
        // Another thread with the ID of the second.
        tree.update(8, times(2_000_000, 1_000_000));
        let found = tree.times(2.0).unwrap();
        let expected = [0.2 + 1.0 + 0.002, 0.2 + 0.1 + 0.001, 10.0];
        for (value, expected) in [found.run_s, found.wait_s, found.max_wait_percent].into_iter().zip(expected) {
            assert!((value - expected).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(ProcessTree::default().times(2.0), None);
    }

    // finding("R6")
    #[test]
    fn threads_of_children_are_sampled_when_they_are_below_the_root() {
        let proc = std::env::temp_dir().join(format!("ackclock-cpu-wait-{}", std::process::id()));
        let thread = |process: u32, thread: u32, children: &str, schedstat: &str| {
            let folder = proc.join(format!("{process}/task/{thread}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("children"), children).unwrap();
            fs::write(folder.join("schedstat"), schedstat).unwrap();
        };
        thread(1, 1, "2 ", "9000000000 9000000000 5\n");
        thread(2, 2, "", "1000000000 0 9\n");
        thread(2, 3, "4 ", "0 500000000 2\n");
        thread(4, 4, "", "0 0 0\n");
        thread(5, 5, "", "7000000000 7000000000 5\n");
        let mut tree = ProcessTree { root: 1, ..ProcessTree::default() };
        tree.sample(&proc);
        fs::remove_dir_all(&proc).unwrap();
        // Neither the root, nor a process that is not below it, nor one that is not counted.
        assert_eq!(tree.threads.keys().copied().collect::<Vec<i32>>(), [2, 3]);
        assert_eq!(tree.times(1.0), Some(ProcessTimes { run_s: 1.0, wait_s: 0.5, max_wait_percent: 50.0 }));
    }
}
