//! One queue for everything that goes down, as an access point has it that does not tell its stations apart: they wait behind each other's
//! packets, and share its drops.
//!
//! The first station's queue lends its queue to the others; what becomes of each packet is counted where it belongs.

use super::{Direction, StationQueues, Stream};
use crate::element::Output;
use crate::packet::Packet;
use crate::units::{Span, Time};

const OWNER: Stream = Stream { station: 0, direction: Direction::Down };

/// What the shared queue does not know of its packets.
#[derive(Debug, Default)]
pub struct SharedQueue {
    /// By flow: the station to which its packets go.
    stations: Vec<u32>,
    /// Taken from the queue to see whose it is, and left for another frame: how long it waited, and since when it is here.
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

    /// Packets that are neither in the queue nor with the medium.
    pub fn occupancy(&self) -> u64 {
        u64::from(self.peeked.is_some())
    }
}

impl StationQueues {
    /// Whether packets of this stream wait in a queue that several share.
    pub fn is_shared(&self, stream: Stream) -> bool {
        self.shared.is_some() && stream.direction == Direction::Down
    }

    /// A packet comes and must wait, in whatever queue is its stream's.
    pub fn enqueue(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        self.lend(now, stream, &packet);
        self.of(stream).enqueue(now, packet, out);
        self.give_back(stream);
    }

    /// As [`super::MeteredQueue::pass`].
    pub fn pass(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        self.lend(now, stream, &packet);
        let passed = self.of(stream).pass(now, packet, out);
        self.give_back(stream);
        passed
    }

    /// A stream's next packet: of a shared queue the first, if it is this stream's.
    pub fn dequeue(&mut self, now: Time, stream: Stream, out: &mut Output<'_>) -> Option<Packet> {
        if !self.is_shared(stream) {
            return self.of(stream).dequeue(now, out);
        }
        (self.first_shared(now, out)? == stream).then(|| self.take_peeked(now, stream)).flatten()
    }

    /// Whose the first packet of the shared queue is. What an active queue management drops on the way counts at the first station.
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

    /// The stream's queue has the shared queue for one call.
    fn lend(&mut self, now: Time, stream: Stream, packet: &Packet) {
        if !self.is_shared(stream) {
            return;
        }
        if let Some(shared) = &mut self.shared {
            shared.map_flow(packet, stream.station);
        }
        // What waits is the first station's in the figures, up to the change that comes.
        self.of(OWNER).meter(now);
        self.swap_queues(stream);
    }

    fn give_back(&mut self, stream: Stream) {
        if self.is_shared(stream) {
            self.swap_queues(stream);
        }
    }
}
