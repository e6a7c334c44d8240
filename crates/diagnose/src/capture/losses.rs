//! Findings about losses: cause, buffer, bursts, spurious retransmissions, reordering, ECN.

use super::acks;
use super::loss_response::EVENTS;
use super::rule::Claim;
use super::transfer::{Transfer, above_zero};
use crate::number_text::{many, milliseconds, percent, rate, size, whole_percent};
use ackclock_trace::report::JoinedDirectionReport;

/// Minimum number of lost packets in a burst; a single one in its bin is none.
pub const BURST: u32 = 4;
/// Stalls with their times.
const NAMED_STALLS: usize = 5;
/// Minimum number of spurious retransmissions, and their share of all.
pub const SPURIOUS: u32 = 3;
pub const SPURIOUS_SHARE: f64 = 0.1;
/// Minimum number of reordered segments, and their share.
pub const REORDERED: u32 = 3;
pub const REORDERED_SHARE: f64 = 0.001;
/// A buffer that did not overflow and holds less than this, in s, is no finding.
pub const SHORT_BUFFER_S: f64 = 0.05;
/// Queues of less than this at the bottleneck's rate are jitter, in s, and those of a packet.
const JITTER_S: f64 = 0.02;
const PACKET_BYTES: f64 = 1500.0;

/// The crossing of a direction whose losses between the captures have this verdict.
fn lost_by<'a>(transfer: &Transfer<'a>, verdict: &str) -> Option<&'a JoinedDirectionReport> {
    transfer.crossing.filter(|crossing| crossing.lost.between_captures > 0 && crossing.loss_cause.verdict == verdict)
}

fn located(crossing: &JoinedDirectionReport, statement: &str) -> String {
    format!(
        "{statement} ({}; {} of the packets lost between the captures).",
        crossing.loss_cause.evidence,
        percent(crossing.loss_rate)
    )
}

pub fn loss_congestion(transfer: &Transfer<'_>) -> Option<Claim> {
    let crossing = lost_by(transfer, "congestion")?;
    let evidence = located(crossing, "Losses occur when the queue is long: buffer overflow, not radio");
    let short = format!(
        "The queue before the slowest link overflows: {} of the packets are lost when it is full.",
        percent(crossing.loss_rate)
    );
    let queue_ms = acks::excess(Some(&crossing.one_way_delay_ms), |delay| delay.p95).unwrap_or(0.0);
    let advice = if queue_ms > transfer.min_rtt_ms() {
        "Active queue management (CoDel, FQ-CoDel, PIE; with ECN without losses), or a sender that reduces its window before \
         the buffer is full, avoids them. A longer buffer would only add delay; a better radio does not help."
    } else {
        "A longer queue, active queue management, or a sender that reduces its window before the buffer is full avoids them; a \
         better radio does not."
    };
    Some(Claim::new(evidence, advice).in_short(short))
}

pub fn loss_radio(transfer: &Transfer<'_>) -> Option<Claim> {
    let evidence = located(lost_by(transfer, "radio")?, "Losses come at any delay: the link loses packets, no buffer overflows");
    let advice = "Use link-layer retransmission (ARQ, HARQ) or FEC, or a congestion control that does not reduce its window for \
                  each loss.";
    let slows = transfer.loss_events() >= EVENTS && !transfer.has_path_rate();
    let effect = if slows { format!("; each loss slows the sender down: {}", transfer.share_of_path()) } else { String::new() };
    let lost = percent(transfer.crossing?.loss_rate);
    Some(Claim::new(evidence, advice).in_short(format!("{lost} of the packets are lost without a queue{effect}.")))
}

pub fn loss_both(transfer: &Transfer<'_>) -> Option<Claim> {
    let crossing = lost_by(transfer, "both")?;
    let statement = format!(
        "Some losses occur when the queue is long, others at any length: buffer overflow and a link that loses packets ({} of \
         them)",
        whole_percent(crossing.loss_cause.radio_share.unwrap_or(0.0))
    );
    Some(Claim::new(located(crossing, &statement), ""))
}

/// Losses where the arrivals exceed a rate and a burst, without a queue.
pub fn policer(transfer: &Transfer<'_>) -> Option<Claim> {
    let policer = transfer.policer()?;
    let (bps, burst, drops) = (policer.rate_bps, policer.burst_bytes, u64::from(policer.drops));
    let short = policer_sentence(transfer)?;
    let lost = drops + u64::from(policer.other_losses);
    let known = if transfer.crossing.is_some() { "" } else { " (inferred from what the sender retransmitted)" };
    let evidence = format!(
        "A policer drops what exceeds {} x t + {}{known}: {drops} of {} came when its bucket was empty, {} passed then, and \
         nothing waits before a drop.",
        rate(bps),
        size(burst),
        many(lost, "lost packet"),
        many(u64::from(policer.passed), "packet")
    );
    let fills = above_zero(Some(transfer.min_rtt_ms())).map(|rtt| bps * rtt / 8e3).filter(|bytes| *bytes > burst);
    let larger = fills.map_or_else(String::new, |bytes| format!(" (one RTT at its rate is {})", size(bytes)));
    let advice = format!(
        "A larger burst{larger}, or a shaper with a queue in its place, lets a sender reach the rate; a sender that paces below \
         the rate loses less. Neither a better line nor a longer queue elsewhere helps."
    );
    Some(Claim::new(evidence, advice).in_short(short))
}

