//! The bottleneck inferred from one capture: the spacing of packets or of their ACKs. Two captures
//! measure it.

use super::rule::Claim;
use super::transfer::{Transfer, above_zero};
use crate::number_text::{rate, size, whole_percent};
use ackclock_trace::report::PathEstimate;

/// A rate below this share of the goodput is the sender's own spacing, window by window.
pub const NEARLY: f64 = 0.9;
/// Share of the time with a standing queue at which the goodput is about the bottleneck's rate.
const FILLS_PATH: f64 = 0.3;
/// The flow may share the bottleneck, and it may not use it all of the time.
pub const TOGETHER: f64 = 4.0;
/// Rate of other data in the ACKs' direction, relative to this direction's goodput, above which the
/// ACKs' spacing is not that of the data: a fifth of the share that one ACK for two segments takes.
const BESIDE: f64 = 0.004;

fn estimate<'a>(transfer: &Transfer<'a>) -> Option<&'a PathEstimate> {
    let path = transfer.figures.inferred_path.as_ref()?;
    (transfer.crossing.is_none() && transfer.is_more_than_one_segment()).then_some(path)
}

pub fn inferred_rate(transfer: &Transfer<'_>) -> Option<Claim> {
    let (path, goodput_bps) = (estimate(transfer)?, transfer.goodput_bps());
    // One far above the goodput of a flow that fills its path is that of ACKs that a frame has carried
    // together.
    let is_together = path.by == "acks" && transfer.queued_share() >= FILLS_PATH;
    let max_bps = if is_together { TOGETHER * goodput_bps } else { f64::INFINITY };
    let rate_bps = above_zero(path.rate_bps).filter(|bps| NEARLY * goodput_bps <= *bps && *bps <= max_bps)?;
    let arrivals = if path.by == "acks" { "ACKs arrive" } else { "packets arrive" };
    let mut evidence = format!(
        "The bottleneck carries {} (inferred: {} of the {arrivals} with the spacing of back-to-back packets at that rate).",
        rate(rate_bps),
        whole_percent(path.share.unwrap_or(0.0))
    );
    if path.in_bursts {
        evidence += " They come in bursts, each of which counts as one: if the link was not busy, the spacing is that of the \
                     sender.";
    }
    if path.by == "acks" && transfer.shared_bps > BESIDE * goodput_bps {
        evidence += " Data shares the direction of the ACKs and changes their spacing: a capture at the receiver measures the \
                     rate better.";
    }
    Some(Claim::new(evidence, ""))
}

pub fn inferred_token_bucket(transfer: &Transfer<'_>) -> Option<Claim> {
    let bucket = estimate(transfer)?.token_bucket.as_ref()?;
    let evidence = format!(
        "A token bucket limits the path (inferred from arrivals): {} pass at up to {}, then {}.",
        size(bucket.burst_bytes),
        rate(bucket.peak_bps),
        rate(bucket.rate_bps)
    );
    let advice = "Short transfers see the peak, long ones the rate: judge the path by either, not by their mean.";
    Some(Claim::new(evidence, advice))
}
