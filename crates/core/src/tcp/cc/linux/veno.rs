//! Veno: `tcp_veno.c`. The queue is estimated in half segments from the minimum RTT since the last
//! ACK.

use super::vegas_rtt::VegasRtt;
use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW, share_of};
use crate::tcp::info::CaState;

/// Queued half segments from which the path counts as congested: 3 segments.
const BETA: u64 = 3 << 1;
const FEW_SAMPLES: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub struct VenoControl {
    rtt: VegasRtt,
    /// The state is not Open.
    as_reno: bool,
    /// The next segment of growth is due while congested: one in two RTTs.
    grows: bool,
    /// Queued half segments (`diff`).
    queued: u64,
}

impl Default for VenoControl {
    fn default() -> VenoControl {
        VenoControl { rtt: VegasRtt::default(), as_reno: false, grows: true, queued: 0 }
    }
}

impl VenoControl {
    fn grow(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        let cwnd = u64::from(window.cwnd);
        self.queued = (cwnd << 1) - ((cwnd * self.rtt.base) << 1) / self.rtt.min;
        let Some(credit) = window.avoidance_credit(event.ack) else { return };
        if self.queued < BETA {
            window.cong_avoid_ai(window.cwnd, credit);
        } else if window.count >= window.cwnd {
            window.cwnd += u32::from(self.grows);
            self.grows = !self.grows;
            window.count = 0;
        } else {
            window.count = window.count.saturating_add(credit);
        }
    }
}

impl LinuxControl for VenoControl {
    fn pkts_acked(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.rtt.sample(event);
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if self.as_reno {
            return window.reno_cong_avoid(event.ack);
        }
        if !event.ack.cwnd_limited {
            return window.observe(event.ack);
        }
        if self.rtt.samples <= FEW_SAMPLES {
            window.reno_cong_avoid(event.ack);
        } else {
            self.grow(window, event);
            window.cwnd = window.cwnd.max(2);
        }
        self.rtt.forget_min();
    }

    /// `tcp_veno_ssthresh()`: a fifth less, or half while congested.
    fn ssthresh(&mut self, window: &LinuxWindow, cut: &Cut) -> u32 {
        if self.queued < BETA { share_of(window.cwnd, 4, 5).max(MIN_WINDOW) } else { cut.half() }
    }

    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, _event: &Event<'_>) {
        self.as_reno = state != CaState::Open;
        if !self.as_reno {
            self.rtt.forget_min();
        }
    }

    fn tx_start(&mut self, _window: &LinuxWindow, _now: u64, _idle: u64) {
        self.rtt = VegasRtt { samples: self.rtt.samples, ..VegasRtt::default() };
        (self.as_reno, self.grows) = (false, true);
    }
}
