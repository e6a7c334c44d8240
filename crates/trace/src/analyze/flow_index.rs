//! Finds a flow's number by its key: open addressing over numbers, so that a look-up touches one
//! cache line here and one of the flow.

use std::hash::{BuildHasher, RandomState};

/// The hash of the key, and the flow's number plus one; zero if the slot is empty.
#[derive(Debug, Clone, Copy, Default)]
struct IndexSlot {
    tag: u32,
    number: u32,
}

#[derive(Debug, Clone)]
pub struct FlowIndex {
    slots: Vec<IndexSlot>,
    filled: usize,
    /// Of the keys' hashes, another one in each run. Results do not depend on it.
    seed: u64,
}

impl Default for FlowIndex {
    fn default() -> FlowIndex {
        FlowIndex { slots: vec![IndexSlot::default(); 64], filled: 0, seed: RandomState::new().hash_one(0) }
    }
}

impl FlowIndex {
    #[inline]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number for which `is_match` holds, of those stored under this hash.
    #[inline(always)]
    pub fn find(&self, hash: u32, mut is_match: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.number == 0 {
                return None;
            }
            if slot.tag == hash && is_match(slot.number - 1) {
                return Some(slot.number - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Stores a number that is not stored yet.
    pub fn insert(&mut self, hash: u32, number: u32) {
        if (self.filled + 1) * 4 > self.slots.len() * 3 {
            let larger = vec![IndexSlot::default(); self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, larger) {
                if slot.number != 0 {
                    self.store(slot);
                }
            }
        }
        self.store(IndexSlot { tag: hash, number: number + 1 });
        self.filled += 1;
    }

    /// Replaces a number: its addresses and ports are used by a new connection.
    pub fn replace(&mut self, hash: u32, old: u32, new: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at].number != 0 {
            if self.slots[at].number == old + 1 {
                self.slots[at].number = new + 1;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<IndexSlot>()
    }

    fn store(&mut self, slot: IndexSlot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.tag as usize & mask;
        while self.slots[at].number != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::FlowIndex;

    #[test]
    fn flow_index_finds_every_number_when_hashes_collide() {
        let mut index = FlowIndex::default();
        for number in 0..500 {
            index.insert(number % 3, number);
        }
        for number in 0..500 {
            assert_eq!(index.find(number % 3, |n| n == number), Some(number));
        }
        assert_eq!(index.find(0, |_| false), None);
        index.replace(1, 4, 900);
        assert_eq!(index.find(1, |n| n == 900), Some(900));
        assert_eq!(index.find(1, |n| n == 4), None);
    }
}
