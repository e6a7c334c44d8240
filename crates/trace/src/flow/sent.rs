//! What one end has sent and the other has not yet acknowledged, as the capture saw it. In calm times it lies packed ([`Packed`]); from the
//! first hole, SACK or repetition on each segment has a record of its own, until none of them is special any more.

use super::delivered::Departure;
use super::packed::Packed;
use super::seq::{ahead, before};
use crate::compact::compact;
use std::collections::VecDeque;

/// A run of sequence numbers that travelled together.
#[derive(Debug, Clone, Copy, PartialEq)]
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

compact!(Sent { start, len, first_at, last_at, stamp, ip_id, times, sacked });

impl Sent {
    #[inline]
    pub fn end(&self) -> u32 {
        self.start.wrapping_add(self.len)
    }

    /// Seen once, and nothing said of it.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.times == 1 && !self.sacked
    }

    /// Of its last copy.
    #[inline]
    pub fn departure(&self) -> Departure {
        Departure { at: self.last_at, end: self.end() }
    }

    /// Its last copy can have been what is acknowledged now; the time is the least round trip's.
    #[inline]
    pub fn arrived(&self, now: i64, least: i64) -> bool {
        self.times == 1 || now - self.last_at >= least
    }
}

/// Kept segments of one flow's direction at most: a capture in which nothing is acknowledged must not cost memory.
/// Larger than any window of full segments up to 256 MB with TSO.
const MOST: usize = 1 << 15;

/// In order of sequence, without overlaps; gaps are holes in what the capture saw.
#[derive(Debug, Default)]
pub struct Outstanding {
    /// Empty while there are records.
    packed: Packed,
    records: Option<Box<Records>>,
}

compact!(Outstanding { packed, records });

#[derive(Debug, Default)]
struct Records {
    all: VecDeque<Sent>,
    /// ACKs until it is asked again whether they can be packed: as many as there are records, so that asking costs no more than they do.
    patience: u32,
}

compact!(Records { all, patience });

impl Outstanding {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty() && self.records.as_ref().is_none_or(|r| r.all.is_empty())
    }

    /// The oldest.
    pub fn first(&self) -> Option<Sent> {
        match &self.records {
            Some(records) => records.all.front().copied(),
            None => self.packed.first(),
        }
    }

    /// By the place that [`Outstanding::find`] gave.
    pub fn get(&self, i: usize) -> Option<&Sent> {
        self.records.as_ref()?.all.get(i)
    }

    pub fn get_mut(&mut self, i: usize) -> Option<&mut Sent> {
        self.records.as_mut()?.all.get_mut(i)
    }

    /// Adds what is beyond everything so far. The oldest are forgotten when there are too many; `room` is the most to keep.
    #[inline]
    pub fn push(&mut self, sent: Sent, room: usize) {
        let room = room.min(MOST);
        if self.records.is_none() {
            while self.packed.len() >= room {
                self.packed.pop();
            }
            if self.packed.push(&sent) {
                return;
            }
        }
        let all = self.records();
        while all.len() >= room {
            all.pop_front();
        }
        all.push_back(sent);
    }

    /// Puts a run into the hole where it belongs.
    pub fn fill(&mut self, at: usize, sent: Sent) {
        let all = self.records();
        if all.len() < MOST {
            all.insert(at.min(all.len()), sent);
        }
    }

    /// The place of the first run that ends after `seq`.
    pub fn find(&mut self, seq: u32) -> usize {
        let all = self.records();
        // Nearly always the first, the last, or beyond both.
        match all.front() {
            Some(first) if before(seq, first.end()) => return 0,
            None => return 0,
            _ => {}
        }
        all.partition_point(|s| ahead(s.end(), seq) >= 0)
    }

    /// Takes the first run off, if `ack` covers all of it; cuts it if it covers a part.
    #[inline]
    pub fn acknowledged(&mut self, ack: u32) -> Option<Sent> {
        let Some(records) = &mut self.records else { return self.packed.acknowledged(ack) };
        let first = records.all.front_mut()?;
        if !before(ack, first.end()) {
            return records.all.pop_front();
        }
        let covered = ahead(first.start, ack);
        if covered > 0 {
            first.start = ack;
            first.len -= covered as u32;
        }
        None
    }

    pub fn clear(&mut self) {
        *self = Outstanding::default();
    }

    /// After an ACK with news: gives memory back when nothing is outstanding, and packs records of which none is special.
    #[inline]
    pub fn settle(&mut self) {
        if self.records.is_some() {
            self.pack();
        } else {
            self.packed.shrink();
        }
    }

    pub fn memory(&self) -> usize {
        let records = self.records.as_ref();
        self.packed.memory() + records.map_or(0, |r| size_of::<Records>() + r.all.capacity() * size_of::<Sent>())
    }

    fn records(&mut self) -> &mut VecDeque<Sent> {
        let packed = &mut self.packed;
        let records = self.records.get_or_insert_with(|| {
            let mut all = VecDeque::with_capacity(packed.len() + 1);
            while let Some(sent) = packed.pop() {
                all.push_back(sent);
            }
            *packed = Packed::default();
            Box::new(Records { patience: all.len() as u32, all })
        });
        &mut records.all
    }

    #[cold]
    fn pack(&mut self) {
        let Some(records) = &mut self.records else { return };
        records.patience = records.patience.saturating_sub(1);
        if !records.all.is_empty() && records.patience > 0 {
            return;
        }
        records.patience = records.all.len() as u32;
        let mut packed = Packed::default();
        if records.all.iter().all(|sent| sent.is_plain() && packed.push(sent)) {
            (self.packed, self.records) = (packed, None);
        }
    }
}

