//! What limited a sender, in shares of the time since a direction's first data.

use super::VantagePoint;
use super::vantage::shows_sender;
use crate::flow::{Flow, FlowDirection, Side};
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// Shares that add up to one. A capture that is not at the sender does not show its windows and
/// queues: only recovery and the zero window are then known, and the rest is `unknown`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct Limits {
    /// The advertised window had no room for another segment; includes a zero window with data
    /// waiting.
    pub receive_window: Option<f64>,
    /// The bytes in flight were constant, below the advertised window, without loss (inferred).
    pub send_buffer: Option<f64>,
    /// A queue stood: SRTT was at least a quarter above the minimum RTT, with more than a segment in
    /// flight, and by more than delayed ACKs explain.
    pub path_rate: Option<f64>,
    /// None of the other limits: the congestion window or pacing.
    pub cwnd: Option<f64>,
    /// No data was outstanding, or the last segment was not full although there was room.
    pub application: Option<f64>,
    /// Loss recovery.
    pub recovery: f64,
    #[serde(rename = "unseen")]
    pub unknown: Option<f64>,
}

/// The longest time that hosts delay an ACK (some 200 ms, Linux 40 ms and more; RFC 1122 allows 500 ms),
/// and a tenth more.
const MAX_DELAYED_ACK_NS: i64 = 220_000_000;
/// Minimum duration of a plateau in RTTs.
const MIN_PLATEAU_RTTS: i64 = 4;

/// The limits of the sender at `side`; none without data.
pub fn of(flow: &Flow, side: Side, vantage: VantagePoint) -> Option<Limits> {
    let direction = flow.direction(side);
    let t = direction.stats()?.times();
    let span = (t.busy + t.idle + t.zero_window) as f64;
    if span <= 0.0 {
        return None;
    }
    let share = |time: i64| time as f64 / span;
    let recovery = share(t.recovery);
    let open = (t.busy - t.recovery - t.window - t.app_limited).max(0);
    if !shows_sender(vantage, flow, side) {
        // A pause may be due to the sender's window, its application, or the path.
        let (receive_window, unknown) = (Some(share(t.zero_window)), Some(share(open + t.window + t.idle + t.app_limited)));
        return Some(Limits { receive_window, recovery, unknown, ..Limits::default() });
    }
    let queued = if may_wait_for_acks(direction) { 0 } else { t.standing_queue.min(open) };
    let quiet = open - queued;
    let plateau = if is_send_buffer_limited(direction) {
        t.flight_plateau.min(quiet)
    } else if returns_to_a_cap(direction) {
        t.since_risen.min(quiet)
    } else {
        0
    };
    Some(Limits {
        receive_window: Some(share(t.window + t.zero_window)),
        send_buffer: Some(share(plateau)),
        path_rate: Some(share(queued)),
        cwnd: Some(share(quiet - plateau)),
        application: Some(share(t.idle + t.app_limited)),
        recovery,
        unknown: None,
    })
}

/// True if delayed ACKs explain the RTT: a receiver acknowledges every second full segment at once, so that
/// with more than two in flight no ACK is delayed.
fn may_wait_for_acks(direction: &FlowDirection) -> bool {
    direction.stats().is_some_and(|s| {
        let full = 2.0 * f64::from(s.bytes().largest_segment);
        let is_small = s.flight().mean(s.times().busy).is_some_and(|mean| mean <= full);
        let rtt = direction.rtt();
        let excess = rtt.from_acks().smoothed().zip(rtt.min_of_all()).map(|((smoothed, _), min)| smoothed.saturating_sub(min));
        is_small && excess.is_some_and(|excess| excess <= MAX_DELAYED_ACK_NS)
    })
}

/// True if the bytes in flight are constant for most of the time and some RTTs, without loss and
/// below the advertised window: the send buffer is full.
fn is_send_buffer_limited(direction: &FlowDirection) -> bool {
    direction.stats().is_some_and(|s| {
        let (plateau, max_window) = (s.times().flight_plateau, direction.window().max().unwrap_or(0));
        direction.retransmitted() == 0
            && plateau * 2 > s.times().busy
            && direction.rtt().from_acks().smoothed().is_some_and(|(rtt, _)| plateau > MIN_PLATEAU_RTTS * rtt)
            && u64::from(s.flight().max()) + 2 * u64::from(s.bytes().largest_segment) < u64::from(max_window)
    })
}

/// Times that the bytes in flight come back to their maximum, RTTs for which they do not exceed it, and the share of
/// full segments with PSH, of a sender whose program waits for room in its send buffer: it has always something to send.
const MIN_PEAKS: u32 = 8;
const MIN_CAPPED_RTTS: i64 = 20;
const PUSHED: (u32, u32) = (1, 4);
/// Part of the time for which such a program may have nothing to send: numerator and denominator.
const MAX_PAUSES: (i64, i64) = (1, 10);

/// True if the bytes in flight come back to one maximum again and again, and a quarter of the full segments is pushed:
/// a congestion window without losses would have grown, and TCP pushes what it has when the program has to wait for
/// room. The bytes are fewer in between, as the program is woken once a third of the buffer is free.
fn returns_to_a_cap(direction: &FlowDirection) -> bool {
    let spurious = direction.ledger().map_or(0, |ledger| ledger.rare().spurious.all());
    direction.stats().is_some_and(|s| {
        let (times, bytes, max_window) = (s.times(), s.bytes(), direction.window().max().unwrap_or(0));
        let ((part, whole), pauses) = (MAX_PAUSES, times.idle + times.app_limited);
        direction.retransmitted() <= spurious
            && pauses * whole <= (times.busy + times.idle) * part
            && times.peaks >= MIN_PEAKS
            && times.since_risen * 2 > times.busy
            && direction.rtt().from_acks().smoothed().is_some_and(|(rtt, _)| times.since_risen > MIN_CAPPED_RTTS * rtt)
            && u64::from(bytes.pushed) * u64::from(PUSHED.1) >= u64::from(bytes.segments) * u64::from(PUSHED.0)
            && u64::from(s.flight().max()) + 2 * u64::from(bytes.largest_segment) < u64::from(max_window)
    })
}
