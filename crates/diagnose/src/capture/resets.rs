//! Findings about resets, by their kind.

use super::connection::Connection;
use super::handshake::TTL_DIFFERENCE;
use super::rule::{Claim, ClaimOfEnd};
use super::sending_end::SendingEnd;
use crate::number_text::span;
use ackclock_trace::report::ResetReport;

/// The end in whose name the reset was sent.
fn sender(reset: &ResetReport) -> Option<SendingEnd> {
    SendingEnd::BOTH.into_iter().find(|end| reset.from == Some(end.name()))
}

fn when(reset: &ResetReport) -> String {
    format!("{} after the flow's first packet", span(reset.at_s.unwrap_or(0.0)))
}

/// Both TTLs, if the reset has another one than the other packets of the end in whose name it came.
fn other_ttl(reset: &ResetReport) -> Option<(u8, u8)> {
    reset.ttl.zip(reset.usual_ttl).filter(|(ttl, usual)| ttl.abs_diff(*usual) > TTL_DIFFERENCE)
}

/// A reset of this kind that the end itself sent.
fn own_reset(connection: &Connection<'_>, kind: &str, meaning: &str, advice: &'static str) -> Option<ClaimOfEnd> {
    let reset = &connection.flow.reset;
    if reset.kind != Some(kind) || other_ttl(reset).is_some() {
        return None;
    }
    let end = sender(reset)?;
    let evidence = format!("The {} reset the connection {}, {meaning}.", end.name(), when(reset));
    Some((end, Claim::new(evidence, advice)))
}

pub fn reset_by_middlebox(connection: &Connection<'_>) -> Option<ClaimOfEnd> {
    let reset = &connection.flow.reset;
    let (end, (ttl, usual)) = sender(reset).filter(|_| reset.kind != Some("refused")).zip(other_ttl(reset))?;
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
