//! A sample of delays, each as measured and in the two replays, in bounded memory.

use ackclock_core::Span;
use ackclock_core::statistics::quantile_of_sorted;

/// As measured, and in the open and the closed loop.
const KINDS: usize = 3;
const P95: f64 = 0.95;

/// Every `stride`-th of all delays, in seconds.
#[derive(Debug, Clone)]
pub struct PairedSample {
    capacity: usize,
    stride: u64,
    count: u64,
    kept: Vec<[f32; KINDS]>,
}

impl PairedSample {
    pub fn new(capacity: usize) -> PairedSample {
        PairedSample { capacity, stride: 1, count: 0, kept: Vec::new() }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn add(&mut self, delay: [Span; KINDS]) {
        if self.count.is_multiple_of(self.stride) {
            if self.kept.len() == self.capacity {
                let mut number = 0;
                self.kept.retain(|_| {
                    number += 1;
                    number % 2 == 1
                });
                self.stride *= 2;
            }
            if self.count.is_multiple_of(self.stride) {
                self.kept.push(delay.map(|span| span.as_secs() as f32));
            }
        }
        self.count += 1;
    }

    /// All delays of samples whose stride is 1.
    pub fn joined(samples: &[&PairedSample]) -> PairedSample {
        let kept: Vec<[f32; KINDS]> = samples.iter().flat_map(|sample| &sample.kept).copied().collect();
        PairedSample { capacity: kept.len(), stride: 1, count: kept.len() as u64, kept }
    }

    /// The larger relative difference of the 95th percentile as measured from one of the replays.
    pub fn p95_error(&self) -> f64 {
        let p95 = |kind: usize| {
            let mut values: Vec<f32> = self.kept.iter().map(|delay| delay[kind]).collect();
            values.sort_by(f32::total_cmp);
            quantile_of_sorted(&values, P95).map(f64::from)
        };
        let Some(measured) = p95(0) else { return 0.0 };
        let error = |replayed: f64| if replayed > 0.0 { (measured - replayed).abs() / replayed } else { f64::INFINITY };
        [p95(1), p95(2)].into_iter().flatten().filter(|&replayed| replayed != measured).map(error).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("L9")
    #[test]
    fn sample_keeps_every_nth_delay_when_it_is_full() {
        let mut sample = PairedSample::new(64);
        (0..10_000u64).for_each(|ms| sample.add([Span::from_ms(ms + 100), Span::from_ms(ms), Span::from_ms(ms + 100)]));
        assert_eq!((sample.count(), sample.kept.len()), (10_000, 10_000usize.div_ceil(256)));
        assert!(sample.kept.windows(2).all(|pair| (pair[1][1] - pair[0][1] - 0.256).abs() < 1e-3));
        let error = sample.p95_error();
        assert!((error - 0.1 / 9.5).abs() < 0.001, "{error}");
    }

    // finding("L9")
    #[test]
    fn error_of_a_quantile_is_the_larger_of_both_replays() {
        let mut sample = PairedSample::new(1000);
        (0..100).for_each(|_| sample.add([Span::from_ms(60), Span::from_ms(57), Span::from_ms(61)]));
        assert!((sample.p95_error() - 3.0 / 57.0).abs() < 1e-6);
        assert_eq!(PairedSample::new(10).p95_error(), 0.0);
    }
}
