//! When a timer of Linux expires: at a tick, and as late as the timer wheel's granularity
//! (kernel/time/timer.c).

use super::config::TcpConfig;
use super::linux_rules::LinuxRule;
use crate::units::{Span, Time};

/// Ticks that the first level of the wheel spans, the factor between levels as a shift, and the shift
/// of the last level.
const FIRST_LEVEL: u64 = 63;
const LEVEL_SHIFT: u32 = 3;
const MAX_SHIFT: u32 = 24;

/// A host's clock of timers.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimerWheel {
    tick: Span,
    /// The wheel's levels delay a timer; otherwise it expires at the next tick.
    has_levels: bool,
}

impl TimerWheel {
    pub fn new(config: &TcpConfig) -> TimerWheel {
        TimerWheel { tick: config.rto_tick, has_levels: config.linux_rules.has(LinuxRule::TimerWheel) }
    }

    /// When a timer of `wait`, set now, expires; never earlier.
    ///
    /// With levels: ticks count from the last one, and a level adds up to its granularity, 1, 8, 64 ..
    /// ticks (`calc_index()`), a tick for each 8 to 63 of `wait`.
    pub fn expiry(self, now: Time, wait: Span) -> Time {
        let tick = self.tick.0;
        if tick == 0 {
            return now + wait;
        }
        if !self.has_levels {
            return Time((now + wait).0.div_ceil(tick).saturating_mul(tick));
        }
        let ticks = wait.0.div_ceil(tick);
        let expires = (now.0 / tick).saturating_add(ticks);
        let mut shift = 0;
        while shift < MAX_SHIFT && ticks >= FIRST_LEVEL << shift {
            shift += LEVEL_SHIFT;
        }
        Time((((expires >> shift) + 1) << shift).saturating_mul(tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    const WHEEL: TimerWheel = TimerWheel { tick: Span::from_ms(4), has_levels: true };

    #[test]
    fn timer_below_63_ticks_expires_a_tick_after_its_time() {
        assert_eq!(WHEEL.expiry(at(8), Span::from_ms(200)), at(212));
        assert_eq!(WHEEL.expiry(at(9), Span::from_ms(200)), at(212), "ticks count from the last one");
    }

    #[test]
    fn timer_of_63_ticks_and_more_waits_for_a_multiple_of_8() {
        // Tick 65 lies between 64 and 72; 72 itself waits for 80.
        assert_eq!(WHEEL.expiry(at(0), Span::from_ms(260)), at(72 * 4));
        assert_eq!(WHEEL.expiry(at(0), Span::from_ms(288)), at(80 * 4));
        // From 504 ticks on 64.
        assert_eq!(WHEEL.expiry(at(0), Span::from_ms(504 * 4)), at(512 * 4));
    }

    #[test]
    fn timer_never_expires_early() {
        for has_levels in [false, true] {
            let wheel = TimerWheel { has_levels, ..WHEEL };
            for wait in (1..5000).map(|tenth| Span::from_us(tenth * 100)) {
                for now in [at(0), at(1), at(3), at(4)] {
                    let expiry = wheel.expiry(now, wait);
                    assert!(expiry >= now + wait && expiry <= now + wait + Span(wait.0 / 7) + Span::from_ms(8));
                }
            }
        }
    }

    #[test]
    fn timer_without_levels_expires_at_the_next_tick() {
        let plain = TimerWheel { has_levels: false, ..WHEEL };
        assert_eq!(plain.expiry(at(2), Span::from_ms(300)), at(304));
        assert_eq!(plain.expiry(at(4), Span::from_ms(300)), at(304));
        assert_eq!(TimerWheel::default().expiry(at(1), Span(7)), at(1) + Span(7));
    }
}
