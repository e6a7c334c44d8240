//! CUBIC as `tcp_cubic.c` computes it: the curve in whole segments, once per tick, as the number of
//! segments to be acknowledged for one of growth.

use super::hystart::HystartRound;
use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW, share_of};
use crate::tcp::cc::{CongestionSignal, EcnAgreement};
use crate::tcp::info::CaState;

/// beta (`beta`) in 1024ths.
const BETA: u32 = 717;
const BETA_SCALE: u32 = 1024;
/// C = 0.4: `bic_scale` times 10, in 1024ths.
const SCALED_C: u64 = 410;
/// Time on the curve is in 1024ths of a second (`BICTCP_HZ`).
const TIME_SHIFT: u32 = 10;
/// The curve is beyond every window at this distance from W_max.
const MAX_DISTANCE: u64 = 1 << 32;
/// Segments acknowledged for a segment of growth in the Reno-friendly region, in eighths of the
/// window: 8 (1 + beta)/(3 (1 - beta)), rounded (`beta_scale`).
const RENO_COUNT: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Above the last maximum the curve is flat: 1 % per RTT.
const PLATEAU_COUNT: u32 = 100;
/// The window grows by half per RTT at most.
const MIN_COUNT: u32 = 2;
/// RTT samples of the first second after a recovery are not used.
const QUIET_SECONDS: u64 = 1;
/// The curve is computed again after this part of a second (`HZ / 32`), or when cwnd has changed.
const REFRESH: u64 = 32;

#[derive(Clone, Debug)]
pub struct CubicControl {
    /// W_max, reduced by fast convergence; 0 before the first loss.
    last_max_cwnd: u32,
    /// The window at the last calculation, and its tick.
    last_cwnd: u32,
    last_time: u64,
    /// `cnt`: segments acknowledged for one of growth.
    count: u32,
    /// Tick in which the epoch began; None before its first ACK.
    epoch_start: Option<u64>,
    /// W_max of the epoch (`bic_origin_point`), and the time from its start to W_max (`bic_K`).
    origin: u32,
    k: u64,
    /// Smallest RTT in microseconds; 0 before the first.
    delay_min_us: u64,
    /// Segments acknowledged in the epoch, and the window of a Reno flow.
    ack_count: u32,
    reno_cwnd: u32,
    /// The window at the last reduction, from which on RFC 9438 has alpha = 1; the kernel does not.
    prior_cwnd: u32,
    rfc_alpha: bool,
    hystart: Option<HystartRound>,
    /// HyStart has ended slow start (`found`).
    found: bool,
    /// Maximum of `count` before the first loss.
    first_count: u32,
    /// Share of the window that a mark leaves, where the host has that of RFC 8511.
    beta_ecn: Option<f64>,
}

/// The cube root, rounded down. The kernel's `cubic_root()` is within 0.2 % of it.
fn cubic_root(of: u64) -> u64 {
    let mut root = libm::cbrt(of as f64) as u64;
    while root.pow(3) > of {
        root -= 1;
    }
    while (root + 1).pow(3) <= of {
        root += 1;
    }
    root
}

impl CubicControl {
    /// `first_count`: the maximum of segments acknowledged for one of growth before the first loss
    /// (20 in the kernel). `rfc_alpha`: growth of one segment per RTT above the window of the last
    /// reduction (RFC 9438, section 4.3).
    pub fn new(hystart: bool, first_count: u32, rfc_alpha: bool) -> CubicControl {
        CubicControl {
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            count: 0,
            epoch_start: None,
            origin: 0,
            k: 0,
            delay_min_us: 0,
            ack_count: 0,
            reno_cwnd: 0,
            prior_cwnd: 0,
            rfc_alpha,
            hystart: hystart.then(HystartRound::default),
            found: false,
            first_count,
            beta_ecn: None,
        }
    }

    /// `last_max_cwnd`.
    #[cfg(test)]
    pub fn w_max(&self) -> u32 {
        self.last_max_cwnd
    }

    /// `bictcp_reset()`.
    fn reset(&mut self) {
        (self.count, self.last_max_cwnd, self.last_cwnd, self.last_time) = (0, 0, 0, 0);
        (self.origin, self.k, self.delay_min_us, self.epoch_start) = (0, 0, 0, None);
        (self.ack_count, self.reno_cwnd, self.prior_cwnd, self.found) = (0, 0, 0, false);
    }

    /// `bictcp_update()`: sets `count`.
    fn update(&mut self, cwnd: u32, acked: u32, event: &Event<'_>) {
        let now = event.jiffies();
        self.ack_count = self.ack_count.saturating_add(acked);
        let hz = event.clock.hz();
        if self.last_cwnd == cwnd && now - self.last_time <= hz / REFRESH {
            return;
        }
        // Once per tick; a new epoch is not put off.
        if self.epoch_start.is_none() || now != self.last_time {
            (self.last_cwnd, self.last_time) = (cwnd, now);
            self.follow_curve(cwnd, acked, now, event);
        }
        self.keep_up_with_reno(cwnd);
        self.count = self.count.max(MIN_COUNT);
    }

