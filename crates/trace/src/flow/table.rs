//! Finds a flow's number by its key: open addressing over numbers, so that a look-up touches one line here and one of the flow.

use std::hash::{BuildHasher, RandomState};

/// A slot: the upper bits of the hash, and the flow's number plus one; zero where empty.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    tag: u32,
    number: u32,
}

#[derive(Debug)]
pub struct Table {
    slots: Vec<Slot>,
    filled: usize,
    /// For the keys' hashes: another one in each run. Where a flow stands changes no figure.
    seed: u64,
}

impl Default for Table {
    fn default() -> Table {
        Table { slots: vec![Slot::default(); 64], filled: 0, seed: RandomState::new().hash_one(0) }
    }
}

impl Table {
    #[inline]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The number for which `is_it` holds, among those stored under this hash.
    #[inline(always)]
    pub fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.number == 0 {
                return None;
            }
            if slot.tag == hash && is_it(slot.number - 1) {
                return Some(slot.number - 1);
            }
            at = (at + 1) & mask;
        }
    }

    /// Stores a number that is not there yet.
    pub fn insert(&mut self, hash: u32, number: u32) {
        if (self.filled + 1) * 4 > self.slots.len() * 3 {
            let larger = vec![Slot::default(); self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, larger) {
                if slot.number != 0 {
                    self.put(slot);
                }
            }
        }
        self.put(Slot { tag: hash, number: number + 1 });
        self.filled += 1;
    }

    /// Lets a key lead to another number: its addresses and ports were used again.
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

    /// Bytes.
    pub fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    fn put(&mut self, slot: Slot) {
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
    use super::Table;

    #[test]
    fn every_number_is_found_under_its_hash_even_when_all_hashes_are_alike() {
        let mut table = Table::default();
        for number in 0..500 {
            table.insert(number % 3, number);
        }
        for number in 0..500 {
            assert_eq!(table.find(number % 3, |n| n == number), Some(number));
        }
        assert_eq!(table.find(0, |_| false), None);
        table.replace(1, 4, 900);
        assert_eq!(table.find(1, |n| n == 900), Some(900));
        assert_eq!(table.find(1, |n| n == 4), None);
    }
}
