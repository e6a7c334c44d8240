//! Split TCP: two endpoints back to back in a performance-enhancing proxy (RFC 3135, section 2.4).
//! Each runs a connection of its own; received bytes pass to the other side through a bounded
//! buffer.

use super::endpoint::TcpEndpoint;
use super::handshake::TcpState;
use crate::app::AnyApp;
use crate::units::Time;

/// Moves data from `from` to `to`. A byte occupies the buffer from its read until `to`'s peer
/// acknowledges it; data beyond the buffer stays unread, which closes `from`'s window. Returns the
/// bytes in the buffer.
pub fn relay_bytes(now: Time, from: &mut TcpEndpoint, to: &mut TcpEndpoint, buffer: u64) -> u64 {
    let (arrived, acknowledged) = (from.receiver.arrived(), to.sender.acknowledged());
    let (AnyApp::ControlledApp(source), AnyApp::ControlledApp(target)) = (&mut from.app, &mut to.app) else { return 0 };
    let read = arrived.min(acknowledged.saturating_add(buffer)).max(source.read);
    let closed = from.receiver.peer_closed() && read == arrived;
    let (reads, writes) = (read > source.read, read > target.written || closed != target.closed);
    source.read = read;
    (target.written, target.closed) = (read, closed);
    if reads {
        from.run_app(now);
    }
    if writes {
        to.run_app(now);
    }
    read.saturating_sub(acknowledged)
}

/// Advances the handshakes of both sides: a SYN on one side opens the connection of the other. The
/// SYN-ACK is sent at once, or after the other side's handshake ([`TcpEndpoint::defer_syn_ack`]).
pub fn relay_handshakes(now: Time, one: &mut TcpEndpoint, other: &mut TcpEndpoint) {
    relay_syn(now, one, other);
    relay_syn(now, other, one);
}

fn relay_syn(now: Time, listener: &mut TcpEndpoint, caller: &mut TcpEndpoint) {
    if matches!(listener.state, TcpState::SynReceived | TcpState::Established) {
        caller.connect_at(caller.handshake.at.min(now));
    }
    if listener.state == TcpState::SynReceived && listener.handshake.waits && caller.state == TcpState::Established {
        listener.handshake.waits = false;
        listener.handshake.at = now;
    }
}
