//! What one turn of the far end's loop moves: pieces of a bounded size, a bounded number of them, in the order of fair queueing (`crate::share`).
//! Whatever a client asks for, the loop is back at its sockets after these.

use super::super::flow::{PIECE, Traffic};
use super::Shared;
use super::peer::Peer;
use crate::Nanos;
use crate::share::{Bucket, Turn, tcp_wire_bytes};

/// Calls of the system that move data in one turn each way, and the bytes of IP after which a turn ends.
pub const MOST_CALLS: u32 = 64;
pub const MOST_BYTES: u64 = 1 << 19;
/// Bytes of payload that one call moves: so many where the rate has room for them, else the lesser.
const CHUNK: usize = 1 << 16;
const GRAIN: usize = 1 << 14;

/// What a turn did, each way: calls of the system that moved data, and bytes of IP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    pub calls: [u32; 2],
    pub bytes: [u64; 2],
    /// Connections that were accepted.
    pub accepted: u32,
}

/// One way: the rate, and whose turn it is.
pub struct Line {
    pub bucket: Bucket,
    turn: Turn,
    /// Nothing may be moved before this.
    pub resume: Option<Nanos>,
}

/// What became of one piece.
pub enum Piece {
    /// Bytes of IP; 0 if the socket was not ready after all.
    Moved(u64),
    /// So many bytes of IP are too many for now.
    Wait(u64),
}

impl Line {
    pub fn new(rate_bps: u64, now: Nanos) -> Line {
        Line { bucket: Bucket::new(rate_bps, now), turn: Turn::default(), resume: None }
    }

    /// Whether what it moves has to wait, and until when.
    pub fn held(&self, now: Nanos) -> Option<Nanos> {
        self.resume.filter(|at| now < *at)
    }

    /// Bytes of payload that a connection may move now; Err: bytes of IP that there is no room for.
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

    /// Moves what may be moved in one turn.
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