    fn begin_epoch(&mut self, cwnd: u32, acked: u32, now: u64) -> u64 {
        (self.ack_count, self.reno_cwnd) = (acked, cwnd);
        if self.last_max_cwnd <= cwnd {
            (self.k, self.origin) = (0, cwnd);
        } else {
            let scale = (1 << (10 + 3 * TIME_SHIFT)) / SCALED_C;
            self.k = cubic_root(scale * u64::from(self.last_max_cwnd - cwnd));
            self.origin = self.last_max_cwnd;
        }
        self.epoch_start = Some(now);
        now
    }

    fn follow_curve(&mut self, cwnd: u32, acked: u32, now: u64, event: &Event<'_>) {
        let start = match self.epoch_start {
            Some(start) => start,
            None => self.begin_epoch(cwnd, acked, now),
        };
        let ticks = now - start + event.clock.jiffies_of(self.delay_min_us);
        let t = (ticks << TIME_SHIFT) / event.clock.hz();
        let distance = t.abs_diff(self.k).min(MAX_DISTANCE);
        let delta = (u128::from(SCALED_C) * u128::from(distance).pow(3)) >> (10 + 3 * TIME_SHIFT);
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let target = if t < self.k { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { PLATEAU_COUNT.saturating_mul(cwnd) };
        if self.last_max_cwnd == 0 {
            self.count = self.count.min(self.first_count);
        }
    }

    /// The Reno-friendly region: `reno_cwnd` grows as Reno's would.
    fn keep_up_with_reno(&mut self, cwnd: u32) {
        loop {
            let late = self.rfc_alpha && self.reno_cwnd >= self.prior_cwnd && self.prior_cwnd > 0;
            let every = if late { cwnd } else { share_of(cwnd, RENO_COUNT, 8) };
            if self.ack_count <= every {
                break;
            }
            self.ack_count -= every;
            self.reno_cwnd += 1;
        }
        if self.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }
}

impl LinuxControl for CubicControl {
    fn init(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        if let Some(round) = &mut self.hystart {
            round.begin(event);
        }
    }

    /// `cubictcp_acked()`.
    #[inline]
    fn pkts_acked(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        let Some(rtt) = event.rtt_us() else { return };
        // A window in congestion avoidance with a known minimum is the common case.
        let rtt = rtt.max(1);
        if rtt >= self.delay_min_us && self.delay_min_us > 0 && !window.in_slow_start() {
            return;
        }
        let quiet = event.clock.hz() * QUIET_SECONDS;
        if self.epoch_start.is_some_and(|start| event.jiffies() < start + quiet) {
            return;
        }
        if self.delay_min_us == 0 || rtt < self.delay_min_us {
            self.delay_min_us = rtt;
        }
        if self.found || !window.in_slow_start() {
            return;
        }
        if let Some(round) = &mut self.hystart
            && round.update(window, event, rtt, self.delay_min_us)
        {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    #[inline]
    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if let Some(credit) = window.avoidance_credit(event.ack) {
            self.update(window.cwnd, credit, event);
            window.cong_avoid_ai(self.count, credit);
        }
    }

    /// `cubictcp_recalc_ssthresh()`: fast convergence compares whole windows.
    fn ssthresh(&mut self, window: &LinuxWindow, cut: &Cut) -> u32 {
        let cwnd = window.cwnd;
        self.epoch_start = None;
        self.prior_cwnd = cwnd;
        self.last_max_cwnd = if cwnd < self.last_max_cwnd { share_of(cwnd, BETA_SCALE + BETA, 2 * BETA_SCALE) } else { cwnd };
        let left = match self.beta_ecn {
            Some(beta) if cut.signal == CongestionSignal::Ecn => (f64::from(cwnd) * beta) as u32,
            _ => share_of(cwnd, BETA, BETA_SCALE),
        };
        left.max(MIN_WINDOW)
    }

    /// `cubictcp_state()`.
    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, event: &Event<'_>) {
        if state == CaState::Loss {
            self.reset();
            if let Some(round) = &mut self.hystart {
                round.begin(event);
            }
        }
    }

    /// Idle time does not count on the curve.
    fn tx_start(&mut self, _window: &LinuxWindow, now: u64, idle: u64) {
        if let Some(start) = &mut self.epoch_start {
            *start = (*start + idle).min(now);
        }
    }

    fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) {
        self.beta_ecn = agreement.beta;
    }
}
