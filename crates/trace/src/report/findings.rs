//! What held each direction, in shares of its time. Only what the capture itself shows.

use super::Place;
use crate::flow::{Flow, Half, Side};
use serde::Serialize;

/// One statement about a flow.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// `a2b` or `b2a`: whose data it is about.
    pub direction: &'static str,
    pub finding: &'static str,
    /// Of the direction's time from its first data to its last ACK.
    pub share: f64,
    pub evidence: String,
}

/// Shares below this are noise.
const WORTH_SAYING: f64 = 0.02;
/// A direction with less data than this has no steady state to speak of.
const ENOUGH_BYTES: u64 = 20_000;

pub fn of(flow: &Flow, place: Place) -> Vec<Finding> {
    let sides = [("a2b", flow.client()), ("b2a", flow.client().other())];
    sides.into_iter().flat_map(|(name, side)| direction(flow, name, side, place)).collect()
}

fn direction(flow: &Flow, name: &'static str, side: Side, place: Place) -> Vec<Finding> {
    let half = flow.half(side);
    let t = &half.times;
    let span = (t.busy + t.idle) as f64;
    if half.counts.unique < ENOUGH_BYTES || span <= 0.0 {
        return Vec::new();
    }
    let at_sender = match place {
        Place::Client => side == flow.client(),
        Place::Server => side != flow.client(),
        Place::Middle | Place::Unknown => true,
    };
    let open = (t.busy - t.recovery - t.window).max(0);
    let mut all = vec![
        ("recovery", t.recovery, format!("{} retransmissions, {} timeouts", half.counts.retransmitted, timeouts(half))),
        ("application", t.idle, "nothing was outstanding".to_owned()),
    ];
    if at_sender {
        all.push(("receive_window", t.window, format!("the offered window is {} bytes at most", half.offered.max)));
        let queued = t.queued.min(open);
        let quiet = open - queued;
        let plateau = if is_capped(half) { t.plateau.min(quiet) } else { 0 };
        all.push(("path_rate", queued, format!("the RTT stands a quarter or more above its least, {:.1} ms", least(half))));
        let flight = half.flight.max();
        all.push((
            "send_buffer",
            plateau,
            format!("{flight} bytes in flight, never more, without loss (inferred, not on the wire)"),
        ));
        all.push(("cwnd", quiet - plateau, format!("{flight} bytes in flight at most, RTT near its least")));
    }
    let mut said: Vec<Finding> = all
        .into_iter()
        .map(|(finding, time, evidence)| Finding { direction: name, finding, share: time as f64 / span, evidence })
        .filter(|f| f.share >= WORTH_SAYING)
        .collect();
    said.sort_by(|a, b| b.share.total_cmp(&a.share));
    said
}

/// A flight that stays at one height although nothing was lost and the window is wider: the sender has no room for more.
fn is_capped(half: &Half) -> bool {
    let t = &half.times;
    half.counts.retransmitted == 0
        && t.plateau * 2 > t.busy
        && half.flight.max() + 2 * u64::from(half.counts.largest_segment) < u64::from(half.offered.max)
}

fn timeouts(half: &Half) -> u32 {
    half.trouble().map_or(0, |t| t.timeouts)
}

fn least(half: &Half) -> f64 {
    half.rtt.min().map_or(0.0, super::ms)
}
