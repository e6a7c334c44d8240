//! A delay that changes with time; packets stay in order.
//!
//! A packet has the delay of the instant at which it enters, as on a path whose length changes behind
//! it. Where the delay falls, the packets on the longer path are not overtaken: one that would arrive
//! before its predecessor arrives with it, as a FIFO at the far end of a real link delivers them.

use crate::element::{Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::packet::Packet;
use crate::schedule::ScheduleConfig;
use crate::units::{Span, Time};

pub struct VaryingDelay {
    schedule: ScheduleConfig<Span>,
    /// Departure time of the last packet.
    last: Time,
    in_flight: InFlightFifo,
}

impl VaryingDelay {
    /// Of a schedule that has been checked.
    pub fn new(schedule: ScheduleConfig<Span>) -> VaryingDelay {
        VaryingDelay { schedule, last: Time::ZERO, in_flight: InFlightFifo::default() }
    }
}

impl Element for VaryingDelay {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Output<'_>) {
        self.last = self.last.max(now + self.schedule.at(now));
        self.in_flight.push(self.last, packet);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.in_flight.forward_due(now, out);
    }

    fn due(&self) -> Time {
        self.in_flight.due()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }
}
