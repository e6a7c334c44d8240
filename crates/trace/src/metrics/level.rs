//! A quantity that stays until it changes: its mean over time, its largest value.

use crate::compact::compact;

#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    /// Times nanoseconds.
    area: f64,
    max: u32,
    /// Where it has settled: what it last rose to by more than the band.
    settled: u32,
}

compact!(Level { area, max, settled });

/// How a level stands to where it has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settling {
    /// It has risen: what was settled before is so no more.
    Risen,
    Settled,
    Below,
}

impl Level {
    /// The level was `value` for `ns` nanoseconds.
    #[inline]
    pub fn held(&mut self, value: u32, ns: i64) {
        self.area += f64::from(value) * ns as f64;
    }

    /// The level reached `value`, for however short a time.
    #[inline]
    pub fn reached(&mut self, value: u32) {
        self.max = self.max.max(value);
    }

    /// Whether `value` stays within `band` of where the level settled: one that goes on rising, as in slow start, is its own highest
    /// all the time and never settles.
    #[inline]
    pub fn settling(&mut self, value: u32, band: u32) -> Settling {
        if value > self.settled.saturating_add(band) {
            self.settled = value;
            Settling::Risen
        } else if value.saturating_add(band) >= self.settled {
            Settling::Settled
        } else {
            Settling::Below
        }
    }

    /// Over so many nanoseconds in which it was held.
    pub fn mean(&self, held: i64) -> Option<f64> {
        (held > 0).then(|| self.area / held as f64)
    }

    pub fn max(&self) -> u32 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, Settling};

    #[test]
    fn a_level_that_goes_on_rising_never_settles_and_one_that_stops_does() {
        let mut level = Level::default();
        assert!((1..50).all(|step| level.settling(step * 1000, 900) == Settling::Risen));
        assert!([49_000, 48_200, 49_800].into_iter().all(|value| level.settling(value, 900) == Settling::Settled));
        assert_eq!(level.settling(48_000, 900), Settling::Below);
        assert_eq!(level.settling(60_000, 900), Settling::Risen);
    }
}
