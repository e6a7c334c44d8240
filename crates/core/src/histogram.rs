//! A log-linear histogram of durations.

use crate::units::Span;

/// Log-linear histogram: 64 steps to an octave, so a quantile is right to within 0.8 %. Room is made by octaves, from the lowest to the
/// highest met: a delay mostly stays within a few.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Counts of the steps from `first` on.
    steps: Vec<u32>,
    /// A multiple of 64.
    first: usize,
    count: u64,
    sum: f64,
    sum_sq: f64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { steps: Vec::new(), first: 0, count: 0, sum: 0.0, sum_sq: 0.0, min: u64::MAX, max: 0 }
    }
}

/// Values are kept in nanoseconds: finer than any host's clock, and the squares stay exact enough.
const UNIT_PS: u64 = 1000;

impl Histogram {
    #[inline]
    pub fn add(&mut self, span: Span) {
        let ns = span.0 / UNIT_PS;
        self.count += 1;
        let x = ns as f64;
        self.sum += x;
        self.sum_sq += x * x;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        let at = bucket(ns);
        match self.steps.get_mut(at.wrapping_sub(self.first)) {
            Some(step) => *step += 1,
            None => {
                self.make_room(at);
                self.steps[at - self.first] += 1;
            }
        }
    }

    /// Steps from that of `at`'s octave, or to it.
    #[cold]
    fn make_room(&mut self, at: usize) {
        let octave = at / STEPS * STEPS;
        if self.steps.is_empty() {
            self.first = octave;
        } else if octave < self.first {
            self.steps.splice(0..0, std::iter::repeat_n(0, self.first - octave));
            self.first = octave;
        }
        self.steps.resize(self.steps.len().max(octave + STEPS - self.first), 0);
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.sum += other.sum;
        self.sum_sq += other.sum_sq;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if let Some(more) = other.steps.len().checked_sub(1) {
            self.make_room(other.first);
            self.make_room(other.first + more);
            let from = other.first - self.first;
            self.steps[from..].iter_mut().zip(&other.steps).for_each(|(m, t)| *m += t);
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }
    pub fn min(&self) -> Option<Span> {
        (self.count > 0).then(|| Span(self.min * UNIT_PS))
    }
    pub fn max(&self) -> Option<Span> {
        (self.count > 0).then(|| Span(self.max * UNIT_PS))
    }
    /// Mean in seconds.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64 * 1e-9)
    }
    /// Standard deviation of the values (not of their mean), in seconds.
    pub fn sd(&self) -> Option<f64> {
        self.mean().map(|_| {
            let n = self.count as f64;
            libm::sqrt(((self.sum_sq - self.sum * self.sum / n) / n).max(0.0)) * 1e-9
        })
    }
    /// The value below which a share `q` of the values lies, in seconds, clamped to what was seen.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let wanted = libm::ceil(q * self.count as f64).max(1.0) as u64;
        let mut seen = 0;
        for (at, &n) in (self.first..).zip(&self.steps) {
            seen += u64::from(n);
            if seen >= wanted {
                return Some(middle(at).clamp(self.min as f64, self.max as f64) * 1e-9);
            }
        }
        Some(self.max as f64 * 1e-9)
    }
}

/// Steps in an octave; below the first octave's start every nanosecond has its own.
const STEPS: usize = 64;

/// The step that a value falls into, counted from zero.
#[inline]
fn bucket(ns: u64) -> usize {
    if ns < STEPS as u64 {
        return ns as usize;
    }
    let octave = 63 - ns.leading_zeros() as usize - 5;
    // Octave times STEPS, and the place in it, which begins at STEPS.
    (octave - 1) * STEPS + (ns >> (octave - 1)) as usize
}

/// The middle of a step's values.
fn middle(at: usize) -> f64 {
    let (octave, step) = (at / STEPS, at % STEPS);
    if octave == 0 {
        return step as f64;
    }
    let width = (1u64 << (octave - 1)) as f64;
    (64.0 + step as f64) * width + (width - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_within_a_percent() {
        let mut h = Histogram::default();
        for us in 1..=10_000 {
            h.add(Span::from_us(us));
        }
        for q in [0.01, 0.5, 0.95, 0.999] {
            let got = h.quantile(q).unwrap();
            assert!((got / (q * 0.01) - 1.0).abs() < 0.01, "{q}: {got}");
        }
        assert!((h.mean().unwrap() - 5000.5e-6).abs() < 1e-12);
        assert_eq!(h.min(), Some(Span::from_us(1)));
        assert_eq!(h.max(), Some(Span::from_ms(10)));
    }

    #[test]
    fn an_empty_histogram_has_no_extremes_and_adds_nothing() {
        let mut h = Histogram::default();
        assert_eq!((h.min(), h.max(), h.mean(), h.quantile(0.5)), (None, None, None, None));
        h.add(Span::from_us(7));
        let mut sum = h.clone();
        sum.merge(&Histogram::default());
        sum.merge(&h);
        assert_eq!((sum.count(), sum.min(), sum.max()), (2, h.min(), h.max()));
        assert_eq!(sum.quantile(0.9), h.quantile(0.9));
    }

    #[test]
    fn buckets_are_contiguous() {
        let mut last = 0;
        for ns in 1..100_000u64 {
            let b = bucket(ns);
            assert!(b == last || b == last + 1, "{ns}: {last:?} {b:?}");
            last = b;
        }
    }
}
