//! The interface between endpoints of flows and the network.

use crate::app::{AnyApp, CallEnd, ConferenceEnd, ExternalHost, GameClient, ProbeReflector, Prober, UdpSink, UdpSource};
use crate::autorate::{PingReflector, Pinger};
use crate::packet::{Arena, Body, BodyId, Ecn, Kind};
use crate::statistics::Histogram;
use crate::tcp::{SendLimit, TcpEndpoint};
use crate::units::{Span, Time};

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

/// What a transport other than TCP shows of itself: of the sender's side unless said. Bytes are of datagrams
/// with their IP and UDP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TransportView {
    /// Congestion window, bytes of UDP payload.
    pub cwnd: u64,
    /// Bytes; None before the first reduction.
    pub ssthresh: Option<u64>,
    pub srtt: Option<Span>,
    /// UDP payload of a full packet, bytes.
    pub mtu: u16,
    pub sent_packets: u64,
    /// Packets that the sender took for lost, without probes of the MTU.
    pub lost_packets: u64,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Reductions of the window, and how many of them were for packets that had not been lost.
    pub window_cuts: u64,
    pub spurious_cuts: u64,
    /// Bytes of datagrams that arrived.
    pub bytes_received: u64,
    pub datagrams_sent: u64,
    pub bytes_sent: u64,
    /// Acknowledgements that this end sent.
    pub acks_sent: u64,
    /// Application data that arrived in order, bytes.
    pub received: u64,
    /// When the first packet was sent.
    pub first_sent: Option<Time>,
    /// When the last of the peer's data had arrived, if it ends.
    pub finished: Option<Time>,
    /// Time by what limited the sender, since the last start of the measurement.
    pub limited: [Span; SendLimit::ALL.len()],
    /// When the connection ended by an error.
    pub closed: Option<Time>,
}

/// An endpoint of a transport that is not in this crate.
pub trait OtherEndpoint: Endpoint + std::fmt::Debug {
    fn transport(&self) -> TransportView;
    /// Connects at this time; once, and not before it was made to wait.
    fn connect_at(&mut self, at: Time);
    /// The application at this end.
    fn app(&self) -> &AnyApp;
    /// Calls the application, to which something happened outside this connection; one that is not open connects.
    fn call_app(&mut self, now: Time);
    /// The smoothed RTT at each of its changes since the last start of the measurement.
    fn rtt(&self) -> &Histogram;
    /// The error by which the connection ended.
    fn error(&self) -> Option<&str>;
    /// Restarts the measurement.
    fn restart_meters(&mut self);
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
    /// Of a transport that is not in this crate.
    Other(Box<dyn OtherEndpoint + Send>),
}

/// Calls a method of the endpoint. Nearly all calls are of the first three kinds, which need no table of jumps
/// to be distinguished.
macro_rules! dispatch {
    ($endpoint:expr, $other:ident, $e:ident => $call:expr) => {
        match $endpoint {
            AnyEndpoint::Tcp($e) => $call,
            AnyEndpoint::UdpSource($e) => $call,
            AnyEndpoint::UdpSink($e) => $call,
            other => {
                let $e = other.$other();
                $call
            }
        }
    };
}

impl AnyEndpoint {
    #[inline(never)]
    fn other(&self) -> &dyn Endpoint {
        match self {
            AnyEndpoint::Tcp(e) => &**e,
            AnyEndpoint::UdpSource(e) => &**e,
            AnyEndpoint::UdpSink(e) => &**e,
            AnyEndpoint::Prober(e) => &**e,
            AnyEndpoint::ProbeReflector(e) => &**e,
            AnyEndpoint::CallEnd(e) => &**e,
            AnyEndpoint::GameClient(e) => &**e,
            AnyEndpoint::Conference(e) => &**e,
            AnyEndpoint::Pinger(e) => &**e,
            AnyEndpoint::PingReflector(e) => &**e,
            AnyEndpoint::ExternalHost(e) => e,
            AnyEndpoint::Other(e) => &**e,
        }
    }

    #[inline(never)]
    fn other_mut(&mut self) -> &mut dyn Endpoint {
        match self {
            AnyEndpoint::Tcp(e) => &mut **e,
            AnyEndpoint::UdpSource(e) => &mut **e,
            AnyEndpoint::UdpSink(e) => &mut **e,
            AnyEndpoint::Prober(e) => &mut **e,
            AnyEndpoint::ProbeReflector(e) => &mut **e,
            AnyEndpoint::CallEnd(e) => &mut **e,
            AnyEndpoint::GameClient(e) => &mut **e,
            AnyEndpoint::Conference(e) => &mut **e,
            AnyEndpoint::Pinger(e) => &mut **e,
            AnyEndpoint::PingReflector(e) => &mut **e,
            AnyEndpoint::ExternalHost(e) => e,
            AnyEndpoint::Other(e) => &mut **e,
        }
    }
}

impl Endpoint for AnyEndpoint {
    #[inline]
    fn receive(&mut self, now: Time, body: &Body, ecn: Ecn) {
        dispatch!(self, other_mut, e => e.receive(now, body, ecn));
    }
    #[inline(never)]
    fn receive_more_coming(&mut self, now: Time, body: &Body, ecn: Ecn) {
        dispatch!(self, other_mut, e => e.receive_more_coming(now, body, ecn));
    }
    #[inline]
    fn on_timer(&mut self, now: Time) {
        dispatch!(self, other_mut, e => e.on_timer(now));
    }
    // inline(always): every hand-off to an endpoint ends with one.
    #[inline(always)]
    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        dispatch!(self, other_mut, e => e.poll(now, arena))
    }
    #[inline]
    fn due(&self) -> Time {
        dispatch!(self, other, e => e.due())
    }
}
