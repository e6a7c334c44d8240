//! What third duplicates have asked a sender for, seen from elsewhere: its answer comes even where the hole has filled itself meanwhile.

use super::half::Half;
use super::seq::seq_lt;
use super::view::View;
use crate::compact::compact;
use crate::flow::classify::{Classification, SegmentKind};

#[derive(Debug, Clone, Copy)]
struct Third {
    seq: u32,
    at: i64,
}

compact!(Third { seq, at });

/// The last of them, in order of time.
#[derive(Debug, Default)]
pub struct Asked {
    thirds: Vec<Third>,
    /// One was answered: what else comes again below this, and before then, belongs to the same recovery.
    point: u32,
    until: i64,
}

compact!(Asked { thirds, point, until });

/// Kept at most: as many as reordering causes in a round trip.
const MOST: usize = 16;
/// An answer comes after nine tenths of the shortest turn, and before three of them and this: queues stand on the way.
const LEEWAY: i64 = 100_000_000;

impl Asked {
    pub fn memory(&self) -> usize {
        self.thirds.capacity() * size_of::<Third>()
    }

    fn add(&mut self, third: Third) {
        if self.thirds.len() == MOST {
            self.thirds.remove(0);
        }
        self.thirds.push(third);
    }

    /// A third duplicate asked for what starts here.
    pub(super) fn for_this(&self, seq: u32) -> bool {
        self.thirds.iter().any(|third| third.seq == seq)
    }

    /// What starts here answers one of them, or goes on with what did.
    fn answers(&self, seq: u32, now: i64, (turn, longest): (i64, i64)) -> bool {
        let timely = |third: &&Third| now - third.at >= turn * 9 / 10 && now - third.at <= longest * 3 + LEEWAY;
        now < self.until && seq_lt(seq, self.point) || self.thirds.iter().filter(timely).any(|third| third.seq == seq)
    }
}

impl Half {
    /// The third duplicate in a row passes (RFC 5681, section 3.2).
    #[cold]
    pub(super) fn asks(&mut self, now: i64) {
        let third = Third { seq: self.una, at: now };
        self.trouble_mut().asked.add(third);
    }

    /// What was missing here has come by itself, and may have been asked for already.
    pub(super) fn asked_in_vain(&mut self, at: i64, seq: u32) {
        self.trouble_mut().asked.add(Third { seq, at });
    }

    /// It is below what has been acknowledged here, and a third duplicate asked for it before: both were on their way at once.
    pub(super) fn asked_before(&mut self, now: i64, seq: u32, view: &View) -> Option<Classification> {
        let (next, una, turn) = (self.next, self.una, view.turn?);
        if !seq_lt(seq, una) || self.at_sender(view) {
            return None;
        }
        let trouble = self.trouble.as_deref_mut()?;
        let longest = view.longest_turn();
        let again = trouble.repairs.iter().any(|r| r.start == seq);
        if again || trouble.repairing_timeout(una) || !trouble.asked.answers(seq, now, (turn, longest)) {
            return None;
        }
        (trouble.asked.point, trouble.asked.until) = (next, now + longest * 2 + LEEWAY);
        Some(Classification::new(SegmentKind::Fast, 0.9))
    }
}
