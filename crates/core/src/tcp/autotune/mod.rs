//! Autotuning of socket buffers (Linux since 2.6): the receive buffer grows with what the
//! application reads per RTT (dynamic right-sizing, Fisk and Feng 2001), the send buffer with cwnd
//! (Semke, Mahdavi and Mathis 1998).

mod receive_buffer;
mod round_trip;
mod socket_memory;

pub use receive_buffer::RcvBufTuner;
pub use socket_memory::SocketMemory;

use serde::{Deserialize, Serialize};

/// Autotuning of a receive buffer. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveTuning {
    /// Initial size.
    pub start: u32,
    /// Maximum size.
    #[serde(skip)]
    pub limit: u32,
    /// Share of the buffer that is advertised; the rest is for headers and metadata.
    pub share: f64,
    /// Initial window; it grows by two segments per in-order segment, as far as the buffer allows.
    pub opening: u32,
    #[serde(default)]
    pub growth: WindowGrowth,
    /// Buffer bytes that a segment takes beside its payload: the first segment determines the share
    /// that windows may use (Linux since 6.5). None: `share` stays.
    #[serde(default)]
    pub overhead: Option<u32>,
}

/// Growth of a receive buffer with the bytes read per RTT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowGrowth {
    /// Twice the bytes read (Linux 2.6; Fisk and Feng 2001).
    #[default]
    Double,
    /// Only above the previous maximum: twice the bytes read and 16 segments, and twice the
    /// relative increase on top, so that a sender in slow start never waits (Linux since 3.12).
    Lead,
    /// As `Lead`, without the 16 segments, and with out-of-order data; the RTT is the minimum,
    /// sampled once per echoed ACK (Linux since 6.16: "always seek for minimal rtt", "adjust rcvbuf
    /// in presence of reorders", "fix sk_rcvbuf overshoot").
    Near,
}

impl ReceiveTuning {
    /// The window of a buffer of this size, at least one byte.
    pub fn window(&self, buffer: u32) -> u32 {
        ((f64::from(buffer) * self.share) as u32).max(1)
    }

    /// The share of payload in a buffer full of segments of this size.
    pub fn by_size(&self, segment: u32) -> ReceiveTuning {
        let share =
            self.overhead.map_or(self.share, |overhead| f64::from(segment) / f64::from(segment.saturating_add(overhead).max(1)));
        ReceiveTuning { share, ..*self }
    }

    /// The largest window after all growth.
    pub fn largest_window(&self, segment: u32) -> u32 {
        self.window(self.limit).max(self.by_size(segment).window(self.limit))
    }
}

/// Autotuning of a send buffer. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SendTuning {
    pub start: u64,
    pub limit: u64,
    /// Buffer bytes that a segment takes beside its payload.
    pub overhead: u32,
}

impl SendTuning {
    /// Payload in a buffer of twice `cwnd` segments.
    pub fn payload(&self, cwnd: f64, segment: u32) -> u64 {
        let each = u64::from(segment + self.overhead);
        let target = (2.0 * libm::floor(cwnd)) as u64 * each;
        // The last segment may start while there is any room: the kernel checks before it copies.
        target.clamp(self.start, self.limit.max(self.start)).div_ceil(each) * u64::from(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn send_buffer_is_twice_cwnd_within_its_limits() {
        let tuning = SendTuning { start: 16_384, limit: 131_072, overhead: 400 };
        // 16384 / 1400 = 11.7: the twelfth segment still starts.
        assert_eq!(tuning.payload(2.0, 1000), 12_000);
        assert_eq!(tuning.payload(10.9, 1000), 20_000);
        assert_eq!(tuning.payload(20.0, 1000), 40_000);
        // 131072 / 1400 = 93.6
        assert_eq!(tuning.payload(1000.0, 1000), 94_000);
    }
}
