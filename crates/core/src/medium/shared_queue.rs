//! One downlink queue for all stations, as in an access point without per-station queues:
//! head-of-line blocking and drops are shared.
//!
//! The first station's [`super::MeteredQueue`] lends its queue to the others; each packet is
//! counted at its own station.

use super::{Direction, StationQueues, Stream};
use crate::element::Output;
use crate::packet::Packet;
use crate::units::{Span, Time};

const OWNER: Stream = Stream { station: 0, direction: Direction::Down };

/// What the shared queue cannot store about its packets.
#[derive(Debug, Default)]
pub struct SharedQueue {
    /// By flow: the destination station.
    stations: Vec<u32>,
    /// A packet dequeued to find its station, and not sent yet: its waiting time in the queue, the
    /// time of dequeueing, and the packet.
    peeked: Option<(Span, Time, Packet)>,
}

impl SharedQueue {
    fn map_flow(&mut self, packet: &Packet, station: u32) {
        let flow = packet.flow as usize;
        if self.stations.len() <= flow {
            self.stations.resize(flow + 1, 0);
        }
        self.stations[flow] = station;
    }

    fn stream_of(&self, packet: &Packet) -> Stream {
        Stream::new(self.stations.get(packet.flow as usize).copied().unwrap_or(0), Direction::Down)
    }

    /// Packets that are neither in the queue nor in service.
    pub fn occupancy(&self) -> u64 {
        u64::from(self.peeked.is_some())
    }
}

impl StationQueues {
    /// True if the packets of this stream are in the shared queue.
    pub fn is_shared(&self, stream: Stream) -> bool {
        self.shared.is_some() && stream.direction == Direction::Down
    }

    /// Enqueues an arriving packet into the queue of its stream.
    pub fn enqueue(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        if !self.is_shared(stream) {
            return self.of(stream).enqueue(now, packet, out);
        }
        self.lend(now, stream, &packet);
        self.of(stream).enqueue(now, packet, out);
        self.swap_queues(stream);
    }

    /// As [`super::MeteredQueue::pass`].
    pub fn pass(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        if !self.is_shared(stream) {
            return self.of(stream).pass(now, packet, out);
        }
        self.lend(now, stream, &packet);
        let passed = self.of(stream).pass(now, packet, out);
        self.swap_queues(stream);
        passed
    }

    /// The next packet of a stream; of the shared queue only if its first packet belongs to the
    /// stream.
    pub fn dequeue(&mut self, now: Time, stream: Stream, out: &mut Output<'_>) -> Option<Packet> {
        if !self.is_shared(stream) {
            return self.of(stream).dequeue(now, out);
        }
        (self.first_shared(now, out)? == stream).then(|| self.take_peeked(now, stream)).flatten()
    }

    /// The stream of the shared queue's first packet. Packets that active queue management drops
    /// here count at the first station.
    pub fn first_shared(&mut self, now: Time, out: &mut Output<'_>) -> Option<Stream> {
        if self.shared.as_ref()?.peeked.is_none() {
            let (waited, packet) = self.of(OWNER).take(now, out)?;
            self.shared.as_mut()?.peeked = Some((waited, now, packet));
        }
        let shared = self.shared.as_ref()?;
        shared.peeked.as_ref().map(|(_, _, packet)| shared.stream_of(packet))
    }

    fn take_peeked(&mut self, now: Time, stream: Stream) -> Option<Packet> {
        let (waited, since, packet) = self.shared.as_mut()?.peeked.take()?;
        self.of(stream).begin(waited + (now - since), packet.len);
        Some(packet)
    }

    /// Lends the shared queue to the stream for one call.
    fn lend(&mut self, now: Time, stream: Stream, packet: &Packet) {
        if let Some(shared) = &mut self.shared {
            shared.map_flow(packet, stream.station);
        }
        // Packets in the shared queue count at the first station; account for the time until this
        // change.
        self.of(OWNER).meter(now);
        self.swap_queues(stream);
    }
}
