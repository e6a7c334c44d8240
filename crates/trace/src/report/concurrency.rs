//! Flows that ran at the same time: whether one's gain was the other's loss, as with flows that
//! share a bottleneck.

use crate::analyze::FlowList;
use crate::flow::Side;
use crate::metrics::{BINS, ByteTimeline, pearson};
use serde::Serialize;
use std::cmp::Reverse;

/// Two directions of data that were under way together.
#[derive(Debug, Serialize)]
pub struct FlowCorrelation {
    /// Numbers from 1, and each one's direction.
    pub flows: [usize; 2],
    pub ways: [&'static str; 2],
    /// Pearson's r between their goodputs over `bins` bins of `bin_s` seconds: near -1 where they
    /// share what there is, near 1 where the same thing slows both.
    pub correlation: f64,
    pub bins: u32,
    pub bin_s: f64,
}

/// The directions with most data are compared, each with each.
const MOST: usize = 8;
/// Fewer bins in common say nothing.
const ENOUGH: u32 = 10;

/// One of them.
struct Large {
    number: usize,
    side: Side,
    way: &'static str,
    bytes: u64,
    course: ByteTimeline,
}

/// The largest directions, each with each that ran at the same time.
pub fn correlations(flows: &FlowList<'_>) -> Vec<FlowCorrelation> {
    let all = largest(flows);
    let mut pairs = Vec::new();
    for (i, a) in all.iter().enumerate() {
        for b in &all[i + 1..] {
            if let Some((correlation, bins, bin_s)) = correlation(&a.course, &b.course) {
                pairs.push(FlowCorrelation {
                    flows: [a.number + 1, b.number + 1],
                    ways: [a.way, b.way],
                    correlation,
                    bins,
                    bin_s,
                });
            }
        }
    }
    pairs
}

fn largest(flows: &FlowList<'_>) -> Vec<Large> {
    let mut all: Vec<Large> = Vec::new();
    let keep = |all: &mut Vec<Large>| {
        all.sort_by_key(|large| Reverse(large.bytes));
        all.truncate(MOST);
    };
    for (number, flow) in flows.iter().enumerate() {
        for (side, way) in [(flow.client(), "a2b"), (flow.client().other(), "b2a")] {
            let half = flow.half(side);
            let Some((course, sending)) = half.byte_timeline().zip(half.sending()) else { continue };
            all.push(Large { number, side, way, bytes: sending.amounts.unique, course: course.clone() });
        }
        if all.len() > 8 * MOST {
            keep(&mut all);
        }
    }
    keep(&mut all);
    all.sort_by_key(|large| (large.number, large.side as u8));
    all
}

/// Over the bins that lie within both; the first and the last of each are partly empty.
fn correlation(x: &ByteTimeline, y: &ByteTimeline) -> Option<(f64, u32, f64)> {
    let width = x.width().max(y.width());
    let (x, y) = (x.at_width(width), y.at_width(width));
    let ((from_x, to_x), (from_y, to_y)) = (x.span()?, y.span()?);
    let (from, to) = (from_x.max(from_y) + 1, to_x.min(to_y));
    let n = u32::try_from((to - from).clamp(0, BINS as i64)).unwrap_or(0);
    if n < ENOUGH {
        return None;
    }
    let points: Vec<(f64, f64)> = (from..to).map(|i| (x.bin(i), y.bin(i))).collect();
    pearson(&points).map(|r| (r, n, width as f64 * 1e-9))
}
