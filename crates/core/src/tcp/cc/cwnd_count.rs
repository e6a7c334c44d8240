//! Conversion of ACKs into segments of growth (`snd_cwnd_cnt`).

use super::Ack;

/// Credit towards the next segment of growth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CwndCount {
    counted: f64,
}

impl CwndCount {
    /// Segments of growth, one per `every` of credit. Credit counted towards a larger `every` earns
    /// at most one segment, which avoids a jump.
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

/// Segments per ACK as BIC and CUBIC of Linux 2.6 estimate them: a mean over 16 ACKs in whole
/// sixteenths that starts at 2. By rounding it stays at 31/16 if every segment is acknowledged, and
/// such flows grow twice as fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayedAckRatio {
    sixteenths: u32,
}

impl DelayedAckRatio {
    /// `ACK_RATIO_SHIFT` 4, initially 2.
    pub const LINUX: DelayedAckRatio = DelayedAckRatio { sixteenths: 2 << 4 };

    pub fn on_ack(&mut self, ack: &Ack) -> f64 {
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
    fn growth_is_one_per_three_credits() {
        let mut c = CwndCount::default();
        let earned: Vec<f64> = (0..7).map(|_| c.add(1.0, 3.0)).collect();
        assert_eq!(earned, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(c.add(8.0, 3.0), 3.0, "one was left over");
        c.add(900.0, 1000.0);
        assert_eq!(c.add(1.0, 3.0), 1.0, "not three hundred");
    }

    #[test]
    fn delayed_ack_ratio_rises_but_does_not_fall_to_one() {
        for (acked, settles) in [(1, 31), (2, 32), (4, 64)] {
            let mut ratio = DelayedAckRatio::LINUX;
            for _ in 0..200 {
                ratio.on_ack(&Ack { acked, ..Ack::default() });
            }
            assert_eq!(ratio.sixteenths, settles, "{acked} segments an ACK");
        }
    }
}
