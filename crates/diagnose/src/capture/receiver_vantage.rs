//! Findings from a capture at the receiver, which does not see the sender's flight but estimates RTTs
//! by echoed timestamps (TSecr).

use super::loss_response::{EVENTS, LossyTransfer, ModelRates};
use super::rule::{Claim, MIN_SHARE, Remedy};
use super::sending_end::SendingEnd;
use super::transfer::{NEARLY, Transfer, above_zero};
use crate::number_text::{many, milliseconds, rate, size, whole_percent};
use ackclock_trace::report::VantagePoint;

/// The advice where the sender limits itself.
const SENDER_LIMITS: &str = "Examine the sending host: its send buffer (SO_SNDBUF, wmem), its program, or its pacing.";
const TWO_CAPTURES: &str = "Capture at the sender, too: two captures measure delay and loss of each direction.";
/// Part of the time limited by the receive window from which a window of zero is the reader's: data
/// that fills a small window closes it for a moment, until the reader has taken it.
pub const CLOSED: f64 = 0.25;
/// Minimum number of echoed timestamps.
const ECHOES: u64 = 5;
/// A median RTT above the minimum by this share of it has a queue.
const STANDS: f64 = 0.25;
/// Data with gaps below this share of an RTT arrives without pauses of the application.
const STEADY: f64 = 0.25;
/// Duration in minimum RTTs after which a window that no loss reduced has grown to the path's rate,
/// unless the sender limits itself: slow start doubles it each RTT, HyStart adds a segment or more.
pub const LONG: f64 = 100.0;
/// Share of time in which the programs wait above which losses do not explain the rate.
const PAUSES: f64 = 0.2;
/// Factor by which the measured rate and a model's differ where the losses explain the rate.
const NEAR: f64 = 1.5;
/// A model's rate with the receive window below this share of that without it is the window's.
const CAPPED: f64 = 0.8;

/// Whether the reader, not a small buffer, closed the window: the sender probed it with data waiting,
/// or it was closed for a quarter of the time that the receive window limited (`share`).
pub fn is_closed_by_reader(transfer: &Transfer<'_>, share: f64) -> bool {
    transfer.figures.zero_windows > 0 && (transfer.waits_closed() || transfer.closed_share() >= CLOSED * share)
}

/// The receive window, if it explains the rate.
pub fn receive_window(transfer: &Transfer<'_>) -> Option<Claim> {
    closed(transfer)
        .or_else(|| one_window_per_rtt(transfer))
        .or_else(|| shrinking_window(transfer, None))
        .or_else(|| window_between_losses(transfer))
}

fn closed(transfer: &Transfer<'_>) -> Option<Claim> {
    let share = transfer.limited().receive_window.unwrap_or(0.0);
    if !transfer.waits_closed() && share < MIN_SHARE {
        return None;
    }
    let zero = u64::from(transfer.figures.zero_windows);
    let mut evidence = if zero > 0 {
        format!("The receiver closed its window {}", many(zero, "time"))
    } else {
        "The receive window had no room for a segment".into()
    };
    if transfer.waits_closed() {
        evidence += ", and the sender probed it with data waiting";
    }
    if share != 0.0 {
        let goodput = rate(transfer.figures.goodput_bps);
        evidence += &format!(": {} of the time nothing could be sent ({goodput} in all)", whole_percent(share));
    }
    Some(Claim::slow_reader(evidence + ".").of_share(above_zero(Some(share))))
}

/// Minimum, median and p95 RTT in ms, from echoed timestamps or from the handshake alone; 0 for an
/// unknown minimum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EchoedRtt {
    pub min: f64,
    /// Median and p95.
    pub typical: Option<(f64, f64)>,
}

