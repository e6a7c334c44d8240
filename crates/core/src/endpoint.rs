//! The interface between endpoints of flows and the network.

use crate::app::{CallEnd, ConferenceEnd, ExternalHost, GameClient, ProbeReflector, Prober, UdpSink, UdpSource};
use crate::autorate::{PingReflector, Pinger};
use crate::packet::{Arena, Body, BodyId, Ecn, Kind};
use crate::tcp::TcpEndpoint;
use crate::units::Time;

/// A packet that an endpoint sends: its body in the arena, and the header fields.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    pub body: BodyId,
    /// IP length in bytes.
    pub len: u16,
    pub kind: Kind,
    pub ecn: Ecn,
    /// No other packet follows at this instant; `poll` need not be called again.
    pub no_more: bool,
}

/// An end of a flow: packet bodies and time in, packet bodies and the next due time out.
pub trait Endpoint {
    /// A packet's body has arrived.
    fn receive(&mut self, now: Time, body: &Body, ecn: Ecn);
    /// Like `receive`, when another packet for this endpoint arrives at the same instant.
    fn receive_more_coming(&mut self, now: Time, body: &Body, ecn: Ecn) {
        self.receive(now, body, ecn);
    }
    /// The due time is reached. The call may come early, if the due time has moved; then it does
    /// nothing.
    fn on_timer(&mut self, now: Time);
    /// The next packet to send at `now`. The caller repeats until `None` or `no_more`.
    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing>;
    fn due(&self) -> Time;
}

/// Every kind of endpoint. TCP is boxed: it is large, and the network reads only its due time.
pub enum AnyEndpoint {
    Tcp(Box<TcpEndpoint>),
    UdpSource(Box<UdpSource>),
    UdpSink(Box<UdpSink>),
    Prober(Box<Prober>),
    ProbeReflector(Box<ProbeReflector>),
    CallEnd(Box<CallEnd>),
    GameClient(Box<GameClient>),
    Conference(Box<ConferenceEnd>),
    Pinger(Box<Pinger>),
    PingReflector(Box<PingReflector>),
    /// A real host.
    ExternalHost(ExternalHost),
}

/// Calls a method of the endpoint. TCP is tested first: nearly all calls are of TCP.
macro_rules! dispatch {
    ($endpoint:expr, $e:ident => $call:expr) => {
        if let AnyEndpoint::Tcp($e) = $endpoint {
            $call
        } else {
            match $endpoint {
                AnyEndpoint::Tcp($e) => $call,
                AnyEndpoint::UdpSource($e) => $call,
                AnyEndpoint::UdpSink($e) => $call,
                AnyEndpoint::Prober($e) => $call,
                AnyEndpoint::ProbeReflector($e) => $call,
                AnyEndpoint::CallEnd($e) => $call,
                AnyEndpoint::GameClient($e) => $call,
                AnyEndpoint::Conference($e) => $call,
                AnyEndpoint::Pinger($e) => $call,
                AnyEndpoint::PingReflector($e) => $call,
                AnyEndpoint::ExternalHost($e) => $call,
            }
        }
    };
}

impl Endpoint for AnyEndpoint {
    #[inline]
    fn receive(&mut self, now: Time, body: &Body, ecn: Ecn) {
        dispatch!(self, e => e.receive(now, body, ecn));
    }
    #[inline(never)]
    fn receive_more_coming(&mut self, now: Time, body: &Body, ecn: Ecn) {
        dispatch!(self, e => e.receive_more_coming(now, body, ecn));
    }
    #[inline]
    fn on_timer(&mut self, now: Time) {
        dispatch!(self, e => e.on_timer(now));
    }
    #[inline]
    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        dispatch!(self, e => e.poll(now, arena))
    }
    #[inline]
    fn due(&self) -> Time {
        dispatch!(self, e => e.due())
    }
}
