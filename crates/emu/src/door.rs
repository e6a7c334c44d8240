//! The two things that a real emulation and a scripted one differ in: where packets come from and go to, and what time it is.

use crate::clock::{RealTime, Stamps};
use crate::gate::{Batch, Gate};
use ackclock_core::Time;

/// A packet that has arrived from a host.
pub struct Arrival<'a> {
    /// From its IP header on.
    pub bytes: &'a [u8],
    /// Its whole length, of which `bytes` may hold less.
    pub len: u32,
    /// When the kernel saw it.
    pub at: Time,
}

/// The way to one host and back.
pub trait Door {
    /// The oldest packet that has arrived, if any.
    fn next(&mut self, stamps: Stamps) -> Option<Arrival<'_>>;
    /// Sends what is in `batch`; says how many packets could not be sent.
    fn send(&mut self, batch: &mut Batch) -> u64;
}

/// What time it is.
pub trait Watch {
    fn now(&self) -> Time;
    fn stamps(&self) -> Stamps;
}

impl Door for Gate {
    #[inline]
    fn next(&mut self, stamps: Stamps) -> Option<Arrival<'_>> {
        let arrived = Gate::next(self)?;
        let at = stamps.time(arrived.seconds, arrived.nanoseconds);
        Some(Arrival { bytes: arrived.bytes, len: arrived.len, at })
    }

    fn send(&mut self, batch: &mut Batch) -> u64 {
        self.way().send(batch)
    }
}

impl Watch for RealTime {
    #[inline]
    fn now(&self) -> Time {
        RealTime::now(self)
    }

    fn stamps(&self) -> Stamps {
        RealTime::stamps(self)
    }
}
