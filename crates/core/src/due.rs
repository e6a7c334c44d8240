//! Who is due next: a winner tree over elements, never over packets, so that its size is the network's and not the traffic's.

use crate::units::Time;

/// Members are numbered from 0; ties go to the one whose due time was set first.
///
/// Elements move with every packet and are few, endpoints' timers rarely move and may be thousands: each kind has its own tree.
#[derive(Debug)]
pub struct DueIndex {
    elements: Tree,
    endpoints: Tree,
    /// Members from here on are endpoints.
    split: usize,
    stamp: u64,
}

/// Blocks of four, a cache line each: level 0 holds the members' own entries, each block's least stands in the level above. Going
/// all the way up without asking whether anything changed is faster than asking, as mostly the first entry is what changes.
#[derive(Debug)]
struct Tree {
    levels: Vec<Vec<Block>>,
    root: Entry,
}

const FANOUT: usize = 4;
type Block = [Entry; FANOUT];

/// Due time in the upper 64 bits, order of setting in the next 40, the member in the lowest 24: one comparison decides everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

const MEMBER_BITS: u32 = 24;

impl Entry {
    const NEVER: Entry = Entry(u128::MAX);

    fn new(due: Time, stamp: u64, member: usize) -> Entry {
        Entry(u128::from(due.0) << 64 | u128::from(stamp << MEMBER_BITS | member as u64))
    }
    fn due(self) -> Time {
        Time((self.0 >> 64) as u64)
    }
    fn member(self) -> usize {
        (self.0 as u64 & ((1 << MEMBER_BITS) - 1)) as usize
    }
}

#[inline]
fn least(block: &Block) -> Entry {
    block[0].min(block[1]).min(block[2].min(block[3]))
}

impl Tree {
    fn with_members(n: usize) -> Tree {
        let mut levels = Vec::new();
        let mut blocks = n.div_ceil(FANOUT).max(1);
        while blocks > 1 {
            levels.push(vec![[Entry::NEVER; FANOUT]; blocks]);
            blocks = blocks.div_ceil(FANOUT);
        }
        levels.push(vec![[Entry::NEVER; FANOUT]]);
        Tree { levels, root: Entry::NEVER }
    }

    #[inline]
    fn set(&mut self, mut at: usize, entry: Entry) {
        let mut winner = entry;
        for level in &mut self.levels {
            let block = &mut level[at / FANOUT];
            block[at % FANOUT] = winner;
            winner = least(block);
            at /= FANOUT;
        }
        self.root = winner;
    }
}

impl DueIndex {
    /// # Panics
    /// With 2^24 members or more.
    pub fn with_members(elements: usize, endpoints: usize) -> DueIndex {
        assert!(elements + endpoints < 1 << MEMBER_BITS, "fewer than 2^24 elements and endpoints");
        DueIndex { elements: Tree::with_members(elements), endpoints: Tree::with_members(endpoints), split: elements, stamp: 0 }
    }

    /// The earliest due time and whose it is.
    #[inline]
    pub fn first(&self) -> Option<(Time, usize)> {
        let first = self.elements.root.min(self.endpoints.root);
        (first != Entry::NEVER).then(|| (first.due(), first.member()))
    }

    /// Sets or moves a member's due time; `NEVER` takes it out.
    #[inline]
    pub fn set(&mut self, member: usize, due: Time) {
        self.stamp += 1;
        let entry = if due == Time::NEVER { Entry::NEVER } else { Entry::new(due, self.stamp, member) };
        match member.checked_sub(self.split) {
            None => self.elements.set(member, entry),
            Some(endpoint) => self.endpoints.set(endpoint, entry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_one_set_first() {
        let mut index = DueIndex::with_members(3, 1);
        for member in [2, 0, 3, 1] {
            index.set(member, Time(5));
        }
        let mut order = Vec::new();
        while let Some((_, member)) = index.first() {
            order.push(member);
            index.set(member, Time::NEVER);
        }
        assert_eq!(order, [2, 0, 3, 1]);
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_sorted_list(moves in prop::collection::vec((0usize..20, 0u64..50), 1..300)) {
            let mut index = DueIndex::with_members(9, 11);
            let mut model: Vec<(u64, u64, usize)> = Vec::new();
            for (stamp, (member, t)) in moves.into_iter().enumerate() {
                model.retain(|m| m.2 != member);
                if t == 0 {
                    index.set(member, Time::NEVER);
                } else {
                    index.set(member, Time(t));
                    model.push((t, stamp as u64, member));
                }
                prop_assert_eq!(index.first(), model.iter().min().map(|m| (Time(m.0), m.2)));
            }
        }
    }
}
