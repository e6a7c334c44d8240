//! Westwood+: `tcp_westwood.c`. The bandwidth is in bytes per tick, one sample per RTT.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW};
use crate::tcp::cc::CongestionSignal;

/// Minimum interval of a sample, 1/20 s (`TCP_WESTWOOD_RTT_MIN`), and the RTT before the first
/// sample, 20 s.
const MIN_INTERVALS_PER_SECOND: u64 = 20;
const FIRST_RTT_SECONDS: u64 = 20;

/// Bytes, and ticks.
#[derive(Clone, Copy, Debug)]
pub struct WestwoodControl {
    segment: u64,
    bandwidth_first: u64,
    bandwidth: u64,
    since: Option<u64>,
    acked: u64,
    /// Acknowledged by duplicate ACKs, which a later ACK covers again.
    accounted: u64,
    rtt: u64,
    min_rtt: Option<u64>,
}

/// Seven eighths of the old value.
fn filter(old: u64, sample: u64) -> u64 {
    (7 * old + sample) >> 3
}

impl WestwoodControl {
    /// `segment`: bytes of a full segment.
    pub fn new(segment: u32) -> WestwoodControl {
        WestwoodControl {
            segment: u64::from(segment.max(1)),
            bandwidth_first: 0,
            bandwidth: 0,
            since: None,
            acked: 0,
            accounted: 0,
            rtt: 0,
            min_rtt: None,
        }
    }

    /// `westwood_update_window()`.
    fn update_bandwidth(&mut self, now: u64, hz: u64) {
        let since = *self.since.get_or_insert(now);
        let interval = now - since;
        if self.rtt == 0 || interval <= self.rtt.max(hz / MIN_INTERVALS_PER_SECOND) {
            return;
        }
        let sample = self.acked / interval;
        if self.bandwidth == 0 && self.bandwidth_first == 0 {
            (self.bandwidth_first, self.bandwidth) = (sample, sample);
        } else {
            self.bandwidth_first = filter(self.bandwidth_first, sample);
            self.bandwidth = filter(self.bandwidth, self.bandwidth_first);
        }
        (self.acked, self.since) = (0, Some(now));
    }

    /// `westwood_acked_count()`: a duplicate ACK stands for a segment, which the ACK that covers it
    /// does not count again.
    fn count(&mut self, acked: u32) -> u64 {
        let bytes = u64::from(acked) * self.segment;
        if bytes == 0 {
            self.accounted += self.segment;
            return self.segment;
        }
        if bytes <= self.segment {
            return bytes;
        }
        if self.accounted >= bytes {
            self.accounted -= bytes;
            return self.segment;
        }
        bytes - std::mem::take(&mut self.accounted)
    }

    /// `tcp_westwood_bw_rttmin()`, in segments.
    fn bdp(&self) -> u32 {
        ((self.bandwidth * self.min_rtt.unwrap_or(0) / self.segment) as u32).max(MIN_WINDOW)
    }
}

impl LinuxControl for WestwoodControl {
    fn init(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.since = Some(event.jiffies());
        self.rtt = FIRST_RTT_SECONDS * event.clock.hz();
    }

    fn pkts_acked(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        if let Some(rtt) = event.rtt_us().filter(|&rtt| rtt > 0) {
            self.rtt = event.clock.jiffies_of(rtt);
        }
        self.update_bandwidth(event.jiffies(), event.clock.hz());
        self.acked += self.count(event.ack.acked);
        self.min_rtt = Some(self.min_rtt.map_or(self.rtt, |min| min.min(self.rtt)));
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        window.reno_cong_avoid(event.ack);
    }

    /// An RTO takes the estimate at once, and measures the minimum RTT again.
    fn ssthresh(&mut self, _window: &LinuxWindow, cut: &Cut) -> u32 {
        if cut.signal != CongestionSignal::Timeout {
            return cut.half();
        }
        let bdp = self.bdp();
        self.min_rtt = None;
        bdp
    }

    fn complete_cwr(&mut self, window: &mut LinuxWindow) {
        window.ssthresh = self.bdp();
        window.cwnd = window.ssthresh;
    }
}
