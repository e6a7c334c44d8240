//! A histogram of times with bins of equal ratio, for percentiles of any span in little memory.

use super::counters::Counters;
use crate::stored::stored;

/// Bins in each doubling: 2.2 % apart, so that the middle of one is within 1.1 % of all in it.
const PER_OCTAVE: u32 = 32;
const SUB_BITS: u32 = PER_OCTAVE.trailing_zeros();

/// Counts by size. Only the bins between the smallest and the largest value seen exist: below 60 octaves' worth.
#[derive(Debug, Clone, Default)]
pub struct LogHistogram {
    bins: Counters,
}

stored!(LogHistogram { bins });

impl LogHistogram {
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.bins.add(bin_of(value) as u16);
    }

    /// Values so far, held at 2^32 - 1.
    #[inline]
    pub fn count(&self) -> u32 {
        self.bins.total()
    }

    /// The value below which a share `q` (0..=1) of the values lie, laid evenly within its bin.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let count: f64 = self.bins.iter().map(|(_, n)| f64::from(n)).sum();
        if count == 0.0 {
            return None;
        }
        let wanted = (q * count).clamp(0.5, count - 0.5);
        let mut below = 0.0;
        for (bin, n) in self.bins.iter() {
            let n = f64::from(n);
            if n > 0.0 && below + n >= wanted {
                let (low, high) = (lower_edge(u32::from(bin)), lower_edge(u32::from(bin) + 1));
                return Some(low + (high - low) * (wanted - below) / n);
            }
            below += n;
        }
        None
    }

    /// Bytes it holds beside itself.
    pub fn memory(&self) -> usize {
        self.bins.memory()
    }
}

/// Values below `PER_OCTAVE` have a bin each; above, the leading bits choose it.
#[inline]
fn bin_of(value: u64) -> u32 {
    if value < u64::from(PER_OCTAVE) {
        return value as u32;
    }
    let octave = 63 - value.leading_zeros() - SUB_BITS;
    octave * PER_OCTAVE + (value >> octave) as u32
}

fn lower_edge(bin: u32) -> f64 {
    if bin < 2 * PER_OCTAVE {
        return f64::from(bin);
    }
    let octave = bin / PER_OCTAVE - 1;
    f64::from(bin % PER_OCTAVE + PER_OCTAVE) * 2f64.powi(octave as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_lies_between_the_edges_of_its_bin() {
        for value in (0..70).chain([100, 1_000, 999_999, 123_456_789_012, 1 << 62]) {
            let bin = bin_of(value);
            assert!(lower_edge(bin) <= value as f64 && (value as f64) < lower_edge(bin + 1), "{value}");
            assert!(lower_edge(bin + 1) <= (lower_edge(bin) * 1.032).max(lower_edge(bin) + 1.0), "{value}");
        }
    }

    #[test]
    fn percentiles_of_even_values_are_within_a_bin() {
        let mut h = LogHistogram::default();
        for v in (1..=10_000u64).rev() {
            h.add(v * 1000);
        }
        for q in [0.01, 0.5, 0.95, 0.99] {
            let exact = q * 1e7;
            assert!((h.quantile(q).unwrap() / exact - 1.0).abs() < 0.01, "{q}");
        }
    }
}
