//! Random duplication.

use crate::element::{Element, Output, Port};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;

pub struct Duplicate {
    mean: f64,
    rng: Rng,
}

impl Duplicate {
    /// Duplicates each packet with probability `mean`; the duplicate follows at once.
    pub fn new(mean: f64, rng: Rng) -> Duplicate {
        Duplicate { mean, rng }
    }
}

impl Element for Duplicate {
    fn push(&mut self, _now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        out.forward(Port(0), packet);
        if self.rng.chance(self.mean) {
            let duplicate = out.copy(packet);
            out.forward(Port(0), duplicate);
        }
    }

    fn wake(&mut self, _now: Time, _out: &mut Output<'_>) {}

    fn due(&self) -> Time {
        Time::NEVER
    }

    fn occupancy(&self) -> u64 {
        0
    }
}
