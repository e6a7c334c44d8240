//! What is kept of a direction from its first hole or repeated segment on. Most flows never need it.

use super::asked::Asked;
use super::delivered::Delivered;
use super::episode::{CALM, Episode};
use super::outpaced::AMENDED;
use super::seq::seq_lt;
use crate::compact::compact;
use crate::flow::classify::{Classification, KindCounts, SegmentKind};

/// A retransmission whose ACK may still show that it was not needed.
#[derive(Debug, Clone, Copy)]
pub struct Repair {
    pub start: u32,
    pub end: u32,
    pub at: i64,
    pub stamp: Option<u32>,
    pub segments: u16,
    /// In its IP header.
    pub ip_id: u16,
    pub kind: SegmentKind,
    pub judged: bool,
    /// A timeout within a recovery that duplicates had begun.
    pub pair: bool,
    /// The capture had not seen an earlier copy, which may only be late.
    pub filled: bool,
}

compact!(Repair { start, end, at, stamp, segments, ip_id, kind, judged, pair, filled });

const _: () = assert!(size_of::<Repair>() == 32);

/// Kept repairs at most; the oldest are forgotten.
const MOST: usize = 512;

#[derive(Debug, Default)]
pub struct Trouble {
    pub tally: KindCounts,
    /// In the order of time.
    pub repairs: Vec<Repair>,
    pub(super) episode: Option<Box<Episode>>,
    oddities: Option<Box<Oddities>>,
    pub delivered: Delivered,
    pub timeouts: u32,
    pub recoveries: u32,
    /// A timer has sent something since the last ACK with news.
    pub timer_fired: bool,
    /// Whether this sender uses tail-loss probes, once that has shown.
    pub probes: Option<bool>,
    /// From the last SYN, which had come before, to its answer, nanoseconds; none without.
    pub(super) syn_turn: Option<i64>,
    /// Third duplicates that passed on their way to the sender.
    pub(super) asked: Asked,
    /// This sender does not take back timeouts that stamps show to be spurious.
    pub keeps_timeouts: bool,
}

compact!(Trouble {
    tally,
    repairs,
    episode,
    oddities,
    delivered,
    timeouts,
    recoveries,
    timer_fired,
    probes,
    syn_turn,
    asked,
    keeps_timeouts
});

/// What few directions with trouble have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Oddities {
    /// Acknowledged, but never seen by the capture.
    pub missed_bytes: u64,
    pub spurious: Spurious,
    /// Probes that carried new data.
    pub new_probes: u32,
    /// Segments sent again fast, then by timeout.
    pub fast_then_timeout: u32,
    pub pairs: Pairs,
    /// Retransmissions that only the sender's packet numbers show.
    pub unseen_again: u32,
    /// Hole-filling segments whose first copy was lost before the capture.
    pub lost_upstream: u32,
}

compact!(Oddities { missed_bytes, spurious, new_probes, fast_then_timeout, pairs, unseen_again, lost_upstream });

/// Pairs of retransmissions, one by duplicate ACKs and one by timeout, mostly of different segments, and `wimax-measured`'s test of whether such
/// timeouts are spurious (papers/README.md, 7.7).
#[derive(Debug, Clone, Copy, Default)]
pub struct Pairs {
    pub all: u32,
    /// Their second segment was acknowledged sooner than the least RTT after it was sent again, or by the ACK for the first.
    pub not_needed: u32,
    /// Segments sent again by any timeout and acknowledged sooner than the least RTT.
    pub early_timeouts: u32,
}

compact!(Pairs { all, not_needed, early_timeouts });

/// Retransmissions that were not needed, by what showed it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spurious {
    pub by_dsack: u32,
    pub by_timestamp: u32,
    pub by_early_ack: u32,
    pub of_timeouts: u32,
}

compact!(Spurious { by_dsack, by_timestamp, by_early_ack, of_timeouts });

impl Spurious {
    pub fn all(&self) -> u32 {
        self.by_dsack + self.by_timestamp + self.by_early_ack
    }
}

impl Trouble {
    /// What is missing or being repaired now.
    #[inline]
    pub fn episode(&self) -> &Episode {
        self.episode.as_deref().unwrap_or(&CALM)
    }

    #[inline]
    pub fn episode_mut(&mut self) -> &mut Episode {
        self.episode.get_or_insert_default()
    }

    /// Where there is one.
    #[inline]
    pub fn open_episode(&mut self) -> Option<&mut Episode> {
        self.episode.as_deref_mut()
    }

    pub fn oddities(&self) -> Oddities {
        self.oddities.as_deref().copied().unwrap_or_default()
    }

    pub fn oddities_mut(&mut self) -> &mut Oddities {
        self.oddities.get_or_insert_default()
    }

    /// A recovery or the repair of a timeout is under way.
    #[inline]
    pub fn repairing(&self, una: u32) -> bool {
        self.episode.as_ref().is_some_and(|e| e.repairing(una))
    }

    /// A timeout's repair is under way.
    pub fn repairing_timeout(&self, una: u32) -> bool {
        self.episode().loss_point.is_some_and(|point| seq_lt(una, point))
    }

    /// Nothing is missing and nothing is being repaired.
    #[inline]
    pub fn is_calm(&self, una: u32) -> bool {
        self.episode.as_ref().is_none_or(|e| e.holes.is_empty() && !e.repairing(una))
    }

    pub fn add_repair(&mut self, repair: Repair) {
        if self.repairs.len() == MOST {
            self.repairs.remove(0);
        }
        if self.repairs.len() == self.repairs.capacity() {
            // Mostly one or two wait for their ACK.
            self.repairs.reserve_exact(1 + self.repairs.len() / 2);
        }
        self.repairs.push(repair);
    }

    /// A repair that was taken for a fast retransmission had another cause.
    pub(super) fn renamed(&mut self, at: usize, is: Classification) {
        let repair = &mut self.repairs[at];
        let was = Classification::new(repair.kind, self.tally.confidence(repair.kind).unwrap_or(AMENDED));
        repair.kind = is.kind;
        self.tally.remove(was, repair.segments.into());
        self.tally.add(is, repair.segments.into());
    }

    /// Repairs below `una` of which nothing can be heard any more: they are judged, or left more than `longest` nanoseconds ago. With them
    /// an episode that is over.
    pub fn forget(&mut self, now: i64, una: u32, longest: i64) {
        let old = |r: &Repair| !seq_lt(una, r.end) && (r.judged || now - r.at > longest);
        let gone = self.repairs.iter().take_while(|r| old(r)).count();
        if gone > 0 {
            self.repairs.drain(..gone);
            self.repairs.shrink_to(self.repairs.len() + self.repairs.len() / 2);
        }
        match self.episode.as_deref_mut() {
            Some(episode) if episode.is_over(now, una) => self.episode = None,
            Some(episode) if episode.holes.is_empty() && episode.holes.capacity() > 0 => episode.holes = Default::default(),
            _ => {}
        }
    }

    /// Bytes, those beside itself included.
    pub fn memory(&self) -> usize {
        size_of::<Trouble>()
            + self.tally.memory()
            + self.asked.memory()
            + self.repairs.capacity() * size_of::<Repair>()
            + self.episode.as_ref().map_or(0, |e| e.memory())
            + self.oddities.as_ref().map_or(0, |_| size_of::<Oddities>())
    }
}
