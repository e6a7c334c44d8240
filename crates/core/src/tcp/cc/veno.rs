//! Veno (Fu and Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks",
//! JSAC 21(2), 2003): Vegas's estimate of the queue distinguishes congestion loss from random loss.

use super::slow_start::SlowStart;
use super::vegas::vegas_queued;
use super::{Ack, Congestion, CongestionControl, CongestionWindow, CwndCount, reno_ssthresh, window_methods};
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VenoConfig {
    /// Queued segments from which the path counts as congested (section III-A: 3).
    pub beta: f64,
    /// Share of the window that a random loss leaves (section III-B: 4/5).
    pub random_loss: f64,
    /// Samples ignored after a recovery (the kernel, for delayed ACKs).
    pub few_samples: u32,
}

impl VenoConfig {
    pub const PAPER: VenoConfig = VenoConfig { beta: 3.0, random_loss: 0.8, few_samples: 2 };
}

#[derive(Clone, Debug)]
pub struct Veno {
    config: VenoConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    counter: CwndCount,
    base: Option<Span>,
    samples: u32,
    /// N: queued segments by the newest sample.
    queued: f64,
    /// The window skips growth in this round: it grows in every other round while congested.
    skip: bool,
}

impl Veno {
    pub fn new(config: VenoConfig, window: CongestionWindow, slow_start: SlowStart) -> Veno {
        let counter = CwndCount::default();
        Veno { config, window, slow_start, counter, base: None, samples: 0, queued: 0.0, skip: false }
    }

    /// N of section III-A.
    fn on_rtt(&mut self, rtt: Span) {
        let rtt = rtt.max(Span::from_us(1));
        let base = self.base.map_or(rtt, |b| b.min(rtt));
        self.base = Some(base);
        self.samples = self.samples.saturating_add(1);
        self.queued = vegas_queued(self.window.cwnd, base, rtt);
    }

    fn congested(&self) -> bool {
        self.queued >= self.config.beta
    }

    /// Section III-C: one segment per RTT, per two RTTs while congested.
    fn avoid(&mut self, credit: f64) {
        let grown = self.counter.add(credit, libm::floor(self.window.cwnd));
        if grown == 0.0 {
            return;
        }
        let known = self.samples > self.config.few_samples;
        self.skip = known && self.congested() && !self.skip;
        if !self.skip {
            self.window.cwnd += grown;
        }
    }
}

impl CongestionControl for Veno {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt);
        }
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.avoid(credit);
        }
    }

    /// Section III-B, for losses by duplicate ACKs; an RTO reduces like Reno.
    fn on_congestion(&mut self, congestion: &Congestion) {
        let random = congestion.signal == super::CongestionSignal::Duplicates && !self.congested();
        let left = if random { congestion.flight * self.config.random_loss } else { reno_ssthresh(congestion.flight) };
        self.window.cut_to(libm::floor(left), congestion.signal);
        self.counter.clear();
        self.skip = false;
    }

    fn on_idle(&mut self, _now: Time, _idle: Span) {
        (self.base, self.samples) = (None, 0);
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss, timeout};
    use super::*;

    /// A Veno flow with a BaseRTT of 100 ms and `queued` of 100 segments queued.
    fn veno(queued: f64) -> (Veno, TestPath) {
        let mut cc = Veno::new(VenoConfig::PAPER, CongestionWindow { cwnd: 100.0, ssthresh: 2.0 }, classic());
        let mut path = TestPath::new(Span::from_ms(100));
        path.ack(&mut cc);
        path.rtt = Span::from_secs_f64(0.1 * 100.0 / (100.0 - queued));
        path.ack(&mut cc);
        (cc, path)
    }

    #[test]
    fn random_loss_leaves_four_fifths_and_congestion_loss_half() {
        for (queued, signal, left) in [(2.9, loss(100.0), 80.0), (3.1, loss(100.0), 50.0), (2.9, timeout(100.0), 1.0)] {
            let (mut cc, _) = veno(queued);
            cc.on_congestion(&signal);
            assert_eq!(cc.cwnd(), left, "{queued} queued");
        }
        let (mut cc, _) = veno(2.9);
        cc.on_congestion(&timeout(100.0));
        assert_eq!(cc.ssthresh(), 50.0);
    }

    #[test]
    fn growth_is_one_per_rtt_and_half_of_it_when_congested() {
        for (queued, grown) in [(1.0, 8.0), (8.0, 4.0)] {
            let (mut cc, mut path) = veno(queued);
            path.rounds(&mut cc, 8);
            assert!((cc.cwnd() - 100.0 - grown).abs() <= 1.0, "{queued} queued: {}", cc.cwnd());
        }
    }
}
