//! Findings about resets, by their kind.

use super::connection::Connection;
use super::failures;
use super::handshake::TTL_DIFFERENCE;
use super::rule::{Claim, ClaimOfEnd};
use super::sending_end::SendingEnd;
use crate::number_text::{many, span};
use ackclock_trace::report::ResetReport;

/// The end in whose name the reset was sent.
fn sender(reset: &ResetReport) -> Option<SendingEnd> {
    SendingEnd::BOTH.into_iter().find(|end| reset.from == Some(end.name()))
}

/// Packets after a reset with the TTL of its end that show that the connection goes on, and the time after which
/// none was in transit, in s.
pub const GOES_ON: u32 = 2;
const IN_TRANSIT_S: f64 = 0.2;

fn when(reset: &ResetReport) -> String {
    format!("{} after the flow's first packet", span(reset.at_s.unwrap_or(0.0)))
}

/// Both TTLs, if the reset has another one than the other packets of the end in whose name it came.
fn other_ttl(reset: &ResetReport) -> Option<(u8, u8)> {
    reset.ttl.zip(reset.usual_ttl).filter(|(ttl, usual)| ttl.abs_diff(*usual) > TTL_DIFFERENCE)
}

/// Whether the end in whose name a reset came goes on with the connection: a host that resets one forgets it. With
/// the same TTL some packets may have been in transit.
pub fn is_injected(connection: &Connection<'_>) -> bool {
    let reset = &connection.flow.reset;
    let after_s = reset.went_on_at_s.zip(reset.at_s).map_or(0.0, |(went_on, at)| went_on - at);
    let is_late = reset.packets_after >= GOES_ON && after_s >= IN_TRANSIT_S;
    let syns = connection.flow.a2b.causes.get("handshake").map_or(0, |kind| kind.count) + 1;
    match reset.kind {
        // Some clients repeat a SYN that was refused, and the program may listen by then.
        Some("refused") => reset.accepted_after && (syns == 1 || other_ttl(reset).is_some()),
        Some(_) => reset.packets_after > 0 && other_ttl(reset).is_some() || is_late,
        None => false,
    }
}

pub fn reset_injected(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let reset = &connection.flow.reset;
    let end = sender(reset).filter(|_| is_injected(connection))?;
    let name = end.name();
    let ttls = match other_ttl(reset) {
        Some((ttl, usual)) => format!(" with a TTL of {ttl}, while its own packets have {usual}"),
        None => String::new(),
    };
    let goes_on = if reset.accepted_after {
        format!("it accepted the connection {} later", span(reset.went_on_at_s.unwrap_or(0.0) - reset.at_s.unwrap_or(0.0)))
    } else {
        format!("it sent {} afterwards", many(u64::from(reset.packets_after), "packet"))
    };
    let evidence = format!(
        "A reset in the {name}'s name came {}{ttls}, and the {name} did not send it: {goes_on}. A device on the path injected it.",
        when(reset)
    );
    let advice = "Search the path for a firewall, an intrusion prevention system or a censor that ends connections; its distance is \
                  the TTL's.";
    Some((end, Claim::new(evidence, advice)))
}

/// A reset of this kind that the end itself sent.
fn own_reset(connection: &Connection<'_>, kind: &str, meaning: &str, advice: &'static str) -> Option<ClaimOfEnd> {
    let reset = &connection.flow.reset;
    if reset.kind != Some(kind) || other_ttl(reset).is_some() || is_injected(connection) {
        return None;
    }
    let end = sender(reset)?;
    let evidence = format!("The {} reset the connection {}, {meaning}.", end.name(), when(reset));
    Some((end, Claim::new(evidence, advice)))
}

pub fn reset_by_middlebox(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let reset = &connection.flow.reset;
    if reset.kind == Some("refused") || is_injected(connection) {
        return None;
    }
    let (end, (ttl, usual)) = sender(reset).zip(other_ttl(reset))?;
    let name = end.name();
    let evidence = format!(
        "A reset in the {name}'s name came {} with a TTL of {ttl}; its other packets have {usual}: a middlebox on the path ended \
         the connection, not the {name}.",
        when(reset)
    );
    let advice = "Search the path for a firewall, a proxy or an intrusion prevention system with a rule or a timeout.";
    Some((end, Claim::new(evidence, advice)))
}

pub fn reset_half_open(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let meaning = "before the handshake was complete: its host does not know the connection (a scan, an address that another \
                   host uses), or the client gave up";
    own_reset(connection, "half_open", meaning, "")
}

pub fn reset_unknown_connection(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let meaning = "in answer to a segment of a connection that its host does not have (the reset has no ACK flag): the program \
                   or the host restarted, or a load balancer or NAT sent the segment to another host";
    let advice = "Search for a restart there, or for idle connections that something on the path forgets: keep-alives below its \
                  timeout help.";
    own_reset(connection, "unknown_connection", meaning, advice)
}

pub fn reset_after_close(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let meaning = "in answer to data that arrived after the program had closed its socket: that data is lost";
    let advice = "The two programs disagree about who ends the connection, or the reader ended early.";
    own_reset(connection, "after_close", meaning, advice)
}

pub fn reset_gave_up(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let end = sender(&connection.flow.reset)?;
    // That finding says why.
    if failures::keepalive_unanswered(connection, end).is_some() {
        return None;
    }
    own_reset(connection, "gave_up", "after its own retransmissions had no answer", "")
}

pub fn reset_unread_data(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let meaning = "while data of the other end was arriving: the program closed its socket before it had read all (or with a \
                   linger time of 0)";
    let advice = "Harmless if the program does not want the rest, as measurement tools at the end of a test; otherwise search \
                  there for a crash or a timeout.";
    own_reset(connection, "unread_data", meaning, advice)
}

pub fn reset_abort(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let meaning = "with nothing in flight: the program aborted the connection (a linger time of 0, or its host closed it)";
    own_reset(connection, "abort", meaning, "Harmless at the end of a connection: it saves the FINs.")
}
