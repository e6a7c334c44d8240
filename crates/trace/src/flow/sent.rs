//! What one end has sent and the other has not yet acknowledged, as the capture saw it.

use super::seq::{ahead, before};
use std::collections::VecDeque;

/// A run of sequence numbers that travelled together.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub start: u32,
    pub len: u32,
    /// First and last time it was seen.
    pub first_at: i64,
    pub last_at: i64,
    /// Time stamp value of the last time, where there are any.
    pub stamp: u32,
    pub ip_id: u16,
    /// How often it was seen, held at 255.
    pub times: u8,
    pub sacked: bool,
}

impl Sent {
    #[inline]
    pub fn end(&self) -> u32 {
        self.start.wrapping_add(self.len)
    }
}

/// Kept segments of one flow's direction at most: a capture in which nothing is acknowledged must not cost memory.
/// Larger than any window of full segments up to 256 MB with TSO.
const MOST: usize = 1 << 15;

/// In order of sequence, without overlaps; gaps are holes in what the capture saw.
#[derive(Debug, Default)]
pub struct Outstanding {
    all: VecDeque<Sent>,
}

impl Outstanding {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, i: usize) -> Option<&Sent> {
        self.all.get(i)
    }

    pub fn get_mut(&mut self, i: usize) -> Option<&mut Sent> {
        self.all.get_mut(i)
    }

    /// Adds what is beyond everything so far. The oldest are forgotten when there are too many; `room` is the most to keep.
    #[inline]
    pub fn push(&mut self, sent: Sent, room: usize) {
        while self.all.len() >= room.min(MOST) {
            self.all.pop_front();
        }
        self.all.push_back(sent);
    }

    /// Puts a run into the hole where it belongs.
    pub fn fill(&mut self, at: usize, sent: Sent) {
        if self.all.len() < MOST {
            self.all.insert(at, sent);
        }
    }

    /// The first run that ends after `seq`.
    #[inline]
    pub fn find(&self, seq: u32) -> usize {
        // Nearly always the first, the last, or beyond both.
        match self.all.front() {
            Some(first) if before(seq, first.end()) => return 0,
            None => return 0,
            _ => {}
        }
        self.all.partition_point(|s| ahead(s.end(), seq) >= 0)
    }

    /// Takes the first run off, if `ack` covers all of it; cuts it if it covers a part.
    #[inline]
    pub fn acknowledged(&mut self, ack: u32) -> Option<Sent> {
        let first = self.all.front_mut()?;
        if !before(ack, first.end()) {
            return self.all.pop_front();
        }
        let covered = ahead(first.start, ack);
        if covered > 0 {
            first.start = ack;
            first.len -= covered as u32;
        }
        None
    }

    pub fn clear(&mut self) {
        self.all = VecDeque::new();
    }

    /// Gives memory back after a burst, and all of it when nothing is outstanding for good.
    pub fn shrink(&mut self) {
        if self.all.is_empty() && self.all.capacity() > 16 {
            self.all = VecDeque::new();
        }
    }

    pub fn memory(&self) -> usize {
        self.all.capacity() * size_of::<Sent>()
    }
}

const _: () = assert!(size_of::<Sent>() == 32);
