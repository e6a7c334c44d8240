//! The encoder: frames at a constant rate whose sizes follow the target rate, and key frames.
//!
//! A frame has the bytes of the target rate in one frame interval. A key frame has five times as many, and the
//! frames behind it are a fifth smaller until that is paid. There is a key frame at the start and when the
//! receiver asks for one. Real encoders also vary by their content.

use crate::units::{Span, Time};

const KEY_FRAME_FACTOR: f64 = 5.0;
const REPAYMENT: f64 = 0.2;

#[derive(Debug, Clone)]
pub(super) struct Encoder {
    interval: Span,
    next: Time,
    stop: Time,
    /// Bytes of key frames beyond the mean.
    debt: f64,
    wants_key: bool,
}

impl Encoder {
    pub(super) fn new(frame_rate: u32, start: Time, stop: Time) -> Encoder {
        let interval = Span(Span::from_secs(1).0 / u64::from(frame_rate.max(1)));
        Encoder { interval, next: start, stop, debt: 0.0, wants_key: true }
    }

    pub(super) fn request_key(&mut self) {
        self.wants_key = true;
    }

    pub(super) fn due(&self) -> Time {
        if self.next < self.stop { self.next } else { Time::NEVER }
    }

    /// The next frame at the target rate, if it is due: its bytes with headers, and whether it is a key frame.
    pub(super) fn frame(&mut self, now: Time, target_bps: f64) -> Option<(u64, bool)> {
        if self.due() > now {
            return None;
        }
        self.next += self.interval;
        let mean = target_bps * self.interval.as_secs() / 8.0;
        let is_key = std::mem::take(&mut self.wants_key);
        let bytes = if is_key {
            self.debt += (KEY_FRAME_FACTOR - 1.0) * mean;
            KEY_FRAME_FACTOR * mean
        } else {
            let paid = self.debt.min(REPAYMENT * mean);
            self.debt -= paid;
            mean - paid
        };
        Some((bytes.round().max(1.0) as u64, is_key))
    }

    /// Leaves out the frame that is due: the pacer is behind.
    pub(super) fn skip(&mut self, now: Time) -> bool {
        let is_due = self.due() <= now;
        if is_due {
            self.next += self.interval;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_frame_is_paid_by_those_behind_it() {
        let mut encoder = Encoder::new(25, Time::ZERO, Time::NEVER);
        let mut frame = || {
            let now = encoder.due();
            encoder.frame(now, 1e6).unwrap()
        };
        // 5000 B a frame: 25,000 B, and 20 frames with 1000 B less.
        assert_eq!(frame(), (25_000, true));
        let sizes: Vec<u64> = (0..21).map(|_| frame().0).collect();
        assert_eq!((sizes[..20].to_vec(), sizes[20]), (vec![4000; 20], 5000));
        assert_eq!(25_000 + sizes[..20].iter().sum::<u64>(), 21 * 5000);
    }

    #[test]
    fn frames_come_at_their_interval_until_the_stop() {
        let mut encoder = Encoder::new(25, Time::ZERO, Time::ZERO + Span::from_ms(80));
        assert!(encoder.frame(Time::ZERO, 1e6).is_some() && encoder.frame(Time::ZERO, 1e6).is_none());
        assert_eq!(encoder.due(), Time::ZERO + Span::from_ms(40));
        assert!(encoder.skip(Time::ZERO + Span::from_ms(40)));
        assert_eq!(encoder.due(), Time::NEVER);
    }
}
