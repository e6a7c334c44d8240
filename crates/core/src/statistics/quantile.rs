//! Quantiles by nearest rank: a quantile is a value of the sample, never interpolated between two.

/// The rank (1 to `count`) of the smallest value that a share `q` (0 to 1) of `count` values does
/// not exceed; 0 without values. Hyndman and Fan (1996), definition 1.
pub fn nearest_rank(count: u64, q: f64) -> u64 {
    (libm::ceil(q * count as f64) as u64).max(1).min(count)
}

/// The quantile `q` of values in ascending order; none without values.
pub fn quantile_of_sorted<T: Copy>(sorted: &[T], q: f64) -> Option<T> {
    let rank = nearest_rank(sorted.len() as u64, q) as usize;
    sorted.get(rank.checked_sub(1)?).copied()
}

/// The bin that holds the value of a rank: its index, the count of all bins below, its own count.
/// None when the bins hold fewer values.
pub fn bin_of_rank(bins: impl Iterator<Item = (usize, u64)>, rank: u64) -> Option<(usize, u64, u64)> {
    let mut below = 0;
    for (bin, count) in bins {
        if below + count >= rank && count > 0 {
            return Some((bin, below, count));
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("N1")
    #[test]
    fn p95_is_the_19th_of_20_values() {
        let values: Vec<u32> = (1..=20).collect();
        assert_eq!(quantile_of_sorted(&values, 0.95), Some(19));
        assert_eq!(quantile_of_sorted(&values, 0.951), Some(20));
        assert_eq!(quantile_of_sorted(&values, 0.5), Some(10));
    }

    #[test]
    fn quantiles_0_and_1_are_the_extremes() {
        assert_eq!((quantile_of_sorted(&[4, 5, 6], 0.0), quantile_of_sorted(&[4, 5, 6], 1.0)), (Some(4), Some(6)));
        assert_eq!((nearest_rank(0, 0.5), quantile_of_sorted::<u8>(&[], 0.5)), (0, None));
    }

    #[test]
    fn a_rank_is_found_in_the_first_bin_that_reaches_it() {
        let bins = [(3, 2), (4, 0), (5, 1)];
        assert_eq!(bin_of_rank(bins.into_iter(), 2), Some((3, 0, 2)));
        assert_eq!(bin_of_rank(bins.into_iter(), 3), Some((5, 2, 1)));
        assert_eq!(bin_of_rank(bins.into_iter(), 4), None);
    }
}
