//! Hybla: `tcp_hybla.c`. It begins with rho segments, in slow start and congestion avoidance grows
//! per ACK, not per segment, and in states other than Open as Reno.

use super::{Cut, Event, LinuxControl, LinuxWindow, micros};
use crate::tcp::info::CaState;

/// RTT_0 in microseconds, an eighth of it is the unit of rho.
const REFERENCE_US: u64 = 25_000;
/// `srtt_us` holds eight times this.
const MAX_SRTT_US: u64 = (u32::MAX >> 3) as u64;
/// 1 in increments.
const ONE: u64 = 1 << 7;
/// Maximum of rho in slow start.
const MAX_RHO: u64 = 16;

#[derive(Clone, Copy, Debug, Default)]
pub struct HyblaControl {
    /// rho in eighths; 0 before the first RTT.
    rho_eighths: u64,
    /// Smallest SRTT in microseconds.
    min_srtt_us: Option<u64>,
    /// Fraction of a segment, in 128ths.
    fraction: u64,
    /// The state is not Open: Reno.
    as_reno: bool,
}

/// 2^(eighths/8), in 128ths, rounded down.
fn power_of_two(eighths: u64) -> u64 {
    libm::floor(libm::exp2(eighths as f64 / 8.0) * ONE as f64) as u64
}

impl HyblaControl {
    /// `hybla_recalc_param()`.
    fn set_rho(&mut self, srtt_us: u64) {
        self.rho_eighths = (8 * srtt_us.min(MAX_SRTT_US) / REFERENCE_US).max(8);
    }

    fn rho(&self) -> u64 {
        self.rho_eighths >> 3
    }
}

impl LinuxControl for HyblaControl {
    /// `hybla_init()`: cwnd is rho.
    fn init(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        self.min_srtt_us = event.ack.srtt.map(micros);
        self.set_rho(self.min_srtt_us.unwrap_or(0));
        window.cwnd = self.rho() as u32;
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        let srtt = event.ack.srtt.map(micros);
        if let Some(srtt) = srtt.filter(|&srtt| self.min_srtt_us.is_none_or(|min| srtt < min)) {
            self.set_rho(srtt);
            self.min_srtt_us = Some(srtt);
        }
        if self.as_reno {
            return window.reno_cong_avoid(event.ack);
        }
        if !event.ack.cwnd_limited {
            return;
        }
        let slow_start = window.cwnd < window.ssthresh;
        let increment = if slow_start {
            (1 << self.rho().min(MAX_RHO)) * power_of_two(self.rho_eighths & 7) - ONE
        } else {
            2 * self.rho_eighths * self.rho_eighths / u64::from(window.cwnd)
        };
        if !slow_start && increment < ONE {
            window.count += 1;
        }
        let grown = u32::try_from(increment / ONE).unwrap_or(u32::MAX);
        window.cwnd = window.cwnd.saturating_add(grown);
        self.fraction += increment % ONE;
        while self.fraction >= ONE {
            window.cwnd = window.cwnd.saturating_add(1);
            self.fraction -= ONE;
            window.count = 0;
        }
        if increment == 0 && window.count >= window.cwnd {
            window.cwnd += 1;
            window.count = 0;
        }
        if slow_start {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
    }

    fn ssthresh(&mut self, _window: &LinuxWindow, cut: &Cut) -> u32 {
        cut.half()
    }

    fn set_state(&mut self, _window: &mut LinuxWindow, state: CaState, _event: &Event<'_>) {
        self.as_reno = state != CaState::Open;
    }
}
