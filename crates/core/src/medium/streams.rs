//! The queues of a medium: one for each station and direction, each with a meter and a tally of its own.

use super::Stream;
use super::roaming::{Change, Roaming, RoamingTerms};
use crate::element::{Cause, Out, Place, Tally};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::{AnyQueue, Queue};
use crate::units::{Span, Time};

/// Where the packets of one stream wait for the medium, and what has become of them.
#[derive(Debug)]
pub struct Buffer {
    queue: AnyQueue,
    meter: LinkMeter,
    tally: Tally,
    /// A packet of this stream has the medium.
    sending: bool,
}

impl Buffer {
    fn new(queue: AnyQueue) -> Buffer {
        Buffer { queue, meter: LinkMeter::default(), tally: Tally::default(), sending: false }
    }

    pub fn packets(&self) -> u64 {
        self.queue.packets()
    }
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// A packet comes and must wait.
    pub fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        self.admit();
        self.enqueue_admitted(now, packet, out);
    }

    /// A packet comes that the medium does not put into the queue yet.
    pub fn admit(&mut self) {
        self.tally.pushed += 1;
    }

    /// A packet that was admitted before goes into the queue.
    pub fn enqueue_admitted(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        self.ask(now, out, |queue, out| queue.enqueue(now, packet, out));
    }

    /// A packet comes, nothing of its stream waits and it can be sent at once: a limit on what waits cannot drop it.
    pub fn pass(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) -> Option<Packet> {
        self.tally.pushed += 1;
        let passed = self.ask(now, out, |queue, out| queue.pass(now, packet, out))?;
        self.begin(Span::ZERO, passed.len);
        Some(passed)
    }

    /// The next packet, whose sending begins.
    pub fn dequeue(&mut self, now: Time, out: &mut Out<'_>) -> Option<Packet> {
        let (since, packet) = self.ask(now, out, |queue, out| queue.dequeue(now, out))?;
        self.begin(now - since, packet.len);
        Some(packet)
    }

    fn begin(&mut self, wait: Span, len: u16) {
        self.meter.begin(wait);
        self.meter.sent_bytes += u64::from(len);
    }

    /// What the queue drops and marks of its own accord is counted here.
    fn ask<T>(&mut self, now: Time, out: &mut Out<'_>, act: impl FnOnce(&mut AnyQueue, &mut Out<'_>) -> T) -> T {
        self.integrate(now);
        let before = *out.tally;
        let said = act(&mut self.queue, out);
        self.meter.count(&before, out.tally);
        self.tally.marked += out.tally.marked - before.marked;
        for ((mine, before), after) in self.tally.dropped.iter_mut().zip(before.dropped).zip(out.tally.dropped) {
            *mine += after - before;
        }
        said
    }

    /// All that waits is lost.
    pub fn discard(&mut self, now: Time, cause: Cause, out: &mut Out<'_>) {
        while let Some((_, packet)) = self.ask(now, out, |queue, out| queue.dequeue(now, out)) {
            self.drop(packet, cause, out);
        }
    }

    /// From `now` on a packet of this stream has the medium, or none has. The time counts as the stream's use of it.
    pub fn set_sending(&mut self, now: Time, sending: bool) {
        self.integrate(now);
        self.sending = sending;
    }

    /// Time of the medium that this stream used, on a medium that counts it in another way than by [`Buffer::set_sending`].
    pub fn use_for(&mut self, span: Span) {
        self.meter.busy = self.meter.busy + span;
    }

    /// The medium sent frames of its own for this stream: requests, grants, acknowledgements.
    pub fn count_control(&mut self, frames: u64) {
        self.meter.control_packets += frames;
    }

    /// A packet of this stream has crossed.
    pub fn forward(&mut self, stream: Stream, packet: Packet, out: &mut Out<'_>) {
        self.tally.forwarded += 1;
        out.forward(stream.exit(), packet);
    }

    /// A packet of this stream is lost on the medium.
    pub fn drop(&mut self, packet: Packet, cause: Cause, out: &mut Out<'_>) {
        self.tally.dropped[cause as usize] += 1;
        self.meter.drops += 1;
        out.drop(packet, cause);
    }

    fn integrate(&mut self, now: Time) {
        self.meter.integrate(now, self.queue.packets(), self.sending);
    }
}

