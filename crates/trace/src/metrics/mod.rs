//! Statistics collected packet by packet, each in constant memory.

mod ack_clock;
mod byte_timeline;
mod rtt;
mod rtt_samples;
mod sparse_counts;
mod time_average;

pub use ack_clock::{ACK_BINS_MS, AckClock};
pub use byte_timeline::{BINS, ByteTimeline};
pub use rtt::RttStats;
pub use rtt_samples::RttSampleSet;
pub use time_average::{Plateau, TimeAverage};

/// Pearson's correlation coefficient of pairs of values; none for fewer than three pairs or if
/// either value does not vary.
pub fn pearson(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (mx, my) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let sums = points.iter().map(|p| (p.0 - mx, p.1 - my)).fold([0.0; 3], |s, (x, y)| [s[0] + x * x, s[1] + y * y, s[2] + x * y]);
    let scale = (sums[0] * sums[1]).sqrt();
    (points.len() > 2 && scale > 0.0).then(|| sums[2] / scale)
}