const _: () = assert!(size_of::<Sent>() == 32);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(start: u32, len: u32, at: i64, stamp: u32, ip_id: u16) -> Sent {
        Sent { start, len, first_at: at, last_at: at, stamp, ip_id, times: 1, sacked: false }
    }

    /// What is done to a list: sent after so many nanoseconds, acknowledged up to somewhere, looked into.
    #[derive(Debug, Clone)]
    enum Act {
        Send { gap: u32, len: u32, after: i64, stamp: u32, id: u16 },
        Ack(u32),
        Find(u32),
    }

    fn act() -> impl Strategy<Value = Act> {
        let len = prop_oneof![Just(1448u32), 1u32..70_000];
        let after = prop_oneof![0i64..300, 0i64..70_000, 0i64..20_000_000, 0i64..9_000_000_000];
        let stamp = prop_oneof![Just(0u32), Just(1), 0u32..300, any::<u32>()];
        let id = prop_oneof![Just(1u16), Just(0), any::<u16>()];
        let gap = prop_oneof![20 => Just(0u32), 1 => 1u32..5000];
        prop_oneof![
            5 => (gap, len, after, stamp, id).prop_map(|(gap, len, after, stamp, id)| Act::Send { gap, len, after, stamp, id }),
            3 => (0u32..200_000).prop_map(Act::Ack),
            1 => (0u32..200_000).prop_map(Act::Find),
        ]
    }

    proptest! {
        /// The packed form and the records hold the same as a plain list does, whatever happens to them.
        #[test]
        fn packing_changes_nothing(acts in prop::collection::vec(act(), 0..200), origin in any::<u32>()) {
            let (mut list, mut model) = (Outstanding::default(), VecDeque::<Sent>::new());
            let (mut next, mut una, mut now, mut stamp, mut id) = (origin, origin, 0i64, 7u32, 9u16);
            for act in acts {
                match act {
                    Act::Send { gap, len, after, stamp: s, id: i } => {
                        (now, stamp, id) = (now + after, stamp.wrapping_add(s), id.wrapping_add(i));
                        let sent = plain(next.wrapping_add(gap), len, now, stamp, id);
                        next = sent.end();
                        list.push(sent, usize::MAX);
                        model.push_back(sent);
                    }
                    Act::Ack(ahead_by) => {
                        let ack = una.wrapping_add(ahead_by.min(next.wrapping_sub(una)));
                        una = ack;
                        while model.front().is_some_and(|s| !before(ack, s.end())) {
                            prop_assert_eq!(list.acknowledged(ack), model.pop_front());
                        }
                        if let Some(first) = model.front_mut().filter(|s| before(s.start, ack)) {
                            first.len -= ack.wrapping_sub(first.start);
                            first.start = ack;
                        }
                        prop_assert_eq!(list.acknowledged(ack), None);
                        list.settle();
                    }
                    Act::Find(off) => {
                        let seq = una.wrapping_add(off);
                        let at = model.iter().position(|s| before(seq, s.end())).unwrap_or(model.len());
                        let found = list.find(seq);
                        prop_assert_eq!(list.get(found), model.get(at));
                    }
                }
                prop_assert_eq!(list.first(), model.front().copied());
                prop_assert_eq!(list.is_empty(), model.is_empty());
            }
        }
    }

    #[test]
    fn forty_full_segments_of_a_steady_sender_take_less_than_300_bytes() {
        let mut list = Outstanding::default();
        for i in 0..4000u32 {
            list.push(plain(i * 1448, 1448, i64::from(i) * 120_000 + i64::from(i % 7), i / 8, i as u16), usize::MAX);
            if i >= 40 {
                assert_eq!(list.acknowledged((i - 39) * 1448).map(|s| s.start), Some((i - 40) * 1448));
                list.settle();
            }
        }
        assert!(list.memory() < 300, "{}", list.memory());
    }
}
