//! Counters by index. Only those between the minimum and the maximum index exist. All have the same
//! width of one, two or four bytes, as their values require.

use crate::compact::{Compact, Reader, Writer};
use ackclock_core::statistics::{BinCounts, LogBins};

#[derive(Debug, Clone, Default)]
pub struct SparseCounts {
    bytes: Box<[u8]>,
    /// Sum of all counters; saturates at 2^32 - 1.
    total: u32,
    /// Index of the first counter.
    first: u16,
    width: Width,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Width {
    #[default]
    One,
    Two,
    Four,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<SparseCounts>() == 24);

impl Compact for SparseCounts {
    fn encode(&self, to: &mut Writer) {
        (self.total, self.first).encode(to);
        (self.width as u8, self.bytes.len()).encode(to);
        // As varints: most are small.
        (0..self.len()).for_each(|i| self.get(i).encode(to));
    }

    fn decode(from: &mut Reader<'_>) -> SparseCounts {
        let (total, first) = <(u32, u16)>::decode(from);
        let (width, len) = <(u8, usize)>::decode(from);
        let width = [Width::One, Width::Two, Width::Four][usize::from(width)];
        let mut counters = SparseCounts { bytes: vec![0; len].into_boxed_slice(), total, first, width };
        (0..counters.len()).for_each(|i| counters.set(i, u32::decode(from)));
        counters
    }
}

impl BinCounts for SparseCounts {
    #[inline]
    fn add(&mut self, bin: usize) {
        SparseCounts::add(self, bin as u16);
    }

    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.iter().map(|(bin, count)| (usize::from(bin), u64::from(count)))
    }
}

impl Compact for LogBins<SparseCounts> {
    fn encode(&self, to: &mut Writer) {
        self.counts().encode(to);
    }

    fn decode(from: &mut Reader<'_>) -> LogBins<SparseCounts> {
        LogBins::from_counts(Compact::decode(from))
    }
}

impl Width {
    #[inline]
    fn bytes(self) -> usize {
        match self {
            Width::One => 1,
            Width::Two => 2,
            Width::Four => 4,
        }
    }
}

impl SparseCounts {
    #[inline]
    fn len(&self) -> usize {
        self.bytes.len() / self.width.bytes()
    }

    #[inline]
    pub fn total(&self) -> u32 {
        self.total
    }

    fn get(&self, i: usize) -> u32 {
        let at = i * self.width.bytes();
        match self.width {
            Width::One => u32::from(self.bytes[at]),
            Width::Two => u32::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])),
            Width::Four => u32::from_le_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]]),
        }
    }

    /// Index and value of all counters, by index.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        (self.first..).zip((0..self.len()).map(|i| self.get(i)))
    }

    /// Value of the counter with this index.
    pub fn count_of(&self, number: u16) -> u32 {
        number.checked_sub(self.first).map(usize::from).filter(|&i| i < self.len()).map_or(0, |i| self.get(i))
    }

    /// Increments a counter; it saturates at 2^32 - 1.
    #[inline]
    pub fn add(&mut self, number: u16) {
        self.total = self.total.saturating_add(1);
        let i = usize::from(number.wrapping_sub(self.first));
        if !self.increment(i) {
            self.grow_and_add(number);
        }
    }

    /// Increments the counter at position `i`; false if there is none, or if it would overflow.
    #[inline]
    fn increment(&mut self, i: usize) -> bool {
        match self.width {
            Width::One => match self.bytes.get_mut(i) {
                Some(count) if *count < u8::MAX => *count += 1,
                _ => return false,
            },
            Width::Two => match self.bytes.as_chunks_mut().0.get_mut(i) {
                Some(count) if *count != [u8::MAX; 2] => *count = (u16::from_le_bytes(*count) + 1).to_le_bytes(),
                _ => return false,
            },
            Width::Four => match self.bytes.as_chunks_mut().0.get_mut(i) {
                Some(count) => *count = u32::from_le_bytes(*count).saturating_add(1).to_le_bytes(),
                None => return false,
            },
        }
        true
    }

    /// Widens or adds the counter and increments it.
    #[cold]
    #[inline(never)]
    fn grow_and_add(&mut self, number: u16) {
        let i = usize::from(number.wrapping_sub(self.first));
        if i < self.len() {
            self.widen();
        } else {
            self.extend(number);
        }
        self.increment(usize::from(number - self.first));
    }

    fn set(&mut self, i: usize, value: u32) {
        let n = self.width.bytes();
        self.bytes[n * i..n * (i + 1)].copy_from_slice(&value.to_le_bytes()[..n]);
    }

    /// Doubles the width of all counters.
    fn widen(&mut self) {
        let width = if self.width == Width::One { Width::Two } else { Width::Four };
        let bytes = vec![0; self.len() * width.bytes()].into_boxed_slice();
        let mut wider = SparseCounts { bytes, width, ..SparseCounts::default() };
        (0..self.len()).for_each(|at| wider.set(at, self.get(at)));
        (self.bytes, self.width) = (wider.bytes, width);
    }

    /// Adds counters up to this index.
    fn extend(&mut self, number: u16) {
        if self.bytes.is_empty() {
            self.first = number;
        }
        let before = usize::from(self.first.saturating_sub(number));
        let behind = (usize::from(number.saturating_sub(self.first)) + 1).saturating_sub(self.len());
        let n = self.width.bytes();
        let mut bytes = vec![0; before * n + self.bytes.len() + if before > 0 { 0 } else { behind * n }].into_boxed_slice();
        bytes[before * n..before * n + self.bytes.len()].copy_from_slice(&self.bytes);
        self.bytes = bytes;
        self.first -= before as u16;
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::SparseCounts;

    #[test]
    fn counters_keep_their_values_when_one_outgrows_the_width() {
        let mut counters = SparseCounts::default();
        counters.add(7);
        (0..70_000).for_each(|_| counters.add(9));
        (0..300).for_each(|_| counters.add(6));
        assert_eq!(counters.iter().collect::<Vec<_>>(), [(6, 300), (7, 1), (8, 0), (9, 70_000)]);
        assert_eq!(
            (counters.memory(), counters.total(), counters.count_of(5), counters.count_of(6), counters.count_of(10)),
            (16, 70_301, 0, 300, 0)
        );
    }
}
