//! Random delay per packet, with or without reordering.

use crate::element::{Element, Output, Port};
use crate::event_heap::EventHeap;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Distribution of the delay. Negative values become 0.
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
    in_flight: EventHeap<Packet>,
    /// Departure time of the last packet.
    last: Time,
}

impl Jitter {
    /// With `in_order` no packet leaves before an earlier one: it is delayed to the same instant.
    /// Otherwise packets may be reordered.
    pub fn new(distribution: Distribution, in_order: bool, rng: Rng) -> Jitter {
        Jitter { distribution, in_order, rng, in_flight: EventHeap::default(), last: Time::ZERO }
    }
}

impl Element for Jitter {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Output<'_>) {
        let mut leaves = now + self.distribution.draw(&mut self.rng);
        if self.in_order {
            leaves = leaves.max(self.last);
            self.last = leaves;
        }
        self.in_flight.push(leaves, packet);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some(packet) = self.in_flight.pop(now) {
            out.forward(Port(0), packet);
        }
    }

    fn due(&self) -> Time {
        self.in_flight.due()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }
}
