//! Who watches. The network tells a probe what it did; the probe `()` watches nothing and compiles away.

use crate::element::fate::Event;
use crate::network::route::{EndpointId, NodeId, Port};
use crate::packet::{Arena, Body, Packet};
use crate::units::Time;

/// Facts as they happen. Every method defaults to nothing.
pub trait Probe {
    /// Whether elements should keep their notes at all.
    const WATCHING: bool = true;

    /// An element did something that it considers worth a note.
    fn see(&mut self, _now: Time, _at: NodeId, _event: &Event) {}
    /// An endpoint handed a packet to its first hop.
    fn sent(&mut self, _now: Time, _by: EndpointId, _packet: &Packet, _body: &Body) {}
    /// A packet comes to an element on its way. Its body is looked up by those who want it: this is said once per packet and element.
    fn entered(&mut self, _now: Time, _at: NodeId, _port: Port, _packet: &Packet, _arena: &Arena) {}
    /// A packet reached an endpoint.
    fn received(&mut self, _now: Time, _by: EndpointId, _packet: &Packet, _body: &Body) {}
}

impl Probe for () {
    const WATCHING: bool = false;
}
