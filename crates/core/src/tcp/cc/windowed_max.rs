//! Windowed maximum over rounds.

use super::fast_min_max::larger;

/// Exact maximum of the last `N` rounds, one slot per round. The maximum is stored, as it is read
/// more often than it changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowedMax<const N: usize> {
    slots: [f64; N],
    round: u64,
    /// The slot of `round`, and the maximum of all slots.
    at: usize,
    largest: f64,
}

impl<const N: usize> Default for WindowedMax<N> {
    fn default() -> Self {
        WindowedMax { slots: [0.0; N], round: 0, at: 0, largest: 0.0 }
    }
}

impl<const N: usize> WindowedMax<N> {
    #[inline]
    pub fn add(&mut self, round: u64, value: f64) {
        if round > self.round {
            self.advance(round);
        }
        let slot = &mut self.slots[self.at];
        *slot = larger(*slot, value);
        self.largest = larger(self.largest, value);
    }

    /// Later rounds start empty, in place of the oldest.
    #[inline(never)]
    fn advance(&mut self, round: u64) {
        let passed = (round - self.round).min(N as u64);
        for later in 1..=passed {
            self.slots[((self.round + later) % N as u64) as usize] = 0.0;
        }
        self.round = round;
        self.at = (round % N as u64) as usize;
        self.largest = self.slots.iter().copied().fold(0.0, f64::max);
    }

    #[inline]
    pub fn get(&self) -> f64 {
        self.largest
    }

    /// The maximum of the last round alone.
    #[inline]
    pub fn latest(&self) -> f64 {
        self.slots[self.at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_counts_for_n_rounds() {
        let mut max: WindowedMax<3> = WindowedMax::default();
        let seen: Vec<(f64, f64)> = [(0, 5.0), (1, 3.0), (2, 4.0), (3, 1.0), (4, 1.0), (5, 2.0), (20, 1.0)]
            .into_iter()
            .map(|(round, value)| {
                max.add(round, value);
                (max.get(), max.latest())
            })
            .collect();
        assert_eq!(seen, [(5.0, 5.0), (5.0, 3.0), (5.0, 4.0), (4.0, 1.0), (4.0, 1.0), (2.0, 2.0), (1.0, 1.0)]);
    }
}
