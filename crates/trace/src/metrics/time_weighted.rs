//! A quantity that stays until it changes: its mean over time, its largest value.

use crate::compact::compact;

#[derive(Debug, Clone, Copy, Default)]
pub struct TimeWeighted {
    /// Times nanoseconds.
    area: f64,
    max: u32,
    /// Where it has settled: what it last rose to by more than the band.
    settled: u32,
}

compact!(TimeWeighted { area, max, settled });

/// How a level stands to where it has settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plateau {
    /// It has risen: what was settled before is so no more.
    Risen,
    Settled,
    Below,
}

impl TimeWeighted {
    /// The level was `value` for `ns` nanoseconds.
    #[inline]
    pub fn add(&mut self, value: u32, ns: i64) {
        self.area += f64::from(value) * ns as f64;
    }

    /// The level reached `value`, for however short a time.
    #[inline]
    pub fn update_max(&mut self, value: u32) {
        self.max = self.max.max(value);
    }

    /// Whether `value` stays within `band` of where the level settled: one that goes on rising, as
    /// in slow start, is its own highest all the time and never settles.
    #[inline]
    pub fn plateau(&mut self, value: u32, band: u32) -> Plateau {
        if value > self.settled.saturating_add(band) {
            self.settled = value;
            Plateau::Risen
        } else if value.saturating_add(band) >= self.settled {
            Plateau::Settled
        } else {
            Plateau::Below
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
    use super::{Plateau, TimeWeighted};

    #[test]
    fn a_level_that_goes_on_rising_never_settles_and_one_that_stops_does() {
        let mut level = TimeWeighted::default();
        assert!((1..50).all(|step| level.plateau(step * 1000, 900) == Plateau::Risen));
        assert!([49_000, 48_200, 49_800].into_iter().all(|value| level.plateau(value, 900) == Plateau::Settled));
        assert_eq!(level.plateau(48_000, 900), Plateau::Below);
        assert_eq!(level.plateau(60_000, 900), Plateau::Risen);
    }
}
