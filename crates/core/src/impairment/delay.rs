//! Constant delay; packets stay in order.

use crate::element::{Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::packet::Packet;
use crate::units::{Span, Time};

pub struct Delay {
    delay: Span,
    in_flight: InFlightFifo,
}

impl Delay {
    pub fn new(delay: Span) -> Delay {
        Delay { delay, in_flight: InFlightFifo::default() }
    }
}

impl Delay {
    pub fn span(&self) -> Span {
        self.delay
    }

    /// As [`Element::push`], which needs no output here.
    #[inline]
    pub fn accept(&mut self, now: Time, packet: &Packet) {
        self.in_flight.push(now + self.delay, *packet);
    }

    /// Moves the packet that leaves at or before `now` to `packet`, if exactly one does. Returns the new
    /// due time.
    #[inline]
    pub fn take_only_departure(&mut self, now: Time, packet: &mut Packet) -> Option<Time> {
        self.in_flight.take_only_due(now, packet)
    }
}

impl Element for Delay {
    #[inline]
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Output<'_>) {
        self.accept(now, &packet);
    }

    #[inline]
    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.in_flight.forward_due(now, out);
    }

    #[inline]
    fn due(&self) -> Time {
        self.in_flight.due()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }
}
