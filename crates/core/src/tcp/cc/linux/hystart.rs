//! HyStart as `tcp_cubic.c` has it since 5.16 (`hystart_update()`): it takes part in
//! `pkts_acked`, so it sees the RTT of every ACK in slow start, those of a recovery, too.

use super::{Event, LinuxWindow};

/// `hystart_low_window`, in segments.
const LOW_WINDOW: u32 = 16;
/// `hystart_ack_delta_us`.
const TRAIN_GAP_US: u64 = 2000;
/// `HYSTART_MIN_SAMPLES`.
const SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`.
const RISE_US: (u64, u64) = (4_000, 16_000);
/// Limit of `hystart_ack_delay()`, which is less only above 2 Gb/s.
const TRAIN_SLACK_US: u64 = 1000;

/// Times are in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct HystartRound {
    /// Segments sent when the round began: it ends when a later one is acknowledged.
    end: u64,
    start_us: u64,
    last_ack_us: u64,
    samples: u32,
    min_rtt_us: u64,
}

impl HystartRound {
    /// `bictcp_hystart_reset()`.
    pub fn begin(&mut self, event: &Event<'_>) {
        let now = event.ack.now.0 / super::MICROSECOND;
        *self = HystartRound { end: event.ack.sent, start_us: now, last_ack_us: now, samples: 0, min_rtt_us: u64::MAX };
    }

    /// An ACK in slow start with an RTT of `rtt_us`; `base_us` is the smallest so far. Returns
    /// whether slow start ends.
    pub fn update(&mut self, window: &LinuxWindow, event: &Event<'_>, rtt_us: u64, base_us: u64) -> bool {
        if event.is_after(self.end) {
            self.begin(event);
        }
        if window.cwnd < LOW_WINDOW {
            return false;
        }
        let train = self.train_is_long(event.ack.now.0 / super::MICROSECOND, base_us);
        let delay = self.delay_has_risen(rtt_us, base_us);
        train || delay
    }

    /// ACKs at most 2 ms apart have arrived for half of the smallest RTT. A gap of 2 ms to the
    /// microsecond is longer on a host, which takes time to process each ACK.
    fn train_is_long(&mut self, now_us: u64, base_us: u64) -> bool {
        if now_us - self.last_ack_us >= TRAIN_GAP_US {
            return false;
        }
        self.last_ack_us = now_us;
        now_us - self.start_us > (base_us + TRAIN_SLACK_US) >> 1
    }

    /// From the ninth sample on: the smallest of the round exceeds the smallest of all by an eighth.
    fn delay_has_risen(&mut self, rtt_us: u64, base_us: u64) -> bool {
        self.min_rtt_us = self.min_rtt_us.min(rtt_us);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.min_rtt_us > base_us + (base_us >> 3).clamp(RISE_US.0, RISE_US.1)
    }
}
