//! A quantity that stays until it changes: its mean over time, its largest value.

#[derive(Debug, Clone, Copy, Default)]
pub struct Level {
    area: f64,
    seconds: f64,
    max: u64,
}

impl Level {
    /// The level was `value` for `ns` nanoseconds.
    #[inline]
    pub fn held(&mut self, value: u64, ns: i64) {
        let seconds = ns as f64 * 1e-9;
        self.area += value as f64 * seconds;
        self.seconds += seconds;
    }

    /// The level reached `value`, for however short a time.
    #[inline]
    pub fn reached(&mut self, value: u64) {
        self.max = self.max.max(value);
    }

    pub fn mean(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.area / self.seconds)
    }

    pub fn max(&self) -> u64 {
        self.max
    }
}
