//! Vegas (Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet",
//! JSAC 13(8), 1995): keeps a few segments queued.

use super::slow_start::{SlowStart, SlowStartRule};
use super::{Ack, Congestion, CongestionControl, CongestionWindow, CwndCount, RoundCounter, reno_ssthresh, window_methods};
use crate::units::{Span, Time};

/// Thresholds of queued segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasConfig {
    pub alpha: f64,
    pub beta: f64,
    /// Slow start ends above this.
    pub gamma: f64,
    pub flavour: VegasFlavour,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VegasFlavour {
    /// Section 4: mean RTT of the round; slow start grows in every other round and leaves 7/8 of
    /// the window.
    Original,
    /// Minimum RTT of the round. A new window counts from that of the round before, so it grows in
    /// every other round. Slow start ends at the BDP.
    Linux,
}

impl VegasConfig {
    /// Linux 2.6.22: 2, 4, 1.
    pub const LINUX_2_6_22: VegasConfig = VegasConfig { alpha: 2.0, beta: 4.0, gamma: 1.0, flavour: VegasFlavour::Linux };
    /// Section 5 of the paper (Vegas-1,3).
    pub const ORIGINAL: VegasConfig = VegasConfig { alpha: 1.0, beta: 3.0, gamma: 1.0, flavour: VegasFlavour::Original };
}

/// A round with at most this many samples is ignored, as the receiver may delay ACKs (the kernel).
const FEW_SAMPLES: u32 = 2;
/// Section 4.3: the share of the window that the original keeps at the end of slow start.
const SLOW_START_EXIT: f64 = 7.0 / 8.0;

#[derive(Clone, Debug)]
pub struct Vegas {
    config: VegasConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    counter: CwndCount,
    round: RoundCounter,
    /// BaseRTT: minimum RTT since the start of sending.
    base: Option<Span>,
    /// Minimum RTT, sum of RTTs and number of samples of the round.
    min_rtt: Span,
    sum: f64,
    samples: u32,
    begin: Begin,
    /// Parity of the round, for growth in every other one.
    even: bool,
    /// A recovery has interrupted the round: the next ACK starts one.
    interrupted: bool,
    /// tcp_vegas.c of Linux 2.6.22: a round after a recovery counts the data sent since the start of
    /// the one before it (`beg_snd_una` stays), and the repair after a timeout is Reno's.
    is_module: bool,
}

/// State at the start of the round.
#[derive(Clone, Copy, Debug, Default)]
struct Begin {
    acked_total: u64,
    sent: u64,
    cwnd: f64,
}

/// Section 4.2: Diff = (Expected - Actual)*BaseRTT, the queued segments of a window at this RTT.
pub fn vegas_queued(window: f64, base: Span, rtt: Span) -> f64 {
    window * (1.0 - base.as_secs() / rtt.as_secs())
}

impl Vegas {
    pub fn new(config: VegasConfig, window: CongestionWindow, slow_start: SlowStart) -> Vegas {
        Vegas {
            config,
            window,
            slow_start,
            counter: CwndCount::default(),
            round: RoundCounter::START,
            base: None,
            min_rtt: Span::MAX,
            sum: 0.0,
            samples: 0,
            begin: Begin { cwnd: window.cwnd, ..Begin::default() },
            even: false,
            interrupted: true,
            is_module: false,
        }
    }

    /// As in ns-2's Agent/TCP/Linux; the original is not of Linux.
    pub fn in_tcp_linux(self) -> Vegas {
        Vegas { is_module: self.config.flavour == VegasFlavour::Linux, ..self }
    }

    fn in_slow_start(&self) -> bool {
        self.slow_start.applies(&self.window)
    }

