//! How window-based algorithms turn ACKs into segments of growth.

use super::Ack;

/// Counts credit towards the next segment, as `snd_cwnd_cnt` does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CwndCount {
    counted: f64,
}

impl CwndCount {
    /// Segments to grow by when every `every` of credit earns one. What was counted towards a larger `every` earns one at most, so
    /// that a long wait does not end in a jump.
    pub fn add(&mut self, credit: f64, every: f64) -> f64 {
        let mut earned = 0.0;
        if self.counted >= every {
            (self.counted, earned) = (0.0, 1.0);
        }
        self.counted += credit;
        if self.counted < every {
            return earned;
        }
        let more = libm::floor(self.counted / every);
        self.counted -= more * every;
        earned + more
    }

    pub fn clear(&mut self) {
        self.counted = 0.0;
    }
}

/// How many segments an ACK covers, as the BIC and CUBIC of Linux 2.6 estimate it: a mean over 16 ACKs in whole sixteenths, which
/// starts at 2 and, rounded as it is, stays at 31/16 for a receiver that acknowledges every segment: such flows grow twice as fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayedAckRatio {
    sixteenths: u32,
}

impl DelayedAckRatio {
    /// `ACK_RATIO_SHIFT` 4, and 2 to begin with.
    pub const LINUX: DelayedAckRatio = DelayedAckRatio { sixteenths: 2 << 4 };

    pub fn see(&mut self, ack: &Ack) -> f64 {
        self.sixteenths = (self.sixteenths - (self.sixteenths >> 4)).saturating_add(ack.acked.min(u32::MAX >> 4));
        self.get()
    }

    pub fn get(&self) -> f64 {
        f64::from(self.sixteenths) / 16.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_third_credit_earns_one() {
        let mut c = CwndCount::default();
        let earned: Vec<f64> = (0..7).map(|_| c.add(1.0, 3.0)).collect();
        assert_eq!(earned, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(c.add(8.0, 3.0), 3.0, "one was left over");
        c.add(900.0, 1000.0);
        assert_eq!(c.add(1.0, 3.0), 1.0, "not three hundred");
    }

    #[test]
    fn the_ratio_rises_to_what_it_sees_but_whole_sixteenths_keep_it_from_falling_to_one() {
        for (acked, settles) in [(1, 31), (2, 32), (4, 64)] {
            let mut ratio = DelayedAckRatio::LINUX;
            for _ in 0..200 {
                ratio.see(&Ack { acked, ..Ack::default() });
            }
            assert_eq!(ratio.sixteenths, settles, "{acked} segments an ACK");
        }
    }
}
