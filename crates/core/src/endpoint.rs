//! The interface between endpoints of flows and the network.

use crate::app::{ExternalHost, ProbeReflector, Prober, UdpSink, UdpSource};
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
    /// A real host.
    ExternalHost(ExternalHost),
}

impl Endpoint for AnyEndpoint {
    #[inline]
    fn receive(&mut self, now: Time, body: &Body, ecn: Ecn) {
        match self {
            AnyEndpoint::Tcp(e) => e.receive(now, body, ecn),
            AnyEndpoint::UdpSource(e) => e.receive(now, body, ecn),
            AnyEndpoint::UdpSink(e) => e.receive(now, body, ecn),
            AnyEndpoint::Prober(e) => e.receive(now, body, ecn),
            AnyEndpoint::ProbeReflector(e) => e.receive(now, body, ecn),
            AnyEndpoint::ExternalHost(e) => e.receive(now, body, ecn),
        }
    }
    #[inline(never)]
    fn receive_more_coming(&mut self, now: Time, body: &Body, ecn: Ecn) {
        match self {
            AnyEndpoint::Tcp(e) => e.receive_more_coming(now, body, ecn),
            other => other.receive(now, body, ecn),
        }
    }
    #[inline]
    fn on_timer(&mut self, now: Time) {
        match self {
            AnyEndpoint::Tcp(e) => e.on_timer(now),
            AnyEndpoint::UdpSource(e) => e.on_timer(now),
            AnyEndpoint::UdpSink(e) => e.on_timer(now),
            AnyEndpoint::Prober(e) => e.on_timer(now),
            AnyEndpoint::ProbeReflector(e) => e.on_timer(now),
            AnyEndpoint::ExternalHost(e) => e.on_timer(now),
        }
    }
    #[inline]
    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        match self {
            AnyEndpoint::Tcp(e) => e.poll(now, arena),
            AnyEndpoint::UdpSource(e) => e.poll(now, arena),
            AnyEndpoint::UdpSink(e) => e.poll(now, arena),
            AnyEndpoint::Prober(e) => e.poll(now, arena),
            AnyEndpoint::ProbeReflector(e) => e.poll(now, arena),
            AnyEndpoint::ExternalHost(e) => e.poll(now, arena),
        }
    }
    #[inline]
    fn due(&self) -> Time {
        match self {
            AnyEndpoint::Tcp(e) => e.due(),
            AnyEndpoint::UdpSource(e) => e.due(),
            AnyEndpoint::UdpSink(e) => e.due(),
            AnyEndpoint::Prober(e) => e.due(),
            AnyEndpoint::ProbeReflector(e) => e.due(),
            AnyEndpoint::ExternalHost(e) => e.due(),
        }
    }
}
