//! Packets in flight on a path segment that keeps their order.

use crate::element::{Output, Port};
use crate::packet::Packet;
use crate::ring::Ring;
use crate::units::Time;

/// Each packet with its departure time; departure times never decrease.
#[derive(Default)]
pub struct InFlightFifo(Ring<(Time, Packet)>);

impl InFlightFifo {
    /// Appends a packet. `leaves` must not be earlier than the departure time of the last one.
    #[inline]
    pub fn push(&mut self, leaves: Time, packet: Packet) {
        self.0.push_back((leaves, packet));
    }

    /// Forwards, in order, every packet that departs at or before `now`.
    pub fn forward_due(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some((leaves, packet)) = self.0.front()
            && *leaves <= now
        {
            out.forward(Port(0), *packet);
            self.0.take_front();
        }
    }

    /// Moves the first packet to `packet` if it departs at or before `now` and the second does not.
    /// Returns the departure time of the second.
    #[inline]
    pub fn take_only_due(&mut self, now: Time, packet: &mut Packet) -> Option<Time> {
        let second = self.0.get(1).map_or(Time::NEVER, |(leaves, _)| *leaves);
        if second <= now || self.due() > now {
            return None;
        }
        *packet = self.0.take_front()?.1;
        Some(second)
    }

    /// Departure time of the first packet; `Time::NEVER` if there is none.
    #[inline]
    pub fn due(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |(leaves, _)| *leaves)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
