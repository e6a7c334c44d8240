//! Who is due next: a winner tree over elements, never over packets, so that its size is the network's and not the traffic's.

use crate::units::Time;

/// Who may be due, each kind numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerOwner {
    Element(usize),
    Endpoint(usize),
}

/// Ties go to the one whose due time was set first.
///
/// Elements move with every packet and are few, endpoints' timers rarely move and may be thousands: each kind has its own tree.
#[derive(Debug)]
pub struct TimerTree {
    elements: Tree,
    endpoints: Tree,
    /// In entries, owners from here on are endpoints.
    split: usize,
    stamp: u64,
}

/// Blocks of four, a cache line each. Block 0 is the top; what stands in place `i` of block `b` is the least of block `4 b + 1 + i`, and
/// the owners' own entries are in the lowest level. Going all the way up without asking whether anything changed is faster than
/// asking, as mostly the first entry is what changes.
#[derive(Debug)]
struct Tree {
    blocks: Vec<Block>,
    /// The first block of the lowest level.
    lowest: usize,
    root: Entry,
}

const FANOUT: usize = 4;
type Block = [Entry; FANOUT];

/// Due time in the upper 64 bits, order of setting in the next 40, the owner in the lowest 24: one comparison decides everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

const OWNER_BITS: u32 = 24;

impl Entry {
    const NEVER: Entry = Entry(u128::MAX);

    fn new(due: Time, stamp: u64, owner: usize) -> Entry {
        Entry(u128::from(due.0) << 64 | u128::from(stamp << OWNER_BITS | owner as u64))
    }
    fn due(self) -> Time {
        Time((self.0 >> 64) as u64)
    }
    fn owner(self) -> usize {
        (self.0 as u64 & ((1 << OWNER_BITS) - 1)) as usize
    }
}

#[inline]
fn least(block: &Block) -> Entry {
    block[0].min(block[1]).min(block[2].min(block[3]))
}

impl Tree {
    fn with_owners(n: usize) -> Tree {
        let wanted = n.div_ceil(FANOUT).max(1);
        let (mut lowest, mut width) = (0, 1);
        while width < wanted {
            lowest += width;
            width *= FANOUT;
        }
        Tree { blocks: vec![[Entry::NEVER; FANOUT]; lowest + wanted], lowest, root: Entry::NEVER }
    }

    #[inline]
    fn set(&mut self, owner: usize, entry: Entry) {
        let (mut at, mut place) = (self.lowest + owner / FANOUT, owner % FANOUT);
        let mut winner = entry;
        loop {
            let block = &mut self.blocks[at];
            block[place] = winner;
            winner = least(block);
            let Some(below) = at.checked_sub(1) else { break };
            (at, place) = (below / FANOUT, below % FANOUT);
        }
        self.root = winner;
    }
}

impl TimerTree {
    /// # Panics
    /// With 2^24 owners or more.
    pub fn with_owners(elements: usize, endpoints: usize) -> TimerTree {
        assert!(elements + endpoints < 1 << OWNER_BITS, "fewer than 2^24 elements and endpoints");
        TimerTree { elements: Tree::with_owners(elements), endpoints: Tree::with_owners(endpoints), split: elements, stamp: 0 }
    }

    /// The earliest due time and whose it is, which means nothing if it is `NEVER`.
    #[inline]
    pub fn first(&self) -> (Time, TimerOwner) {
        let first = self.elements.root.min(self.endpoints.root);
        let owner = first.owner();
        (first.due(), owner.checked_sub(self.split).map_or(TimerOwner::Element(owner), TimerOwner::Endpoint))
    }

    /// Sets or moves a owner's due time; `NEVER` takes it out.
    #[inline]
    pub fn set(&mut self, owner: TimerOwner, due: Time) {
        self.stamp += 1;
        let entry = |number| if due == Time::NEVER { Entry::NEVER } else { Entry::new(due, self.stamp, number) };
        match owner {
            TimerOwner::Element(number) => self.elements.set(number, entry(number)),
            TimerOwner::Endpoint(number) => self.endpoints.set(number, entry(self.split + number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_one_set_first() {
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
        fn it_agrees_with_a_sorted_list(moves in prop::collection::vec((0usize..30, 0u64..50), 1..300)) {
            let mut index = TimerTree::with_owners(9, 21);
            let mut model: Vec<(u64, u64, TimerOwner)> = Vec::new();
            for (stamp, (owner, t)) in moves.into_iter().enumerate() {
                let owner = owner.checked_sub(9).map_or(TimerOwner::Element(owner), TimerOwner::Endpoint);
                model.retain(|m| m.2 != owner);
                if t == 0 {
                    index.set(owner, Time::NEVER);
                } else {
                    index.set(owner, Time(t));
                    model.push((t, stamp as u64, owner));
                }
                let (first, whose) = index.first();
                let first = (first != Time::NEVER).then_some((first, whose));
                prop_assert_eq!(first, model.iter().min_by_key(|m| (m.0, m.1)).map(|m| (Time(m.0), m.2)));
            }
        }
    }
}
