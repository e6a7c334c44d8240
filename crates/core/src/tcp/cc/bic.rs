//! BIC (Xu, Harfoush and Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", Infocom 2004), and as
//! Linux 2.6 has it.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, CwndCount, DelayedAckRatio, window_methods};

/// The constants of section III, with the kernel's names where they differ. Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BicConfig {
    /// S_max: most growth a round trip (`max_increment`).
    pub s_max: f64,
    /// Below this window it is Reno.
    pub low_window: f64,
    /// What a loss leaves.
    pub beta: f64,
    /// The binary search goes 1/B of the way a round trip: 2 in the paper, 4 in the kernel (`BICTCP_B`).
    pub search: f64,
    /// Growth a round trip next to W_max: S_min in the paper, B/`smooth_part` in the kernel.
    pub s_min: f64,
    /// How near W_max that is so: 2 S_min in the paper, B in the kernel.
    pub plateau: f64,
    pub fast_convergence: bool,
    /// Linux 2.6.8 to 2.6.10: fast convergence divided by B/2 where 2*B was meant, so W_max became four times too large.
    pub convergence_defect: bool,
    /// Growth a round trip, as a share of the window, while no loss has been seen after slow start (`cnt` at most 20).
    pub unbounded_growth: f64,
    /// The kernel's integers: steps of the search are whole, one that is not above 1 becomes S_min, and growth comes one ACK late.
    pub integers: bool,
    /// The kernel takes ACKs to cover two segments until it has seen otherwise.
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

/// BIC's increase, which BIAD takes over.
#[derive(Clone, Debug)]
pub struct Search {
    pub config: BicConfig,
    /// The window at the last loss, lowered by fast convergence; 0 before.
    pub w_max: f64,
    counter: CwndCount,
    ratio: DelayedAckRatio,
}

impl Search {
    pub fn new(config: BicConfig) -> Search {
        Search { config, w_max: 0.0, counter: CwndCount::default(), ratio: DelayedAckRatio::LINUX }
    }

    /// Segments of growth that a round trip at this window brings (section III and the kernel's `bictcp_update`).
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
        let ratio = self.ratio.see(ack);
        let count = window.cwnd / self.growth(window.cwnd);
        let every = match p.delayed_ack_ratio {
            // As Reno the kernel counts ACKs, not segments.
            true if window.cwnd <= p.low_window => count,
            true => kernel_count(count, ratio),
            false if p.integers => libm::floor(count).max(1.0),
            false => count.max(1.0),
        };
        window.cwnd += self.counter.add(credit, every + f64::from(u8::from(p.integers)));
    }

    /// The maximum that a loss at `cwnd` sets (section III, fast convergence).
    pub fn note_loss(&mut self, cwnd: f64) {
        let p = &self.config;
        self.counter.clear();
        self.w_max = if cwnd < self.w_max && p.fast_convergence { converged_maximum(p, cwnd) } else { cwnd };
    }

    pub fn forget(&mut self) {
        self.w_max = 0.0;
        self.ratio = DelayedAckRatio::LINUX;
    }
}

/// Section III: the growth `distance` below W_max.
pub fn binary_search(p: &BicConfig, distance: f64) -> f64 {
    let step = if p.integers { libm::floor(distance / p.search) } else { distance / p.search };
    let near = if p.integers { step <= 1.0 } else { distance <= p.plateau };
    if near { p.s_min } else { step.min(p.s_max) }
}

/// Section III, max probing: the search run backwards from W_max, then S_max a round trip.
pub fn max_probing(p: &BicConfig, beyond: f64) -> f64 {
    if beyond < p.plateau { p.s_min } else { (beyond / (p.search - 1.0)).min(p.s_max) }
}

/// Fast convergence: cwnd*(1 + beta)/2. With N = 1/(1 - beta) the kernel writes cwnd*(2N - 1)/(2N), and wrote /(N/2); it is whole there.
pub fn converged_maximum(p: &BicConfig, cwnd: f64) -> f64 {
    let maximum = cwnd * (1.0 + p.beta) / 2.0 * if p.convergence_defect { 4.0 } else { 1.0 };
    if p.integers { libm::floor(maximum) } else { maximum }
}

/// ACKs until the next segment, as the kernel counts them: whole, and fewer where an ACK covers more segments.
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
            self.search.forget();
        }
    }

    window_methods!();
}

#[cfg(test)]
mod tests;
