//! TCP-LP: `tcp_lp.c`. One-way delays are differences of timestamps in 32 bits, and the smoothed one
//! is kept times eight in as many, so with most pairs of hosts it overflows and LP is Reno.

use super::{Cut, Event, LinuxControl, LinuxWindow};
use crate::packet::Timestamps;

/// Ticks of the timestamp clock per second (`TCP_TS_HZ`).
const TIMESTAMP_HZ: u32 = 1000;
/// The threshold of early congestion, in percent of the range of delays.
const THRESHOLD_PERCENT: u32 = 15;
/// The inference phase, in RTTs.
const INFERENCE_RTTS: u32 = 3;
/// Linux adds a random number to the timestamps of each pair of hosts (`secure_tcp_ts_off()`), so a
/// one-way delay is any number of 32 bits, and 29 bits are left of the smoothed one: in seven of
/// eight pairs it lies below every threshold for ever. The difference of the two numbers here is such
/// a one.
const OFFSET: u32 = 0x9e37_79b9;

/// Milliseconds, in 32 bits that wrap.
#[derive(Clone, Copy, Debug)]
pub struct LpControl {
    /// Smoothed one-way delay, times eight.
    smoothed: u32,
    min_delay: u32,
    max_delay: u32,
    max_reserve: u32,
    /// Ticks of the peer's timestamps per second.
    remote_hz: u32,
    /// The last ACK's timestamp and echo; 0 before.
    remote: u32,
    local: u32,
    last_drop: u32,
    inference: u32,
    inferring: bool,
    offset: u32,
}

impl Default for LpControl {
    fn default() -> LpControl {
        LpControl {
            smoothed: 0,
            min_delay: u32::MAX,
            max_delay: 0,
            max_reserve: 0,
            remote_hz: 0,
            remote: 0,
            local: 0,
            last_drop: 0,
            inference: 0,
            inferring: false,
            offset: OFFSET,
        }
    }
}

impl LpControl {
    /// The difference of the hosts' timestamp offsets.
    #[cfg(test)]
    pub fn set_offset(&mut self, offset: u32) {
        self.offset = offset;
    }

    /// `tcp_lp_remote_hz_estimator()`.
    fn estimate_remote_hz(&mut self, value: u32, echo: u32) {
        let mut scaled = i64::from(self.remote_hz) << 6;
        let known = self.remote != 0 && self.local != 0;
        if known && value != self.remote && echo != self.local {
            let ticks = TIMESTAMP_HZ.wrapping_mul(value.wrapping_sub(self.remote));
            let ratio = i64::from(ticks / echo.wrapping_sub(self.local));
            scaled = if scaled > 0 { scaled + ratio - (scaled >> 6) } else { ratio << 6 };
        }
        (self.remote, self.local) = (value, echo);
        self.remote_hz = (scaled >> 6) as u32;
    }

    /// `tcp_lp_owd_calculator()`; None where the kernel's is not valid.
    fn one_way_delay(&mut self, value: u32, echo: u32) -> Option<u32> {
        self.estimate_remote_hz(value, echo);
        if self.remote_hz == 0 {
            return None;
        }
        let delay = value.wrapping_mul(TIMESTAMP_HZ / self.remote_hz).wrapping_sub(echo);
        Some(delay).filter(|&delay| delay > 0)
    }

    /// `tcp_lp_rtt_sample()`: the largest delay is the second largest.
    fn sample(&mut self, delay: u32) {
        self.min_delay = self.min_delay.min(delay);
        if delay > self.max_delay {
            if delay > self.max_reserve {
                self.max_delay = if self.max_reserve == 0 { delay } else { self.max_reserve };
                self.max_reserve = delay;
            } else {
                self.max_delay = delay;
            }
        }
        self.smoothed =
            if self.smoothed == 0 { delay << 3 } else { self.smoothed.wrapping_add(delay.wrapping_sub(self.smoothed >> 3)) };
    }

    fn is_within_threshold(&self) -> bool {
        let range = self.max_delay.wrapping_sub(self.min_delay);
        self.smoothed >> 3 <= self.min_delay.wrapping_add(THRESHOLD_PERCENT.wrapping_mul(range) / 100)
    }
}

impl LinuxControl for LpControl {
    /// `tcp_lp_pkts_acked()`.
    fn pkts_acked(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        let now = (event.ack.now.0 / 1_000_000_000) as u32;
        let timestamps = event.ack.timestamps;
        if let Some(Timestamps { value, echo }) = timestamps
            && event.rtt_us().is_some_and(|rtt| rtt > 0)
            && let Some(delay) = self.one_way_delay(value.wrapping_add(self.offset), echo)
        {
            self.sample(delay);
        }
        let age = timestamps.map_or(0, |option| now.wrapping_sub(option.echo)) as i32;
        if age > 0 {
            self.inference = INFERENCE_RTTS.wrapping_mul(age as u32);
        }
        self.inferring = self.last_drop != 0 && now.wrapping_sub(self.last_drop) < self.inference;
        if self.is_within_threshold() {
            return;
        }
        self.min_delay = self.smoothed >> 3;
        self.max_delay = self.smoothed >> 2;
        self.max_reserve = self.smoothed >> 2;
        window.cwnd = if self.inferring { 1 } else { (window.cwnd >> 1).max(1) };
        self.last_drop = now;
    }

    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        if !self.inferring {
            window.reno_cong_avoid(event.ack);
        }
    }

    fn ssthresh(&mut self, _window: &LinuxWindow, cut: &Cut) -> u32 {
        cut.half()
    }
}
