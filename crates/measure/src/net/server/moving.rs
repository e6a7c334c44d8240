//! What one turn of the far end's loop moves: pieces of a bounded size, a bounded number of them, in the order of fair queueing (`crate::share`).
//! The loop returns to poll after these, whatever the requests of the clients.

use super::super::flow::{PIECE, Traffic};
use super::Shared;
use super::peer::Peer;
use crate::Nanos;
use crate::share::{Bucket, Turn, tcp_wire_bytes};

/// Maximum of data system calls in one turn and direction, and of bytes of IP.
pub const MOST_CALLS: u32 = 64;
pub const MOST_BYTES: u64 = 1 << 19;
/// Bytes of payload of one system call: the larger size where the budget allows it, else the smaller.
const CHUNK: usize = 1 << 16;
const GRAIN: usize = 1 << 14;

/// Work of one turn, for each direction: data system calls, and bytes of IP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    pub calls: [u32; 2],
    pub bytes: [u64; 2],
    /// Accepted connections.
    pub accepted: u32,
}

/// One direction: the rate budget and the fair queueing state.
pub struct Line {
    pub bucket: Bucket,
    turn: Turn,
    /// No data moves before this time.
    pub resume: Option<Nanos>,
}

/// Result of one piece.
pub enum Piece {
    /// Bytes of IP; 0 if the socket was not ready after all.
    Moved(u64),
    /// The budget lacks tokens for so many bytes of IP.
    Wait(u64),
}

impl Line {
    pub fn new(rate_bps: u64, now: Nanos) -> Line {
        Line { bucket: Bucket::new(rate_bps, now), turn: Turn::default(), resume: None }
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
        let least = tcp_wire_bytes(grain as u64);
        if self.bucket.has(now, least) { Ok(grain) } else { Err(least) }
    }

    /// Moves the data of one turn.
    pub fn run(&mut self, way: Traffic, peers: &mut [Peer], shared: &Shared, scratch: &mut [u8], work: &mut Work) {
        let (calls, bytes) = (&mut work.calls[way as usize], &mut work.bytes[way as usize]);
        self.resume = None;
        while *calls < MOST_CALLS && *bytes < MOST_BYTES {
            let now = shared.clock.now();
            let ready = peers.iter().enumerate().filter(|(_, p)| p.has_to_move(way, now));
            let Some(who) = self.turn.pick(ready.map(|(i, p)| (i, p.moved[way as usize]))) else { return };
            match peers[who].move_one(way, now, self, shared, scratch) {
                Piece::Moved(moved) => {
                    *calls += 1;
                    *bytes += moved;
                    self.bucket.take(moved);
                    peers[who].moved[way as usize] = self.turn.moved(peers[who].moved[way as usize], moved);
                }
                Piece::Wait(bytes) => {
                    self.resume = Some(self.bucket.ready(bytes));
                    return;
                }
            }
        }
    }
}
