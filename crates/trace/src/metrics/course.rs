//! How much passed when, in constant memory: bins of one width, which doubles whenever the time outgrows them.

/// Bins kept.
pub const BINS: usize = 64;
/// The first width, nanoseconds: finer than that is the ACK clock's matter.
const FINEST: i64 = 10_000_000;

/// Bytes in bins that begin at multiples of their width since 1970, so that courses of different flows can be laid on each other.
#[derive(Debug, Clone)]
pub struct Course {
    width: i64,
    /// The number of the first bin.
    first: i64,
    bins: [u32; BINS],
    /// The bin of the last packet, and where in time it begins and ends.
    at: usize,
    from: i64,
    to: i64,
}

impl Course {
    pub fn new(now: i64) -> Course {
        Course { width: FINEST, first: now.div_euclid(FINEST), bins: [0; BINS], at: 0, from: 0, to: 0 }
    }

    /// `bytes` passed; time never goes back.
    #[inline]
    pub fn add(&mut self, now: i64, bytes: u32) {
        if now < self.from || now >= self.to {
            self.find(now);
        }
        self.bins[self.at] = self.bins[self.at].saturating_add(bytes);
    }

    fn find(&mut self, now: i64) {
        while now.div_euclid(self.width) - self.first >= BINS as i64 {
            self.widen();
        }
        let number = now.div_euclid(self.width).max(self.first);
        self.at = (number - self.first) as usize;
        (self.from, self.to) = (number * self.width, (number + 1).saturating_mul(self.width));
    }

    fn widen(&mut self) {
        let first = self.first.div_euclid(2);
        let mut bins = [0u32; BINS];
        for (i, &n) in self.bins.iter().enumerate() {
            let at = ((self.first + i as i64).div_euclid(2) - first) as usize;
            bins[at] = bins[at].saturating_add(n);
        }
        (self.width, self.first, self.bins) = (self.width * 2, first, bins);
        (self.from, self.to) = (0, 0);
    }

    /// The same in wider bins; `width` is not below its own.
    pub fn at_width(&self, width: i64) -> Course {
        let mut same = self.clone();
        while same.width < width {
            same.widen();
        }
        same
    }

    /// Nanoseconds.
    pub fn width(&self) -> i64 {
        self.width
    }

    /// Bytes of the bin with this number.
    pub fn bin(&self, number: i64) -> u32 {
        usize::try_from(number - self.first).ok().and_then(|i| self.bins.get(i)).copied().unwrap_or(0)
    }

    /// The numbers of the first bin with anything in it and of the last.
    pub fn span(&self) -> Option<(i64, i64)> {
        let some = |n: &u32| *n > 0;
        let (from, to) = (self.bins.iter().position(some)?, self.bins.iter().rposition(some)?);
        Some((self.first + from as i64, self.first + to as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_bins_are_joined_and_courses_of_two_flows_share_their_edges() {
        let (mut long, mut late) = (Course::new(7_000_000_123), Course::new(42_000_000_456));
        for ms in (0..60_000i64).step_by(100) {
            long.add(7_000_000_123 + ms * 1_000_000, 1000);
        }
        late.add(42_000_000_456, 500);
        assert_eq!(long.width(), 1_280_000_000);
        let (from, to) = long.span().unwrap();
        assert_eq!((from..=to).map(|n| u64::from(long.bin(n))).sum::<u64>(), 600_000);
        let late = late.at_width(long.width());
        let number = 42_000_000_456 / long.width();
        assert_eq!((late.span(), late.bin(number)), (Some((number, number)), 500));
        assert!(long.bin(number) >= 12_000);
    }
}
