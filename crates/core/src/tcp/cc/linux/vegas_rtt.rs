//! RTTs of a round as `tcp_vegas.c` keeps them, for Vegas, Veno and YeAH.

use super::Event;

/// In microseconds; one more than measured, so that none is 0.
#[derive(Clone, Copy, Debug)]
pub struct VegasRtt {
    pub base: u64,
    pub min: u64,
    pub samples: u32,
    /// Segments sent when the round began.
    pub round_end: u64,
}

/// Before the first sample.
const NO_RTT: u64 = 0x7fff_ffff;

impl Default for VegasRtt {
    fn default() -> VegasRtt {
        VegasRtt { base: NO_RTT, min: NO_RTT, samples: 0, round_end: 0 }
    }
}

impl VegasRtt {
    /// `tcp_vegas_pkts_acked()`.
    pub fn sample(&mut self, event: &Event<'_>) {
        let Some(rtt) = event.rtt_us() else { return };
        let rtt = rtt + 1;
        self.base = self.base.min(rtt);
        self.min = self.min.min(rtt);
        self.samples = self.samples.saturating_add(1);
    }

    /// A round begins: its samples are counted from here.
    pub fn begin_round(&mut self, sent: u64) {
        self.round_end = sent;
        self.forget_round();
    }

    /// The path may be another one after a pause; the round goes on.
    pub fn forget(&mut self) {
        *self = VegasRtt { round_end: self.round_end, ..VegasRtt::default() };
    }

    pub fn forget_round(&mut self) {
        (self.min, self.samples) = (NO_RTT, 0);
    }

    pub fn forget_min(&mut self) {
        self.min = NO_RTT;
    }
}