/// What the policer of a transfer does, for a reader who knows no TCP; none without one.
pub fn policer_sentence(transfer: &Transfer<'_>) -> Option<String> {
    let policer = transfer.policer()?;
    Some(format!(
        "The link drops what exceeds {} with bursts of {}, {}: the transfer gets {} of it.",
        rate(policer.rate_bps),
        size(policer.burst_bytes),
        many(u64::from(policer.drops), "packet"),
        rate(transfer.goodput_bps())
    ))
}

/// Whether the inferred buffer is more than jitter: above one packet, and at least 20 ms at the
/// bottleneck's rate.
pub fn has_queue(max_bytes: Option<f64>, rate_bps: Option<f64>) -> bool {
    let (bytes, at_jitter) = (max_bytes.unwrap_or(0.0), rate_bps.unwrap_or(0.0) * JITTER_S);
    bytes > PACKET_BYTES && 0.0 < at_jitter && at_jitter <= bytes * 8.0
}

/// Why the estimate may not be the size of one droptail queue.
fn caveat(name: &str) -> &'static str {
    match name {
        "marks" => "Packets were marked with CE, so the queue has active queue management, and this is its length, not its size.",
        "early_drops" => "Drops occur well below the maximum delay: active queue management, or several queues.",
        "delay_tail" => "The largest delays are outliers, such as retransmissions of a radio, and are left out.",
        "flow_queues" => {
            "Packets of different flows are reordered, those of one flow are not: each flow has a queue, and this is one of them."
        }
        "token_bucket" => "A token bucket limits the link, so the rate depends on earlier traffic.",
        _ => "",
    }
}

/// Bytes of the buffer by the maximum delay, and the rate of the link behind it.
fn backlog(transfer: &Transfer<'_>, filled: bool) -> Option<(f64, f64)> {
    let buffer = &transfer.crossing?.bottleneck_buffer_bytes;
    let (bytes, bps) = buffer.max_based.filter(|_| buffer.filled == filled).zip(buffer.rate_bps)?;
    (bytes != 0.0 && bps != 0.0).then_some((bytes, bps))
}

pub fn buffer(transfer: &Transfer<'_>) -> Option<Claim> {
    let (full, bps) = backlog(transfer, true)?;
    let buffer = &transfer.crossing?.bottleneck_buffer_bytes;
    let estimate = match buffer.min_based.filter(|bytes| *bytes != 0.0).map(size) {
        None => size(full),
        Some(minimum) if minimum == size(full) => {
            format!("{minimum}, by the minimum delay next to a loss and by the maximum delay")
        }
        Some(minimum) => {
            format!("{minimum} by the minimum delay next to a loss, {} by the maximum delay", size(full))
        }
    };
    let mut evidence =
        format!("The bottleneck's buffer holds {estimate}: {} at {}.", milliseconds(1e3 * (full * 8.0 / bps)), rate(bps));
    for name in &buffer.caveats {
        evidence += &format!(" {}", caveat(name));
    }
    Some(Claim::new(evidence, ""))
}

pub fn buffer_at_least(transfer: &Transfer<'_>) -> Option<Claim> {
    let (full, bps) = backlog(transfer, false)?;
    let seconds = full * 8.0 / bps;
    let evidence = format!(
        "At least {} waited at the bottleneck, {} at {}, and nothing overflowed.",
        size(full),
        milliseconds(1e3 * seconds),
        rate(bps)
    );
    (seconds >= SHORT_BUFFER_S).then(|| Claim::new(evidence, ""))
}