/// Every stream's buffer.
pub struct Streams {
    buffers: Vec<Buffer>,
    /// None where nobody changes cells.
    roaming: Option<Box<Roaming>>,
}

impl Streams {
    /// One queue for each stream, in the order of [`Stream::index`].
    pub fn new(queues: impl IntoIterator<Item = AnyQueue>) -> Streams {
        Streams { buffers: queues.into_iter().map(Buffer::new).collect(), roaming: None }
    }

    /// Its stations change cells.
    pub fn roam(&mut self, terms: RoamingTerms) {
        self.roaming = Some(Box::new(Roaming::new(terms, self.stations())));
    }

    /// When a station next changes its cell.
    #[inline]
    pub fn next_change(&self) -> Time {
        self.roaming.as_ref().map_or(Time::NEVER, |roaming| roaming.due())
    }

    /// The next change, if it has come by `now`.
    pub fn pass_change(&mut self, now: Time) -> Option<(u32, Change)> {
        self.roaming.as_mut()?.pass(now)
    }

    /// Whether the station is served: it is not between two cells.
    #[inline]
    pub fn is_here(&self, station: u32) -> bool {
        self.roaming.as_ref().is_none_or(|roaming| !roaming.is_away(station))
    }

    /// Whether what waits in the network for a station that leaves goes over to its next cell.
    pub fn forwards(&self) -> bool {
        self.roaming.as_ref().is_none_or(|roaming| roaming.forwards())
    }

    /// The share of the channel's speed that a station has.
    #[inline]
    pub fn speed(&self, station: u32) -> f64 {
        self.roaming.as_ref().map_or(1.0, |roaming| roaming.speed(station))
    }

    /// How long a station takes for what takes `span` at the channel's speed.
    #[inline]
    pub fn slowed(&self, station: u32, span: Span) -> Span {
        match self.speed(station) {
            1.0 => span,
            speed => Span::from_secs_f64(span.as_secs() / speed),
        }
    }

    pub fn len(&self) -> usize {
        self.buffers.len()
    }
    pub fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }
    /// Stations, of which each has two streams.
    pub fn stations(&self) -> u32 {
        (self.buffers.len() / 2) as u32
    }
    pub fn contains(&self, stream: Stream) -> bool {
        stream.index() < self.buffers.len()
    }

    /// The buffer of a stream that is known to be one of these.
    pub fn of(&mut self, stream: Stream) -> &mut Buffer {
        &mut self.buffers[stream.index()]
    }

    /// Packets that wait in one of them.
    pub fn waiting_in(&self, stream: Stream) -> u64 {
        self.buffers.get(stream.index()).map_or(0, Buffer::packets)
    }

    /// Their bytes.
    pub fn waiting_bytes(&self, stream: Stream) -> u64 {
        self.buffers.get(stream.index()).map_or(0, Buffer::bytes)
    }

    /// The first stream with waiting packets from number `from` on, going round once; stations between two cells are left out.
    pub fn next_waiting(&self, from: usize) -> Option<Stream> {
        let n = self.buffers.len();
        let here = |index: usize| self.is_here(Stream::from_index(index).station);
        let waits = |&index: &usize| self.buffers[index].packets() > 0 && here(index);
        (from..n).chain(0..from.min(n)).find(waits).map(Stream::from_index)
    }

    /// Packets that wait, in all of them.
    pub fn waiting(&self) -> u64 {
        self.buffers.iter().map(Buffer::packets).sum()
    }

    /// As [`crate::Element::meter`].
    pub fn meter(&mut self, now: Time, place: Place) -> Option<&mut LinkMeter> {
        let buffer = self.buffers.get_mut(Stream::at(place).index())?;
        buffer.integrate(now);
        Some(&mut buffer.meter)
    }

    /// As [`crate::Element::sample`].
    pub fn sample(&self, place: Place) -> Option<QueueSample> {
        let buffer = self.buffers.get(Stream::at(place).index())?;
        Some(buffer.meter.sample(buffer.packets(), buffer.bytes()))
    }

    /// As [`crate::Element::tally`].
    pub fn tally(&self, place: Place) -> Option<Tally> {
        self.buffers.get(Stream::at(place).index()).map(|buffer| buffer.tally)
    }
}
