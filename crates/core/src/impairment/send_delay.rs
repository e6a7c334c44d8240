//! The random delay of a packet between a sender's TCP and the network, which keeps flows out of
//! phase.

use crate::element::{Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Maximum of the delay, and of the delay from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendDelayConfig {
    pub alone: Span,
    /// The maximum from `shared_from` on.
    pub shared: Span,
    pub shared_from: Time,
}

/// A uniform delay from 0 to a maximum; packets stay in order.
///
/// The maximum changes at a fixed time: before another flow starts, a flow has the delays that it
/// has without it.
pub struct SendDelay {
    config: SendDelayConfig,
    rng: Rng,
    in_flight: InFlightFifo,
    /// Departure time of the last packet.
    last: Time,
}

impl SendDelay {
    pub fn new(config: SendDelayConfig, rng: Rng) -> SendDelay {
        SendDelay { config, rng, in_flight: InFlightFifo::default(), last: Time::ZERO }
    }
}

impl Element for SendDelay {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, _out: &mut Output<'_>) {
        let SendDelayConfig { alone, shared, shared_from } = self.config;
        let max = if now < shared_from { alone } else { shared };
        self.last = self.last.max(now + self.rng.uniform_span(Span::ZERO, max));
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
