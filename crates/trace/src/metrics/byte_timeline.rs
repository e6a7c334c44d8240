//! Bytes carry time in constant memory, for the correlation of flows' rates. The bins' width
//! doubles when time outgrows them, and the unit of their values doubles when one outgrows a byte.

use crate::compact::compact;

/// Number of bins.
pub const BINS: usize = 64;
/// Initial width of a bin, nanoseconds.
const MIN_WIDTH: i64 = 10_000_000;

/// Bytes in bins that begin at multiples of their width since 1970, so that timelines of different
/// flows are aligned.
#[derive(Debug, Clone)]
pub struct ByteTimeline {
    /// Number of the first bin.
    first: i64,
    /// Bytes of the last packet's bin that are not yet in `bins`.
    pending: u32,
    bins: [u8; BINS],
    /// Index of the last packet's bin.
    current: u8,
    /// Binary logarithm of the width in units of `MIN_WIDTH`.
    width_shift: u8,
    /// Binary logarithm of the unit in bytes.
    unit_shift: u8,
}

compact!(ByteTimeline { first, pending, bins, current, width_shift, unit_shift });

impl ByteTimeline {
    pub fn new(now: i64) -> ByteTimeline {
        ByteTimeline { first: now.div_euclid(MIN_WIDTH), pending: 0, bins: [0; BINS], current: 0, width_shift: 0, unit_shift: 0 }
    }

    /// Adds `bytes` at time `now`, which does not decrease.
    #[inline]
    pub fn add(&mut self, now: i64, bytes: u32) {
        if now >= self.end() {
            self.move_to(now);
        }
        match self.pending.checked_add(bytes) {
            Some(pending) => self.pending = pending,
            None => self.spill(bytes),
        }
    }

    /// End of the last packet's bin.
    #[inline]
    fn end(&self) -> i64 {
        (self.first + i64::from(self.current) + 1).saturating_mul(self.width())
    }

    /// Adds bytes that overflow `pending`.
    #[cold]
    fn spill(&mut self, bytes: u32) {
        self.flush();
        self.pending = self.pending.saturating_add(bytes);
    }

    #[cold]
    fn move_to(&mut self, now: i64) {
        self.flush();
        while now.div_euclid(self.width()) - self.first >= BINS as i64 {
            self.widen();
        }
        let number = now.div_euclid(self.width()).max(self.first);
        self.current = (number - self.first) as u8;
    }

    /// Moves pending bytes to their bin; less than a unit stays pending.
    fn flush(&mut self) {
        let at = usize::from(self.current);
        while u32::from(self.bins[at]) + self.units() > u32::from(u8::MAX) {
            // The remainder of each division is carried to the next bin, so that the sum is
            // preserved.
            let mut carry = 0;
            for bin in &mut self.bins {
                let sum = u16::from(*bin) + carry;
                (*bin, carry) = ((sum / 2) as u8, sum % 2);
            }
            let carry = u32::from(carry).checked_shl(u32::from(self.unit_shift)).unwrap_or(0);
            self.pending = self.pending.saturating_add(carry);
            self.unit_shift += 1;
        }
        self.bins[at] += self.units() as u8;
        self.pending &= 1u32.checked_shl(u32::from(self.unit_shift)).map_or(u32::MAX, |unit| unit - 1);
    }

    /// Pending units.
    fn units(&self) -> u32 {
        self.pending.checked_shr(u32::from(self.unit_shift)).unwrap_or(0)
    }

    fn widen(&mut self) {
        let first = self.first.div_euclid(2);
        let mut sums = [0u16; BINS];
        for (i, &n) in self.bins.iter().enumerate() {
            sums[((self.first + i as i64).div_euclid(2) - first) as usize] += u16::from(n);
        }
        let halved = sums.iter().any(|&n| n > u16::from(u8::MAX));
        let mut carry = 0;
        for (bin, sum) in self.bins.iter_mut().zip(sums) {
            (*bin, carry) = if halved { (((sum + carry) / 2) as u8, (sum + carry) % 2) } else { (sum as u8, 0) };
        }
        self.unit_shift += u8::from(halved);
        self.current = ((self.first + i64::from(self.current)).div_euclid(2) - first) as u8;
        (self.width_shift, self.first) = (self.width_shift + 1, first);
    }

    /// The timeline in bins of `width`, or of its own width if that is larger.
    pub fn at_width(&self, width: i64) -> ByteTimeline {
        let mut timeline = self.clone();
        timeline.flush();
        while timeline.width() < width {
            timeline.widen();
        }
        timeline
    }

    /// Width of a bin in nanoseconds.
    #[inline]
    pub fn width(&self) -> i64 {
        MIN_WIDTH << self.width_shift
    }

    /// Bytes in the bin with this number.
    pub fn bin(&self, number: i64) -> f64 {
        let units = usize::try_from(number - self.first).ok().and_then(|i| self.bins.get(i)).copied().unwrap_or(0);
        f64::from(units) * 2f64.powi(i32::from(self.unit_shift))
    }

    /// Numbers of the first and the last bin that are not empty.
    pub fn span(&self) -> Option<(i64, i64)> {
        let is_filled = |n: &u8| *n > 0;
        let (from, to) = (self.bins.iter().position(is_filled)?, self.bins.iter().rposition(is_filled)?);
        Some((self.first + from as i64, self.first + to as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timelines_are_aligned_and_keep_their_sum_when_bins_are_merged() {
        let (mut long, mut late) = (ByteTimeline::new(7_000_000_123), ByteTimeline::new(42_000_000_456));
        for ms in (0..60_000i64).step_by(100) {
            long.add(7_000_000_123 + ms * 1_000_000, 1000);
        }
        late.add(42_000_000_456, 500);
        assert_eq!(long.width(), 1_280_000_000);
        let long = long.at_width(long.width());
        let (from, to) = long.span().unwrap();
        let sum: f64 = (from..=to).map(|n| long.bin(n)).sum();
        // The unit is 64 bytes: 13,000 bytes in a bin of at most 255 units.
        assert!((sum - 600_000.0).abs() <= 64.0, "{sum}");
        let late = late.at_width(long.width());
        let number = 42_000_000_456 / long.width();
        assert_eq!((late.span(), late.bin(number)), (Some((number, number)), 500.0));
        assert!((12_000.0..13_100.0).contains(&long.bin(number)));
    }
}
