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
}

impl Probe for EmulationProbe {
    fn on_event(&mut self, now: Time, at: NodeId, event: &Event) {
        if let Some(log) = &mut self.log {
            log.on_event(now, at, event);
        }
    }

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
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
            self.egress.push(now, host, body);
        }
        if let Some(log) = &mut self.log {
            log.on_received(now, packet);
            if let Some(host) = host {
                log.capture(now, host.port, packet, body, false);
            }
        }
    }
}
