//! A call: packets of speech in both directions at a constant interval.

use super::UdpSource;
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Ecn};
use crate::score::CallRecord;
use crate::units::Time;

/// One end of a call: it sends packets, and plays those of the other end.
#[derive(Clone, Debug)]
pub struct CallEnd {
    source: UdpSource,
    record: CallRecord,
}

impl CallEnd {
    /// `source` has no pauses.
    pub fn new(source: UdpSource) -> CallEnd {
        CallEnd { source, record: CallRecord::default() }
    }

    /// Packets that this end sends.
    pub fn source(&self) -> &UdpSource {
        &self.source
    }

    /// What this end has played of the other's packets.
    pub fn record(&self) -> &CallRecord {
        &self.record
    }
}

impl Endpoint for CallEnd {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        if let Body::Datagram(datagram) = body {
            self.record.arrive(now, datagram.number, datagram.sent);
        }
    }

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        self.source.poll(now, arena)
    }

    fn due(&self) -> Time {
        self.source.due()
    }
}
