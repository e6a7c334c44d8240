//! Detection of a full pipe (draft, section 5.3.1.2).

use super::config::Bbr3Config;
use super::sample::Sample;

/// Searches for a plateau of the delivery rate while the sender accelerates.
#[derive(Clone, Copy, Debug, Default)]
pub struct FullPipe {
    /// full_bw: the baseline of the growth.
    rate: f64,
    rounds: u32,
    /// full_bw_now: full since the search started; full_bw_reached: full at any time.
    now: bool,
    reached: bool,
}

impl FullPipe {
    /// ResetFullBW: the search starts from this rate.
    pub fn search_from(&mut self, rate: f64) {
        *self = FullPipe { rate, reached: self.reached, ..FullPipe::default() };
    }

    /// CheckFullBWReached.
    pub fn check(&mut self, p: &Bbr3Config, sample: &Sample, round_started: bool) {
        if self.now || !round_started || sample.app_limited {
            return;
        }
        if sample.rate >= self.rate * p.full_growth {
            self.search_from(sample.rate);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= p.full_rounds;
        self.reached |= self.now;
    }

    pub fn now(&self) -> bool {
        self.now
    }
    pub fn reached(&self) -> bool {
        self.reached
    }
    /// Set after excessive loss; reset if that loss was spurious.
    pub fn set_reached(&mut self, reached: bool) {
        self.reached = reached;
    }
}
