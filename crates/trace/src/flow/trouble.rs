//! What is kept of a direction from its first hole or repeated segment on. Most flows never need it.

use super::seq::{ahead, before};
use super::told::Told;
use crate::cause::{Cause, Tally};
use std::collections::VecDeque;

/// A range that the capture has not seen although it has seen what follows.
#[derive(Debug, Clone, Copy)]
pub struct Hole {
    pub start: u32,
    pub end: u32,
    pub found_at: i64,
    /// Of the segment that showed the hole.
    pub stamp: Option<u32>,
    pub id: Option<u16>,
}

/// A retransmission whose ACK may still show that it was not needed.
#[derive(Debug, Clone, Copy)]
pub struct Repair {
    pub start: u32,
    pub end: u32,
    pub at: i64,
    pub stamp: Option<u32>,
    pub cause: Cause,
    pub judged: bool,
    pub segments: u32,
}

/// Kept holes and repairs at most; the oldest are forgotten.
const MOST: usize = 512;

#[derive(Debug, Default)]
pub struct Trouble {
    pub tally: Tally,
    /// Until this is acknowledged a timeout is being repaired.
    pub loss_point: Option<u32>,
    /// The last such point that was reached, and when: a capture beyond the sender sees that before the sender does.
    pub repaired: Option<(u32, i64)>,
    /// Until this is acknowledged a fast recovery is under way.
    pub recovery_point: Option<u32>,
    /// A timer has sent something since the last ACK with news.
    pub timer_fired: bool,
    /// Whether this sender uses tail-loss probes, once that has shown.
    pub probes: Option<bool>,
    /// Probes that carried new data.
    pub new_probes: u32,
    pub timeouts: u32,
    pub recoveries: u32,
    pub spurious: Spurious,
    /// Segments sent again fast, then by timeout (`wimax-measured`, section 7.7 of the digest).
    pub fast_then_timeout: u32,
    pub fast_then_timeout_spurious: u32,
    /// Acknowledged, but never seen by the capture.
    pub missed_bytes: u64,
    /// Retransmissions that only the sender's packet numbers show.
    pub unseen_again: u32,
    /// Hole-filling segments whose first copy was lost before the capture.
    pub lost_upstream: u32,
    pub holes: VecDeque<Hole>,
    pub repairs: VecDeque<Repair>,
    /// Sacked ranges of the last ACK, so that what was marked is not walked again.
    pub marked: [(u32, u32); 4],
    pub sack_high: Option<u32>,
    /// The latest time at which something was sent that has been acknowledged since (RFC 8985, section 6.2).
    pub delivered: i64,
    /// Up to here data that comes for the first time has been sent before, as packet numbers show.
    pub resumed: Option<u32>,
    /// What the sender knows, where the capture is not at its end.
    pub told: Option<Box<Told>>,
}

/// Retransmissions that were not needed, by what showed it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spurious {
    pub by_dsack: u32,
    pub by_stamp: u32,
    pub by_early_ack: u32,
    pub of_timeouts: u32,
}

impl Spurious {
    pub fn all(&self) -> u32 {
        self.by_dsack + self.by_stamp + self.by_early_ack
    }
}

impl Trouble {
    /// A recovery or the repair of a timeout is under way.
    #[inline]
    pub fn repairing(&self, una: u32) -> bool {
        let open = |point: Option<u32>| point.is_some_and(|p| before(una, p));
        open(self.loss_point) || open(self.recovery_point)
    }

    /// Nothing is missing and nothing is being repaired.
    #[inline]
    pub fn is_calm(&self, una: u32) -> bool {
        self.holes.is_empty() && !self.repairing(una)
    }

    /// What starts here has been sent before.
    pub fn is_resumed(&self, start: u32) -> bool {
        self.resumed.is_some_and(|end| before(start, end))
    }

    pub fn add_hole(&mut self, hole: Hole) {
        if self.holes.len() == MOST {
            self.holes.pop_front();
        }
        self.holes.push_back(hole);
    }

    pub fn add_repair(&mut self, repair: Repair) {
        if self.repairs.len() == MOST {
            self.repairs.pop_front();
        }
        self.repairs.push_back(repair);
    }

    /// The hole in which `seq` lies.
    pub fn hole_at(&self, seq: u32) -> Option<Hole> {
        self.holes.iter().find(|h| !before(seq, h.start) && before(seq, h.end)).copied()
    }

    /// `start..end` has been seen now: what is left of the holes.
    pub fn cover(&mut self, start: u32, end: u32) {
        let Some(i) = self.holes.iter().position(|h| before(start, h.end) && before(h.start, end)) else { return };
        let hole = self.holes[i];
        let (left, right) = (ahead(hole.start, start) > 0, ahead(end, hole.end) > 0);
        match (left, right) {
            (false, false) => drop(self.holes.remove(i)),
            (true, false) => self.holes[i].end = start,
            (false, true) => self.holes[i].start = end,
            (true, true) => {
                self.holes[i].end = start;
                self.holes.insert(i + 1, Hole { start: end, ..hole });
            }
        }
    }

    /// Repairs below `una` of which nothing can be heard any more: they are judged, or left more than `longest` nanoseconds ago.
    pub fn forget(&mut self, now: i64, una: u32, longest: i64) {
        while self.repairs.front().is_some_and(|r| !before(una, r.end) && (r.judged || now - r.at > longest)) {
            self.repairs.pop_front();
        }
        if self.repairs.is_empty() && self.repairs.capacity() > 0 {
            self.repairs = VecDeque::new();
        }
        if self.holes.is_empty() && self.holes.capacity() > 0 {
            self.holes = VecDeque::new();
        }
    }

    pub fn memory(&self) -> usize {
        size_of::<Trouble>()
            + self.holes.capacity() * size_of::<Hole>()
            + self.repairs.capacity() * size_of::<Repair>()
            + self.told.as_ref().map_or(0, |told| told.memory())
    }
}
