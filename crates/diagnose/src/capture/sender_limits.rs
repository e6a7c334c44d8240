//! What limits the sender: windows, buffers, the path, the application.

use super::acks;
use super::defects;
use super::failures;
use super::loss_response::EVENTS;
use super::receiver_vantage;
use super::rule::{Claim, MIN_SHARE, Owner, Remedy};
use super::transfer::{NEARLY, Transfer, above_zero};
use crate::limit::LimitKind;
use crate::number_text::{many, milliseconds, rate, sentence, size, span, waiting, whole_percent};

/// Share of time with a queue above which a flow reaches its path's rate.
pub const QUEUED: f64 = 0.2;
/// A median RTT above this multiple of the minimum has a queue.
pub const LENGTHENED: f64 = 1.5;
/// Queueing delay, in minimum RTTs, above which a smaller buffer suffices.
pub const DEEP: f64 = 1.0;
/// A queueing delay below this, in ms, is short whatever the RTT.
const SHORT_QUEUE_MS: f64 = 50.0;
/// A window above this multiple of its minimum and of the bytes per RTT limited as it grew.
pub const GREW: f64 = 2.0;
/// The maximum window without window scaling, in bytes (RFC 7323, section 2.2).
const UNSCALED: f64 = 65_535.0;
/// Share of the receive window: mean bytes in flight are below it by a segment that does not fit or
/// an ACK in transit.
const FULL: f64 = 0.9;
/// A path this much faster than the flow is worth a larger buffer.
const WORTH: f64 = 1.2;
/// A transfer of fewer segments ends in slow start.
const SHORT_SEGMENTS: u64 = 64;

/// The share of time of a limit that the sender's capture shows; none below [`MIN_SHARE`].
fn share_of(transfer: &Transfer<'_>, share: Option<f64>) -> Option<f64> {
    share.filter(|share| transfer.shows_pace() && *share >= MIN_SHARE)
}

fn claimed(kind: LimitKind, of: &str, share: f64) -> String {
    sentence(&kind.claim(of, share))
}

fn window_rate(bytes: f64, rtt_ms: f64) -> String {
    if rtt_ms != 0.0 { rate(bytes * 8e3 / rtt_ms) } else { "-".into() }
}

/// The buffer that fills the path if its rate is known, else the effect of doubling the buffer.
fn fills(transfer: &Transfer<'_>, limit_bps: f64) -> String {
    let (rtt, flight) = (transfer.min_rtt_ms(), transfer.figures.outstanding_bytes.max as f64);
    match transfer.crossing_bps().filter(|bps| rtt != 0.0 && *bps > WORTH * limit_bps) {
        Some(path_bps) => {
            format!("about {} would fill the path, whose rate is about {}", size(1.25 * path_bps * rtt / 8e3), rate(path_bps))
        }
        None => {
            format!("doubling it to {} doubles the rate while the RTT remains {}", size(2.0 * flight), milliseconds(rtt))
        }
    }
}

pub fn send_buffer(transfer: &Transfer<'_>) -> Option<Claim> {
    // One segment that waits for a delayed ACK is no buffer.
    let waits = transfer.share_of_waits(false);
    let share = share_of(transfer, transfer.limited().send_buffer.map(|share| share - waits))?;
    let (flight, rtt) = (transfer.figures.outstanding_bytes.max as f64, transfer.figures.rtt_ms.p50);
    let minimum = transfer.min_rtt_ms();
    let evidence = format!(
        "{}: at most {} in flight with a receive window of {} and no loss (inferred, not on the wire): {}.",
        claimed(LimitKind::SendBuffer, "", share),
        size(flight),
        size(f64::from(transfer.figures.advertised_window_bytes.max.unwrap_or(0))),
        window_rate(flight, above_zero(rtt).unwrap_or(minimum))
    );
    let is_enough = transfer.crossing_bps().is_some_and(|bps| flight >= bps * minimum / 8e3);
    if is_enough || rtt.unwrap_or(0.0) > LENGTHENED * minimum {
        let advice = "It is as large as the path's capacity: a larger one would only lengthen the queue.";
        return Some(Claim::new(evidence, advice).of_share(share));
    }
    let advice = format!("Enlarge the send buffer (SO_SNDBUF, wmem): {}.", fills(transfer, transfer.goodput_bps()));
    let short = format!(
        "The sending host's buffer lets {} be in transit at once, which limits the transfer {} of the time.",
        size(flight),
        whole_percent(share)
    );
    Some(Claim::new(evidence, advice).in_short(short).with_remedy(Remedy::LargerBuffer).of_share(share))
}

