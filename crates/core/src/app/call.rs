//! A call: packets of speech in both directions at a constant interval.

use super::UdpSource;
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Ecn};
use crate::score::{CALL_WINDOW, CallRecord, CallWindow, MAX_PLAYOUT_BUFFER};
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

    /// Packets of the other end that arrived here, late ones and duplicates included.
    pub fn arrived(&self) -> u64 {
        self.record.arrived()
    }

    /// What this end has played of the packets that the other's `source` is to send from `from` to `to`, by
    /// windows. What is left behind the last whole window belongs to it; a call that is shorter has one.
    pub fn windows(&self, source: &UdpSource, (from, to): (Time, Time)) -> Vec<CallWindow> {
        let count = ((to - from).0 / CALL_WINDOW.0).max(1);
        let bound = |number: u64| if number == count { to } else { from + CALL_WINDOW.saturating_mul(number) };
        // A packet that was sent a moment ago may still be played in time.
        let wait = self.record.playout_delay().unwrap_or(MAX_PLAYOUT_BUFFER);
        let decided = Time((to.0).saturating_sub(wait.0));
        let window = |number: u64| {
            let [first, end] = [bound(number), bound(number + 1).min(decided)].map(|bound| source.due_before(bound));
            self.record.window(first, end)
        };
        (0..count).map(window).collect()
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
