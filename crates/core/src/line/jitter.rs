//! A random delay for every packet, in order or not.

use crate::element::{Element, Out, Port};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// How long one packet is delayed. What would be negative is 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    Uniform { low: Span, high: Span },
    Normal { mean: Span, sd: Span },
    Exponential { mean: Span },
    Pareto { mean: Span, shape: f64 },
}

impl Distribution {
    fn draw(self, rng: &mut Rng) -> Span {
        match self {
            Distribution::Uniform { low, high } => rng.uniform_span(low, high),
            Distribution::Normal { mean, sd } => Span::from_secs_f64(rng.normal(mean.as_secs(), sd.as_secs())),
            Distribution::Exponential { mean } => rng.exponential_span(mean),
            Distribution::Pareto { mean, shape } => Span::from_secs_f64(rng.pareto(mean.as_secs(), shape)),
        }
    }
}

pub struct Jitter {
    distribution: Distribution,
    in_order: bool,
    rng: Rng,
    flying: BinaryHeap<Reverse<Flight>>,
    /// When the last packet leaves that was taken in.
    last: Time,
    pushed: u64,
}

impl Jitter {
    /// In order, no packet leaves before the one ahead of it: it catches up and follows at the same instant. Otherwise packets overtake.
    pub fn new(distribution: Distribution, in_order: bool, rng: Rng) -> Jitter {
        Jitter { distribution, in_order, rng, flying: BinaryHeap::new(), last: Time::ZERO, pushed: 0 }
    }
}

impl Element for Jitter {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Out<'_>) {
        let mut leaves = now + self.distribution.draw(&mut self.rng);
        if self.in_order {
            leaves = leaves.max(self.last);
            self.last = leaves;
        }
        self.flying.push(Reverse(Flight { leaves, order: self.pushed, packet }));
        self.pushed += 1;
    }

    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        while self.flying.peek().is_some_and(|Reverse(flight)| flight.leaves <= now) {
            if let Some(Reverse(flight)) = self.flying.pop() {
                out.forward(Port(0), flight.packet);
            }
        }
    }

    fn due(&self) -> Time {
        self.flying.peek().map_or(Time::NEVER, |Reverse(flight)| flight.leaves)
    }

    fn held(&self) -> u64 {
        self.flying.len() as u64
    }
}

struct Flight {
    leaves: Time,
    /// Of arrival, so that packets that leave at one instant leave first in, first out.
    order: u64,
    packet: Packet,
}

impl Flight {
    fn key(&self) -> (Time, u64) {
        (self.leaves, self.order)
    }
}

impl PartialEq for Flight {
    fn eq(&self, other: &Flight) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Flight {}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Flight) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flight {
    fn cmp(&self, other: &Flight) -> Ordering {
        self.key().cmp(&other.key())
    }
}
