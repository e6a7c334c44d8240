//! Illinois: `tcp_illinois.c`. alpha in 128ths, beta in 64ths, delays in whole microseconds.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW, share_of};
use crate::tcp::info::CaState;

/// 1 in alpha; its limits are 0.3 and 10.
const ONE: u64 = 1 << 7;
const ALPHA_MIN: u64 = 3 * ONE / 10;
const ALPHA_MAX: u64 = 10 * ONE;
/// beta in 64ths: an eighth to a half.
const BETA_ONE: u32 = 1 << 6;
const BETA_MIN: u64 = 8;
const BETA_MAX: u64 = 32;
/// Below this window Illinois is Reno.
const WINDOW_THRESHOLD: u32 = 15;
/// Rounds of small delay before alpha is its maximum again.
const THETA: u32 = 5;
const MAX_RTT_US: u64 = u32::MAX as u64 / ALPHA_MAX;

#[derive(Clone, Copy, Debug)]
pub struct IllinoisControl {
    /// Sum and number of the RTTs of the round, and the limits of all, in microseconds.
    sum_us: u64,
    samples: u64,
    base_us: u64,
    max_us: u64,
    round_end: u64,
    alpha: u64,
    beta: u64,
    /// Segments of the last ACK; 1 once they have been counted.
    acked: u32,
    /// The delay has exceeded d_1; rounds below it since.
    above: bool,
    low_rounds: u32,
}

impl Default for IllinoisControl {
    fn default() -> IllinoisControl {
        IllinoisControl {
            sum_us: 0,
            samples: 0,
            base_us: 0x7fff_ffff,
            max_us: 0,
            round_end: 0,
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            acked: 0,
            above: false,
            low_rounds: 0,
        }
    }
}

impl IllinoisControl {
    fn begin_round(&mut self, sent: u64) {
        (self.round_end, self.samples, self.sum_us) = (sent, 0, 0);
    }

    /// `alpha()`.
    fn alpha(&mut self, delay: u64, max_delay: u64) -> u64 {
        let low = max_delay / 100;
        if delay <= low {
            if !self.above {
                return ALPHA_MAX;
            }
            self.low_rounds += 1;
            if self.low_rounds < THETA {
                return self.alpha;
            }
            (self.low_rounds, self.above) = (0, false);
            return ALPHA_MAX;
        }
        self.above = true;
        let (range, delay) = (max_delay - low, delay - low);
        range * ALPHA_MAX / (range + delay * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }

    /// `update_params()`: once per RTT.
    fn end_round(&mut self, cwnd: u32, sent: u64) {
        if cwnd < WINDOW_THRESHOLD {
            (self.alpha, self.beta) = (ONE, BETA_MAX);
        } else if let Some(mean) = self.sum_us.checked_div(self.samples) {
            let max_delay = self.max_us - self.base_us;
            let delay = mean - self.base_us;
            self.alpha = self.alpha(delay, max_delay);
            self.beta = beta(delay, max_delay);
        }
        self.begin_round(sent);
    }
}

/// `beta()`.
fn beta(delay: u64, max_delay: u64) -> u64 {
    let (d2, d3) = (max_delay / 10, 8 * max_delay / 10);
    if delay <= d2 {
        BETA_MIN
    } else if delay >= d3 || d3 <= d2 {
        BETA_MAX
    } else {
        (BETA_MIN * d3 + (BETA_MAX - BETA_MIN) * delay - BETA_MAX * d2) / (d3 - d2)
    }
}

impl LinuxControl for IllinoisControl {
    fn init(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.begin_round(event.ack.sent);
    }

    fn pkts_acked(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.acked = event.ack.acked;
        let Some(rtt) = event.rtt_us() else { return };
        let rtt = rtt.min(MAX_RTT_US);
        self.base_us = self.base_us.min(rtt);
        self.max_us = self.max_us.max(rtt);
        self.samples += 1;
        self.sum_us += rtt;
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if event.is_after(self.round_end) {
            self.end_round(window.cwnd, event.ack.sent);
        }
        if !window.is_left_to_avoidance(event.ack) {
            return;
        }
        window.count = window.count.saturating_add(self.acked);
        self.acked = 1;
        let grown = (u64::from(window.count) * self.alpha) >> 7;
        if grown >= u64::from(window.cwnd) {
            window.cwnd = window.cwnd.saturating_add((grown / u64::from(window.cwnd)) as u32);
            window.count = 0;
        }
    }

    fn ssthresh(&mut self, window: &LinuxWindow, _cut: &Cut) -> u32 {
        (window.cwnd - share_of(window.cwnd, self.beta as u32, BETA_ONE)).max(MIN_WINDOW)
    }

    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, event: &Event<'_>) {
        if state == CaState::Loss {
            (self.alpha, self.beta) = (ONE, BETA_MAX);
            (self.low_rounds, self.above) = (0, false);
            self.begin_round(event.ack.sent);
        }
    }
}
