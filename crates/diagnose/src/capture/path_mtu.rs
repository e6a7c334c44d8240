//! A path that carries only packets up to a size, and does not say so.

use super::connection::Connection;
use super::rule::Claim;
use super::sending_end::SendingEnd;
use crate::number_text::many;
use ackclock_trace::join::size_limit::EVERY_PATH;
use ackclock_trace::report::PathMtuReport;

/// The size above which nothing of this end arrives, between two captures, or at this end by its ACKs: there
/// only after a retransmission timeout, without which a router has reported the size to the sender.
pub fn size_limit<'a>(connection: &Connection<'a>, end: SendingEnd) -> Option<&'a PathMtuReport> {
    let figures = end.direction_of(connection.flow);
    match &figures.joined {
        Some(joined) => joined.path_mtu.as_ref(),
        None if figures.rto_retransmits == 0 => None,
        None => figures.inferred_path.as_ref()?.path_mtu.as_ref(),
    }
}

pub fn path_mtu(connection: &Connection<'_>, end: SendingEnd) -> Option<Claim> {
    let limit = size_limit(connection, end)?;
    let (lost_bytes, delivered) = (limit.lost_bytes, limit.delivered_bytes);
    let shown = if end.direction_of(connection.flow).joined.is_some() { "arrive" } else { "are acknowledged" };
    // A limit below it is the largest packet that happened to be sent.
    let known =
        if delivered >= EVERY_PATH { format!("packets of up to {delivered} B {shown}") } else { format!("short ones {shown}") };
    let caveat = if limit.peer_silent {
        format!(
            " No short one was sent since, and nothing came from the {peer}: had it vanished in that moment, this would look the \
             same, which a capture there shows.",
            peer = end.peer().name()
        )
    } else {
        String::new()
    };
    let evidence = format!(
        "{} of {lost_bytes} B or more that the {} sent did not arrive, none did, while {known}: a part of the path carries only \
         shorter packets, and no report of that (ICMP) reaches the sender.{caveat}",
        many(u64::from(limit.lost), "packet"),
        end.name()
    );
    let advice = "Clamp the MSS at the router in front of that part (a tunnel, PPPoE, a VPN), or lower the MTU of its interface or \
                  of the sender's; let ICMP's \"fragmentation needed\" and \"packet too big\" pass; at a Linux sender \
                  net.ipv4.tcp_mtu_probing = 1 finds the size without them.";
    let shorter = if limit.peer_silent { "those of the handshake did" } else { "shorter ones do" };
    let short = format!(
        "Packets of {lost_bytes} B never arrive, {shorter}: the router before the tunnel or link that is too narrow has to \
         clamp the MSS or to report the size."
    );
    Some(Claim::new(evidence, advice).in_short(short))
}
