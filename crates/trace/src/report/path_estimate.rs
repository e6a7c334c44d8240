//! Estimate of the bottleneck from one capture.

use super::{BucketReport, Report, VantagePoint};
use crate::analyze::Analysis;
use crate::infer::{ArrivalRecorder, FlowArrivals, estimate_rate, token_bucket};
use serde::Serialize;

/// Estimated from the spacing of ACKs at the sender, elsewhere from that of data packets.
#[derive(Debug, Serialize)]
pub struct PathEstimate {
    /// `acks` or `arrivals`.
    pub by: &'static str,
    /// Rate of the most common spacing, IP bit/s.
    pub rate_bps: Option<f64>,
    /// Share of the packets or ACKs with this spacing.
    pub share: Option<f64>,
    /// From arrivals of data only.
    pub token_bucket: Option<BucketReport>,
}

/// Minimum ratio of the rate to the goodput.
const MIN_OF_GOODPUT: f64 = 0.9;

impl PathEstimate {
    fn of(arrivals: &FlowArrivals, at_sender: bool, goodput: Option<f64>) -> Option<PathEstimate> {
        let (by, arrivals) = if at_sender { ("acks", &arrivals.acks) } else { ("arrivals", &arrivals.data) };
        // The goodput cannot exceed the bottleneck's rate: a lower rate is the spacing of the
        // sender or the application.
        let rate = estimate_rate(arrivals).filter(|r| goodput.is_none_or(|goodput| r.rate_bps >= MIN_OF_GOODPUT * goodput));
        let bucket = if at_sender { None } else { token_bucket(arrivals) };
        (rate.is_some() || bucket.is_some()).then(|| PathEstimate {
            by,
            rate_bps: rate.map(|p| p.rate_bps),
            share: rate.map(|p| p.share),
            token_bucket: bucket.map(BucketReport::of),
        })
    }
}

impl Report {
    /// Adds the estimates, for a capture that was read by one worker with `recorder` as observer.
    pub fn infer(&mut self, analysis: &Analysis, recorder: &ArrivalRecorder) {
        let flows = analysis.flows();
        for (number, row) in self.flows.iter_mut().enumerate() {
            let Some(arrivals) = recorder.arrivals(number) else { continue };
            let client = flows.get(number).client() as usize;
            row.a2b.inferred_path =
                PathEstimate::of(&arrivals[client], row.vantage.place == VantagePoint::Client, row.a2b.goodput_bps);
            row.b2a.inferred_path =
                PathEstimate::of(&arrivals[1 - client], row.vantage.place == VantagePoint::Server, row.b2a.goodput_bps);
        }
    }
}
