//! A quantity that stays until it changes: its mean over time, its largest value.

use crate::stored::stored;

#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    /// Times nanoseconds.
    area: f64,
    max: u32,
}

stored!(Level { area, max });

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

    /// Over so many nanoseconds in which it was held.
    pub fn mean(&self, held: i64) -> Option<f64> {
        (held > 0).then(|| self.area / held as f64)
    }

    pub fn max(&self) -> u32 {
        self.max
    }
}
