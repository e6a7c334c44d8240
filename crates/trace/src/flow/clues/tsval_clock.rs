//! The sender's clock, by its TSvals (RFC 7323, section 5.4: a tick of 1 ms to 1 s; newer hosts also
//! use microseconds).

use super::super::opt_time::OptTime;
use super::super::seq::seq_diff;
use crate::compact::compact;

/// Ticks of known hosts, nanoseconds.
const TICKS: [i64; 5] = [1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000];
/// Maximum deviation of a measured tick from a known one: one part in this number.
const TOLERANCE: i64 = 8;
/// Minimum duration of a measurement of the tick.
const MIN_SPAN: i64 = 1_000_000_000;
/// A tick of a millisecond, which most hosts have, is known sooner, and with queues that grow or drain
/// by this factor meanwhile: the next longer tick is four times as long.
const COMMON_TICK: i64 = 1_000_000;
const MIN_COMMON_SPAN: i64 = 200_000_000;
const COMMON_TICKS: std::ops::RangeInclusive<i64> = COMMON_TICK * 2 / 3..=COMMON_TICK * 3 / 2;

#[derive(Debug, Clone, Copy)]
pub struct TsvalClock {
    first: u32,
    first_at: OptTime,
    last: u32,
    last_step: i32,
    /// Nanoseconds; zero while unknown.
    tick: u32,
}

compact!(TsvalClock { first, first_at, last, last_step, tick });

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<TsvalClock>() == 24);

impl Default for TsvalClock {
    fn default() -> TsvalClock {
        TsvalClock { first: 0, first_at: OptTime::default(), last: 0, last_step: 1, tick: 0 }
    }
}

impl TsvalClock {
    /// A packet with this TSval passed.
    #[inline]
    pub fn on_packet(&mut self, tsval: u32, now: i64) {
        let Some(at) = self.first_at.get() else {
            (self.first, self.last) = (tsval, tsval);
            return self.first_at.set(now);
        };
        self.last_step = seq_diff(self.last, tsval);
        self.last = tsval;
        if self.tick == 0 && now - at >= MIN_COMMON_SPAN {
            let ticks = i64::from(seq_diff(self.first, tsval)).max(1);
            if now - at < MIN_SPAN {
                if COMMON_TICKS.contains(&((now - at) / ticks)) {
                    self.tick = COMMON_TICK as u32;
                }
                return;
            }
            let known = TICKS.into_iter().find(|&tick| ((now - at) / ticks - tick).abs() < tick / TOLERANCE);
            match known {
                Some(tick) => self.tick = tick as u32,
                // Measured again over the next second.
                None => {
                    self.first = tsval;
                    self.first_at.set(now);
                }
            }
        }
    }

    /// The last TSval minus the previous one; one without a previous one.
    pub fn step(&self) -> i32 {
        self.last_step
    }

    /// Nanoseconds; zero while unknown.
    pub fn tick(&self) -> i64 {
        i64::from(self.tick)
    }

    /// Time between the sender's last two packets by its own clock; none while the tick is unknown.
    pub fn pause(&self) -> Option<i64> {
        (self.tick > 0 && self.last_step >= 0).then(|| i64::from(self.last_step) * i64::from(self.tick))
    }
}

#[cfg(test)]
mod tests {
    use super::TsvalClock;

    #[test]
    fn tick_of_a_millisecond_is_known_after_200_ms_when_a_queue_grows() {
        let tick = |tick_ms: i64, stretched: i64| {
            let mut clock = TsvalClock::default();
            (0..=200 * stretched / 100).for_each(|ms| clock.on_packet((ms * 100 / stretched / tick_ms) as u32, ms * 1_000_000));
            clock.tick()
        };
        assert_eq!((tick(1, 140), tick(1, 160)), (1_000_000, 0));
        assert_eq!((tick(4, 100), tick(10, 100)), (0, 0));
    }

    #[test]
    fn tsval_clock_measures_the_senders_pause_when_the_network_hides_it() {
        let mut clock = TsvalClock::default();
        for ms in 0..1200u32 {
            clock.on_packet((u32::MAX - 50).wrapping_add(ms), i64::from(ms) * 1_000_300);
        }
        // Sent 400 ms later, but captured directly after the others.
        clock.on_packet((u32::MAX - 50).wrapping_add(1599), 1_200_500_000);
        assert_eq!(clock.pause(), Some(400_000_000));
    }
}