impl EchoedRtt {
    pub fn of(transfer: &Transfer<'_>) -> EchoedRtt {
        let echoes = &transfer.other.timestamp_rtt_ms;
        let handshake = transfer.flow.handshake_rtt_ms.unwrap_or(0.0);
        let typical = echoes.p50.zip(echoes.p95);
        if !transfer.is_far() || transfer.place == VantagePoint::Middle || echoes.count < ECHOES {
            return EchoedRtt { min: handshake, typical: None };
        }
        let min = echoes.min.unwrap_or(0.0);
        EchoedRtt { min: if handshake != 0.0 { handshake.min(min) } else { min }, typical }
    }

    /// The median above the minimum, if it is more than jitter.
    fn has_no_queue(&self) -> bool {
        self.typical.is_some_and(|(median, _)| median - self.min < 0.1 * self.min + 1.0)
    }
}

fn one_window_per_rtt(transfer: &Transfer<'_>) -> Option<Claim> {
    let (figures, goodput_bps) = (transfer.figures, transfer.goodput_bps());
    let window = f64::from(figures.advertised_window_bytes.max.unwrap_or(0));
    let echoed = EchoedRtt::of(transfer);
    let (rtt, origin) = match echoed.typical.filter(|(median, _)| *median != 0.0) {
        Some((median, _)) => (median, "the median, by echoed timestamps"),
        None => (echoed.min, "the handshake's"),
    };
    let capped = if rtt != 0.0 { window * 8e3 / rtt } else { 0.0 };
    let explains = NEARLY * capped < goodput_bps && goodput_bps < 1.2 * capped;
    if capped == 0.0 || figures.zero_windows > 0 || figures.retransmitted_segments > 0 || !explains {
        return None;
    }
    let evidence = format!(
        "The receive window never exceeded {}; one window per RTT of {} ({origin}) is {}, and {} arrived without loss: the \
         receive window limits this flow.",
        size(window),
        milliseconds(rtt),
        rate(capped),
        rate(goodput_bps)
    );
    let advice = format!(
        "Enlarge the receive buffer (SO_RCVBUF, rmem): doubling it to {} doubles the rate while nothing else limits.",
        size(2.0 * window)
    );
    Some(Claim::new(evidence, advice).with_remedy(Remedy::LargerBuffer))
}

/// A window that is mostly far below its maximum and that explains the rate: the application reads
/// slowly.
///
/// A capture at the sender shows for which share of the time the window has no room. If that is most
/// of the time, the sender fills the small window; otherwise it must have been much smaller.
pub fn shrinking_window(transfer: &Transfer<'_>, share: Option<f64>) -> Option<Claim> {
    let (window, goodput_bps) = (&transfer.figures.advertised_window_bytes, transfer.goodput_bps());
    let rtt = above_zero(Some(EchoedRtt::of(transfer).min)).unwrap_or(transfer.min_rtt_ms());
    let max = f64::from(window.max.filter(|max| *max > 0)?);
    let mean = above_zero(window.mean).filter(|mean| rtt != 0.0 && *mean <= 0.5 * max)?;
    let min = f64::from(window.min.unwrap_or(0));
    let is_filled = share.unwrap_or(0.0) >= 0.5;
    if !is_filled && min > 0.25 * max {
        return None;
    }
    // A growing window (auto-tuning) is at least twice the data of an RTT, and seldom filled. A window
    // below a segment delays the sender beyond the path's RTT.
    let part = goodput_bps * rtt / (8e3 * mean);
    if part >= 1.2 || (part <= 0.5 && !is_filled) {
        return None;
    }
    let evidence = format!(
        "The receive window, at most {}, was {} on average and at least {}: the application there reads more slowly than data \
         could arrive, {} in all.",
        size(max),
        size(mean),
        size(min),
        rate(goodput_bps)
    );
    Some(Claim::slow_reader(evidence).of_share(share))
}

