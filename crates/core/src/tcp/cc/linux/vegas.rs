//! Vegas: `tcp_vegas.c`. A round's minimum RTT decides, in whole segments; in states other than Open
//! it is Reno.

use super::vegas_rtt::VegasRtt;
use super::{Cut, Event, LinuxControl, LinuxWindow};
use crate::tcp::info::CaState;

/// Segments queued: below `ALPHA` the window grows, above `BETA` it falls, above `GAMMA` slow start
/// ends.
const ALPHA: u64 = 2;
const BETA: u64 = 4;
const GAMMA: u64 = 1;
/// A round with fewer samples grows like Reno, as ACKs may have been delayed.
const FEW_SAMPLES: u32 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub struct VegasControl {
    rtt: VegasRtt,
    /// The state is not Open.
    as_reno: bool,
}

impl VegasControl {
    /// The adjustment at the end of a round.
    fn end_round(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        let (base, rtt) = (self.rtt.base, self.rtt.min);
        let cwnd = u64::from(window.cwnd);
        let queued = cwnd * (rtt - base) / base;
        if window.in_slow_start() {
            if queued > GAMMA {
                let target = cwnd * base / rtt + 1;
                window.cwnd = window.cwnd.min(target as u32);
                window.ssthresh = reduced_ssthresh(window);
            } else {
                window.slow_start(event.ack, event.ack.growth_credit as u32);
            }
        } else if queued > BETA {
            window.cwnd -= 1;
            window.ssthresh = reduced_ssthresh(window);
        } else if queued < ALPHA {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(2);
        window.ssthresh = window.current_ssthresh();
    }
}

/// `tcp_vegas_ssthresh()`.
fn reduced_ssthresh(window: &LinuxWindow) -> u32 {
    window.ssthresh.min(window.cwnd)
}

impl LinuxControl for VegasControl {
    fn init(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.rtt.begin_round(event.ack.sent);
    }

    fn pkts_acked(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.rtt.sample(event);
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if self.as_reno {
            window.reno_cong_avoid(event.ack);
        } else if event.is_after(self.rtt.round_end) {
            if self.rtt.samples <= FEW_SAMPLES {
                window.reno_cong_avoid(event.ack);
            } else {
                self.end_round(window, event);
            }
            self.rtt.begin_round(event.ack.sent);
        } else if window.in_slow_start() {
            window.slow_start(event.ack, event.ack.growth_credit as u32);
        }
    }

    fn ssthresh(&mut self, _window: &LinuxWindow, cut: &Cut) -> u32 {
        cut.half()
    }

    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, event: &Event<'_>) {
        self.as_reno = state != CaState::Open;
        if !self.as_reno {
            self.rtt.begin_round(event.ack.sent);
        }
    }

    /// `tcp_vegas_cwnd_event()`: the base RTT is measured again.
    fn tx_start(&mut self, _window: &LinuxWindow, _now: u64, _idle: u64) {
        self.rtt.forget();
        self.as_reno = false;
    }
}
