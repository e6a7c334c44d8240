//! What held a sender, in shares of a direction's time from its first data on. Only what the
//! capture itself shows.

use super::VantagePoint;
use crate::flow::{Flow, Half, Side};
use serde::Serialize;

/// Shares that add up to one. Where the capture does not stand at the sender's end its windows and
/// queues cannot be seen: then only what it repaired and when its window was closed are told, and
/// the rest is `unseen`.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Limits {
    /// No room for another segment in the offered window, a closed one before which the sender
    /// waits included.
    pub receive_window: Option<f64>,
    /// The flight stayed at one height, below the offered window, without loss: inferred, as a send
    /// buffer is not on the wire.
    pub send_buffer: Option<f64>,
    /// A queue stood: the RTT was a quarter or more above its least.
    pub path_rate: Option<f64>,
    /// None of the others: the flight was as large as the congestion window let it be, or pacing
    /// held it.
    pub cwnd: Option<f64>,
    /// Nothing was outstanding, or the last segment sent was not a full one and room was left:
    /// there was nothing to send.
    pub application: Option<f64>,
    pub recovery: f64,
    pub unseen: Option<f64>,
}

const SOME_ROUND_TRIPS: i64 = 4;

/// Shares of the time since the first data; none without any.
pub fn of(flow: &Flow, side: Side, place: VantagePoint) -> Option<Limits> {
    let half = flow.half(side);
    let t = half.sending()?.times;
    let span = (t.busy + t.idle + t.closed) as f64;
    if span <= 0.0 {
        return None;
    }
    let share = |time: i64| time as f64 / span;
    let recovery = share(t.recovery);
    let open = (t.busy - t.recovery - t.window - t.starved).max(0);
    if !is_at_sender(flow, side, place) {
        // A pause in what arrives may be the sender's window, its application, or the path.
        let (receive_window, unseen) = (Some(share(t.closed)), Some(share(open + t.window + t.idle + t.starved)));
        return Some(Limits { receive_window, recovery, unseen, ..Limits::default() });
    }
    let queued = t.queued.min(open);
    let quiet = open - queued;
    let plateau = if is_capped(half) { t.plateau.min(quiet) } else { 0 };
    Some(Limits {
        receive_window: Some(share(t.window + t.closed)),
        send_buffer: Some(share(plateau)),
        path_rate: Some(share(queued)),
        cwnd: Some(share(quiet - plateau)),
        application: Some(share(t.idle + t.starved)),
        recovery,
        unseen: None,
    })
}

/// The capture sees what this sender saw: it stands at its end, or nobody can tell where it stands.
pub fn is_at_sender(flow: &Flow, side: Side, place: VantagePoint) -> bool {
    match place {
        VantagePoint::Client => side == flow.client(),
        VantagePoint::Server => side != flow.client(),
        VantagePoint::Middle | VantagePoint::Unknown => true,
    }
}

/// A flight that stays at one height for most of the time, and for some round trips, although
/// nothing was lost and the window is wider: the sender has no room for more.
fn is_capped(half: &Half) -> bool {
    half.sending().is_some_and(|s| {
        half.counts.retransmitted == 0
            && s.times.plateau * 2 > s.times.busy
            && half.rtt.smoothed().is_some_and(|(rtt, _)| s.times.plateau > SOME_ROUND_TRIPS * rtt)
            && u64::from(s.flight.max()) + 2 * u64::from(s.amounts.largest_segment) < u64::from(half.offered.max)
    })
}
