//! Flows that ran at the same time: whether one's gain was the other's loss, as with flows that share a bottleneck.

use crate::flow::{Flow, Side};
use crate::metrics::{BINS, Course, pearson};
use serde::Serialize;

/// Two directions of data that were under way together.
#[derive(Debug, Serialize)]
pub struct Pair {
    /// Numbers from 1, and each one's direction.
    pub flows: [usize; 2],
    pub ways: [&'static str; 2],
    /// Pearson's r between their goodputs over `bins` bins of `bin_s` seconds: near -1 where they share what there is, near 1 where the same
    /// thing slows both.
    pub correlation: f64,
    pub bins: u32,
    pub bin_s: f64,
}

/// The directions with most data are compared, each with each.
const MOST: usize = 8;
/// Fewer bins in common say nothing.
const ENOUGH: u32 = 10;

/// The largest directions, each with each that ran at the same time.
pub fn pairs(flows: &[&Flow]) -> Vec<Pair> {
    let mut all: Vec<(usize, Side, &Course)> = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        for side in [flow.client(), flow.client().other()] {
            all.extend(flow.half(side).course().map(|course| (number, side, course)));
        }
    }
    all.sort_by_key(|&(number, side, _)| std::cmp::Reverse(flows[number].half(side).sending().map_or(0, |s| s.amounts.unique)));
    all.truncate(MOST);
    all.sort_by_key(|&(number, side, _)| (number, side as u8));
    let way = |number: usize, side: Side| if side == flows[number].client() { "a2b" } else { "b2a" };
    let mut pairs = Vec::new();
    for (i, &(a, a_side, x)) in all.iter().enumerate() {
        for &(b, b_side, y) in &all[i + 1..] {
            if let Some((correlation, bins, bin_s)) = correlation(x, y) {
                pairs.push(Pair { flows: [a + 1, b + 1], ways: [way(a, a_side), way(b, b_side)], correlation, bins, bin_s });
            }
        }
    }
    pairs
}

/// Over the bins that lie within both; the first and the last of each are partly empty.
fn correlation(x: &Course, y: &Course) -> Option<(f64, u32, f64)> {
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
