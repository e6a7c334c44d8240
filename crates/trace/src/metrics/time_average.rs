//! A piecewise constant quantity: time-weighted mean, maximum, and detection of plateaus.

use crate::compact::compact;

#[derive(Debug, Clone, Copy, Default)]
pub struct TimeAverage {
    /// Sum of value times nanoseconds.
    area: f64,
    max: u32,
    /// Level of the plateau: the last value that exceeded the previous level by more than the band.
    level: u32,
}

compact!(TimeAverage { area, max, level });

/// Position of a value relative to the plateau.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plateau {
    /// The value rose above the plateau and begins a new one.
    Risen,
    On,
    Below,
}

impl TimeAverage {
    /// The quantity was `value` for `ns` nanoseconds.
    #[inline]
    pub fn add(&mut self, value: u32, ns: i64) {
        self.area += f64::from(value) * ns as f64;
    }

    /// The quantity reached `value`.
    #[inline]
    pub fn update_max(&mut self, value: u32) {
        self.max = self.max.max(value);
    }

    /// Compares `value` with the plateau, which is `band` wide on each side. A value that rises
    /// continually, as in slow start, has no plateau.
    #[inline]
    pub fn plateau(&mut self, value: u32, band: u32) -> Plateau {
        if value > self.level.saturating_add(band) {
            self.level = value;
            Plateau::Risen
        } else if value.saturating_add(band) >= self.level {
            Plateau::On
        } else {
            Plateau::Below
        }
    }

    /// Mean over `ns` nanoseconds, the sum of all times added.
    pub fn mean(&self, ns: i64) -> Option<f64> {
        (ns > 0).then(|| self.area / ns as f64)
    }

    pub fn max(&self) -> u32 {
        self.max
    }
}

#[cfg(test)]
mod tests {
    use super::{Plateau, TimeAverage};

    #[test]
    fn plateau_is_reached_only_when_values_stop_rising() {
        let mut quantity = TimeAverage::default();
        assert!((1..50).all(|step| quantity.plateau(step * 1000, 900) == Plateau::Risen));
        assert!([49_000, 48_200, 49_800].into_iter().all(|value| quantity.plateau(value, 900) == Plateau::On));
        assert_eq!(quantity.plateau(48_000, 900), Plateau::Below);
        assert_eq!(quantity.plateau(60_000, 900), Plateau::Risen);
    }
}
