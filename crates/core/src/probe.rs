//! Observation of a network's packets. The probe `()` observes nothing and compiles to nothing.

use crate::element::fate::Event;
use crate::network::route::{EndpointId, NodeId, Port};
use crate::packet::{Arena, Body, Packet};
use crate::units::Time;

/// Callbacks at each event. By default every method does nothing.
pub trait Probe {
    /// False: elements record no events.
    const WATCHING: bool = true;

    /// An element dropped, marked, copied or created a packet.
    fn on_event(&mut self, _now: Time, _at: NodeId, _event: &Event) {}
    /// An endpoint sent a packet to its first hop.
    fn sent(&mut self, _now: Time, _by: EndpointId, _packet: &Packet, _body: &Body) {}
    /// A packet enters an element. Called once per packet and element, so the body is not looked
    /// up.
    fn entered(&mut self, _now: Time, _at: NodeId, _port: Port, _packet: &Packet, _arena: &Arena) {}
    /// A packet reached an endpoint.
    fn received(&mut self, _now: Time, _by: EndpointId, _packet: &Packet, _body: &Body) {}
}

impl Probe for () {
    const WATCHING: bool = false;
}
