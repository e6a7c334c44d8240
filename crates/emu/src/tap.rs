//! The probe of an emulation: takes out what is for real hosts, and tells the log, if there is one, what happens.

use crate::log::Log;
use crate::outlet::Outlet;
use ackclock_core::Time;
use ackclock_core::element::Event;
use ackclock_core::network::{EndpointId, NodeId};
use ackclock_core::packet::{Body, Packet};
use ackclock_core::probe::Probe;

pub struct Tap {
    pub outlet: Outlet,
    pub log: Option<Log>,
}

impl Probe for Tap {
    fn on_event(&mut self, now: Time, at: NodeId, event: &Event) {
        if let Some(log) = &mut self.log {
            log.see(now, at, event);
        }
    }

    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        if let Some(log) = &mut self.log {
            log.sent(now, by, packet);
            if let Some(place) = self.outlet.place(by) {
                log.passed(now, place.gate, packet, body, true);
            }
        }
    }

    fn received(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        let place = self.outlet.place(by);
        if let Some(place) = place {
            self.outlet.take(now, place, body);
        }
        if let Some(log) = &mut self.log {
            log.received(now, packet);
            if let Some(place) = place {
                log.passed(now, place.gate, packet, body, false);
            }
        }
    }
}
