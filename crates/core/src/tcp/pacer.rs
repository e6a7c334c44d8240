//! When the next segment may leave, where a window is spread over the round trip instead of sent in bursts (as Linux does it inside
//! TCP since 4.13, without its bunching of segments).

use crate::units::{Span, Time};

/// Linux's `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`: room to double in slow start, and to probe after.
const SLOW_START_FACTOR: f64 = 2.0;
const AVOIDANCE_FACTOR: f64 = 1.2;

#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    next: Time,
    /// Segments may go back to back up to so many; 0 spreads them evenly.
    burst: u32,
    /// Those that have gone at `at`.
    gone: u32,
    at: Time,
}

/// The pace of a window-based variant, in segments a second.
pub fn window_rate(cwnd: f64, srtt: Span, slow_start: bool) -> f64 {
    (if slow_start { SLOW_START_FACTOR } else { AVOIDANCE_FACTOR }) * cwnd / srtt.as_secs()
}

impl Pacer {
    /// Bursts of so many segments at most, at the mean rate where the window allows more (`asymmetry`, sender adaptation).
    pub fn in_bursts(burst: u32) -> Pacer {
        Pacer { burst, ..Pacer::default() }
    }
    pub fn bursts(self) -> bool {
        self.burst > 0
    }

    pub fn next(self) -> Time {
        self.next
    }

    /// A segment left at `now`, at `rate` segments a second. One that left late gives up to half its gap back, so that the mean
    /// rate holds without bursts.
    pub fn on_send(&mut self, now: Time, rate: f64) {
        if self.burst > 0 {
            return self.count(now, rate);
        }
        let gap = if rate > 0.0 { Span::from_secs_f64(1.0 / rate) } else { Span::MAX };
        let earliest = Time(now.0.saturating_sub(gap.0 / 2));
        self.next = self.next.max(earliest) + gap;
    }

    /// The last of a burst sets the time of the next one: burst*srtt/cwnd later.
    fn count(&mut self, now: Time, rate: f64) {
        if now > self.at {
            (self.at, self.gone) = (now, 0);
        }
        self.gone += 1;
        if self.gone >= self.burst && rate > 0.0 {
            self.next = now + Span::from_secs_f64(f64::from(self.burst) / rate);
        }
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

    /// Three back to back at 1000 a second: the next after 3 ms; one alone is not followed by a pause.
    #[test]
    fn a_burst_is_followed_by_its_share_of_the_round_trip() {
        let mut pacer = Pacer::in_bursts(3);
        let start = Time::ZERO + Span::from_secs(1);
        for _ in 0..2 {
            pacer.on_send(start, 1000.0);
            assert!(pacer.next() <= start);
        }
        pacer.on_send(start, 1000.0);
        assert_eq!(pacer.next(), start + Span::from_ms(3));
        let later = start + Span::from_ms(10);
        pacer.on_send(later, 1000.0);
        assert!(pacer.next() <= later);
    }

    #[test]
    fn a_window_is_spread_with_room_to_grow() {
        assert!((window_rate(10.0, Span::from_ms(100), true) - 200.0).abs() < 1e-9);
        assert!((window_rate(10.0, Span::from_ms(100), false) - 120.0).abs() < 1e-9);
    }
}
