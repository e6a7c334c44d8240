//! What a connection takes over from those before it to the same peer, and what it leaves to the next.

use super::Sender;
use crate::tcp::cc::{CongestionControl, CongestionWindow};
use crate::tcp::metrics_cache::{ConnectionOutcome, MetricsCache, SharedPathMetrics};
use crate::tcp::recovery::Recovery;
use crate::units::Time;

impl Sender {
    /// Connections to the same peer share it; of no use to a host that remembers nothing.
    pub fn use_path_metrics(&mut self, path_metrics: SharedPathMetrics) {
        self.path_metrics = Some(path_metrics).filter(|_| self.config.metrics_cache != MetricsCache::Off);
    }

    /// The handshake is done. A variant that paces itself has no threshold.
    pub(super) fn recall_path_metrics(&mut self, now: Time) {
        let Some(path_metrics) = &self.path_metrics else { return };
        let (metrics, cache, own) = (path_metrics.metrics(), self.config.metrics_cache, self.config.initial_ssthresh);
        metrics.seed(cache, &mut self.rtt);
        let ssthresh = metrics.threshold(cache, own);
        if ssthresh != own && self.cc.pacing_rate().is_none() {
            self.cc.on_restart(now, CongestionWindow { cwnd: self.cc.cwnd(), ssthresh });
        }
    }

    /// Everything has been acknowledged, and nothing will follow.
    #[cold]
    pub(super) fn save_path_metrics(&mut self) {
        let Some(path_metrics) = self.path_metrics.take() else { return };
        let window = CongestionWindow { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let open = !self.recovery.active() && self.una > self.rto_recovery_point;
        path_metrics.learn(&ConnectionOutcome { window, open, rtt: self.rtt.trusted() });
    }
}
