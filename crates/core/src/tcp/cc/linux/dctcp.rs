//! DCTCP: `tcp_dctcp.c`. alpha in 1024ths; a loss halves the window.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW};
use crate::tcp::cc::{Ack, CongestionSignal, EcnResponse};

/// 1 in alpha (`DCTCP_MAX_ALPHA`), and the shift of g (`dctcp_shift_g`).
const ONE: u32 = 1 << 10;
const GAIN_SHIFT: u32 = 4;

#[derive(Clone, Copy, Debug)]
pub struct DctcpControl {
    alpha: u32,
    delivered: u64,
    /// May be a part of a segment: AccECN counts bytes.
    marked: f64,
    round_end: u64,
}

impl Default for DctcpControl {
    fn default() -> DctcpControl {
        DctcpControl { alpha: ONE, delivered: 0, marked: 0.0, round_end: 0 }
    }
}

impl LinuxControl for DctcpControl {
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Share
    }

    fn init(&mut self, _window: &mut LinuxWindow, event: &Event<'_>) {
        self.round_end = event.ack.sent;
    }

    /// `dctcp_update_alpha()`: alpha falls by at least one step per RTT, so that it becomes 0.
    fn on_marks(&mut self, ack: &Ack) {
        self.delivered += u64::from(ack.delivered);
        self.marked += ack.marked;
        if ack.acked_total < self.round_end {
            return;
        }
        let decay = self.alpha >> GAIN_SHIFT;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        let marked = self.marked as u64;
        if marked > 0 {
            let share = (marked << (10 - GAIN_SHIFT)) / self.delivered.max(1);
            self.alpha = (u64::from(self.alpha) + share).min(u64::from(ONE)) as u32;
        }
        (self.delivered, self.marked, self.round_end) = (0, 0.0, ack.sent);
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        window.reno_cong_avoid(event.ack);
    }

    /// `dctcp_ssthresh()`; `dctcp_react_to_loss()` after a loss.
    fn ssthresh(&mut self, window: &LinuxWindow, cut: &Cut) -> u32 {
        if cut.signal != CongestionSignal::Ecn {
            return cut.half();
        }
        let reduction = (u64::from(window.cwnd) * u64::from(self.alpha)) >> 11;
        (window.cwnd - reduction as u32).max(MIN_WINDOW)
    }
}
