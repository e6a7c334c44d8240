//! The slope of the one-way delay: libwebrtc's trendline estimator, in place of the draft's Kalman filter.

use crate::units::Time;
use std::collections::VecDeque;

/// libwebrtc, `TrendlineEstimatorSettings` and `TrendlineEstimator`.
const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;

/// The sum of the delay variations, smoothed, over the last groups.
#[derive(Debug, Clone, Default)]
pub struct Trendline {
    first: Option<Time>,
    accumulated_ms: f64,
    smoothed_ms: f64,
    /// Arrival since the first in ms, and the smoothed delay.
    window: VecDeque<(f64, f64)>,
    slope: f64,
}

impl Trendline {
    /// The delay varies by this from one group to the next. Returns the slope of the line of least squares, in
    /// ms of delay for each ms; 0 before the window is full.
    pub fn add(&mut self, arrived: Time, variation_ms: f64) -> f64 {
        let first = *self.first.get_or_insert(arrived);
        self.accumulated_ms += variation_ms;
        self.smoothed_ms = SMOOTHING * self.smoothed_ms + (1.0 - SMOOTHING) * self.accumulated_ms;
        self.window.push_back(((arrived - first).as_millis(), self.smoothed_ms));
        if self.window.len() > WINDOW {
            self.window.pop_front();
        }
        if self.window.len() == WINDOW {
            self.slope = regression_slope(&self.window).unwrap_or(self.slope);
        }
        self.slope
    }
}

/// None if all points have one abscissa.
fn regression_slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let n = points.len() as f64;
    let (x_mean, y_mean) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (above, below) = points
        .iter()
        .fold((0.0, 0.0), |(above, below), (x, y)| (above + (x - x_mean) * (y - y_mean), below + (x - x_mean) * (x - x_mean)));
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    #[test]
    fn regression_slope_of_three_points_is_half_when_they_rise_by_half() {
        // (0, 0), (1, 2), (2, 1): covariance 1 x 0 + 0 + 1 x 0 = (-1)(-1) + 0 x 1 + 1 x 0 = 1, over 2.
        assert_eq!(regression_slope(&VecDeque::from([(0.0, 0.0), (1.0, 2.0), (2.0, 1.0)])), Some(0.5));
        assert_eq!(regression_slope(&VecDeque::from([(1.0, 0.0), (1.0, 2.0)])), None);
    }

    #[test]
    fn slope_is_the_share_of_excess_once_the_smoothing_has_settled() {
        // Groups each 20 ms whose delay grows by 2 ms: 0.1 ms a ms.
        let mut line = Trendline::default();
        let slopes: Vec<f64> = (0..200).map(|n| line.add(Time::ZERO + Span::from_ms(20 * n), 2.0)).collect();
        assert_eq!(slopes[18], 0.0, "19 groups");
        assert!(slopes[19] > 0.03 && slopes[19] < 0.1);
        assert!((slopes[199] - 0.1).abs() < 1e-6, "{}", slopes[199]);
    }
}
