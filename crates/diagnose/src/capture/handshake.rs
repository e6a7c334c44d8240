//! Findings about the path and the handshake: proxies, rewritten options, retransmitted SYNs.

use super::connection::Connection;
use super::failures;
use super::rule::{Claim, ClaimOfEnd};
use super::sending_end::SendingEnd;
use super::transfer::above_zero;
use crate::number_text::{many, milliseconds, sentence};
use ackclock_trace::report::{FlowReport, HandshakeReport, VantagePoint};

/// A SYN-ACK sooner than this share of the data's minimum RTT is not from the remote host.
pub const FAR: f64 = 0.6;
/// Minimum packets of a connection that two captures must have in common.
pub const ENOUGH_PACKETS: u64 = 10;
/// Maximum difference of the captures' clocks for which equal addresses and ports are the same
/// connection.
const SAME_TIME_S: f64 = 3600.0;
/// Maximum difference of the TTLs of one host's packets.
pub const TTL_DIFFERENCE: u8 = 1;

pub fn split_tcp_proxy(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let mut signs = proxy_signs(connection);
    signs.extend(nothing_in_common(connection));
    if signs.is_empty() {
        return None;
    }
    let evidence = sentence(&format!("{}: a split-TCP proxy is between client and server.", signs.join("; ")));
    let advice = "Each side of it has its own windows, losses and RTT: capture on both sides.";
    Some((SendingEnd::Client, Claim::new(evidence, advice)))
}

fn proxy_signs(connection: &Connection<'_>) -> Vec<String> {
    let flow = connection.flow;
    let mut signs = Vec::new();
    for end in SendingEnd::BOTH {
        let ttl = &end.direction_of(flow).ttl;
        let (Some(syn), Some(data)) = (ttl.syn.filter(|ttl| *ttl > 0), ttl.data.filter(|ttl| *ttl > 0)) else { continue };
        if syn.abs_diff(data) > TTL_DIFFERENCE {
            signs.push(format!("the {}'s SYN has a TTL of {syn}, its data one of {data}", end.name()));
        }
    }
    let Some(partner) = connection.partner else { return signs };
    let (ours, there) = (&flow.handshake, &partner.handshake);
    let rewritten = rewritten(ours, there);
    // At the server the SYN-ACK is immediate; the capture near the client shows its origin.
    let is_near = flow.a2b.joined.as_ref().is_none_or(|joined| joined.sender_side_capture == 1);
    let answer = if is_near { ours.server_side_ms } else { there.server_side_ms };
    let [there_ms, back_ms] =
        [&flow.a2b, &flow.b2a].map(|direction| direction.joined.as_ref().and_then(|joined| joined.one_way_delay_ms.min));
    if let (Some(answer), Some(there_ms), Some(back_ms)) = (answer, there_ms, back_ms)
        && answer < FAR * (there_ms + back_ms)
    {
        signs.push(format!("the SYN-ACK comes after {}, too early for a round trip to the other capture", milliseconds(answer)));
    }
    // MSS clamping by a router is common and no evidence of a proxy by itself.
    if rewritten.len() > 1 || (!rewritten.is_empty() && !signs.is_empty()) {
        signs.push(format!("options of the handshake differ between the captures: {}", rewritten.join(", ")));
    }
    signs
}

/// The options that differ between the captures, with both values.
fn rewritten(ours: &HandshakeReport, there: &HandshakeReport) -> Vec<String> {
    let scale = |scale: Option<u8>| scale.map(u16::from);
    let options = [
        ("the client's MSS", ours.client_mss, there.client_mss),
        ("the server's MSS", ours.server_mss, there.server_mss),
        ("the client's window scale", scale(ours.client_window_scale), scale(there.client_window_scale)),
        ("the server's window scale", scale(ours.server_window_scale), scale(there.server_window_scale)),
    ];
    let text = |value: Option<u16>| value.map_or_else(|| "None".into(), |value| value.to_string());
    let differing = options.into_iter().filter(|(_, ours, there)| ours != there);
    differing.map(|(name, ours, there)| format!("{name} ({} and {})", text(ours), text(there))).collect()
}

