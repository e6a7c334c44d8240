//! What one capture shows of the bottleneck.

use super::{BucketReport, Report, VantagePoint};
use crate::analyze::Analysis;
use crate::infer::{ArrivalRecorder, FlowArrivals, estimate_rate, token_bucket};
use serde::Serialize;

/// Inferred from spacing, not measured: at the sender's end from that of the ACKs, elsewhere from
/// that of the data.
#[derive(Debug, Serialize)]
pub struct PathEstimate {
    /// `acks` or `arrivals`.
    pub by: &'static str,
    /// IP bits a second that the commonest spacing means, and the share of the packets (ACKs) that
    /// have it.
    pub rate_bps: Option<f64>,
    pub share: Option<f64>,
    /// From arrivals only.
    pub token_bucket: Option<BucketReport>,
}

/// Rates are inferred this well.
const LEAST_OF_GOODPUT: f64 = 0.9;

impl PathEstimate {
    fn of(course: &FlowArrivals, at_sender: bool, goodput: Option<f64>) -> Option<PathEstimate> {
        let (by, passed) = if at_sender { ("acks", &course.acked) } else { ("arrivals", &course.data) };
        // More cannot have come through than the narrowest link carries: a spacing that says so is
        // the sender's, or the application's.
        let paced = estimate_rate(passed).filter(|p| goodput.is_none_or(|came| p.rate_bps >= LEAST_OF_GOODPUT * came));
        let bucket = if at_sender { None } else { token_bucket(passed) };
        (paced.is_some() || bucket.is_some()).then(|| PathEstimate {
            by,
            rate_bps: paced.map(|p| p.rate_bps),
            share: paced.map(|p| p.share),
            token_bucket: bucket.map(BucketReport::of),
        })
    }
}

impl Report {
    /// Adds what spacing says, for a capture that was read by one worker with this recorder
    /// watching.
    pub fn infer(&mut self, analysis: &Analysis, seen: &ArrivalRecorder) {
        let known = analysis.flows();
        for (number, row) in self.flows.iter_mut().enumerate() {
            let Some(courses) = seen.courses(number) else { continue };
            let client = known.get(number).client() as usize;
            row.a2b.inferred_path =
                PathEstimate::of(&courses[client], row.vantage.place == VantagePoint::Client, row.a2b.goodput_bps);
            row.b2a.inferred_path =
                PathEstimate::of(&courses[1 - client], row.vantage.place == VantagePoint::Server, row.b2a.goodput_bps);
        }
    }
}
