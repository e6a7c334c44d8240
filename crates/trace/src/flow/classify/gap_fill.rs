//! Classification of a segment that fills a gap in the captured sequence space: reordered, or a
//! retransmission of a segment that was lost before the capture point.

use super::super::rules::{RULES, share_of};
use super::{Classification, KindRule, SegmentKind};

/// Evidence about a segment that fills a gap.
#[derive(Debug, Clone, Copy)]
pub struct GapFill {
    /// Time since the gap was detected, nanoseconds.
    pub waited: i64,
    /// Minimum RTT between capture point and sender, nanoseconds. A retransmission caused by a
    /// duplicate ACK cannot arrive sooner.
    pub sender_rtt: Option<i64>,
    /// TSval of the segment minus TSval of the segment after the gap. Negative: the segment was
    /// sent earlier.
    pub tsval_diff: Option<i32>,
    /// The same difference of IP identifications, if the sender increments them per packet.
    pub ip_id_diff: Option<i16>,
    /// The segment follows three duplicate ACKs, and its IP identification is a few above the highest so far: it was
    /// sent last, whether the sender counts all packets or not.
    pub is_triggered_last: bool,
}

/// What fills a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GapFiller {
    Reordered(Classification),
    /// A retransmission, with the confidence that it is one. The caller classifies it.
    Retransmission(f32),
}

/// Distinguishes a reordered segment from a retransmission.
pub fn classify_gap_fill(f: &GapFill) -> GapFiller {
    let reordered = |confidence, rule| GapFiller::Reordered(Classification::new(SegmentKind::Reordered, confidence, rule));
    // IP identifications order single packets; TSval has a resolution of milliseconds.
    match (f.ip_id_diff, f.tsval_diff) {
        (Some(id), _) if id < 0 => return reordered(0.99, KindRule::LowerIpId),
        (_, Some(tsval)) if tsval < 0 => return reordered(0.98, KindRule::OlderTsval),
        (Some(_), _) => return GapFiller::Retransmission(0.99),
        (_, Some(tsval)) if tsval > 0 => return GapFiller::Retransmission(0.97),
        _ if f.is_triggered_last => return GapFiller::Retransmission(0.9),
        _ => {}
    }
    match f.sender_rtt {
        Some(rtt) if f.waited < share_of(rtt, RULES.reordered_rtt) => reordered(0.9, KindRule::FilledWithinRtt),
        Some(_) => GapFiller::Retransmission(0.85),
        None if f.waited < RULES.reordered_within => reordered(0.6, KindRule::FilledSoon),
        None => GapFiller::Retransmission(0.6),
    }
}
