//! The RTT as a receiver of data can measure it.

use crate::units::{Span, Time};

/// Gain of the RTT estimate by timestamps: 1/8, as for SRTT.
const RTT_GAIN: u64 = 8;

/// RTT at the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    time: Option<Span>,
    by_echo: bool,
    /// TSecr of the last sample.
    echoed: u32,
    /// Start of the window being measured, and its end.
    window: Option<(Time, u64)>,
}

impl RoundTrip {
    pub fn time(&self) -> Option<Span> {
        self.time
    }

    /// Timestamps give the samples.
    pub fn is_by_echo(&self) -> bool {
        self.by_echo
    }

    /// RTT by the timestamp echo of a data segment. Smoothed, as it includes pauses of the sender.
    pub fn echo(&mut self, rtt: Span) {
        let old = self.time.filter(|_| self.by_echo).unwrap_or(rtt);
        self.by_echo = true;
        self.time = Some(Span(old.0 - old.0 / RTT_GAIN + rtt.0 / RTT_GAIN));
    }

    /// As `echo`, but a smaller sample counts at once, a larger one only if no data waits for the
    /// application (`unread`), and only the first segment of each echo is sampled: later ones waited
    /// for it (Linux since 6.16, `tcp_rcv_rtt_update()`).
    pub fn first_echo(&mut self, rtt: Span, timestamp: u32, unread: bool) {
        if self.by_echo && timestamp == self.echoed {
            return;
        }
        self.echoed = timestamp;
        match self.time.filter(|_| self.by_echo) {
            Some(min) if rtt >= min => {
                if !unread {
                    self.echo(rtt);
                }
            }
            _ => (self.time, self.by_echo) = (Some(rtt), true),
        }
    }

    /// Without timestamps: data beyond a window's edge was sent after a later ACK, so a window
    /// takes an RTT; the minimum counts.
    pub fn arrival(&mut self, now: Time, next: u64, edge: u64) {
        if let Some((since, end)) = self.window {
            if next <= end {
                return;
            }
            let took = now - since;
            self.time = Some(self.time.map_or(took, |min| min.min(took)));
        }
        self.window = Some((now, edge));
    }
}
