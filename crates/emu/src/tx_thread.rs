//! Optional second TX thread. Sending takes most of an emulation's CPU time, because `sendmmsg` on
//! a veth interface also runs the receiving host's stack. When many packets are due at once, a
//! thread on another core sends the batches of some ports.

use crate::af_packet::{TxBatch, TxSocket};
use crate::clock::MonotonicClock;
use crate::scheduling::request_realtime;
use ackclock_core::{Span, Time};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// Minimum number of packets to share: sending fewer takes no longer than waking the thread.
const MIN_SHARED_PACKETS: usize = 16;
/// How long the thread spins for more work before it sleeps: transmissions come in groups.
const SPIN: Span = Span::from_us(20);

pub struct TxThread {
    shared: Arc<SharedWork>,
    thread: Option<JoinHandle<()>>,
}

/// A port and its batch.
type PortBatch = (u32, TxBatch);

/// State shared by the emulating thread and the TX thread.
struct SharedWork {
    sockets: Vec<Arc<TxSocket>>,
    queue: Mutex<WorkQueue>,
    /// Number of batches in the queue.
    queued: AtomicU32,
    /// Number of batches that the TX thread is sending.
    in_progress: AtomicU32,
    stop: AtomicBool,
}

#[derive(Default)]
struct WorkQueue {
    unsent: Vec<PortBatch>,
    /// Batches that the TX thread has sent, empty, to be returned to their ports.
    sent: Vec<PortBatch>,
    /// Number of packets that the TX thread could not send.
    lost: u64,
}

impl TxThread {
    /// Starts the thread; none if the machine has one core. Requires real-time priority: a TX
    /// thread that waits for the scheduler delays packets.
    pub fn start(sockets: Vec<Arc<TxSocket>>) -> Option<TxThread> {
        if thread::available_parallelism().map_or(1, NonZero::get) < 2 {
            return None;
        }
        let shared = Arc::new(SharedWork {
            sockets,
            queue: Mutex::default(),
            queued: AtomicU32::new(0),
            in_progress: AtomicU32::new(0),
            stop: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        let body = move || {
            request_realtime();
            theirs.run();
        };
        let thread = thread::Builder::new().name("helper".into()).spawn(body).ok()?;
        Some(TxThread { shared, thread: Some(thread) })
    }

    /// Whether sharing a transmission costs less than sending it alone.
    pub fn is_worthwhile(&self, ports: usize, packets: usize) -> bool {
        ports >= 2 && packets >= MIN_SHARED_PACKETS
    }

    /// Sends the batches of the `pending` ports in both threads. Returns the number of packets that
    /// could not be sent.
    pub fn send(&self, pending: impl Iterator<Item = u32>, batches: &mut [TxBatch]) -> u64 {
        let shared = &*self.shared;
        {
            let mut queue = shared.queue();
            queue.unsent.extend(pending.map(|port| (port, std::mem::take(&mut batches[port as usize]))));
            shared.queued.store(queue.unsent.len() as u32, Ordering::Release);
        }
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
        let mut lost = 0;
        while let Some((port, mut batch)) = shared.take(false) {
            lost += shared.sockets[port as usize].send(&mut batch);
            batches[port as usize] = batch;
        }
        // The TX thread must finish its batches first: a later packet to the same port must not
        // overtake them.
        while shared.in_progress.load(Ordering::Acquire) > 0 {
            std::hint::spin_loop();
        }
        let mut queue = shared.queue();
        for (port, batch) in queue.sent.drain(..) {
            batches[port as usize] = batch;
        }
        lost + std::mem::take(&mut queue.lost)
    }
}

impl Drop for TxThread {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl SharedWork {
    fn queue(&self) -> MutexGuard<'_, WorkQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, by_tx_thread: bool) -> Option<PortBatch> {
        if self.queued.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut queue = self.queue();
        let batch = queue.unsent.pop()?;
        self.queued.store(queue.unsent.len() as u32, Ordering::Release);
        if by_tx_thread {
            self.in_progress.fetch_add(1, Ordering::AcqRel);
        }
        Some(batch)
    }

    /// The TX thread's loop.
    fn run(&self) {
        while !self.stop.load(Ordering::Acquire) {
            while let Some((port, mut batch)) = self.take(true) {
                let lost = self.sockets[port as usize].send(&mut batch);
                let mut queue = self.queue();
                queue.sent.push((port, batch));
                queue.lost += lost;
                self.in_progress.fetch_sub(1, Ordering::AcqRel);
            }
            let clock = MonotonicClock::start();
            while clock.now() < Time::ZERO + SPIN && self.queued.load(Ordering::Acquire) == 0 {
                std::hint::spin_loop();
            }
            if self.queued.load(Ordering::Acquire) == 0 && !self.stop.load(Ordering::Acquire) {
                thread::park();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn tx_thread_sends_every_batch_when_two_threads_share_them() {
        let sockets: Option<Vec<Arc<TxSocket>>> = (0..4).map(|_| TxSocket::open(1, [0; 6]).ok().map(Arc::new)).collect();
        let Some(thread) = sockets.and_then(TxThread::start) else {
            // Not by a macro, whose output is shown of failed tests only.
            let why = "packet sockets are refused, or there is one core only";
            return drop(writeln!(std::io::stderr(), "skipped: tx_thread: {why}"));
        };
        let mut batches: Vec<TxBatch> = (0..4).map(|_| TxBatch::default()).collect();
        for _ in 0..300 {
            // No IP packets: the kernel drops them.
            batches.iter_mut().for_each(|batch| (0..10).for_each(|_| batch.push(&[0; 64])));
            assert!(thread.is_worthwhile(4, 40) && !thread.is_worthwhile(1, 40) && !thread.is_worthwhile(4, 4));
            assert_eq!(thread.send(0..4, &mut batches), 0);
            assert!(batches.iter().all(TxBatch::is_empty));
        }
    }
}
