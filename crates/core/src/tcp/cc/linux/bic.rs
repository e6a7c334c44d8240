//! BIC: `tcp_bic.c`, as CUBIC's predecessor: the binary search in whole segments, computed at most
//! every 1/32 s for a window.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW, share_of};
use crate::tcp::info::CaState;

/// beta in 1024ths (0.8).
const BETA: u32 = 819;
const BETA_SCALE: u32 = 1024;
/// S_max, the Reno region, and the division of the search, in segments (`max_increment`,
/// `low_window`, `BICTCP_B`).
const MAX_INCREMENT: u32 = 16;
const LOW_WINDOW: u32 = 14;
const SEARCH: u32 = 4;
/// RTTs for the last segments before W_max (`smooth_part`).
const SMOOTH_PART: u32 = 20;
/// Maximum of segments acknowledged for one of growth before the first loss.
const FIRST_COUNT: u32 = 20;
/// Segments per ACK are in 16ths.
const RATIO_SHIFT: u32 = 4;
const REFRESH: u64 = 32;

#[derive(Clone, Copy, Debug)]
pub struct BicControl {
    count: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: u64,
    /// Segments per ACK in 16ths (`delayed_ack`).
    ratio: u32,
}

impl Default for BicControl {
    fn default() -> BicControl {
        BicControl { count: 0, last_max_cwnd: 0, last_cwnd: 0, last_time: 0, ratio: 2 << RATIO_SHIFT }
    }
}

impl BicControl {
    /// `bictcp_update()`.
    fn update(&mut self, cwnd: u32, event: &Event<'_>) {
        let now = event.jiffies();
        if self.last_cwnd == cwnd && now - self.last_time <= event.clock.hz() / REFRESH {
            return;
        }
        (self.last_cwnd, self.last_time) = (cwnd, now);
        if cwnd <= LOW_WINDOW {
            self.count = cwnd;
            return;
        }
        let max = self.last_max_cwnd;
        let smooth = cwnd.saturating_mul(SMOOTH_PART) / SEARCH;
        self.count = if cwnd < max {
            match (max - cwnd) / SEARCH {
                distance if distance > MAX_INCREMENT => cwnd / MAX_INCREMENT,
                0 | 1 => smooth,
                distance => cwnd / distance,
            }
        } else if cwnd < max + SEARCH {
            smooth
        } else if cwnd < max + MAX_INCREMENT * (SEARCH - 1) {
            cwnd * (SEARCH - 1) / (cwnd - max)
        } else {
            cwnd / MAX_INCREMENT
        };
        if max == 0 {
            self.count = self.count.min(FIRST_COUNT);
        }
        self.count = ((self.count << RATIO_SHIFT) / self.ratio).max(1);
    }
}

impl LinuxControl for BicControl {
    fn pkts_acked(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        if event.state == CaState::Open {
            let older = self.ratio - (self.ratio >> RATIO_SHIFT);
            self.ratio = older + event.ack.acked.min(u32::MAX >> (RATIO_SHIFT + 1));
        }
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if let Some(credit) = window.avoidance_credit(event.ack) {
            self.update(window.cwnd, event);
            window.cong_avoid_ai(self.count, credit);
        }
    }

    fn ssthresh(&mut self, window: &LinuxWindow, _cut: &Cut) -> u32 {
        let cwnd = window.cwnd;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd { share_of(cwnd, BETA_SCALE + BETA, 2 * BETA_SCALE) } else { cwnd };
        let left = if cwnd <= LOW_WINDOW { cwnd >> 1 } else { share_of(cwnd, BETA, BETA_SCALE) };
        left.max(MIN_WINDOW)
    }

    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, _event: &Event<'_>) {
        if state == CaState::Loss {
            *self = BicControl::default();
        }
    }
}
