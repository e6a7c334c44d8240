//! Findings about the capture itself: packets that it lacks, connections that it has twice, times that step back.

use super::connection::Connection;
use super::rule::{Claim, ClaimOfEnd};
use super::sending_end::SendingEnd;
use super::transfer::FULL_BYTES;
use crate::number_text::{many, size};
use ackclock_trace::report::Report;

/// Data that no sender has in flight before the first ACK: initial windows are at most some 30 segments.
pub const UNACKED_BYTES: u64 = 1 << 16;
/// Segments that are acknowledged and not captured, above which there is a finding: the capture began between data
/// and its ACK.
pub const MISSED_SEGMENTS: u64 = 2;
/// A timestamp that is before an earlier packet's by more, in s, is no swap of two queues of a network card.
pub const STEP_BACK_S: f64 = 1e-4;

/// The end none of whose packets were captured although the other end got some.
fn unseen_end(connection: &Connection<'_>) -> Option<SendingEnd> {
    SendingEnd::BOTH.into_iter().find(|end| {
        let [unseen, seen] = [*end, end.peer()].map(|end| end.direction_of(connection.flow));
        unseen.packets == 0 && (unseen.repairs.missed_bytes > 0 || seen.unique_bytes >= UNACKED_BYTES)
    })
}

/// Whether the capture has one direction only.
pub fn has_one_direction(connection: &Connection<'_>) -> bool {
    unseen_end(connection).is_some()
}

pub fn one_direction(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let end = unseen_end(connection)?;
    let (name, seen) = (end.name(), end.peer());
    let missed = end.direction_of(connection.flow).repairs.missed_bytes;
    let shows = if missed > 0 {
        format!("the {}'s ACK number advances by {} of data that is not there", seen.name(), size(missed as f64))
    } else {
        let sent = seen.direction_of(connection.flow).unique_bytes;
        format!("the {} sends {}, which needs ACKs that are not there", seen.name(), size(sent as f64))
    };
    let evidence = format!(
        "The capture has no packet of the {name}, and {shows}: it has one direction of this connection. RTT, limits and \
         losses need both."
    );
    let advice = "Capture where both directions pass: their paths may differ (asymmetric routes, two mirror ports), or the filter \
                  of the capture names one of them.";
    Some((seen, Claim::new(evidence, advice)))
}

pub fn capture_drops(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let figures = end.direction_of(connection.flow);
    let drops = figures.joined.as_ref().map_or(0, |joined| joined.lost.capture_drops_receiver + joined.lost.capture_drops_sender);
    let missed = if figures.joined.is_some() || has_one_direction(connection) { 0 } else { figures.repairs.missed_bytes };
    let segment = if figures.largest_segment_bytes > 0 { figures.largest_segment_bytes } else { FULL_BYTES };
    let evidence = if drops > 0 {
        format!(
            "{} passed a capture point but are missing in its capture: the capturing host dropped them, not the network.",
            many(drops, "packet")
        )
    } else if missed > MISSED_SEGMENTS * u64::from(segment) {
        format!(
            "{} were acknowledged but not captured: the capture dropped packets, or they took another path. All figures of this \
             direction are those of the {} that were captured.",
            size(missed as f64),
            size(figures.unique_bytes as f64)
        )
    } else {
        return None;
    };
    Some(Claim::new(evidence, "Capture with a larger buffer (tcpdump -B) or only the headers (-s 96)."))
}

pub fn nat_both_sides(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let flow = connection.flow;
    let earlier = flow.translation_of?;
    let evidence = format!(
        "This is flow {earlier} with translated addresses, {} to {}: both have the same sequence numbers at the same time. The \
         capture has both sides of a NAT or a load balancer, and the summary counts the connection once.",
        flow.client, flow.server
    );
    Some((SendingEnd::Client, Claim::new(evidence, "Read the findings of the other flow; a filter leaves out one side.")))
}

/// Whether timestamps step back by more than two queues of a card swap packets.
pub fn clock_steps(head: &Report) -> bool {
    head.max_step_back_s > STEP_BACK_S
}
