//! How much passed when, in constant memory: bins of one width, which doubles whenever the time
//! outgrows them, and amounts in a unit that doubles whenever they outgrow a byte. Enough to see
//! how two flows' rates go together, which is all it is for.

use crate::compact::compact;

/// Bins kept.
pub const BINS: usize = 64;
/// The first width, nanoseconds: finer than that is the ACK clock's matter.
const FINEST: i64 = 10_000_000;

/// Amounts in bins that begin at multiples of their width since 1970, so that courses of different
/// flows can be laid on each other.
#[derive(Debug, Clone)]
pub struct ByteTimeline {
    /// The number of the first bin.
    first: i64,
    /// What passed in the last packet's bin that is not in `bins` yet.
    pending: u32,
    bins: [u8; BINS],
    at: u8,
    /// The width is `FINEST` doubled so often, and the unit one byte doubled so often.
    widened: u8,
    coarsened: u8,
}

compact!(ByteTimeline { first, pending, bins, at, widened, coarsened });

impl ByteTimeline {
    pub fn new(now: i64) -> ByteTimeline {
        ByteTimeline { first: now.div_euclid(FINEST), pending: 0, bins: [0; BINS], at: 0, widened: 0, coarsened: 0 }
    }

    /// `bytes` passed; time never goes back.
    #[inline]
    pub fn add(&mut self, now: i64, bytes: u32) {
        if now >= self.end() {
            self.find(now);
        }
        match self.pending.checked_add(bytes) {
            Some(pending) => self.pending = pending,
            None => self.spill(bytes),
        }
    }

    /// Where the last packet's bin ends.
    #[inline]
    fn end(&self) -> i64 {
        (self.first + i64::from(self.at) + 1).saturating_mul(self.width())
    }

    /// More in one bin than is held back.
    #[cold]
    fn spill(&mut self, bytes: u32) {
        self.settle();
        self.pending = self.pending.saturating_add(bytes);
    }

    #[cold]
    fn find(&mut self, now: i64) {
        self.settle();
        while now.div_euclid(self.width()) - self.first >= BINS as i64 {
            self.widen();
        }
        let number = now.div_euclid(self.width()).max(self.first);
        self.at = (number - self.first) as u8;
    }

    /// Puts what is pending into its bin; what is less than a unit stays pending.
    fn settle(&mut self) {
        let at = usize::from(self.at);
        while u32::from(self.bins[at]) + self.units() > u32::from(u8::MAX) {
            // What a halving leaves over goes on to the next bin, so that the sum stays what it is.
            let mut over = 0;
            for bin in &mut self.bins {
                let both = u16::from(*bin) + over;
                (*bin, over) = ((both / 2) as u8, both % 2);
            }
            let over = u32::from(over).checked_shl(u32::from(self.coarsened)).unwrap_or(0);
            self.pending = self.pending.saturating_add(over);
            self.coarsened += 1;
        }
        self.bins[at] += self.units() as u8;
        self.pending &= 1u32.checked_shl(u32::from(self.coarsened)).map_or(u32::MAX, |unit| unit - 1);
    }

    /// Whole units that are pending.
    fn units(&self) -> u32 {
        self.pending.checked_shr(u32::from(self.coarsened)).unwrap_or(0)
    }

    fn widen(&mut self) {
        let first = self.first.div_euclid(2);
        let mut sums = [0u16; BINS];
        for (i, &n) in self.bins.iter().enumerate() {
            sums[((self.first + i as i64).div_euclid(2) - first) as usize] += u16::from(n);
        }
        let halved = sums.iter().any(|&n| n > u16::from(u8::MAX));
        let mut over = 0;
        for (bin, sum) in self.bins.iter_mut().zip(sums) {
            (*bin, over) = if halved { (((sum + over) / 2) as u8, (sum + over) % 2) } else { (sum as u8, 0) };
        }
        self.coarsened += u8::from(halved);
        self.at = ((self.first + i64::from(self.at)).div_euclid(2) - first) as u8;
        (self.widened, self.first) = (self.widened + 1, first);
    }

    /// All of it in bins, as wide as its own or wider.
    pub fn at_width(&self, width: i64) -> ByteTimeline {
        let mut same = self.clone();
        same.settle();
        while same.width() < width {
            same.widen();
        }
        same
    }

    /// Nanoseconds.
    #[inline]
    pub fn width(&self) -> i64 {
        FINEST << self.widened
    }

    /// Bytes of the bin with this number.
    pub fn bin(&self, number: i64) -> f64 {
        let units = usize::try_from(number - self.first).ok().and_then(|i| self.bins.get(i)).copied().unwrap_or(0);
        f64::from(units) * 2f64.powi(i32::from(self.coarsened))
    }

    /// The numbers of the first bin with anything in it and of the last.
    pub fn span(&self) -> Option<(i64, i64)> {
        let some = |n: &u8| *n > 0;
        let (from, to) = (self.bins.iter().position(some)?, self.bins.iter().rposition(some)?);
        Some((self.first + from as i64, self.first + to as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_lost_when_bins_are_joined_and_courses_of_two_flows_share_their_edges() {
        let (mut long, mut late) = (ByteTimeline::new(7_000_000_123), ByteTimeline::new(42_000_000_456));
        for ms in (0..60_000i64).step_by(100) {
            long.add(7_000_000_123 + ms * 1_000_000, 1000);
        }
        late.add(42_000_000_456, 500);
        assert_eq!(long.width(), 1_280_000_000);
        let long = long.at_width(long.width());
        let (from, to) = long.span().unwrap();
        let sum: f64 = (from..=to).map(|n| long.bin(n)).sum();
        // A unit is 64 bytes: 13,000 of a bin in 255 steps.
        assert!((sum - 600_000.0).abs() <= 64.0, "{sum}");
        let late = late.at_width(long.width());
        let number = 42_000_000_456 / long.width();
        assert_eq!((late.span(), late.bin(number)), (Some((number, number)), 500.0));
        assert!((12_000.0..13_100.0).contains(&long.bin(number)));
    }
}
