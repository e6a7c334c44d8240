//! What is missing, or being repaired, in a direction at this moment. It is forgotten when all is well again.

use super::delivered::Delivered;
use super::doubt::Doubt;
use super::outpaced::Amended;
use super::seq::{seq_diff, seq_lt};
use super::silenced::Suspect;
use super::told::Told;
use crate::compact::compact;
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

compact!(Hole { start, end, found_at, stamp, id });

/// Kept holes at most; the oldest are forgotten.
const MOST: usize = 512;
/// What an ACK asks for leaves its sender within this time, unless it is paced, nanoseconds.
pub const AT_ONCE: i64 = 1_000_000;
/// A timeout's repair is remembered for this long, nanoseconds: longer than any ACK is on its way.
const REMEMBERED: i64 = 60_000_000_000;

/// From the first hole or repair on until nothing of it matters any more.
#[derive(Debug, Default)]
pub struct Episode {
    /// Until this is acknowledged a timeout is being repaired.
    pub loss_point: Option<u32>,
    /// The same, where a stamp showed the timeout to be spurious.
    pub taken_back: Option<u32>,
    /// When the stamp that showed it came.
    pub taken_at: i64,
    /// Until this is acknowledged a fast recovery is under way.
    pub recovery_point: Option<u32>,
    /// The last point of a timeout that was reached, and when: a capture beyond the sender sees that before the sender does.
    pub repaired: Option<(u32, i64)>,
    pub sack_high: Option<u32>,
    /// Up to here data that comes for the first time has been sent before, as packet numbers show.
    pub resumed: Option<u32>,
    pub holes: VecDeque<Hole>,
    /// Sacked ranges of the last ACK, so that what was marked is not walked again.
    pub marked: [(u32, u32); 4],
    /// How often of late this sender sent something while no ACK came, held at 15: it spaces what it sends.
    pub spaced: u8,
    /// The time between the last two packets with data, nanoseconds.
    pub gap: i64,
    /// What had been delivered when the sender last sent anything: what came since can have asked for what it sends next.
    pub acted_on: Delivered,
    /// The last timeout, where the capture is not at the sender's end and it is not certain yet.
    pub doubt: Option<Doubt>,
    /// A repair after which the sender may fall silent.
    pub suspect: Option<Suspect>,
    /// What was taken for something else; taken by who tells the packets' watchers.
    pub amended: Option<Amended>,
    /// What the sender knows, where the capture is not at its end.
    pub told: Option<Box<Told>>,
}

compact!(Episode {
    loss_point,
    taken_back,
    taken_at,
    recovery_point,
    repaired,
    sack_high,
    resumed,
    holes,
    marked,
    spaced,
    gap,
    acted_on,
    doubt,
    suspect,
    amended,
    told
});

/// Nothing is missing and nothing is being repaired.
pub static CALM: Episode = Episode {
    loss_point: None,
    taken_back: None,
    taken_at: 0,
    recovery_point: None,
    repaired: None,
    sack_high: None,
    resumed: None,
    holes: VecDeque::new(),
    marked: [(0, 0); 4],
    spaced: 0,
    gap: 0,
    acted_on: Delivered::NOTHING,
    doubt: None,
    suspect: None,
    amended: None,
    told: None,
};

impl Episode {
    /// A recovery or the repair of a timeout is under way.
    #[inline]
    pub fn repairing(&self, una: u32) -> bool {
        let open = |point: Option<u32>| point.is_some_and(|p| seq_lt(una, p));
        open(self.loss_point) || open(self.recovery_point)
    }

    /// Something was sent so long after the last ACK, and after what was sent before.
    #[inline]
    pub fn left(&mut self, quiet: i64, gap: i64) {
        self.gap = gap;
        self.spaced = if quiet < AT_ONCE { self.spaced.saturating_sub(1) } else { (self.spaced + 2).min(15) };
    }

    /// What starts here has been sent before.
    pub fn is_resumed(&self, start: u32) -> bool {
        self.resumed.is_some_and(|end| seq_lt(start, end))
    }

    /// Nothing that may still come could ask for any of it; everything below `una` is acknowledged.
    pub fn is_over(&self, now: i64, una: u32) -> bool {
        self.holes.is_empty()
            && self.told.is_none()
            && self.sack_high.is_none()
            && !self.repairing(una)
            && self.taken_back.is_none_or(|point| !seq_lt(una, point))
            && !self.is_resumed(una)
            && self.repaired.is_none_or(|(_, at)| now - at > REMEMBERED)
    }

    pub fn add_hole(&mut self, hole: Hole) {
        if self.holes.len() == MOST {
            self.holes.pop_front();
        }
        self.holes.push_back(hole);
    }

    /// The hole in which `seq` lies.
    pub fn hole_at(&self, seq: u32) -> Option<Hole> {
        self.holes.iter().find(|h| !seq_lt(seq, h.start) && seq_lt(seq, h.end)).copied()
    }

    /// `start..end` has been seen now: what is left of the holes.
    pub fn cover(&mut self, start: u32, end: u32) {
        let Some(i) = self.holes.iter().position(|h| seq_lt(start, h.end) && seq_lt(h.start, end)) else { return };
        let hole = self.holes[i];
        let (left, right) = (seq_diff(hole.start, start) > 0, seq_diff(end, hole.end) > 0);
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

    /// Bytes, those beside itself included.
    pub fn memory(&self) -> usize {
        size_of::<Episode>() + self.holes.capacity() * size_of::<Hole>() + self.told.as_ref().map_or(0, |told| told.memory())
    }
}
