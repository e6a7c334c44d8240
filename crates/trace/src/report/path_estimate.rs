//! Estimate of the bottleneck from one capture.

use super::{BucketReport, DirectionReport, FlowReport, FlowRows, PathMtuReport, PolicerReport, VantagePoint};
use crate::flow::Side;
use crate::infer::{ArrivalRecorder, FlowArrivals, SentSegments, estimate_rate, token_bucket};
use crate::join::policer;
use crate::join::size_limit::MIN_RETRANSMITTED;
use ackclock_contract::Document;
use serde::Serialize;

/// Estimated from the spacing of ACKs at the sender, elsewhere from that of data packets.
#[derive(Debug, Clone, Default, Serialize, Document)]
pub struct PathEstimate {
    /// `acks` or `arrivals`.
    pub by: &'static str,
    /// Rate of the most common spacing, IP bit/s.
    pub rate_bps: Option<f64>,
    /// Share of the packets or ACKs with this spacing.
    pub share: Option<f64>,
    /// Packets or ACKs come in bursts, of which each counts as one: the spacing may be the sender's.
    pub in_bursts: bool,
    /// From arrivals of data only.
    pub token_bucket: Option<BucketReport>,
    /// At the sender only, from what it retransmitted.
    pub policer: Option<PolicerReport>,
    /// At the sender only, from what was acknowledged.
    pub path_mtu: Option<PathMtuReport>,
}

/// Minimum ratio of the rate to the goodput.
const MIN_OF_GOODPUT: f64 = 0.9;
/// One in this number of retransmissions may be spurious, where the others show what a policer dropped.
const MAX_SPURIOUS: u64 = 5;

impl PathEstimate {
    fn of(recorded: &FlowArrivals, at_sender: bool, row: &DirectionReport, is_established: bool) -> Option<PathEstimate> {
        let (by, arrivals) = if at_sender { ("acks", recorded.acks()) } else { ("arrivals", recorded.data()) };
        let goodput = row.goodput_bps;
        // The goodput cannot exceed the bottleneck's rate: a lower rate is the spacing of the
        // sender or the application.
        let rate = estimate_rate(&arrivals).filter(|r| goodput.is_none_or(|goodput| r.rate_bps >= MIN_OF_GOODPUT * goodput));
        let bucket = if at_sender { None } else { token_bucket(&arrivals) };
        let is_lossy = at_sender && row.retransmitted_segments >= u64::from(MIN_RETRANSMITTED);
        let sent = if is_lossy { recorded.sent() } else { None };
        let path_mtu = sent.as_ref().and_then(|sent| recorded.size_limit(sent, is_established));
        let policer = sent.filter(|_| path_mtu.is_none()).and_then(|sent| policer(sent, row));
        (rate.is_some() || bucket.is_some() || policer.is_some() || path_mtu.is_some()).then(|| PathEstimate {
            by,
            rate_bps: rate.map(|p| p.rate_bps),
            share: rate.map(|p| p.share),
            in_bursts: rate.is_some_and(|p| p.in_bursts),
            token_bucket: bucket.map(BucketReport::of),
            policer,
            path_mtu: path_mtu.map(PathMtuReport::of),
        })
    }
}

/// The policer of a direction whose retransmissions are of lost segments.
fn policer(sent: SentSegments, row: &DirectionReport) -> Option<PolicerReport> {
    let (retransmitted, spurious) = (row.retransmitted_segments, u64::from(row.spurious_retransmits));
    if spurious * MAX_SPURIOUS > retransmitted {
        return None;
    }
    let run = sent.policed()?;
    let found = policer::find(std::slice::from_ref(&run))?;
    Some(PolicerReport::of(&found, found.drops as u32, found.other_losses as u32))
}

/// The estimates of the first flows, `a2b` first.
#[derive(Debug, Default)]
pub struct PathEstimates(Vec<[Option<PathEstimate>; 2]>);

impl PathEstimates {
    /// For a capture that was read by one worker with `recorder` as observer.
    pub fn of(rows: &FlowRows<'_>, recorder: &ArrivalRecorder) -> PathEstimates {
        let recorded = (0..rows.len()).map_while(|number| Some((number, recorder.arrivals(number)?)));
        PathEstimates(
            recorded.map(|(number, arrivals)| estimate(&rows.row(number), arrivals, rows.flow(number).client())).collect(),
        )
    }

    pub(super) fn of_flow(&self, number: usize) -> Option<&[Option<PathEstimate>; 2]> {
        self.0.get(number)
    }
}

fn estimate(row: &FlowReport, arrivals: &[FlowArrivals; 2], client: Side) -> [Option<PathEstimate>; 2] {
    let (client, place) = (client as usize, row.vantage.place);
    let is_established = row.handshake.complete;
    [
        PathEstimate::of(&arrivals[client], place == VantagePoint::Client, &row.a2b, is_established),
        PathEstimate::of(&arrivals[1 - client], place == VantagePoint::Server, &row.b2a, is_established),
    ]
}