/// The receive window at the sender's end, else at the receiver's.
pub fn receive_window(transfer: &Transfer<'_>) -> Option<Claim> {
    if !transfer.shows_pace() {
        return receiver_vantage::receive_window(transfer);
    }
    let share = share_of(transfer, transfer.limited().receive_window)?;
    let (figures, minimum, limit_bps) = (transfer.figures, transfer.min_rtt_ms(), transfer.goodput_bps());
    let (zero, closed) = (u64::from(figures.zero_windows), figures.zero_window.closed_s);
    if receiver_vantage::is_closed_by_reader(transfer, share) {
        if failures::opens_only_when_probed(figures) {
            let stated = format!(
                "{}: the receiver closed it {}, {} in all",
                claimed(LimitKind::ReceiveWindow, "", share),
                many(zero, "time"),
                span(closed)
            );
            return Some(failures::unannounced_window(&stated, transfer.sender.peer().name()).of_share(share));
        }
        let probed = if transfer.waits_closed() { " The sender probed the closed window, so it had data waiting." } else { "" };
        let evidence = format!(
            "{}: the receiver closed it {}, {} in all, since the application there reads more slowly than data arrives ({} \
             in all).{probed}",
            claimed(LimitKind::ReceiveWindow, "", share),
            many(zero, "time"),
            span(closed),
            rate(figures.goodput_bps)
        );
        return Some(Claim::slow_reader(evidence).of_share(share));
    }
    if let Some(slow) = receiver_vantage::shrinking_window(transfer, Some(share)) {
        return Some(slow);
    }
    let window = f64::from(figures.advertised_window_bytes.max.unwrap_or(0));
    let smallest = f64::from(figures.advertised_window_bytes.min.unwrap_or(0));
    let rtt = above_zero(figures.rtt_ms.p50).unwrap_or(minimum);
    let grew = window > GREW * smallest.max(limit_bps * rtt / 8e3);
    let mut evidence = if grew {
        format!(
            "{}: data in flight filled it while it grew; its maximum, {}, does not limit the rate.",
            claimed(LimitKind::ReceiveWindow, "", share),
            size(window)
        )
    } else {
        format!(
            "{}: one window per RTT of {} is {}.",
            claimed(LimitKind::ReceiveWindow, &format!(" ({})", size(window)), share),
            milliseconds(rtt),
            window_rate(window, rtt)
        )
    };
    if zero > 0 {
        evidence += &format!(
            " Data filled it {}, and it opened again at once: it was closed for {} in all, so the reader keeps up.",
            many(zero, "time"),
            span(closed)
        );
    }
    if !transfer.has_window_scaling() {
        evidence += " Window scaling was not negotiated, so the window is at most 64 KB.";
    }
    // The median, since delayed ACKs, not a queue, cause the maximum RTT.
    let reaches_path = transfer.queued_share() + transfer.limited().recovery > share || rtt > LENGTHENED * minimum;
    let claim = if reaches_path {
        Claim::new(evidence, "A larger one would only lengthen the queue: the path's rate is reached.")
    } else if !transfer.has_window_scaling() && window >= FULL * UNSCALED {
        let is_stripped = transfer.strips_window_scaling() || has_erased_option(transfer);
        let cause = if is_stripped { "a device on the path takes away" } else { "the two hosts do not use together" };
        let short = format!(
            "No more than {} can be in transit at once without the window scale option, which {cause}: {} at an RTT of {}.",
            size(window),
            window_rate(window, rtt),
            milliseconds(rtt)
        );
        let claim = Claim::new(evidence, unscaled(transfer)).in_short(short).with_remedy(Remedy::LargerBuffer);
        claim.for_owner(is_stripped.then_some(Owner::Network))
    } else if grew {
        Claim::new(evidence, "The receiver tunes its buffer: a larger initial one (the middle value of tcp_rmem) shortens that.")
    } else {
        let advice = format!("Enlarge the receive buffer (SO_RCVBUF, rmem): {}.", fills(transfer, limit_bps));
        Claim::new(evidence, advice).with_remedy(Remedy::LargerBuffer)
    };
    Some(claim.of_share(share))
}

