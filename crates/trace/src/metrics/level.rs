//! A quantity that stays until it changes: its mean over time, its largest value.

#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    /// Times nanoseconds.
    area: f64,
    held: i64,
    max: u64,
}

impl Level {
    /// The level was `value` for `ns` nanoseconds.
    #[inline]
    pub fn held(&mut self, value: u64, ns: i64) {
        self.area += value as f64 * ns as f64;
        self.held = self.held.saturating_add(ns);
    }

    /// The level reached `value`, for however short a time.
    #[inline]
    pub fn reached(&mut self, value: u64) {
        self.max = self.max.max(value);
    }

    pub fn mean(&self) -> Option<f64> {
        (self.held > 0).then(|| self.area / self.held as f64)
    }

    pub fn max(&self) -> u64 {
        self.max
    }
}