/// The other figures of this vantage point, where the receive window does not explain the rate.
pub fn far_end(transfer: &Transfer<'_>) -> Option<Claim> {
    if transfer.shows_pace() || receive_window(transfer).is_some() {
        return None;
    }
    let (figures, goodput_bps) = (transfer.figures, transfer.goodput_bps());
    let retransmitted = figures.retransmitted_segments;
    let mut lost = if retransmitted > 0 {
        format!("{} retransmitted", many(retransmitted, "segment"))
    } else {
        "nothing retransmitted".into()
    };
    if retransmitted > 0 && figures.repairs.lost_upstream > 0 {
        lost += &format!(
            " ({} in the received data, {})",
            many(u64::from(figures.repairs.lost_upstream), "hole"),
            many(u64::from(transfer.loss_events()), "loss event")
        );
    }
    let (queue_ms, by_losses) = (standing_queue_ms(transfer), response_to_losses(transfer));
    let mut evidence = format!("{} arrived, {lost}. {}", rate(goodput_bps), shown_by_echoes(transfer, queue_ms));
    let mut short = None;
    let (advice, remedy) = if let Some((models, conclusion)) = by_losses {
        evidence += &models;
        short = Some(format!(
            "{} in {} segments with hardly a queue slow the sender down: {}.",
            many(u64::from(transfer.loss_events()), "loss event"),
            figures.segments,
            transfer.share_of_path()
        ));
        (format!("{conclusion} {TWO_CAPTURES}"), Some(Remedy::FewerLosses))
    } else if limits_itself(transfer) && is_long(transfer) && !pauses(transfer) {
        (format!("{SENDER_LIMITS} {TWO_CAPTURES}"), Some(Remedy::SendingHost))
    } else {
        (TWO_CAPTURES.into(), None)
    };
    evidence += "The sender's limit is not visible: the capture is not at its end.";
    // The queue is at least this long half of the time: by the median.
    let claim = Claim { has_models: short.is_some(), sentence: short, ..Claim::new(evidence, advice) };
    Some(claim.with_remedy(remedy).of_share((queue_ms != 0.0).then_some(0.5)))
}

/// The median queueing delay in ms; 0 without a queue, and where data comes with pauses.
fn standing_queue_ms(transfer: &Transfer<'_>) -> f64 {
    let echoed = EchoedRtt::of(transfer);
    let Some((median, _)) = echoed.typical else { return 0.0 };
    let gaps = transfer.figures.ack_interarrival_ms.gaps.p95.unwrap_or(0.0);
    let queue = median - echoed.min;
    if queue <= (STANDS * echoed.min).max(5.0) || gaps >= STEADY * median { 0.0 } else { queue }
}

/// The models' rates beside the measured one, and what follows, where losses without a queue can
/// explain the rate: neither the path's rate nor the programs' pauses do.
fn response_to_losses(transfer: &Transfer<'_>) -> Option<(String, String)> {
    let (lossy, models) = near_models(transfer).filter(|_| has_losses_alone(transfer))?;
    let (reno, cubic) = (models.counted_bps, models.cubic_bps);
    let by = if cubic > reno {
        format!("Reno would get {} and CUBIC {}", rate(reno), rate(cubic))
    } else {
        format!("either of Reno and CUBIC would get {}", rate(reno))
    };
    let fewer = lossy.rates(0.25).counted_bps;
    let events = many(u64::from(transfer.loss_events()), "loss event");
    Some((
        format!("With {events} in {} segments and this RTT {by}. ", transfer.figures.segments),
        format!(
            "The losses limit the rate, if the sender is one of these: a quarter of them would give about {} with Reno, up to \
             the path's rate.",
            rate(fewer)
        ),
    ))
}

