//! The last part of a path: a constant delay, then the processing time of each host.

use super::ProcessingClock;
use crate::element::{Element, Output, Port};
use crate::in_flight::InFlightByArrival;
use crate::packet::Packet;
use crate::units::{Span, Time};

/// Packets of one flow stay in order; those of different flows leave by their times.
pub struct HostArrival {
    delay: Span,
    /// By flow; none or beyond the end: its host has no processing time.
    clocks: Vec<Option<ProcessingClock>>,
    in_flight: InFlightByArrival,
}

impl HostArrival {
    pub fn new(delay: Span, clocks: Vec<Option<ProcessingClock>>) -> HostArrival {
        HostArrival { delay, clocks, in_flight: InFlightByArrival::new() }
    }

    pub(crate) fn set_clock(&mut self, flow: u32, clock: ProcessingClock) {
        let flow = flow as usize;
        if self.clocks.len() <= flow {
            self.clocks.resize(flow + 1, None);
        }
        self.clocks[flow] = Some(clock);
    }
}

impl Element for HostArrival {
    #[inline]
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Output<'_>) {
        let arrives = now + self.delay;
        let clock = self.clocks.get_mut(packet.flow as usize).and_then(Option::as_mut);
        self.in_flight.push(clock.map_or(arrives, |clock| clock.process(arrives, packet.kind)), &packet);
    }

    #[inline]
    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.in_flight.forward_arrived(now, out);
    }

    #[inline]
    fn due(&self) -> Time {
        self.in_flight.next()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }
}
