//! BIC (Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance
//! networks", Infocom 2004), and its Linux 2.6 form.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, CwndCount, DelayedAckRatio, window_methods};

/// Constants of section III, with the kernel's names where they differ. Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BicConfig {
    /// S_max: maximum growth per RTT (`max_increment`).
    pub s_max: f64,
    /// At or below this window BIC grows like Reno.
    pub low_window: f64,
    /// Share of the window that a loss leaves.
    pub beta: f64,
    /// The binary search covers 1/B of the distance per RTT: 2 in the paper, 4 in the kernel
    /// (`BICTCP_B`).
    pub search: f64,
    /// Growth per RTT close to W_max: S_min in the paper, B/`smooth_part` in the kernel.
    pub s_min: f64,
    /// Distance from W_max to which `s_min` applies: 2 S_min in the paper, B in the kernel.
    pub plateau: f64,
    pub fast_convergence: bool,
    /// Linux 2.6.8 to 2.6.10: fast convergence divided by B/2 instead of 2*B, so W_max became four
    /// times too large.
    pub convergence_defect: bool,
    /// Growth per RTT before the first loss, as a share of the window (`cnt` at most 20).
    pub unbounded_growth: f64,
    /// The kernel's integer arithmetic: search steps are whole, steps of at most 1 become S_min,
    /// and growth is one ACK late.
    pub integers: bool,
    /// The kernel's estimate of segments per ACK, which starts at two.
    pub delayed_ack_ratio: bool,
}

impl BicConfig {
    /// Linux 2.6.22: beta 819/1024, S_max 16, low_window 14, B 4, smooth_part 20.
    pub const LINUX_2_6_22: BicConfig = BicConfig {
        s_max: 16.0,
        low_window: 14.0,
        beta: 819.0 / 1024.0,
        search: 4.0,
        s_min: 4.0 / 20.0,
        plateau: 4.0,
        fast_convergence: true,
        convergence_defect: false,
        unbounded_growth: 1.0 / 20.0,
        integers: true,
        delayed_ack_ratio: true,
    };
    /// Linux 2.6.8: 1/beta is 8, S_max 32, and the defect.
    pub const LINUX_2_6_8: BicConfig =
        BicConfig { s_max: 32.0, beta: 7.0 / 8.0, convergence_defect: true, delayed_ack_ratio: false, ..BicConfig::LINUX_2_6_22 };
    /// Section IV: S_max 32, S_min 0.01, beta 0.125, low_window 14.
    pub const PAPER: BicConfig = BicConfig {
        s_max: 32.0,
        low_window: 14.0,
        beta: 1.0 - 0.125,
        search: 2.0,
        s_min: 0.01,
        plateau: 0.02,
        fast_convergence: true,
        convergence_defect: false,
        unbounded_growth: 0.0,
        integers: false,
        delayed_ack_ratio: false,
    };
}

/// BIC's increase; BIAD uses it, too.
#[derive(Clone, Debug)]
pub struct Search {
    pub config: BicConfig,
    /// The window at the last loss, reduced by fast convergence; 0 before.
    pub w_max: f64,
    counter: CwndCount,
    ratio: DelayedAckRatio,
}

impl Search {
    pub fn new(config: BicConfig) -> Search {
        Search { config, w_max: 0.0, counter: CwndCount::default(), ratio: DelayedAckRatio::LINUX }
    }

    /// Growth per RTT at this window, in segments (section III and the kernel's `bictcp_update`).
    pub fn growth(&self, cwnd: f64) -> f64 {
        let p = &self.config;
        if cwnd <= p.low_window {
            return 1.0;
        }
        let growth = if cwnd < self.w_max { binary_search(p, self.w_max - cwnd) } else { max_probing(p, cwnd - self.w_max) };
        if self.w_max == 0.0 { growth.max(p.unbounded_growth * cwnd) } else { growth }
    }

    pub fn avoid(&mut self, ack: &Ack, credit: f64, window: &mut CongestionWindow) {
        let p = &self.config;
        let ratio = self.ratio.on_ack(ack);
        let count = window.cwnd / self.growth(window.cwnd);
        let every = match p.delayed_ack_ratio {
            // In its Reno mode the kernel counts ACKs, not segments.
            true if window.cwnd <= p.low_window => count,
            true => kernel_count(count, ratio),
            false if p.integers => libm::floor(count).max(1.0),
            false => count.max(1.0),
        };
        window.cwnd += self.counter.add(credit, every + f64::from(u8::from(p.integers)));
    }

    /// W_max after a loss at `cwnd` (section III, fast convergence).
    pub fn note_loss(&mut self, cwnd: f64) {
        let p = &self.config;
        self.counter.clear();
        self.w_max = if cwnd < self.w_max && p.fast_convergence { converged_maximum(p, cwnd) } else { cwnd };
    }

    pub fn reset(&mut self) {
        self.w_max = 0.0;
        self.ratio = DelayedAckRatio::LINUX;
    }
}

/// Section III: growth per RTT at `distance` below W_max.
pub fn binary_search(p: &BicConfig, distance: f64) -> f64 {
    let step = if p.integers { libm::floor(distance / p.search) } else { distance / p.search };
    let near = if p.integers { step <= 1.0 } else { distance <= p.plateau };
    if near { p.s_min } else { step.min(p.s_max) }
}

/// Section III, max probing: the search reversed from W_max, then S_max per RTT.
pub fn max_probing(p: &BicConfig, beyond: f64) -> f64 {
    if beyond < p.plateau { p.s_min } else { (beyond / (p.search - 1.0)).min(p.s_max) }
}

/// Fast convergence: cwnd*(1 + beta)/2, in the kernel cwnd*(2N - 1)/(2N) with N = 1/(1 - beta),
/// rounded down. The defect divided by N/2.
pub fn converged_maximum(p: &BicConfig, cwnd: f64) -> f64 {
    let maximum = cwnd * (1.0 + p.beta) / 2.0 * if p.convergence_defect { 4.0 } else { 1.0 };
    if p.integers { libm::floor(maximum) } else { maximum }
}

/// ACKs per segment of growth as the kernel counts them: whole, and fewer if an ACK covers more
/// segments.
fn kernel_count(count: f64, ratio: f64) -> f64 {
    libm::floor(libm::floor(count) / ratio).max(1.0)
}

#[derive(Clone, Debug)]
pub struct Bic {
    window: CongestionWindow,
    slow_start: SlowStart,
    search: Search,
}

impl Bic {
    pub fn new(config: BicConfig, window: CongestionWindow, slow_start: SlowStart) -> Bic {
        Bic { window, slow_start, search: Search::new(config) }
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.search.avoid(ack, credit, &mut self.window);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let cwnd = self.window.cwnd;
        let p = &self.search.config;
        let ssthresh = if cwnd <= p.low_window { cwnd / 2.0 } else { cwnd * p.beta };
        self.search.note_loss(cwnd);
        self.window.cut_to(libm::floor(ssthresh), congestion.signal);
        if congestion.signal == CongestionSignal::Timeout {
            self.search.reset();
        }
    }

    window_methods!();
}

#[cfg(test)]
mod tests;
