//! Packets that arrive twice.

use crate::element::{Element, Output, Port};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;

pub struct Duplicate {
    mean: f64,
    rng: Rng,
}

impl Duplicate {
    /// Each packet is followed at once by a copy of itself with probability `mean`.
    pub fn new(mean: f64, rng: Rng) -> Duplicate {
        Duplicate { mean, rng }
    }
}

impl Element for Duplicate {
    fn push(&mut self, _now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        out.forward(Port(0), packet);
        if self.rng.chance(self.mean) {
            let twin = out.copy(packet);
            out.forward(Port(0), twin);
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