    fn on_rtt(&mut self, rtt: Span) {
        // The clock's granularity must not give an RTT of zero.
        let rtt = rtt.max(Span::from_us(1));
        self.base = Some(self.base.map_or(rtt, |b| b.min(rtt)));
        self.min_rtt = self.min_rtt.min(rtt);
        self.sum += rtt.as_secs();
        self.samples += 1;
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.begin = Begin { acked_total: self.begin.sent, sent: ack.sent, cwnd: self.window.cwnd };
        (self.min_rtt, self.sum, self.samples) = (Span::MAX, 0.0, 0);
        self.even = !self.even;
    }

    fn round_trip(&self) -> Span {
        match self.config.flavour {
            VegasFlavour::Linux => self.min_rtt,
            VegasFlavour::Original => Span::from_secs_f64(self.sum / f64::from(self.samples)),
        }
    }

    /// Ends a round. Returns whether Vegas adjusted the window: a round with too few samples grows
    /// like Reno.
    fn end_round(&mut self, ack: &Ack) -> bool {
        let (begin, few) = (self.begin, self.samples <= FEW_SAMPLES);
        let rtt = if few { Span::MAX } else { self.round_trip() };
        self.begin_round(ack);
        let Some(base) = self.base.filter(|_| !few) else { return false };
        let sent = (begin.sent - begin.acked_total.min(begin.sent)) as f64;
        let queued = vegas_queued(sent, base, rtt);
        if self.in_slow_start() {
            if queued > self.config.gamma {
                self.leave_slow_start(sent - queued);
            }
        } else if ack.cwnd_limited || queued > self.config.beta {
            self.adjust(queued, begin.cwnd);
        }
        true
    }

    /// `bdp`: segments that the path carries per BaseRTT.
    fn leave_slow_start(&mut self, bdp: f64) {
        self.window.ssthresh = 2.0;
        self.window.cwnd = match self.config.flavour {
            VegasFlavour::Linux => self.window.cwnd.min(libm::floor(bdp) + 1.0),
            VegasFlavour::Original => self.window.cwnd * SLOW_START_EXIT,
        }
        .max(2.0);
    }

    /// Section 4.2: one segment more below alpha, one less above beta.
    fn adjust(&mut self, queued: f64, old: f64) {
        let p = &self.config;
        let from = if p.flavour == VegasFlavour::Linux { old } else { self.window.cwnd };
        let step = f64::from(i8::from(queued < p.alpha) - i8::from(queued > p.beta));
        let aim = from + step;
        self.window.cwnd = (self.window.cwnd + (aim - self.window.cwnd).clamp(-1.0, 1.0)).max(2.0);
    }

    fn reno(&mut self, ack: &Ack) {
        if self.in_slow_start() {
            self.slow_start.open(ack, &mut self.window);
        } else {
            self.window.cwnd += self.counter.add(ack.growth_credit, libm::floor(self.window.cwnd));
        }
    }
}

impl CongestionControl for Vegas {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt);
        }
        if self.is_module && ack.recovering {
            self.interrupted = true;
            if ack.cwnd_limited {
                self.reno(ack);
            }
            return;
        }
        if self.interrupted {
            self.interrupted = false;
            let old = self.begin;
            self.begin.sent = ack.acked_total;
            self.round.restart(ack);
            // The kernel keeps the window of the old round, so the first round after a recovery
            // grows.
            self.begin_round(ack);
            self.begin.cwnd = old.cwnd;
            if self.is_module {
                self.begin.acked_total = old.acked_total;
            }
        }
        let steered = !self.round.over(ack) || self.end_round(ack);
        if !ack.cwnd_limited {
            return;
        }
        let every_other = self.config.flavour == VegasFlavour::Original && self.even;
        if !steered || (self.in_slow_start() && !every_other) {
            self.reno(ack);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.cut_to(libm::floor(reno_ssthresh(congestion.flight)), congestion.signal);
        self.counter.clear();
        self.interrupted = true;
    }

    fn on_idle(&mut self, _now: Time, _idle: Span) {
        self.base = None;
        self.interrupted = true;
    }

    window_methods!();
    fn halving_floor(&self) -> f64 {
        libm::floor(self.window.ssthresh / 2.0)
    }
}

#[cfg(test)]
mod tests;
