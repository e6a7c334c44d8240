//! Correlation of the goodputs of concurrent flows. Flows that share a bottleneck have negative
//! correlations.

use crate::analyze::FlowList;
use crate::metrics::{BINS, ByteTimeline, pearson};
use ackclock_contract::Document;
use serde::Serialize;
use std::cmp::Reverse;

/// Correlation of two concurrent directions of data.
#[derive(Debug, Serialize, Document)]
pub struct FlowCorrelation {
    /// Numbers of the flows, from 1.
    pub flows: [usize; 2],
    /// `a2b` or `b2a` of each flow.
    pub directions: [&'static str; 2],
    /// Pearson's r of the goodputs over `bins` bins of `bin_s` seconds: near -1 if the flows share
    /// a bottleneck's rate, near 1 if the same cause limits both.
    pub correlation: f64,
    pub bins: u32,
    pub bin_s: f64,
}

/// Number of directions that are compared, those with most data.
const MAX_DIRECTIONS: usize = 8;
/// Minimum number of common bins.
const MIN_BINS: u32 = 10;

/// One of the largest directions.
struct LargeDirection {
    number: usize,
    name: &'static str,
    bytes: u64,
    timeline: ByteTimeline,
}

/// The correlations of all pairs of the largest directions that were concurrent.
pub fn correlations(flows: &FlowList<'_>) -> Vec<FlowCorrelation> {
    let all = largest(flows);
    let mut pairs = Vec::new();
    for (i, a) in all.iter().enumerate() {
        for b in &all[i + 1..] {
            if let Some((correlation, bins, bin_s)) = correlation(&a.timeline, &b.timeline) {
                pairs.push(FlowCorrelation {
                    flows: [a.number + 1, b.number + 1],
                    directions: [a.name, b.name],
                    correlation,
                    bins,
                    bin_s,
                });
            }
        }
    }
    pairs
}

fn largest(flows: &FlowList<'_>) -> Vec<LargeDirection> {
    let mut all: Vec<LargeDirection> = Vec::new();
    let keep_largest = |all: &mut Vec<LargeDirection>| {
        all.sort_by_key(|large| Reverse(large.bytes));
        all.truncate(MAX_DIRECTIONS);
    };
    for (number, flow) in flows.large() {
        for (side, name) in [(flow.client(), "a2b"), (flow.client().other(), "b2a")] {
            let stats = flow.direction(side).stats();
            let Some((stats, timeline)) = stats.and_then(|stats| Some((stats, stats.byte_timeline()?))) else { continue };
            all.push(LargeDirection { number, name, bytes: stats.bytes().unique, timeline: timeline.clone() });
        }
        if all.len() > 8 * MAX_DIRECTIONS {
            keep_largest(&mut all);
        }
    }
    keep_largest(&mut all);
    // The client's direction first, whichever address is lower.
    all.sort_by_key(|large| (large.number, large.name));
    all
}

/// Correlation over the bins that lie within both; the first and the last of each may be partly
/// filled.
fn correlation(x: &ByteTimeline, y: &ByteTimeline) -> Option<(f64, u32, f64)> {
    let width = x.width().max(y.width());
    let (x, y) = (x.at_width(width), y.at_width(width));
    let ((from_x, to_x), (from_y, to_y)) = (x.span()?, y.span()?);
    let (from, to) = (from_x.max(from_y) + 1, to_x.min(to_y));
    let n = u32::try_from((to - from).clamp(0, BINS as i64)).unwrap_or(0);
    if n < MIN_BINS {
        return None;
    }
    let points: Vec<(f64, f64)> = (from..to).map(|i| (x.bin(i), y.bin(i))).collect();
    pearson(&points).map(|r| (r, n, width as f64 * 1e-9))
}
