//! Timer tree: a winner tree over elements and endpoints, not over packets. Its size follows the
//! network, not the traffic.

use crate::units::Time;

/// The owner of a timer, numbered from 0 within its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerOwner {
    Element(usize),
    Endpoint(usize),
}

/// Equal due times are served in the order in which they were set.
///
/// Element timers change with every packet and are few; endpoint timers change rarely and may be
/// thousands. Each kind has its own tree.
#[derive(Debug)]
pub struct TimerTree {
    elements: WinnerTree,
    endpoints: WinnerTree,
    /// Owners from this number on are endpoints, in entries.
    split: usize,
    /// Sequence number of the last entry, in the place that it has there.
    sequence: u64,
}

/// Blocks of four entries, one cache line each. Block 0 is the root; entry `i` of block `b` is the
/// minimum of block `4 b + 1 + i`; the owners' entries are in the lowest level. An update always
/// runs up to the root: it mostly changes the first entry, so a check for an early exit costs more
/// than it saves.
#[derive(Debug)]
struct WinnerTree {
    blocks: Vec<Block>,
    /// Index of the first block of the lowest level.
    lowest: usize,
    root: TimerEntry,
}

const FANOUT: usize = 4;
type Block = [TimerEntry; FANOUT];

/// Due time in the upper 64 bits, sequence number in the next 40, owner in the lowest 24: one
/// comparison orders entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TimerEntry(u128);

const OWNER_BITS: u32 = 24;

impl TimerEntry {
    const NEVER: TimerEntry = TimerEntry(u128::MAX);

    fn new(due: Time, sequence: u64, owner: usize) -> TimerEntry {
        TimerEntry(u128::from(due.0) << 64 | u128::from(sequence | owner as u64))
    }
    fn due(self) -> Time {
        Time((self.0 >> 64) as u64)
    }
    fn owner(self) -> usize {
        (self.0 as u64 & ((1 << OWNER_BITS) - 1)) as usize
    }
}

#[inline]
fn min_entry(block: &Block) -> TimerEntry {
    block[0].min(block[1]).min(block[2].min(block[3]))
}

impl WinnerTree {
    fn with_owners(n: usize) -> WinnerTree {
        let leaves = n.div_ceil(FANOUT).max(1);
        let (mut lowest, mut width) = (0, 1);
        while width < leaves {
            lowest += width;
            width *= FANOUT;
        }
        WinnerTree { blocks: vec![[TimerEntry::NEVER; FANOUT]; lowest + leaves], lowest, root: TimerEntry::NEVER }
    }

    #[inline]
    fn set(&mut self, owner: usize, entry: TimerEntry) {
        let (mut at, mut slot) = (self.lowest + owner / FANOUT, owner % FANOUT);
        let mut winner = entry;
        loop {
            let block = &mut self.blocks[at];
            block[slot] = winner;
            winner = min_entry(block);
            let Some(below) = at.checked_sub(1) else { break };
            (at, slot) = (below / FANOUT, below % FANOUT);
        }
        self.root = winner;
    }
}

impl TimerTree {
    /// # Panics
    /// With 2^24 owners or more.
    pub fn with_owners(elements: usize, endpoints: usize) -> TimerTree {
        assert!(elements + endpoints < 1 << OWNER_BITS, "fewer than 2^24 elements and endpoints");
        TimerTree {
            elements: WinnerTree::with_owners(elements),
            endpoints: WinnerTree::with_owners(endpoints),
            split: elements,
            sequence: 0,
        }
    }

    /// The earliest due time and its owner; the owner is meaningless if the time is `NEVER`.
    #[inline]
    pub fn first(&self) -> (Time, TimerOwner) {
        let first = self.elements.root.min(self.endpoints.root);
        let owner = first.owner();
        (first.due(), owner.checked_sub(self.split).map_or(TimerOwner::Element(owner), TimerOwner::Endpoint))
    }

    /// Sets an owner's due time; `NEVER` removes it.
    #[inline]
    pub fn set(&mut self, owner: TimerOwner, due: Time) {
        self.sequence += 1 << OWNER_BITS;
        match owner {
            TimerOwner::Element(number) => self.elements.set(number, TimerEntry::new(due, self.sequence, number)),
            TimerOwner::Endpoint(number) => {
                self.endpoints.set(number, TimerEntry::new(due, self.sequence, self.split + number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_due_times_are_served_in_the_order_of_setting() {
        let mut index = TimerTree::with_owners(3, 1);
        let owners = [TimerOwner::Element(2), TimerOwner::Element(0), TimerOwner::Endpoint(0), TimerOwner::Element(1)];
        for owner in owners {
            index.set(owner, Time(5));
        }
        let mut order = Vec::new();
        while let (Time(5), owner) = index.first() {
            order.push(owner);
            index.set(owner, Time::NEVER);
        }
        assert_eq!(order, owners);
    }

    proptest! {
        #[test]
        fn timer_tree_matches_a_sorted_list(moves in prop::collection::vec((0usize..30, 0u64..50), 1..300)) {
            let mut index = TimerTree::with_owners(9, 21);
            let mut model: Vec<(u64, u64, TimerOwner)> = Vec::new();
            for (sequence, (owner, t)) in moves.into_iter().enumerate() {
                let owner = owner.checked_sub(9).map_or(TimerOwner::Element(owner), TimerOwner::Endpoint);
                model.retain(|m| m.2 != owner);
                if t == 0 {
                    index.set(owner, Time::NEVER);
                } else {
                    index.set(owner, Time(t));
                    model.push((t, sequence as u64, owner));
                }
                let (first, whose) = index.first();
                let first = (first != Time::NEVER).then_some((first, whose));
                prop_assert_eq!(first, model.iter().min_by_key(|m| (m.0, m.1)).map(|m| (Time(m.0), m.2)));
            }
        }
    }
}