/// Whether NOPs stand in the place of a SYN's window scale.
fn has_erased_option(transfer: &Transfer<'_>) -> bool {
    let handshake = &transfer.flow.handshake;
    handshake.client_option_erased || handshake.server_option_erased
}

/// What to do about a window that is as large as it can be without window scaling.
fn unscaled(transfer: &Transfer<'_>) -> &'static str {
    let handshake = &transfer.flow.handshake;
    if transfer.strips_window_scaling() {
        "No receive buffer enlarges it: the path takes the window scale option away (one capture has it, the other has not); \
         several connections share the path better."
    } else if has_erased_option(transfer) {
        "No receive buffer enlarges it: the path takes the window scale option away (NOPs stand in its place); several \
         connections share the path better."
    } else if handshake.client_window_scale.is_some() && handshake.server_mss.is_some() {
        "No receive buffer enlarges it: turn window scaling on at the server (net.ipv4.tcp_window_scaling = 1), or search for a \
         firewall that takes the option away. A capture at the server shows whether it receives and sends the option."
    } else {
        "No receive buffer enlarges it: turn window scaling on at both ends (net.ipv4.tcp_window_scaling = 1). If the client \
         offers it, a firewall takes the option away: a capture at the client shows that."
    }
}

/// Queueing delay by the RTT: p95 above the minimum.
fn queue_ms(transfer: &Transfer<'_>) -> f64 {
    let rtt = &transfer.figures.rtt_ms;
    rtt.p95.unwrap_or(0.0) - rtt.min.unwrap_or(0.0)
}

pub fn bottleneck(transfer: &Transfer<'_>) -> Option<Claim> {
    let share = share_of(transfer, transfer.limited().path_rate).filter(|_| !acks::ack_queue_dominates(transfer))?;
    let (known_bps, rtt) = (transfer.crossing_bps(), transfer.min_rtt_ms());
    let path_bps = known_bps.unwrap_or(transfer.throughput_bps());
    let rtt_queue = queue_ms(transfer);
    let stood = format!("the RTT was up to {} above its minimum of {} (p95)", milliseconds(rtt_queue), milliseconds(rtt));
    let [data_ms, ack_ms] = transfer.delays_ms().map(|delay| acks::excess(delay, |delay| delay.p95));
    let rate_words = match known_bps {
        Some(bps) => format!(" (about {})", rate(bps)),
        None if data_ms.is_some() => String::new(),
        None => " of the data or of the ACKs".into(),
    };
    let through = known_bps.map_or_else(|| format!(", through which this flow had {},", rate(path_bps)), |_| String::new());
    let queue = data_ms.unwrap_or(rtt_queue);
    let place = match data_ms {
        None => {
            // Bytes in flight are on the link or in a queue (Little's law), so the queue has at most
            // this part. Both times are 0 where nearly all ACKs have the time of their data.
            let queued = if queue + rtt > 0.0 { queue / (queue + rtt) } else { 0.0 };
            let part = (queue * path_bps / 8e3).min(transfer.figures.outstanding_bytes.max as f64 * queued);
            format!("up to {} of this flow in a queue of the data or of the ACKs: a second capture shows which", size(part))
        }
        Some(data_ms) => format!(
            "{} of queue in the direction of the data, {} at the bottleneck, {} in that of the ACKs (p95 each)",
            waiting(data_ms),
            size(data_ms * path_bps / 8e3),
            waiting(ack_ms.unwrap_or(0.0))
        ),
    };
    let claim = claimed(LimitKind::Bottleneck, &rate_words, 0.0);
    let evidence = format!("{claim}: a queue{through} stands {} of the time; {stood}, {place}.", whole_percent(share));
    let is_full = known_bps.is_some_and(|bps| transfer.throughput_bps() > NEARLY * bps);
    if queue > (DEEP * rtt).max(SHORT_QUEUE_MS) {
        // With other flows on the path, this flow's rate is not the path's.
        let fills =
            known_bps.map_or_else(String::new, |bps| format!("One RTT of buffer, {}, fills this path. ", size(bps * rtt / 8e3)));
        let advice = format!(
            "{fills}Active queue management (CoDel, FQ-CoDel, PIE) or a smaller buffer removes most of the {} at hardly any \
             cost in rate.",
            milliseconds(queue)
        );
        let short = format!(
            "A queue of {} stands before the slowest link {} of the time; without it the RTT is {}.",
            milliseconds(queue),
            whole_percent(share),
            milliseconds(rtt)
        );
        return Some(Claim::new(evidence, advice).in_short(short).for_owner(Owner::Router).of_share(share));
    }
    let advice = match (is_full, acks::wait_at_times(transfer)) {
        (true, true) => {
            "While data waits the path is full, and hardly anything but a faster bottleneck makes this flow faster. While ACKs \
             wait, their direction limits it."
        }
        (true, false) => "The path is full: hardly anything but a faster bottleneck makes this flow faster.",
        (false, _) => "",
    };
    let short = format!("The slowest link is full {} of the time: {}.", whole_percent(share), transfer.share_of_path());
    Some(Claim::new(evidence, advice).in_short(short).of_share(share))
}

/// The queue in the RTT is that of the ACKs, not of the data.
pub fn ack_path(transfer: &Transfer<'_>) -> Option<Claim> {
    let share = share_of(transfer, transfer.limited().path_rate).filter(|_| acks::ack_queue_dominates(transfer))?;
    let typical = acks::Typical::of(transfer.queued_share());
    let [data_ms, ack_ms] = transfer.delays_ms().map(|delay| acks::excess(delay, typical.quantile()).unwrap_or(0.0));
    let evidence = format!(
        "{}: a queue stands {} of the time, with the RTT up to {} above its minimum of {} (p95); ACKs wait {} in their \
         direction, data {} in theirs ({}).",
        claimed(LimitKind::AckPath, " of their direction", 0.0),
        whole_percent(share),
        milliseconds(queue_ms(transfer)),
        milliseconds(transfer.min_rtt_ms()),
        waiting(ack_ms),
        waiting(data_ms),
        typical.name()
    );
    Some(Claim::new(evidence, acks::relief(transfer)).of_share(share))
}

pub fn cwnd(transfer: &Transfer<'_>) -> Option<Claim> {
    let waits = transfer.share_of_waits(false);
    let share = share_of(transfer, transfer.limited().cwnd.map(|share| share - waits))?;
    let (figures, segment) = (transfer.figures, f64::from(transfer.segment()));
    let mean = figures.outstanding_bytes.mean.unwrap_or(0.0);
    let evidence = format!(
        "{}, or pacing does: the RTT is near its minimum of {}, with {}, {:.0} segments, in flight on average, at most {}.",
        claimed(LimitKind::Cwnd, "", share),
        milliseconds(transfer.min_rtt_ms()),
        size(mean),
        mean / segment,
        size(figures.outstanding_bytes.max as f64)
    );
    let events = transfer.loss_events();
    let window = f64::from(figures.advertised_window_bytes.max.unwrap_or(0));
    let (throughput_bps, echoes) = (transfer.throughput_bps(), transfer.other.ecn.echoed);
    let reached = transfer.crossing_bps().filter(|bps| throughput_bps > NEARLY * bps);
    let claim = if let Some(path_bps) = reached {
        let short = if transfer.queued_share() < QUEUED { ": the sender keeps the queue short" } else { "" };
        Claim::new(
            evidence,
            format!("With {} of the path's {} there is little to gain{short}.", rate(throughput_bps), rate(path_bps)),
        )
    } else if transfer.limited().receive_window.unwrap_or(0.0) > share && mean >= FULL * window {
        Claim::new(evidence, format!("That is nearly the receive window of {}: enlarge the receive window.", size(window)))
    } else if echoes > 0 && events == 0 {
        let advice = format!(
            "{echoes} echoes of ECN marks kept the window small: active queue management keeps delays short, and there is \
             little to gain."
        );
        Claim::new(evidence, advice)
    } else if events >= EVENTS && figures.retransmitted_segments > 0 {
        Claim::new(evidence, after_losses(transfer))
    } else if figures.unique_bytes < SHORT_SEGMENTS * u64::from(transfer.segment()) {
        Claim::new(evidence, "The transfer ended in slow start: a larger initial window or persistent connections help.")
    } else {
        let few = if events > 0 {
            format!("{} limited it only briefly", many(u64::from(events), "loss event"))
        } else {
            "no loss limited it".into()
        };
        Claim::new(evidence, format!("The window was still growing, or the sender paces itself; {few}."))
    };
    Some(claim.of_share(share))
}

fn after_losses(transfer: &Transfer<'_>) -> String {
    let (queued, events) = (transfer.queued_share(), many(u64::from(transfer.loss_events()), "loss event"));
    if queued >= QUEUED {
        return format!(
            "A queue stood {} of the time, so the sender reaches the path's rate; {events} reduced the window in between, or \
             it paces below that rate.",
            whole_percent(queued)
        );
    }
    let small = format!("{events} kept the window small with hardly any queue");
    if transfer.loss_cause() == "radio" {
        return format!(
            "{small}: the link loses packets. Link-layer retransmission or a congestion control that does not reduce its \
             window for each loss (BBR) helps."
        );
    }
    if transfer.loss_cause() == "policer" {
        return format!("{small}: a policer drops what exceeds its rate and burst.");
    }
    let hint = if transfer.crossing.is_some() { "" } else { " (two captures show which)" };
    format!(
        "{small}: a link that loses packets, or a queue that drops early{hint}. Link-layer retransmission, or a congestion \
         control that does not reduce its window for each loss (BBR), helps against the first."
    )
}

/// Share of the direction's time after its last data.
fn tail(transfer: &Transfer<'_>) -> f64 {
    let lasted = 1e3 * transfer.flow.duration_s - transfer.figures.first_data_ms.unwrap_or(0.0);
    if lasted > 0.0 { transfer.figures.tail_ms.unwrap_or(0.0) / lasted } else { 0.0 }
}

pub fn application(transfer: &Transfer<'_>) -> Option<Claim> {
    let share = transfer.limited().application.filter(|_| transfer.shows_pace()).unwrap_or(0.0) - transfer.share_of_waits(true);
    // The wait for the last ACKs after the last data is no application limit, nor is that for delayed ones.
    if !transfer.shows_pace() || share - tail(transfer) < MIN_SHARE {
        return None;
    }
    let claim = claimed(LimitKind::Application, "", 0.0);
    let evidence = format!("{claim}: it has no data to send {} of the time.", whole_percent(share));
    let advice = match defects::of_transfer(transfer) {
        Some(defect) => format!("Besides: {}", defect.sentence),
        None if share > 0.5 => "Nothing on the path or in TCP would make this flow faster.".into(),
        None => String::new(),
    };
    Some(Claim::new(evidence, advice).of_share(share))
}
