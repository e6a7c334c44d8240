//! When the next segment may leave, where a window is spread over the round trip instead of sent in bursts (as Linux does it inside
//! TCP since 4.13, without its bunching of segments).

use crate::units::{Span, Time};

/// Linux's `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`: room to double in slow start, and to probe after.
const SLOW_START_FACTOR: f64 = 2.0;
const AVOIDANCE_FACTOR: f64 = 1.2;

#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    next: Time,
}

/// The pace of a window-based variant, in segments a second.
pub fn window_rate(cwnd: f64, srtt: Span, slow_start: bool) -> f64 {
    (if slow_start { SLOW_START_FACTOR } else { AVOIDANCE_FACTOR }) * cwnd / srtt.as_secs()
}

impl Pacer {
    pub fn next(self) -> Time {
        self.next
    }

    /// A segment left at `now`, at `rate` segments a second. One that left late gives up to half its gap back, so that the mean
    /// rate holds without bursts.
    pub fn on_send(&mut self, now: Time, rate: f64) {
        let gap = if rate > 0.0 { Span::from_secs_f64(1.0 / rate) } else { Span::MAX };
        let earliest = Time(now.0.saturating_sub(gap.0 / 2));
        self.next = self.next.max(earliest) + gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_leave_at_the_rate_and_a_late_one_makes_up_half_a_gap() {
        let mut pacer = Pacer::default();
        let start = Time::ZERO + Span::from_secs(1);
        pacer.on_send(start, 1000.0);
        assert_eq!(pacer.next(), start + Span::from_us(500));
        pacer.on_send(pacer.next(), 1000.0);
        assert_eq!(pacer.next(), start + Span::from_us(1500));
        let late = pacer.next() + Span::from_ms(50);
        pacer.on_send(late, 1000.0);
        assert_eq!(pacer.next(), late + Span::from_us(500));
    }

    #[test]
    fn a_window_is_spread_with_room_to_grow() {
        assert!((window_rate(10.0, Span::from_ms(100), true) - 200.0).abs() < 1e-9);
        assert!((window_rate(10.0, Span::from_ms(100), false) - 120.0).abs() < 1e-9);
    }
}
