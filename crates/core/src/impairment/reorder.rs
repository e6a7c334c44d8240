//! Random reordering: some packets are delayed, and later packets overtake them.

use crate::element::{Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

pub struct Reorder {
    mean: f64,
    delay: Span,
    rng: Rng,
    in_flight: InFlightFifo,
}

impl Reorder {
    /// Delays each packet by `delay` with probability `mean`; other packets pass at once.
    pub fn new(mean: f64, delay: Span, rng: Rng) -> Reorder {
        Reorder { mean, delay, rng, in_flight: InFlightFifo::default() }
    }
}

impl Element for Reorder {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        // Packets that leave at this instant arrived earlier.
        self.wake(now, out);
        if self.rng.chance(self.mean) {
            self.in_flight.push(now + self.delay, packet);
        } else {
            out.forward(Port(0), packet);
        }
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
