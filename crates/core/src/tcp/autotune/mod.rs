//! How socket buffers grow by themselves, as in Linux since 2.6: the receiver's with what the application reads in a round trip
//! (dynamic right-sizing, Fisk and Feng 2001), the sender's with its window (Semke, Mahdavi and Mathis 1998).

mod receive_buffer;

pub use receive_buffer::RcvBufTuner;

/// A receive buffer that grows. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiveTuning {
    /// The buffer at the start.
    pub start: u32,
    /// The most it grows to.
    pub limit: u32,
    /// The part of the buffer that is advertised: the rest is for headers and bookkeeping.
    pub share: f64,
    /// The window at the start; it opens by two segments for each that arrives in order, as far as the buffer allows.
    pub opening: u32,
    pub growth: WindowGrowth,
    /// What a segment takes in the buffer beside its payload: the first says what share of it windows may promise (Linux since 6.5).
    /// None: `share` stays.
    pub overhead: Option<u32>,
}

/// How far a receive buffer grows with what the application has read in a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowGrowth {
    /// Twice that (Linux 2.6; Fisk and Feng 2001).
    Double,
    /// Only when it is more than ever before: twice that and 16 segments, and twice over by as much as it is more, so that a sender in
    /// slow start never waits (Linux since 3.12).
    Lead,
    /// As `Lead`, without the 16 segments, and with what waits out of order; the round trip is the least seen, timed once for each ACK
    /// that is echoed (Linux since 6.16: "always seek for minimal rtt", "adjust rcvbuf in presence of reorders", "fix sk_rcvbuf overshoot").
    Near,
}

impl ReceiveTuning {
    /// What a buffer of this size lets the receiver advertise: a byte at least, or nothing would ever come.
    pub fn window(&self, buffer: u32) -> u32 {
        ((f64::from(buffer) * self.share) as u32).max(1)
    }

    /// The share of the buffer that is payload when it is full of segments with so much.
    pub fn by_size(&self, segment: u32) -> ReceiveTuning {
        let share =
            self.overhead.map_or(self.share, |overhead| f64::from(segment) / f64::from(segment.saturating_add(overhead).max(1)));
        ReceiveTuning { share, ..*self }
    }

    /// The largest window that it will ever come to.
    pub fn largest_window(&self, segment: u32) -> u32 {
        self.window(self.limit).max(self.by_size(segment).window(self.limit))
    }
}

/// A send buffer that grows. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendTuning {
    pub start: u64,
    pub limit: u64,
    /// What a segment takes in the buffer beside its payload.
    pub overhead: u32,
}

impl SendTuning {
    /// Payload that a buffer holds which has grown to twice this window (in segments): the window itself and its successor.
    pub fn payload(&self, cwnd: f64, segment: u32) -> u64 {
        let each = u64::from(segment + self.overhead);
        let wanted = (2.0 * libm::floor(cwnd)) as u64 * each;
        // The last segment may start while there is any room, as a kernel that counts before it copies lets it.
        wanted.clamp(self.start, self.limit.max(self.start)).div_ceil(each) * u64::from(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_send_buffer_is_twice_the_window_between_its_bounds() {
        let tuning = SendTuning { start: 16_384, limit: 131_072, overhead: 400 };
        // 16384 / 1400 = 11.7: the twelfth segment still begins.
        assert_eq!(tuning.payload(2.0, 1000), 12_000);
        assert_eq!(tuning.payload(10.9, 1000), 20_000);
        assert_eq!(tuning.payload(20.0, 1000), 40_000);
        // 131072 / 1400 = 93.6
        assert_eq!(tuning.payload(1000.0, 1000), 94_000);
    }
}
