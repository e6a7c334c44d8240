//! HighSpeed TCP: `tcp_highspeed.c`. Growth counts ACKs, not segments, so a receiver that delays its
//! ACKs halves it; the increase and decrease are those of the table of RFC 3649, appendix B, whose
//! decrease is kept in 256ths.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW, share_of};
use crate::tcp::cc::HighSpeedConfig;

/// RFC 3649, appendix B: the windows up to which the increase per RTT is 1, 2, 3, .. segments.
const WINDOWS: [u32; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036, 5497, 5979,
    6483, 7009, 7558, 8130, 8726, 9346, 9991, 10_661, 11_358, 12_082, 12_834, 13_614, 14_424, 15_265, 16_137, 17_042, 17_981,
    18_955, 19_965, 21_013, 22_101, 23_230, 24_402, 25_618, 26_881, 28_193, 29_557, 30_975, 32_450, 33_986, 35_586, 37_253,
    38_992, 40_808, 42_707, 44_694, 46_776, 48_961, 51_258, 53_677, 56_230, 58_932, 61_799, 64_851, 68_113, 71_617, 75_401,
    79_517, 84_035, 89_053,
];

/// RFC 3649, section 5: b(w) in 256ths, rounded down.
fn decrease(window: u32) -> u32 {
    let p = HighSpeedConfig::RFC3649;
    let share = libm::log(f64::from(window) / p.low_window) / libm::log(p.high_window / p.low_window);
    (256.0 * (0.5 + (p.high_decrease - 0.5) * share)) as u32
}

#[derive(Clone, Copy, Debug, Default)]
pub struct HighSpeedControl {
    /// The row in force (`ai`).
    row: usize,
}

impl HighSpeedControl {
    /// The first row whose window is not exceeded.
    fn find_row(&mut self, cwnd: u32) {
        while self.row + 1 < WINDOWS.len() && cwnd > WINDOWS[self.row] {
            self.row += 1;
        }
        while self.row > 0 && cwnd <= WINDOWS[self.row - 1] {
            self.row -= 1;
        }
    }
}

impl LinuxControl for HighSpeedControl {
    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if !window.is_left_to_avoidance(event.ack) {
            return;
        }
        self.find_row(window.cwnd);
        window.count += self.row as u32 + 1;
        if window.count >= window.cwnd {
            window.count -= window.cwnd;
            window.cwnd += 1;
        }
    }

    /// `hstcp_ssthresh()`: by the row of the last growth.
    fn ssthresh(&mut self, window: &LinuxWindow, _cut: &Cut) -> u32 {
        let decrease = share_of(window.cwnd, decrease(WINDOWS[self.row]), 256);
        (window.cwnd - decrease).max(MIN_WINDOW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decrease_matches_the_rfcs_table_in_256ths() {
        for (window, shares) in [(38, 128), (118, 112), (221, 104), (1058, 83), (5497, 61), (25_618, 41), (89_053, 24)] {
            assert_eq!(decrease(window), shares, "{window}");
        }
    }

    #[test]
    fn row_is_the_first_whose_window_is_not_exceeded() {
        let mut control = HighSpeedControl::default();
        for (cwnd, row) in [(38, 0), (39, 1), (118, 1), (119, 2), (90_000, 71), (200_000, 71), (118, 1), (10, 0)] {
            control.find_row(cwnd);
            assert_eq!(control.row, row, "{cwnd}");
        }
    }
}
