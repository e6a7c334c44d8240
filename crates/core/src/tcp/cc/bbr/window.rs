//! BBR's window (draft, section 4.2.3).

use super::model::Model;
use super::{Ack, BbrConfig};

#[derive(Clone, Copy, Debug)]
pub struct BbrCwnd {
    cwnd: f64,
    first: f64,
    /// The window before a recovery or ProbeRTT.
    prior: f64,
    /// Packet conservation: in the first round of a recovery the window follows deliveries.
    conserving: bool,
    entering: bool,
    recovering: bool,
}

/// Linux allows for this many TSO bursts; a burst is a millisecond at the pacing rate, at least two
/// segments, or one below about 1.2 Mb/s.
const CHUNKS: f64 = 3.0;
const CHUNK_TIME: f64 = 1e-3;
const SLOW: f64 = 100.0;

/// Segments of a TSO burst at this rate.
pub fn burst(rate: f64) -> f64 {
    libm::floor(rate * CHUNK_TIME).max(if rate < SLOW { 1.0 } else { 2.0 })
}

/// Adds room for bursts, and rounds to pairs of segments for delayed ACKs.
pub fn quantized(inflight: f64, rate: f64, probing: bool) -> f64 {
    let even = 2.0 * libm::ceil((inflight + CHUNKS * burst(rate)) / 2.0);
    even + if probing { 2.0 } else { 0.0 }
}

impl BbrCwnd {
    pub fn new(cwnd: f64) -> BbrCwnd {
        BbrCwnd { cwnd, first: cwnd, prior: 0.0, conserving: false, entering: false, recovering: false }
    }

    pub fn cwnd(&self) -> f64 {
        self.cwnd
    }
    pub fn first(&self) -> f64 {
        self.first
    }
    pub fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
        self.conserving = false;
        self.recovering = true;
    }

    /// Section 4.2.3.4, BBRSaveCwnd.
    pub fn save(&mut self, again: bool) {
        let again = again || self.recovering;
        self.prior = if again { self.prior.max(self.cwnd) } else { self.cwnd };
    }
    pub fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.prior);
    }
    /// A loss was detected: this ACK starts a recovery.
    pub fn conserve(&mut self) {
        (self.conserving, self.entering, self.recovering) = (true, true, true);
    }

    /// This ACK starts a recovery.
    pub fn is_entering(&self) -> bool {
        self.entering
    }

    pub fn update(&mut self, p: &BbrConfig, ack: &Ack, model: &Model, target: f64, probing_rtt: bool) {
        let (acked, in_flight) = (f64::from(ack.delivered), f64::from(ack.in_flight));
        if !self.modulate(ack, acked, in_flight, model.round_started()) {
            if model.full(p) {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || (model.delivered() as f64) < self.first {
                self.cwnd += acked;
            }
        }
        self.cwnd = self.cwnd.max(p.min_cwnd);
        if probing_rtt {
            self.cwnd = self.cwnd.min(p.min_cwnd);
        }
    }

    /// Section 4.2.3.4, BBRModulateCwndForRecovery. Returns whether it has set the window.
    fn modulate(&mut self, ack: &Ack, acked: f64, in_flight: f64, round_started: bool) -> bool {
        self.cwnd = (self.cwnd - f64::from(ack.lost)).max(1.0);
        if self.entering {
            self.entering = false;
            self.cwnd = in_flight + acked.max(1.0);
            return true;
        }
        if self.recovering && !ack.recovering {
            (self.recovering, self.conserving) = (false, false);
            self.restore();
        }
        if self.conserving && round_started {
            self.conserving = false;
        }
        if self.conserving {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.conserving
    }
}
