//! What one turn of the far end's loop moves: pieces of a bounded size, a bounded number of them, in the order of fair queueing (`crate::rate_budget`).
//! The loop returns to poll after these, whatever the requests of the clients.

use super::super::tcp_flow::{IoDirection, PIECE};
use super::ServerContext;
use super::session::Session;
use crate::Nanos;
use crate::rate_budget::{FairQueue, TokenBucket, tcp_wire_bytes};

/// Maximum of data system calls in one turn and direction, and of bytes of IP.
pub const MAX_CALLS: u32 = 64;
pub const MAX_BYTES: u64 = 1 << 19;
/// Bytes of payload of one system call: the larger size where the budget allows it, else the smaller.
const CHUNK: usize = 1 << 16;
const GRAIN: usize = 1 << 14;

/// Work of one turn, for each direction: data system calls, and bytes of IP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoopWork {
    pub calls: [u32; 2],
    pub bytes: [u64; 2],
    /// Accepted connections.
    pub accepted: u32,
}

/// One direction: the rate budget and the fair queueing state.
pub struct DirectionScheduler {
    pub bucket: TokenBucket,
    queue: FairQueue,
    /// No data moves before this time.
    pub resume: Option<Nanos>,
}

/// Result of one piece.
pub enum IoStep {
    /// Bytes of IP; 0 if the socket was not ready after all.
    Moved(u64),
    /// The budget lacks tokens for so many bytes of IP.
    Wait(u64),
}

impl DirectionScheduler {
    pub fn new(rate_bps: u64, now: Nanos) -> DirectionScheduler {
        DirectionScheduler { bucket: TokenBucket::new(rate_bps, now), queue: FairQueue::default(), resume: None }
    }

    /// The time until which this direction is blocked; none if it is not.
    pub fn held(&self, now: Nanos) -> Option<Nanos> {
        self.resume.filter(|at| now < *at)
    }

    /// Bytes of payload that a connection may move now; Err: bytes of IP for which the budget lacks tokens.
    pub fn chunk(&mut self, now: Nanos) -> Result<usize, u64> {
        let grain = GRAIN.min(self.bucket.depth() as usize / 2).max(1);
        for size in [CHUNK, grain] {
            if tcp_wire_bytes(size as u64) <= self.bucket.depth() && self.bucket.has(now, tcp_wire_bytes(size as u64)) {
                return Ok(size.min(PIECE));
            }
        }
        let min = tcp_wire_bytes(grain as u64);
        if self.bucket.has(now, min) { Ok(grain) } else { Err(min) }
    }

    /// Moves the data of one turn.
    pub fn run(
        &mut self,
        direction: IoDirection,
        sessions: &mut [Session],
        context: &ServerContext,
        scratch: &mut [u8],
        work: &mut LoopWork,
    ) {
        let (calls, bytes) = (&mut work.calls[direction as usize], &mut work.bytes[direction as usize]);
        self.resume = None;
        while *calls < MAX_CALLS && *bytes < MAX_BYTES {
            let now = context.clock.now();
            let ready = sessions.iter().enumerate().filter(|(_, p)| p.has_data(direction, now));
            let Some(index) = self.queue.select(ready.map(|(i, p)| (i, p.moved[direction as usize]))) else { return };
            match sessions[index].move_chunk(direction, now, self, context, scratch) {
                IoStep::Moved(moved) => {
                    *calls += 1;
                    *bytes += moved;
                    self.bucket.take(moved);
                    sessions[index].moved[direction as usize] =
                        self.queue.charge(sessions[index].moved[direction as usize], moved);
                }
                IoStep::Wait(bytes) => {
                    self.resume = Some(self.bucket.ready(bytes));
                    return;
                }
            }
        }
    }
}
