//! Data transfer in one iteration of the server's loop: a bounded number of system calls of bounded
//! size, in the order of fair queueing (`crate::rate_budget`). The loop then returns to poll,
//! whatever the clients request.

use super::super::tcp_flow::{IoDirection, PIECE};
use super::ServerContext;
use super::session::Session;
use crate::Nanos;
use crate::rate_budget::{FairQueue, TokenBucket, tcp_wire_bytes};

/// Maximum number of data system calls and of bytes of IP, in one iteration and direction.
pub const MAX_CALLS: u32 = 64;
pub const MAX_BYTES: u64 = 1 << 19;
/// Payload of one system call: the larger size if the budget holds tokens for it, else the smaller.
const CHUNK: usize = 1 << 16;
const GRAIN: usize = 1 << 14;

/// Amount of work of one iteration: data system calls and bytes of IP of each direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoopWork {
    pub calls: [u32; 2],
    pub bytes: [u64; 2],
    /// Accepted connections.
    pub accepted: u32,
}

/// Scheduler of one direction: the rate budget and the fair queueing of sessions.
pub struct DirectionScheduler {
    pub bucket: TokenBucket,
    queue: FairQueue,
    /// Time at which the budget holds tokens again.
    pub resume: Option<Nanos>,
}

/// Result of one scheduled system call.
pub enum IoStep {
    /// Bytes of IP; 0 if the socket was not ready.
    Moved(u64),
    /// The budget lacks tokens for these bytes of IP.
    Wait(u64),
}

impl DirectionScheduler {
    pub fn new(rate_bps: u64, now: Nanos) -> DirectionScheduler {
        DirectionScheduler { bucket: TokenBucket::new(rate_bps, now), queue: FairQueue::default(), resume: None }
    }

    /// Time until which this direction is blocked; none if it is not.
    pub fn held(&self, now: Nanos) -> Option<Nanos> {
        self.resume.filter(|at| now < *at)
    }

    /// Payload that a connection may move now. Err: bytes of IP for which the budget lacks tokens.
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

    /// Moves the data of one iteration.
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
