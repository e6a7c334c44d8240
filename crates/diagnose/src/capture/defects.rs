//! What a flow shows that no verdict may call well, whatever its findings say: the verdict that nothing
//! is wrong is a claim, too.

use super::sending_end::SendingEnd;
use super::transfer::Transfer;
use crate::number_text::{milliseconds, size, whole_percent};
use ackclock_trace::report::{DirectionReport, FlowReport};

/// Share of retransmitted segments, and their minimum number.
pub const MANY_RETRANSMITTED: (f64, u64) = (0.3, 5);
/// Multiple of the minimum RTT, and its excess in ms, of which a tenth of the samples has more.
const LONG_RTT: (f64, f64) = (5.0, 25.0);
/// Minimum number of samples of a tenth.
const SAMPLES: u64 = 20;
/// Segments that are sent one at a time.
const ALONE: u64 = 10;
/// Share of time without data from which its window is the application's choice.
const PAUSES: f64 = 0.5;

/// One such thing. Larger ones are worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefectKind {
    LongRtt,
    OneSegment,
    Retransmitted,
    Unanswered,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Defect {
    pub kind: DefectKind,
    /// Of the direction's time or segments.
    pub share: f64,
    pub sentence: String,
}

/// The worst of a direction with enough data.
pub fn of_transfer(transfer: &Transfer<'_>) -> Option<Defect> {
    let seen = [of_end(transfer.flow, transfer.sender), retransmitted(transfer.figures)];
    let at_sender = if transfer.shows_pace() { [one_segment(transfer), long_rtt(transfer)] } else { [None, None] };
    worst(seen.into_iter().chain(at_sender))
}

/// The worst of what one end sends, in any flow.
pub fn of_end(flow: &FlowReport, end: SendingEnd) -> Option<Defect> {
    let figures = end.direction_of(flow);
    worst([unanswered(figures), retransmitted(figures)].into_iter())
}

fn worst(found: impl Iterator<Item = Option<Defect>>) -> Option<Defect> {
    found.flatten().max_by_key(|defect| defect.kind)
}

/// Many of a direction's segments are retransmissions that were needed.
pub fn retransmitted(figures: &DirectionReport) -> Option<Defect> {
    let (many, number) = MANY_RETRANSMITTED;
    let needed = figures.retransmitted_segments.saturating_sub(u64::from(figures.spurious_retransmits));
    let share = needed as f64 / figures.segments.max(1) as f64;
    let sentence = || format!("{needed} of {} segments were retransmitted.", figures.segments.max(needed));
    let defect = || Defect { kind: DefectKind::Retransmitted, share: share.min(1.0), sentence: sentence() };
    (needed >= number && share >= many).then(defect)
}

fn unanswered(figures: &DirectionReport) -> Option<Defect> {
    let what = match figures.unanswered.what {
        Some("fin") => "The FIN",
        Some("data") => "The last data",
        _ => return None,
    };
    let sentence = format!("{what} was sent {} times without an answer.", figures.unanswered.copies);
    Some(Defect { kind: DefectKind::Unanswered, share: 1.0, sentence })
}

fn one_segment(transfer: &Transfer<'_>) -> Option<Defect> {
    let (figures, pauses) = (transfer.figures, transfer.limited().application.unwrap_or(0.0));
    let is_alone = figures.outstanding_bytes.max <= u64::from(figures.largest_segment_bytes);
    let in_flight = || size(figures.outstanding_bytes.max as f64);
    let sentence = || format!("Never more than one segment, {}, was in flight, so that each one took an RTT.", in_flight());
    let defect = || Defect { kind: DefectKind::OneSegment, share: 1.0 - pauses, sentence: sentence() };
    (figures.segments >= ALONE && is_alone && pauses < PAUSES).then(defect)
}

/// p95 stands for the quantile of 90 %, which reports do not have: it is the larger one. A minimum below
/// the handshake's RTT may be one ACK that the host recorded at the time of its data.
fn long_rtt(transfer: &Transfer<'_>) -> Option<Defect> {
    let (multiple, excess) = LONG_RTT;
    let rtt_ms = &transfer.figures.rtt_ms;
    let (median, high) = (rtt_ms.p50?, rtt_ms.p95?);
    let handshake = transfer.flow.handshake_rtt_ms.filter(|handshake| *handshake <= median).unwrap_or(0.0);
    let minimum = rtt_ms.min?.max(handshake);
    let sentence = || {
        format!(
            "The RTT was {} or more for {} of the segments, {:.0} times its minimum of {}.",
            milliseconds(high),
            whole_percent(0.05),
            high / minimum.max(1e-3),
            milliseconds(minimum)
        )
    };
    let is_long = rtt_ms.count >= SAMPLES && high >= multiple * minimum && high - minimum >= excess;
    is_long.then(|| Defect { kind: DefectKind::LongRtt, share: 0.05, sentence: sentence() })
}
