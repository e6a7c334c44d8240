//! One pass over a capture: records in, flows out. Memory follows the flows that are there, not the packets.

mod flows;
mod fragments;
mod only;
mod roll;
mod shard;
mod watch;
mod workers;

pub use flows::{AtHand, Seen};
pub use fragments::Pieces;
pub use only::Only;
pub use roll::Roll;
pub use shard::Tally;
pub use watch::Watch;

use crate::decode::{Found, Skip, plain, walk};
use ackclock_pcap::read::{Capture, ReadError, Record};
use fragments::{Fragments, Whole};
use shard::Shard;

/// What a capture held, beside its flows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    pub packets: u64,
    pub bytes: u64,
    pub first_at: Option<i64>,
    pub last_at: i64,
    pub cut_short: u64,
    pub backwards: u64,
}

/// All flows of a capture.
#[derive(Debug)]
pub struct Analysis {
    shards: Vec<Shard>,
    fragments: Fragments,
    pub totals: Totals,
    only: Only,
}

impl Analysis {
    pub fn new(only: Only) -> Analysis {
        Analysis::with_workers(only, 1)
    }

    /// With so many threads, each of which has the flows that fall to it. The result does not depend on their number.
    pub fn with_workers(only: Only, workers: usize) -> Analysis {
        let all = AtHand::default();
        Analysis::with_rule(only, workers, AtHand { most: all.most / workers.max(1), ..all })
    }

    /// The same, with a rule of its own for putting flows by. No figure depends on it.
    pub fn with_rule(only: Only, workers: usize, rule: AtHand) -> Analysis {
        let workers = workers.max(1);
        let shards = (0..workers).map(|_| Shard::new(rule, workers)).collect();
        Analysis { shards, fragments: Fragments::default(), totals: Totals::default(), only }
    }

    /// In the order in which they appeared.
    pub fn flows(&self) -> Roll<'_> {
        let mut places: Vec<(u64, u32, u32)> = Vec::new();
        // A worker's own flows are in order already.
        if self.shards.len() > 1 {
            for (shard, held) in self.shards.iter().enumerate() {
                places.extend(held.born.iter().enumerate().map(|(number, &born)| (born, shard as u32, number as u32)));
            }
            places.sort_unstable();
        }
        Roll { shards: &self.shards, places }
    }

    /// Bytes that are held for the flows, those for finding them included.
    pub fn memory(&self) -> usize {
        self.shards.iter().map(Shard::memory).sum()
    }

    pub fn tally(&self) -> Tally {
        let mut sum = Tally::default();
        self.shards.iter().for_each(|shard| sum.add(&shard.tally));
        sum.skipped[Skip::Fragment as usize] += self.pieces().unused;
        sum
    }

    /// What became of IP fragments that hold TCP.
    pub fn pieces(&self) -> Pieces {
        self.fragments.pieces()
    }

    /// Takes what the capture has now, up to `most` packets; the number taken. A watcher sees them in order, so with one all is done in this
    /// thread by the first worker; ask for one worker then.
    pub fn read(&mut self, capture: &mut Capture, watch: &mut impl Watch, most: u64) -> Result<u64, ReadError> {
        capture.packets(most, |record| self.record(record, watch))
    }

    /// The same without a watcher, by all workers.
    pub fn read_all(&mut self, capture: &mut Capture, most: u64) -> Result<u64, ReadError> {
        if self.shards.len() == 1 { self.read(capture, &mut (), most) } else { workers::read(self, capture, most) }
    }

    /// One captured packet.
    #[inline(always)]
    fn record(&mut self, record: &Record<'_>, watch: &mut impl Watch) {
        if !self.totals.take(record, &self.only) {
            return;
        }
        let (packet, shard) = (self.totals.packets, &mut self.shards[0]);
        match &plain(record) {
            Some(segment) => shard.take(record.at, packet, segment, &self.only, watch),
            None => self.odd_record(record, watch),
        }
    }

    /// One that is not of the common form.
    #[inline(never)]
    fn odd_record(&mut self, record: &Record<'_>, watch: &mut impl Watch) {
        let (packet, shard) = (self.totals.packets, &mut self.shards[0]);
        match walk(record) {
            Ok(Found::Segment(segment)) => shard.take(record.at, packet, &segment, &self.only, watch),
            Ok(Found::Piece(ip, bytes)) => {
                let Some(place) = ip.piece else { return };
                if let Some(whole) = self.fragments.add(record.at, &ip, place, bytes) {
                    shard.whole(record.at, packet, &whole, &self.only, watch);
                }
            }
            Err(skip) => shard.tally.skipped[skip as usize] += 1,
        }
    }
}

impl Totals {
    /// Counts a packet; false if it lies outside the time asked for.
    #[inline(always)]
    fn take(&mut self, record: &Record<'_>, only: &Only) -> bool {
        let first_at = *self.first_at.get_or_insert(record.at);
        if !only.spans(record.at, first_at) {
            return false;
        }
        self.packets += 1;
        self.bytes += u64::from(record.original_len);
        self.cut_short += u64::from(record.bytes.len() < record.original_len as usize);
        self.backwards += u64::from(record.at < self.last_at && self.last_at != 0);
        self.last_at = record.at;
        true
    }
}

impl Shard {
    fn whole(&mut self, at: i64, packet: u64, whole: &Whole, only: &Only, watch: &mut impl Watch) {
        match whole.segment() {
            Some(segment) => self.take(at, packet, &segment, only, watch),
            None => self.tally.skipped[Skip::BadTcp as usize] += 1,
        }
    }
}
