//! Log-linear bins: constant memory for the quantiles of any number of values.

use super::quantile::{bin_of_rank, nearest_rank};

/// Counts by bin. `u64` values have fewer than 3776 bins; a sample mostly uses a few octaves.
pub trait BinCounts: Default {
    fn add(&mut self, bin: usize);

    /// Bins in ascending order with their counts; bins with a count of 0 may be among them.
    fn counts(&self) -> impl Iterator<Item = (usize, u64)>;
}

/// Values counted in bins of 64 to the octave: a quantile, the middle of its bin, is within 0.8 %.
/// Values below 128 have a bin each.
#[derive(Clone, Debug, Default)]
pub struct LogBins<C = DenseCounts> {
    counts: C,
}

impl<C: BinCounts> LogBins<C> {
    pub fn from_counts(counts: C) -> LogBins<C> {
        LogBins { counts }
    }

    pub fn counts(&self) -> &C {
        &self.counts
    }

    #[inline]
    pub fn add(&mut self, value: u64) {
        self.counts.add(bin_of(value));
    }

    /// The quantile `q` (0 to 1) by nearest rank; none without values. `min` and `max` of the
    /// values bound it, as the edges of a bin may lie beyond them.
    pub fn quantile(&self, q: f64, min: u64, max: u64) -> Option<f64> {
        let count = self.counts.counts().map(|(_, count)| count).sum();
        self.value_of_rank(nearest_rank(count, q), min, max)
    }

    /// The sum of the values of the ranks 1 to `rank`, or of all where there are fewer.
    pub fn sum_to_rank(&self, rank: u64, min: u64, max: u64) -> f64 {
        let mut left = rank;
        let taken = self.counts.counts().map(|(bin, count)| {
            let taken = count.min(left);
            left -= taken;
            taken as f64 * middle_of(bin).clamp(min as f64, max as f64)
        });
        taken.sum()
    }

    /// The value of a rank (1 for the smallest); none where there are fewer values.
    pub fn value_of_rank(&self, rank: u64, min: u64, max: u64) -> Option<f64> {
        let (bin, ..) = bin_of_rank(self.counts.counts(), rank)?;
        Some(middle_of(bin).clamp(min as f64, max as f64))
    }
}

/// A count of 32 bits for each bin, from the lowest octave in use to the highest.
#[derive(Clone, Debug, Default)]
pub struct DenseCounts {
    /// Counts of the bins from `first` on.
    counts: Vec<u32>,
    /// A multiple of `BINS_PER_OCTAVE`.
    first: usize,
}

impl BinCounts for DenseCounts {
    #[inline]
    fn add(&mut self, bin: usize) {
        match self.counts.get_mut(bin.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => {
                self.extend_to(bin);
                self.counts[bin - self.first] += 1;
            }
        }
    }

    fn counts(&self) -> impl Iterator<Item = (usize, u64)> {
        (self.first..).zip(self.counts.iter().map(|&count| u64::from(count)))
    }
}

impl DenseCounts {
    /// Includes the octave of `bin`.
    #[cold]
    fn extend_to(&mut self, bin: usize) {
        let octave = bin / BINS_PER_OCTAVE * BINS_PER_OCTAVE;
        if self.counts.is_empty() {
            self.first = octave;
        } else if octave < self.first {
            self.counts.splice(0..0, std::iter::repeat_n(0, self.first - octave));
            self.first = octave;
        }
        self.counts.resize(self.counts.len().max(octave + BINS_PER_OCTAVE - self.first), 0);
    }
}

impl LogBins {
    /// Adds a value `n` times.
    pub fn add_many(&mut self, value: u64, n: u64) {
        let bin = bin_of(value);
        self.counts.extend_to(bin);
        self.counts.counts[bin - self.counts.first] += n as u32;
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &LogBins) {
        let (counts, added) = (&mut self.counts, &other.counts);
        if let Some(last) = added.counts.len().checked_sub(1) {
            counts.extend_to(added.first);
            counts.extend_to(added.first + last);
            let from = added.first - counts.first;
            counts.counts[from..].iter_mut().zip(&added.counts).for_each(|(count, more)| *count += more);
        }
    }
}

const BINS_PER_OCTAVE: usize = 64;
const BIN_BITS: u32 = BINS_PER_OCTAVE.trailing_zeros();

#[inline]
fn bin_of(value: u64) -> usize {
    if value < BINS_PER_OCTAVE as u64 {
        return value as usize;
    }
    let octave = 63 - value.leading_zeros() - BIN_BITS;
    octave as usize * BINS_PER_OCTAVE + (value >> octave) as usize
}

fn middle_of(bin: usize) -> f64 {
    let Some(octave) = (bin / BINS_PER_OCTAVE).checked_sub(1) else { return bin as f64 };
    let width = (1u64 << octave) as f64;
    (BINS_PER_OCTAVE + bin % BINS_PER_OCTAVE) as f64 * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_contiguous() {
        let mut last = 0;
        for value in 1..100_000u64 {
            let bin = bin_of(value);
            assert!(bin == last || bin == last + 1, "{value}: {last} {bin}");
            last = bin;
        }
        assert_eq!(bin_of(u64::MAX), 3775);
    }

    #[test]
    fn the_middle_of_a_bin_is_within_one_percent_of_its_values() {
        for value in (1..200).chain([999, 999_999, 123_456_789_012, 1 << 62]) {
            assert!((middle_of(bin_of(value)) / value as f64 - 1.0).abs() < 0.008, "{value}");
        }
    }

    #[test]
    fn quantiles_are_within_a_bin_and_within_the_extremes() {
        let mut bins: LogBins = LogBins::default();
        (1..=10_000u64).rev().for_each(|value| bins.add(value * 1000));
        for q in [0.01, 0.5, 0.95, 0.99] {
            let quantile = bins.quantile(q, 1000, 10_000_000).unwrap();
            assert!((quantile / (q * 1e7) - 1.0).abs() < 0.008, "{q}: {quantile}");
        }
        assert_eq!(bins.quantile(1.0, 1000, 9_999_000), Some(9_999_000.0));
        assert_eq!(LogBins::<DenseCounts>::default().quantile(0.5, 0, 0), None);
    }
}