/// The receive window where Reno's window with these losses alone would exceed it.
fn window_between_losses(transfer: &Transfer<'_>) -> Option<Claim> {
    let (lossy, models) = near_models(transfer).filter(|_| has_losses_alone(transfer))?;
    let unlimited = LossyTransfer { max_window: f64::INFINITY, ..lossy }.rates(1.0).counted_bps;
    if models.counted_bps > CAPPED * unlimited {
        return None;
    }
    let evidence = format!(
        "The receive window never exceeded {}. With it and with {} in {} segments Reno would get {}, without the window's limit \
         {}; measured: {}: the receive window limits this flow between its losses.",
        size(f64::from(transfer.figures.advertised_window_bytes.max.unwrap_or(0))),
        many(u64::from(transfer.loss_events()), "loss event"),
        transfer.figures.segments,
        rate(models.counted_bps),
        rate(unlimited),
        rate(transfer.figures.goodput_bps)
    );
    let short = format!(
        "The receive window, at most {}, limits this flow between its losses to {}.",
        size(f64::from(transfer.figures.advertised_window_bytes.max.unwrap_or(0))),
        rate(transfer.figures.goodput_bps)
    );
    let claim = Claim::new(evidence, "Enlarge the receive buffer (SO_RCVBUF, rmem).").without_models(short);
    Some(claim.with_remedy(Remedy::LargerBuffer))
}

fn has_losses_alone(transfer: &Transfer<'_>) -> bool {
    EchoedRtt::of(transfer).has_no_queue() && !transfer.has_path_rate() && !pauses(transfer)
}

/// The models' rates, if the measured one is near them.
fn near_models(transfer: &Transfer<'_>) -> Option<(LossyTransfer, ModelRates)> {
    let lossy = LossyTransfer::of(transfer, &transfer.other.timestamp_rtt_ms)?;
    let (models, measured) = (lossy.rates(1.0), transfer.goodput_bps());
    (models.padhye_bps / NEAR < measured && measured < NEAR * models.cubic_bps).then_some((lossy, models))
}

/// Whether the sender stops below the receive window without a loss, a queue, or the path's rate.
fn limits_itself(transfer: &Transfer<'_>) -> bool {
    let echoed = EchoedRtt::of(transfer);
    let flight = transfer.goodput_bps() * echoed.typical.map_or(0.0, |(median, _)| median) / 8e3;
    echoed.has_no_queue()
        && transfer.figures.retransmitted_segments == 0
        && f64::from(transfer.figures.advertised_window_bytes.max.unwrap_or(0)) > 1.5 * flight
        && !transfer.has_path_rate()
}

/// Whether a congestion window without losses has had the time to grow to any size.
fn is_long(transfer: &Transfer<'_>) -> bool {
    transfer.flow.duration_s * 1e3 > LONG * EchoedRtt::of(transfer).min
}

fn pauses(transfer: &Transfer<'_>) -> bool {
    let thought: f64 = SendingEnd::BOTH.iter().map(|end| end.direction_of(transfer.flow).think_time.total_s).sum();
    thought > PAUSES * transfer.flow.duration_s
}

/// RTT, bytes in flight, and whether a queue stood.
fn shown_by_echoes(transfer: &Transfer<'_>, queue_ms: f64) -> String {
    let (echoed, goodput_bps) = (EchoedRtt::of(transfer), transfer.goodput_bps());
    let Some((median, high)) = echoed.typical else { return String::new() };
    let rtt = format!(
        "By echoed timestamps the RTT was at least {}, {} in the median (p95 {})",
        milliseconds(echoed.min),
        milliseconds(median),
        milliseconds(high)
    );
    if queue_ms != 0.0 {
        return format!(
            "{rtt}: half of the time {} or more of queue, about {} of this flow, in the direction of the data or of the ACKs. ",
            milliseconds(queue_ms),
            size(goodput_bps * queue_ms / 8e3)
        );
    }
    if limits_itself(transfer) {
        let grows = if is_long(transfer) { "" } else { ", or a window that still grows" };
        return format!(
            "{rtt}, so no queue stood: about {} in flight with a receive window of {} and no loss. The sender limits itself: its \
             send buffer, its application, or pacing{grows}. ",
            size(goodput_bps * median / 8e3),
            size(f64::from(transfer.figures.advertised_window_bytes.max.unwrap_or(0)))
        );
    }
    if echoed.has_no_queue() && transfer.loss_events() >= EVENTS {
        return format!(
            "{rtt}: hardly any queue stood, so losses other than overflow keep the window small, or the sender does. "
        );
    }
    format!("{rtt}. ")
}
