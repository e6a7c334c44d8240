//! Packets of one direction on their way: each station's are handed on in order, so one that is early waits for those before it.

use crate::element::{Cause, Out};
use crate::medium::{Stream, Streams};
use crate::packet::Packet;
use crate::timed::Timed;
use crate::units::Time;

pub struct Flights {
    flying: Timed<Flight>,
    /// By station: when its last packet arrives.
    last: Vec<Time>,
}

pub struct Flight {
    pub stream: Stream,
    pub packet: Packet,
    /// Nothing repairs it, and those behind it wait until that is known.
    pub lost: bool,
}

impl Flights {
    pub fn new(stations: u32) -> Flights {
        Flights { flying: Timed::default(), last: vec![Time::ZERO; stations as usize] }
    }

    pub fn len(&self) -> usize {
        self.flying.len()
    }

    /// A packet has been sent whole, and will be there at `at`.
    pub fn push(&mut self, at: Time, flight: Flight) {
        let last = &mut self.last[flight.stream.station as usize];
        *last = at.max(*last);
        self.flying.push(*last, flight);
    }

    /// When the next packet arrives.
    pub fn due(&self) -> Time {
        self.flying.due()
    }

    /// Hands on what has arrived by `now`.
    pub fn deliver(&mut self, now: Time, streams: &mut Streams, out: &mut Out<'_>) {
        while let Some(flight) = self.flying.pop(now) {
            let buffer = streams.of(flight.stream);
            if flight.lost {
                buffer.drop(flight.packet, Cause::Retries, out);
            } else {
                buffer.forward(flight.stream, flight.packet, out);
            }
        }
    }
}