pub fn link_stall(transfer: &Transfer<'_>) -> Option<Claim> {
    let stalls = &transfer.crossing?.link_stalls;
    if stalls.is_empty() {
        return None;
    }
    let times: Vec<String> = stalls
        .iter()
        .take(NAMED_STALLS)
        .map(|stall| format!("{} at {:.2} s", milliseconds(stall.duration_ms), stall.start_s))
        .collect();
    let more = stalls.len().saturating_sub(NAMED_STALLS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let evidence = format!(
        "The link stalled {}: it delivered nothing although packets waited, then went on ({}{more}, after the direction's first \
         packet).",
        many(stalls.len() as u64, "time"),
        times.join(", ")
    );
    let advice = "Search for a handover, a radio scheduler or a suspended host; neither a buffer nor a congestion control removes \
                  it.";
    Some(Claim::new(evidence, advice))
}

pub fn loss_bursts(transfer: &Transfer<'_>) -> Option<Claim> {
    let bursts = &transfer.crossing?.loss_bursts;
    let large: Vec<_> = bursts.bursts.iter().filter(|burst| burst.lost >= BURST).collect();
    // The first of equal ones.
    let longest = large.iter().rev().max_by(|a, b| a.duration_ms.total_cmp(&b.duration_ms))?;
    let peaks = |share: f64| large.iter().filter(|burst| burst.peak_share >= share).count();
    let evidence = format!(
        "{} (bins of {} ms with more than half lost, at least {BURST} packets; {} with 80 % or more, {} with all); the longest \
         lasted {}, {} of {} packets.",
        many(large.len() as u64, "loss burst"),
        bursts.bin_ms,
        peaks(0.8),
        peaks(1.0),
        milliseconds(longest.duration_ms),
        longest.lost,
        longest.sent
    );
    Some(Claim::new(evidence, ""))
}

pub fn spurious_retransmissions(transfer: &Transfer<'_>) -> Option<Claim> {
    let (spurious, retransmitted) = (transfer.not_needed(), transfer.figures.retransmitted_segments);
    if spurious < SPURIOUS || f64::from(spurious) < SPURIOUS_SHARE * retransmitted as f64 {
        return None;
    }
    let arriving = transfer.arriving.filter(|_| spurious > transfer.figures.spurious_retransmits);
    let by = &arriving.unwrap_or(transfer.figures).spurious;
    let named = [(by.dsack, "D-SACK"), (by.timestamp, "the echoed timestamp"), (by.early_ack, "an early ACK")];
    let parts: Vec<String> =
        named.into_iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} by {name}")).collect();
    let evidence = format!(
        "{spurious} of {} were spurious ({}): the segments had arrived.",
        many(retransmitted, "retransmission"),
        parts.join(", ")
    );
    let advice = "Search for delay spikes or reordering on the path; F-RTO and RACK's reordering window (RFC 5682, RFC 8985) help \
                  at the sender.";
    Some(Claim::new(evidence, advice))
}

/// The question of `wimax-measured` (section 4.3): are timeouts after a fast retransmission spurious?
pub fn timeout_pairs(transfer: &Transfer<'_>) -> Option<Claim> {
    let repairs = &transfer.figures.repairs;
    if repairs.pairs == 0 {
        return None;
    }
    let verdict = match (repairs.pairs_not_needed, repairs.pairs) {
        (0, 1) => "none had an early ACK, so the segment had been lost".into(),
        (0, _) => "none had an early ACK, so the segments had been lost".into(),
        (wasted, _) => format!("{wasted} of them spurious, by the time of their ACK"),
    };
    let evidence = format!(
        "{} of {} occurred in a recovery started by duplicate ACKs: {verdict}.",
        repairs.pairs,
        many(u64::from(repairs.timeouts), "timeout")
    );
    let advice = if repairs.pairs_not_needed > 0 {
        "F-RTO (RFC 5682) at the sender reverts such timeouts."
    } else {
        "With SACK and RACK-TLP (RFC 8985) a sender recovers several losses of one window without a timeout."
    };
    Some(Claim::new(evidence, advice))
}

pub fn lost_retransmissions(transfer: &Transfer<'_>) -> Option<Claim> {
    let count = u64::from(transfer.figures.repairs.fast_then_timeout);
    let evidence =
        format!("{} had a third transmission, after a timeout: the fast retransmission was lost, too.", many(count, "segment"));
    let advice = "RACK (RFC 8985) at the sender detects lost retransmissions without a timeout.";
    (count > 0).then(|| Claim::new(evidence, advice))
}

pub fn reordering(transfer: &Transfer<'_>) -> Option<Claim> {
    // Reordering in the network is visible in the capture near the receiver.
    let late = transfer.arriving.map_or(0, |arriving| arriving.out_of_order).max(transfer.figures.out_of_order);
    let share = f64::from(late) / transfer.figures.segments.max(1) as f64;
    if late < REORDERED || share < REORDERED_SHARE {
        return None;
    }
    let evidence = format!("{} ({}) were reordered by the path.", many(u64::from(late), "segment"), whole_percent(share));
    Some(Claim::new(evidence, "Search for parallel paths or link-layer retransmission without resequencing."))
}

pub fn ecn(transfer: &Transfer<'_>) -> Option<Claim> {
    let marks = transfer.figures.ecn.marked.max(transfer.other.ecn.echoed);
    let evidence = format!("A queue on the path has active queue management: {} captured or echoed.", many(marks, "ECN mark"));
    (marks > 0).then(|| Claim::new(evidence, ""))
}
