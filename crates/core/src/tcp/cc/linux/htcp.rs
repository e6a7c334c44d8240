//! H-TCP: `tcp_htcp.c`. RTTs are in whole ticks, alpha and beta in 128ths, and growth is by at most
//! one segment per ACK; alpha is renewed when a segment is added.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW};
use crate::tcp::info::CaState;

/// 1 in alpha and beta.
const ONE: u32 = 1 << 7;
/// Limits of beta: a half, and 0.8.
const BETA_MIN: u32 = 1 << 6;
const BETA_MAX: u32 = 102;
/// A sample raises the largest RTT by at most this (a spike is not the path's).
const MAX_RISE_US: u64 = 20_000;
/// Time since congestion that alpha counts, in ticks.
const MAX_TICKS: u64 = 1 << 31;
/// Below this RTT beta stays a half.
const SHORT_RTT_US: u64 = 10_000;

/// Times are in ticks.
#[derive(Clone, Debug)]
pub struct HtcpControl {
    alpha: u32,
    beta: u32,
    /// beta follows the RTTs from the second reduction on.
    adapts: bool,
    /// Segments of the last ACK in state Open; 1 once they have been counted.
    acked: u32,
    /// Segments acknowledged since `measured_at`.
    counted: u32,
    measured_at: u64,
    min_rtt: u64,
    max_rtt: u64,
    last_congestion: u64,
    /// The values before the last reduction, for an undo; None in state Open.
    before: Option<Before>,
    /// Throughput in segments per second: smoothed, the maximum since the last reduction, and that
    /// of the reduction before it.
    rate: u64,
    max_rate: u64,
    old_max_rate: u64,
}

#[derive(Clone, Copy, Debug)]
struct Before {
    last_congestion: u64,
    max_rtt: u64,
    old_max_rate: u64,
}

impl Default for HtcpControl {
    fn default() -> HtcpControl {
        HtcpControl {
            alpha: ONE,
            beta: BETA_MIN,
            adapts: false,
            acked: 1,
            counted: 0,
            measured_at: 0,
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: 0,
            before: None,
            rate: 0,
            max_rate: 0,
            old_max_rate: 0,
        }
    }
}

impl HtcpControl {
    /// `measure_rtt()`.
    fn measure_rtt(&mut self, rtt: u64, max_rise: u64, open: bool) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt > self.max_rtt && rtt <= self.max_rtt + max_rise {
                self.max_rtt = rtt;
            }
        }
    }

    /// `measure_achieved_throughput()`: once per window and minimum RTT.
    fn measure_rate(&mut self, window: &LinuxWindow, event: &Event<'_>) {
        let now = event.jiffies();
        if !matches!(event.state, CaState::Open | CaState::Disorder) {
            (self.counted, self.measured_at) = (0, now);
            return;
        }
        self.counted = self.counted.saturating_add(event.ack.acked);
        let whole_window = window.cwnd.wrapping_sub((self.alpha >> 7).max(1));
        let since = now - self.measured_at;
        if self.counted < whole_window || since < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let rate = u64::from(self.counted) * event.clock.hz() / since;
        if (now - self.last_congestion) / self.min_rtt <= 3 {
            (self.rate, self.max_rate) = (rate, rate);
        } else {
            self.rate = (3 * self.rate + rate) / 4;
            self.max_rate = self.max_rate.max(self.rate);
        }
        (self.counted, self.measured_at) = (0, now);
    }

    /// `htcp_beta_update()`: a half when the throughput has changed by a fifth.
    fn update_beta(&mut self, short_rtt: u64) {
        let (rate, old) = (self.max_rate, std::mem::replace(&mut self.old_max_rate, self.max_rate));
        if !(4 * old..=6 * old).contains(&(5 * rate)) {
            (self.beta, self.adapts) = (BETA_MIN, false);
        } else if self.adapts && self.min_rtt > short_rtt && self.max_rtt > 0 {
            self.beta = ((self.min_rtt << 7) / self.max_rtt).clamp(u64::from(BETA_MIN), u64::from(BETA_MAX)) as u32;
        } else {
            (self.beta, self.adapts) = (BETA_MIN, true);
        }
    }

    /// `htcp_alpha_update()`, with RTT scaling: growth per RTT is less below an RTT of 100 ms.
    fn update_alpha(&mut self, now: u64, hz: u64) {
        let mut factor = 1;
        let since = now - self.last_congestion;
        if since > hz {
            let d = (since - hz).min(MAX_TICKS);
            factor = 1 + (10 * d + (d / 2) * (d / 2) / hz) / hz;
        }
        if self.min_rtt > 0 {
            let scale = ((hz << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = ((factor << 3) / scale).max(1);
        }
        let alpha = 2 * factor * u64::from(ONE - self.beta);
        self.alpha = if alpha == 0 { ONE } else { u32::try_from(alpha).unwrap_or(u32::MAX) };
    }
}

impl LinuxControl for HtcpControl {
    fn init(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.last_congestion = event.jiffies();
    }

    fn pkts_acked(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        let open = event.state == CaState::Open;
        if open {
            self.acked = event.ack.acked;
        }
        if let Some(rtt) = event.rtt_us().filter(|&rtt| rtt > 0) {
            self.measure_rtt(event.clock.jiffies_of(rtt), event.clock.jiffies_of(MAX_RISE_US), open);
        }
        self.measure_rate(window, event);
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if !window.is_left_to_avoidance(event.ack) {
            return;
        }
        if (u64::from(window.count) * u64::from(self.alpha)) >> 7 >= u64::from(window.cwnd) {
            window.cwnd += 1;
            window.count = 0;
            self.update_alpha(event.jiffies(), event.clock.hz());
        } else {
            window.count = window.count.saturating_add(self.acked);
        }
        self.acked = 1;
    }

    /// `htcp_recalc_ssthresh()`; the largest RTT fades by a twentieth of the queueing delay.
    fn ssthresh(&mut self, window: &LinuxWindow, cut: &Cut) -> u32 {
        self.update_beta(cut.clock.jiffies_of(SHORT_RTT_US));
        self.update_alpha(cut.clock.jiffies(cut.now), cut.clock.hz());
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        (((u64::from(window.cwnd) * u64::from(self.beta)) >> 7) as u32).max(MIN_WINDOW)
    }

    /// `htcp_state()`: the time since congestion runs from its end.
    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, event: &Event<'_>) {
        match state {
            CaState::Open => {
                if self.before.take().is_some() {
                    self.last_congestion = event.jiffies();
                }
            }
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.before = Some(Before {
                    last_congestion: self.last_congestion,
                    max_rtt: self.max_rtt,
                    old_max_rate: self.old_max_rate,
                });
                self.last_congestion = event.jiffies();
            }
            CaState::Disorder => {}
        }
    }

    /// `htcp_cwnd_undo()`.
    fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.last_congestion = before.last_congestion;
            self.max_rtt = before.max_rtt;
            self.old_max_rate = before.old_max_rate;
        }
    }
}
