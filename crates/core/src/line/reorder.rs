//! Packets that take a longer way and are overtaken.

use crate::element::{Element, Out, Port};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::collections::VecDeque;

pub struct Reorder {
    mean: f64,
    delay: Span,
    rng: Rng,
    held: VecDeque<(Time, Packet)>,
}

impl Reorder {
    /// Each packet is held for `delay` with probability `mean`; the others pass at once.
    pub fn new(mean: f64, delay: Span, rng: Rng) -> Reorder {
        Reorder { mean, delay, rng, held: VecDeque::new() }
    }
}

impl Element for Reorder {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Out<'_>) {
        // What leaves at this very instant came earlier.
        self.wake(now, out);
        if self.rng.chance(self.mean) {
            self.held.push_back((now + self.delay, packet));
        } else {
            out.forward(Port(0), packet);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        while self.held.front().is_some_and(|&(at, _)| at <= now) {
            if let Some((_, packet)) = self.held.pop_front() {
                out.forward(Port(0), packet);
            }
        }
    }

    fn due(&self) -> Time {
        self.held.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn held(&self) -> u64 {
        self.held.len() as u64
    }
}