/// The same connection by addresses and ports in both captures, without a common packet: its sequence
/// numbers are different.
fn nothing_in_common(connection: &Connection<'_>) -> Vec<String> {
    let (flow, [start, second_start]) = (connection.flow, connection.starts_s);
    let Some(there) = connection.namesake.filter(|there| flow.packets.min(there.packets) >= ENOUGH_PACKETS) else {
        return Vec::new();
    };
    if (start + flow.start_s - second_start - there.start_s).abs() > SAME_TIME_S {
        return Vec::new();
    }
    let mut signs = vec![
        "both captures have this connection by its addresses and ports, but no packet in common: it has other sequence numbers \
         in each"
            .into(),
    ];
    if let Some((one, other)) = answers(flow, there)
        && one.max(other) > 1.25 * one.min(other)
    {
        signs.push(format!(
            "one side's data is answered after {}, the other's after {}",
            milliseconds(one.min(other)),
            milliseconds(one.max(other))
        ));
    }
    signs
}

/// Minimum RTTs in ms from the capture at each end to the host that answers there; equal if the ends
/// have one connection.
fn answers(one: &FlowReport, other: &FlowReport) -> Option<(f64, f64)> {
    let at = |place: VantagePoint| [other, one].into_iter().map(|flow| &flow.vantage).find(|vantage| vantage.place == place);
    let (server, client) = (at(VantagePoint::Server)?, at(VantagePoint::Client)?);
    above_zero(server.to_client_ms).zip(above_zero(client.to_server_ms))
}

/// The end whose SYN lost its window scale option on the path, and how that shows.
fn unscaled_end(connection: &Connection<'_>) -> Option<(SendingEnd, String)> {
    let ours = &connection.flow.handshake;
    let scales = |of: &HandshakeReport| [of.client_window_scale, of.server_window_scale];
    let has_syn = |of: &HandshakeReport| [of.client_mss, of.server_mss].map(|mss| mss.is_some());
    if let Some(there) = connection.partner.map(|partner| &partner.handshake) {
        let differs = |end: &SendingEnd| {
            let index = usize::from(*end == SendingEnd::Server);
            let is_captured = has_syn(ours)[index] && has_syn(there)[index];
            is_captured && scales(ours)[index].is_some() != scales(there)[index].is_some()
        };
        let end = SendingEnd::BOTH.into_iter().find(differs)?;
        return Some((end, "one capture has it, the other has not".into()));
    }
    let ends = [
        (SendingEnd::Client, ours.client_option_erased, ours.client_sack, ours.client_window_scale),
        (SendingEnd::Server, ours.server_option_erased, ours.server_sack, ours.server_window_scale),
    ];
    // A SYN-ACK has the option only in answer to one, and its stack then has it.
    let is_erased = |(_, erased, sack, scale): &(SendingEnd, bool, bool, Option<u8>)| *erased && *sack && scale.is_none();
    let (end, ..) = ends.into_iter().find(is_erased)?;
    Some((end, "NOPs stand in its place".into()))
}

pub fn window_scaling_stripped(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let (end, shows) = unscaled_end(connection)?;
    let evidence = format!(
        "A device on the path takes the window scale option out of the {}'s SYN ({shows}): no window of the connection exceeds \
         64 KB, which is all that it can carry in a round trip.",
        end.name()
    );
    let advice = "Search the path for a firewall that clears or normalises TCP options, and let it pass window scaling (RFC 7323); \
                  a larger receive buffer does not help.";
    Some((end, Claim::new(evidence, advice)))
}

/// Retransmitted SYNs of a connection that was established.
pub fn handshake_loss(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let flow = connection.flow;
    let retransmitted: u64 = SendingEnd::BOTH
        .iter()
        .map(|end| u64::from(end.direction_of(flow).causes.get("handshake").map_or(0, |kind| kind.count)))
        .sum();
    if retransmitted == 0 || !flow.handshake.complete || failures::accept_queue(connection).is_some() {
        return None;
    }
    let evidence = format!(
        "The handshake needed {} of SYN or SYN-ACK and took {}.",
        many(retransmitted, "retransmission"),
        milliseconds(flow.handshake_rtt_ms)
    );
    Some((SendingEnd::Client, Claim::new(evidence, "")))
}
