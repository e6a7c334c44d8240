//! What a connection takes over from those before it to the same peer, and what it leaves to the next.

use super::Sender;
use crate::tcp::cc::{CongestionControl, Window};
use crate::tcp::metrics::{MetricsCache, Outcome, PathMemory};
use crate::tcp::recovery::Recovery;
use crate::units::Time;

impl Sender {
    /// Connections to the same peer share it; of no use to a host that remembers nothing.
    pub fn share(&mut self, memory: PathMemory) {
        self.memory = Some(memory).filter(|_| self.config.metrics_cache != MetricsCache::Off);
    }

    /// The handshake is done. A variant that paces itself has no threshold.
    pub(super) fn recall_path(&mut self, now: Time) {
        let Some(memory) = &self.memory else { return };
        let (metrics, cache, own) = (memory.metrics(), self.config.metrics_cache, self.config.initial_ssthresh);
        metrics.seed(cache, &mut self.rtt);
        let ssthresh = metrics.threshold(cache, own);
        if ssthresh != own && self.cc.pacing_rate().is_none() {
            self.cc.on_restart(now, Window { cwnd: self.cc.cwnd(), ssthresh });
        }
    }

    /// Everything has been acknowledged, and nothing will follow.
    #[cold]
    pub(super) fn leave_memory(&mut self) {
        let Some(memory) = self.memory.take() else { return };
        let window = Window { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let open = !self.recovery.active() && self.una > self.timed_out_to;
        memory.learn(&Outcome { window, open, rtt: self.rtt.trusted() });
    }
}
