//! YeAH: `tcp_yeah.c`. Scalable or Reno by the queue of the last round, which is computed with the
//! window of its end and rounded down.

use super::vegas_rtt::VegasRtt;
use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW};
use crate::tcp::info::CaState;

/// Q_max in segments (`TCP_YEAH_ALPHA`), and the share 1/phi of the base RTT.
const MAX_QUEUE: u64 = 80;
const DELAY_SHARE: u64 = 8;
/// Shifts of the largest share that decongestion removes, and of the smallest that a loss does.
const RETREAT_SHIFT: u32 = 1;
const CUT_SHIFT: u32 = 3;
/// Slow rounds that show a Reno flow, and fast ones after which there is none.
const SLOW_ROUNDS: u32 = 16;
const FAST_ROUNDS: u32 = 50;
const SCALABLE_COUNT: u32 = 100;
const FEW_SAMPLES: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub struct YeahControl {
    rtt: VegasRtt,
    /// Queued segments at the end of the last round (`lastQ`).
    queued: u64,
    /// Slow rounds in a row (`doing_reno_now`), fast ones, and the window of a Reno flow.
    slow: u32,
    fast: u32,
    reno: u32,
}

impl Default for YeahControl {
    fn default() -> YeahControl {
        YeahControl { rtt: VegasRtt::default(), queued: 0, slow: 0, fast: 0, reno: MIN_WINDOW }
    }
}

impl YeahControl {
    fn end_round(&mut self, window: &mut LinuxWindow) {
        let (base, rtt) = (self.rtt.base, self.rtt.min);
        let queue = u64::from(window.cwnd) * (rtt - base) / rtt;
        if queue > MAX_QUEUE || rtt - base > base / DELAY_SHARE {
            self.slow_round(window, queue);
        } else {
            self.fast += 1;
            if self.fast > FAST_ROUNDS {
                (self.reno, self.fast) = (MIN_WINDOW, 0);
            }
            self.slow = 0;
        }
        self.queued = queue;
    }

    fn slow_round(&mut self, window: &mut LinuxWindow, queue: u64) {
        if queue > MAX_QUEUE && window.cwnd > self.reno {
            let reduction = queue.min(u64::from(window.cwnd >> RETREAT_SHIFT)) as u32;
            window.cwnd = (window.cwnd - reduction).max(self.reno);
            window.ssthresh = window.cwnd;
        }
        self.reno = if self.reno <= MIN_WINDOW { (window.cwnd >> 1).max(MIN_WINDOW) } else { self.reno + 1 };
        self.slow = self.slow.saturating_add(1);
    }
}

impl LinuxControl for YeahControl {
    fn init(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.rtt.begin_round(event.ack.sent);
    }

    fn pkts_acked(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.rtt.sample(event);
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if !event.ack.cwnd_limited {
            return window.observe(event.ack);
        }
        if let Some(credit) = window.avoidance_credit(event.ack) {
            let every = if self.slow == 0 { window.cwnd.min(SCALABLE_COUNT) } else { window.cwnd };
            window.cong_avoid_ai(every, credit);
        }
        if event.is_after(self.rtt.round_end) {
            if self.rtt.samples > FEW_SAMPLES {
                self.end_round(window);
            }
            self.rtt.begin_round(event.ack.sent);
        }
    }

    /// `tcp_yeah_ssthresh()`: the queue, at least an eighth; half beside Reno flows.
    fn ssthresh(&mut self, window: &LinuxWindow, _cut: &Cut) -> u32 {
        let half = (window.cwnd >> 1).max(MIN_WINDOW);
        let reduction =
            if self.slow < SLOW_ROUNDS { (self.queued.min(u64::from(half)) as u32).max(window.cwnd >> CUT_SHIFT) } else { half };
        self.fast = 0;
        self.reno = (self.reno >> 1).max(MIN_WINDOW);
        window.cwnd.saturating_sub(reduction).max(MIN_WINDOW)
    }

    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, event: &Event<'_>) {
        if state == CaState::Open {
            self.rtt.begin_round(event.ack.sent);
        }
    }

    fn tx_start(&mut self, _window: &LinuxWindow, _now: u64, _idle: u64) {
        self.rtt.forget();
    }
}
