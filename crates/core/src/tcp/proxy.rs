//! A split connection: two TCP endpoints back to back, as a performance-enhancing proxy has them (RFC 3135, section 2.4). Each runs by itself;
//! between them bytes go from what one has received to what the other sends, and no more are kept than a buffer holds.

use super::endpoint::TcpEndpoint;
use super::handshake::ConnectionState;
use crate::app::AnyApp;
use crate::units::Time;

/// Hands over what `from` has received to `to`. A byte is in the buffer from when it is read until `to`'s peer has acknowledged it; what
/// does not fit stays unread, so that `from`'s window closes. Says how many bytes the buffer holds.
pub fn relay_bytes(now: Time, from: &mut TcpEndpoint, to: &mut TcpEndpoint, buffer: u64) -> u64 {
    let (arrived, acknowledged) = (from.receiver.arrived(), to.sender.acknowledged());
    let (AnyApp::ProxyApp(source), AnyApp::ProxyApp(target)) = (&mut from.app, &mut to.app) else { return 0 };
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

/// Brings the handshakes of both sides on: whoever has been called calls on at its other side, and answers now or, if it
/// [waits](TcpEndpoint::defer_syn_ack), when it has been answered there.
pub fn relay_handshakes(now: Time, one: &mut TcpEndpoint, other: &mut TcpEndpoint) {
    call_on(now, one, other);
    call_on(now, other, one);
}

fn call_on(now: Time, listener: &mut TcpEndpoint, caller: &mut TcpEndpoint) {
    if matches!(listener.state, ConnectionState::SynReceived | ConnectionState::Established) {
        caller.connect_at(caller.handshake.at.min(now));
    }
    if listener.state == ConnectionState::SynReceived && listener.handshake.waits && caller.state == ConnectionState::Established
    {
        listener.handshake.waits = false;
        listener.handshake.at = now;
    }
}
