//! The sender's own clock, as its time stamps show it (RFC 7323, section 4.1: one tick in 1 ms to 1 s; newer hosts also use microseconds).

use super::moment::Moment;
use super::seq::ahead;
use crate::compact::compact;

/// Ticks that hosts use, nanoseconds.
const TICKS: [i64; 5] = [1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000];
/// A tick is taken as one of the above when the stamps ran within an eighth of it over at least a second.
const CLOSE: i64 = 8;
const LONG_ENOUGH: i64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, Default)]
pub struct StampClock {
    first: u32,
    first_at: Moment,
    last: u32,
    last_step: i32,
    /// Seen: none, one, or more.
    stamps: u8,
    /// Nanoseconds; zero while it is not known.
    tick: u32,
}

compact!(StampClock { first, first_at, last, last_step, stamps, tick });

impl StampClock {
    /// A packet with this stamp passed.
    #[inline]
    pub fn passed(&mut self, value: u32, now: i64) {
        self.stamps = (self.stamps + 1).min(2);
        let Some(at) = self.first_at.get() else {
            (self.first, self.last) = (value, value);
            return self.first_at.set(now);
        };
        self.last_step = ahead(self.last, value);
        self.last = value;
        if self.tick == 0 && now - at >= LONG_ENOUGH {
            let ticks = i64::from(ahead(self.first, value)).max(1);
            let found = TICKS.into_iter().find(|&tick| ((now - at) / ticks - tick).abs() < tick / CLOSE);
            // Neither: looked at again a second later.
            match found {
                Some(tick) => self.tick = tick as u32,
                None => {
                    self.first = value;
                    self.first_at.set(now);
                }
            }
        }
    }

    /// By how much the last stamp was above the one before; one if there was none before.
    pub fn step(&self) -> i32 {
        if self.stamps > 1 { self.last_step } else { 1 }
    }

    /// One tick, nanoseconds; zero while it is not known.
    pub fn tick(&self) -> i64 {
        i64::from(self.tick)
    }

    /// How long the sender had sent nothing before its last packet; none while the tick is not known.
    pub fn pause(&self) -> Option<i64> {
        (self.tick > 0 && self.last_step >= 0).then(|| i64::from(self.last_step) * i64::from(self.tick))
    }
}

#[cfg(test)]
mod tests {
    use super::StampClock;

    #[test]
    fn a_millisecond_clock_is_recognised_and_measures_the_senders_pauses() {
        let mut clock = StampClock::default();
        for ms in 0..1200u32 {
            clock.passed((u32::MAX - 50).wrapping_add(ms), i64::from(ms) * 1_000_300);
        }
        // Sent 400 ms later, but right behind the others at the capture.
        clock.passed((u32::MAX - 50).wrapping_add(1599), 1_200_500_000);
        assert_eq!(clock.pause(), Some(400_000_000));
    }
}
