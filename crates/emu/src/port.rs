//! The interfaces in which a real emulation and a scripted one differ: packet I/O and the clock.

use crate::af_packet::{PacketSocket, TxBatch};
use crate::clock::{ClockOffset, MonotonicClock};
use ackclock_core::Time;

/// An IP packet received from a host.
pub struct RxPacket<'a> {
    /// From the IP header on.
    pub bytes: &'a [u8],
    /// Length of the packet in bytes; `bytes` is shorter if the ring truncated the packet.
    pub len: u32,
    /// The kernel's RX timestamp.
    pub at: Time,
}

/// Packet I/O to one host.
pub trait PacketPort {
    /// Returns the oldest packet that has not been read; none if there is none.
    fn next(&mut self, offset: ClockOffset) -> Option<RxPacket<'_>>;
    /// Sends the packets of `batch` and empties it. Returns the number of packets that could not be
    /// sent.
    fn send(&mut self, batch: &mut TxBatch) -> u64;
}

/// The clock that drives the network.
pub trait NetworkClock {
    fn now(&self) -> Time;
    /// Current offset of the kernel's packet timestamps.
    fn offset(&self) -> ClockOffset;
}

impl PacketPort for PacketSocket {
    #[inline]
    fn next(&mut self, offset: ClockOffset) -> Option<RxPacket<'_>> {
        let frame = PacketSocket::next(self)?;
        let at = offset.network_time(frame.seconds, frame.nanoseconds);
        Some(RxPacket { bytes: frame.bytes, len: frame.len, at })
    }

    fn send(&mut self, batch: &mut TxBatch) -> u64 {
        self.tx().send(batch)
    }
}

impl NetworkClock for MonotonicClock {
    #[inline]
    fn now(&self) -> Time {
        MonotonicClock::now(self)
    }

    fn offset(&self) -> ClockOffset {
        MonotonicClock::offset(self)
    }
}
