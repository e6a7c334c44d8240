//! Findings about concurrent flows.

use super::rule::Claim;
use crate::number_text::general;
use ackclock_trace::report::FlowCorrelation;

/// Correlations of goodputs from which flows depend on each other.
pub const AGAINST: f64 = -0.5;
pub const TOGETHER: f64 = 0.6;

pub fn concurrent_flows(pair: &FlowCorrelation) -> Option<Claim> {
    let ([one, two], r) = (pair.flows, pair.correlation);
    if one == two || (AGAINST < r && r < TOGETHER) {
        return None;
    }
    let (preposition, conclusion) = if r < 0.0 {
        ("against", "one gains what the other loses: they share a bottleneck")
    } else {
        ("with", "both have a common limit")
    };
    let evidence = format!(
        "Its goodput goes {preposition} that of flow {two} ({}) (r = {r:.2} over {} bins of {} s): {conclusion}.",
        pair.directions[1],
        pair.bins,
        general(pair.bin_s, 2)
    );
    Some(Claim::new(evidence, ""))
}
