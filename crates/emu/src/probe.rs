//! The network's probe in an emulation: queues packets for real hosts and forwards events to the
//! log, if there is one.

use crate::egress::Egress;
use crate::log::Log;
use ackclock_core::Time;
use ackclock_core::element::Event;
use ackclock_core::network::{EndpointId, NodeId};
use ackclock_core::packet::{Body, Packet};
use ackclock_core::probe::Probe;

pub struct EmulationProbe {
    pub egress: Egress,
    pub log: Option<Log>,
    /// Number of the packet that an endpoint sent last.
    pub last_sent: u64,
}

impl Probe for EmulationProbe {
    fn on_event(&mut self, now: Time, at: NodeId, event: &Event) {
        if let Some(log) = &mut self.log {
            log.on_event(now, at, event);
        }
    }

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        self.last_sent = packet.id;
        if let Some(log) = &mut self.log {
            log.on_sent(now, by, packet);
            if let Some(host) = self.egress.host(by) {
                log.capture(now, host.port, packet, body, true);
            }
        }
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        let host = self.egress.host(by);
        if let Some(host) = host {
            self.egress.push(now, host, packet.id, body);
        }
        if let Some(log) = &mut self.log {
            log.on_received(now, packet);
            if let Some(host) = host {
                log.capture(now, host.port, packet, body, false);
            }
        }
    }
}
