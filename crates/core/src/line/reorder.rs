//! Packets that take a longer way and are overtaken.

use super::flying::Flying;
use crate::element::{Element, Out, Port};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

pub struct Reorder {
    mean: f64,
    delay: Span,
    rng: Rng,
    flying: Flying,
}

impl Reorder {
    /// Each packet is held for `delay` with probability `mean`; the others pass at once.
    pub fn new(mean: f64, delay: Span, rng: Rng) -> Reorder {
        Reorder { mean, delay, rng, flying: Flying::default() }
    }
}

impl Element for Reorder {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Out<'_>) {
        // What leaves at this very instant came earlier.
        self.wake(now, out);
        if self.rng.chance(self.mean) {
            self.flying.push(now + self.delay, packet);
        } else {
            out.forward(Port(0), packet);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        self.flying.let_out(now, out);
    }

    fn due(&self) -> Time {
        self.flying.due()
    }

    fn held(&self) -> u64 {
        self.flying.held()
    }
}
