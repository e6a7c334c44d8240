//! A second hand at the gates. Sending takes most of an emulation's time, as the receiving host's part of it is done in the same system
//! call; when much is due at once a second thread on another core sends to some gates while this one sends to the others.

use crate::clock::RealTime;
use crate::gate::{Batch, Way};
use crate::machine::ask_for_punctuality;
use ackclock_core::{Span, Time};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// What takes about as long to send as to wake somebody for it is sent alone.
const WORTH_IT: usize = 16;
/// Much seldom comes alone: so long a helper watches for more before it sleeps.
const WATCHED: Span = Span::from_us(20);

pub struct Helper {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// A gate's packets.
type Job = (u32, Batch);

/// What the two share.
struct Desk {
    ways: Vec<Arc<Way>>,
    work: Mutex<Work>,
    /// Jobs that nobody has taken yet.
    waiting: AtomicU32,
    /// Jobs that the helper is at.
    taken: AtomicU32,
    over: AtomicBool,
}

#[derive(Default)]
struct Work {
    jobs: Vec<Job>,
    /// The helper's, with how many packets it could not send.
    done: Vec<Job>,
    lost: u64,
}

impl Helper {
    /// Where there is another core, and both may run before everybody else: one that has to wait for its turn is no help. None otherwise.
    pub fn start(ways: Vec<Arc<Way>>) -> Option<Helper> {
        if thread::available_parallelism().map_or(1, NonZero::get) < 2 {
            return None;
        }
        let desk = Arc::new(Desk {
            ways,
            work: Mutex::default(),
            waiting: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            over: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&desk);
        let help = move || {
            ask_for_punctuality();
            theirs.help();
        };
        let thread = thread::Builder::new().name("helper".into()).spawn(help).ok()?;
        Some(Helper { desk, thread: Some(thread) })
    }

    /// Whether help is worth its price.
    pub fn worth(&self, gates: usize, packets: usize) -> bool {
        gates >= 2 && packets >= WORTH_IT
    }

    /// Sends what is for the gates that are `filled`, together; says how many packets could not be sent.
    pub fn send(&self, filled: impl Iterator<Item = u32>, batches: &mut [Batch]) -> u64 {
        let desk = &*self.desk;
        {
            let mut work = desk.work();
            work.jobs.extend(filled.map(|gate| (gate, std::mem::take(&mut batches[gate as usize]))));
            desk.waiting.store(work.jobs.len() as u32, Ordering::Release);
        }
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
        let mut lost = 0;
        while let Some((gate, mut batch)) = desk.take(false) {
            lost += desk.ways[gate as usize].send(&mut batch);
            batches[gate as usize] = batch;
        }
        // What the helper has taken is on its way out, and packets to a gate must not overtake each other.
        while desk.taken.load(Ordering::Acquire) > 0 {
            std::hint::spin_loop();
        }
        let mut work = desk.work();
        for (gate, batch) in work.done.drain(..) {
            batches[gate as usize] = batch;
        }
        lost + std::mem::take(&mut work.lost)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.desk.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Desk {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, helper: bool) -> Option<Job> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut work = self.work();
        let job = work.jobs.pop()?;
        self.waiting.store(work.jobs.len() as u32, Ordering::Release);
        if helper {
            self.taken.fetch_add(1, Ordering::AcqRel);
        }
        Some(job)
    }

    /// The helper's life.
    fn help(&self) {
        while !self.over.load(Ordering::Acquire) {
            while let Some((gate, mut batch)) = self.take(true) {
                let lost = self.ways[gate as usize].send(&mut batch);
                let mut work = self.work();
                work.done.push((gate, batch));
                work.lost += lost;
                self.taken.fetch_sub(1, Ordering::AcqRel);
            }
            let watch = RealTime::start();
            while watch.now() < Time::ZERO + WATCHED && self.waiting.load(Ordering::Acquire) == 0 {
                std::hint::spin_loop();
            }
            if self.waiting.load(Ordering::Acquire) == 0 && !self.over.load(Ordering::Acquire) {
                thread::park();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_sent_by_one_or_the_other() {
        let ways: Option<Vec<Arc<Way>>> = (0..4).map(|_| Way::open(1, [0; 6]).ok().map(Arc::new)).collect();
        let Some(helper) = ways.and_then(Helper::start) else {
            eprintln!("skipped: packet sockets are refused, or there is one core only");
            return;
        };
        let mut batches: Vec<Batch> = (0..4).map(|_| Batch::default()).collect();
        for _ in 0..300 {
            // What is no IP packet, so the kernel drops it.
            batches.iter_mut().for_each(|batch| (0..10).for_each(|_| batch.push(&[0; 64])));
            assert!(helper.worth(4, 40) && !helper.worth(1, 40) && !helper.worth(4, 4));
            assert_eq!(helper.send(0..4, &mut batches), 0);
            assert!(batches.iter().all(Batch::is_empty));
        }
    }
}
