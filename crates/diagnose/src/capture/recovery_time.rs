//! Time in loss recovery, and its remedies.

use super::rule::{Claim, MIN_SHARE};
use super::transfer::{Transfer, above_zero};
use crate::limit::LimitKind;
use crate::number_text::{many, milliseconds, sentence};

/// Share of time from which timeouts matter.
const MATTERS: f64 = 0.2;
/// Segments lost in one event, above which a queue overflow rather than the link is the cause.
pub const AT_ONCE: f64 = 8.0;
/// A mean RTT above this multiple of the minimum has a queue.
const LONG: f64 = 1.5;

/// The share of time in loss recovery, the time of each, and the reasons.
pub fn recovery(transfer: &Transfer<'_>) -> Option<Claim> {
    let share = Some(transfer.limited().recovery).filter(|share| transfer.shows_pace() && *share >= MIN_SHARE)?;
    let (figures, repairs) = (transfer.figures, &transfer.figures.repairs);
    let each = 1e3 * share * transfer.flow.duration_s / f64::from(transfer.loss_events().max(1));
    let trips =
        above_zero(figures.rtt_ms.p50).map_or_else(String::new, |rtt| format!(", {:.1} times the median RTT", each / rtt));
    let timeouts = if repairs.timeouts > 0 { many(u64::from(repairs.timeouts), "timeout") } else { "no timeout".into() };
    let recoveries = if repairs.recoveries == 1 { "recovery" } else { "recoveries" };
    let evidence = format!(
        "{}: {} retransmitted in {} fast {recoveries} and {timeouts}, {} each on average{trips}.",
        sentence(&LimitKind::Recovery.claim("", share)),
        many(figures.retransmitted_segments, "segment"),
        repairs.recoveries,
        milliseconds(each)
    );
    Some(Claim::new(evidence, advice(transfer, share)).of_share(share))
}

/// The reasons and remedies, the most likely one first.
fn advice(transfer: &Transfer<'_>, share: f64) -> String {
    let (figures, timeouts, events) = (transfer.figures, transfer.figures.repairs.timeouts, transfer.loss_events());
    let lost = figures.retransmitted_segments as f64 - f64::from(transfer.not_needed());
    let at_once = lost / f64::from(events.max(1));
    let (minimum, mean) = (figures.rtt_ms.min.unwrap_or(0.0), figures.rtt_ms.mean.unwrap_or(0.0));
    let mut reasons: Vec<String> = Vec::new();
    if !transfer.flow.handshake.sack {
        reasons.push("SACK was not negotiated: with it, several losses of one window are recovered in one RTT.".into());
    } else if timeouts > 0 && (share >= MATTERS || 2 * timeouts >= events) {
        reasons.push("Timeouts take most of it: tail loss probes and RACK (RFC 8985) at the sender replace many of them.".into());
    }
    let cause = transfer.loss_cause();
    if at_once >= AT_ONCE && cause != "radio" && cause != "policer" {
        let otherwise = if cause == "congestion" { "" } else { ", or the link failed for a while" };
        reasons.push(format!(
            "{at_once:.0} segments were lost at a time: the window far exceeded the path's capacity{otherwise}. A slow start \
             that ends earlier (HyStart++, RFC 9406), pacing, or a queue that drops or marks early loses fewer in an overflow."
        ));
    }
    if minimum != 0.0 && mean > LONG * minimum {
        reasons.push(format!(
            "A recovery takes an RTT, which is {} on average instead of {}: a shorter queue shortens recovery, too.",
            milliseconds(mean),
            milliseconds(minimum)
        ));
    }
    if cause == "policer" {
        reasons.push(
            "A policer drops what exceeds its burst: a larger one, or pacing below its rate, leaves less to repair.".into(),
        );
    }
    if reasons.is_empty() {
        let rtt = if mean != 0.0 { mean } else { minimum };
        reasons.push(format!(
            "Each loss costs about an RTT of {}: only fewer losses (link-layer ARQ, FEC) or a nearer server reduce it.",
            milliseconds(rtt)
        ));
    }
    reasons.join(" ")
}
