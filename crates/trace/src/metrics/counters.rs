//! Counters that are as narrow as their values let them be: one, two or four bytes each, all of one width.

#[derive(Debug, Clone, Default)]
pub struct Counters {
    bytes: Box<[u8]>,
    width: Width,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Width {
    #[default]
    One,
    Two,
    Four,
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

impl Counters {
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() / self.width.bytes()
    }

    pub fn get(&self, i: usize) -> u32 {
        let at = i * self.width.bytes();
        match self.width {
            Width::One => u32::from(self.bytes[at]),
            Width::Two => u32::from(u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])),
            Width::Four => u32::from_le_bytes([self.bytes[at], self.bytes[at + 1], self.bytes[at + 2], self.bytes[at + 3]]),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// One more; held at 2^32 - 1.
    #[inline]
    pub fn add(&mut self, i: usize) {
        match self.width {
            Width::One => match self.bytes[i].checked_add(1) {
                Some(more) => self.bytes[i] = more,
                None => self.widen(i),
            },
            Width::Two => {
                let place = &mut self.bytes[2 * i..2 * i + 2];
                match u16::from_le_bytes([place[0], place[1]]).checked_add(1) {
                    Some(more) => place.copy_from_slice(&more.to_le_bytes()),
                    None => self.widen(i),
                }
            }
            Width::Four => self.set(i, self.get(i).saturating_add(1)),
        }
    }

    fn set(&mut self, i: usize, value: u32) {
        let n = self.width.bytes();
        self.bytes[n * i..n * (i + 1)].copy_from_slice(&value.to_le_bytes()[..n]);
    }

    /// The counter at `i` outgrew its width by one more.
    #[cold]
    fn widen(&mut self, i: usize) {
        let width = if self.width == Width::One { Width::Two } else { Width::Four };
        let mut wider = Counters { bytes: vec![0; self.len() * width.bytes()].into_boxed_slice(), width };
        self.iter().enumerate().for_each(|(i, value)| wider.set(i, value));
        *self = wider;
        self.add(i);
    }

    /// More counters, all zero, before the first and behind the last.
    #[cold]
    pub fn grow(&mut self, before: usize, behind: usize) {
        let n = self.width.bytes();
        let mut bytes = vec![0; (before + behind) * n + self.bytes.len()].into_boxed_slice();
        bytes[before * n..before * n + self.bytes.len()].copy_from_slice(&self.bytes);
        self.bytes = bytes;
    }

    /// Bytes it holds beside itself.
    pub fn memory(&self) -> usize {
        self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;

    #[test]
    fn a_counter_that_outgrows_its_width_widens_all_and_changes_none() {
        let mut counters = Counters::default();
        counters.grow(0, 2);
        (0..70_000).for_each(|_| counters.add(1));
        (0..300).for_each(|_| counters.add(0));
        counters.grow(1, 1);
        assert_eq!(counters.iter().collect::<Vec<_>>(), [0, 300, 70_000, 0]);
        assert_eq!(counters.memory(), 16);
    }
}
