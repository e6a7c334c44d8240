//! Where the packets of one stream wait for the medium, with a meter and a counts of their own.

use super::Stream;
use crate::element::{DropReason, Output, PacketCounts};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::{AnyQueue, Queue};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Where the packets of one stream wait for the medium, and what has become of them.
#[derive(Debug)]
pub struct MeteredQueue {
    queue: AnyQueue,
    meter: LinkMeter,
    counts: PacketCounts,
    /// A packet of this stream has the medium.
    sending: bool,
    held: HeldPackets,
    /// Its queue is another's, lent for a call: what waits in it is counted there.
    borrows: bool,
}

/// Packets that have come to the stream and wait before its queue, as a shaper's do.
#[derive(Debug, Default)]
struct HeldPackets {
    packets: u64,
    bytes: u64,
    /// Of those in the queue: how long they had waited before it, by number of packet.
    waited: VecDeque<(u64, Span)>,
}

impl HeldPackets {
    /// How long a packet that leaves the queue had waited before it. What the queue drops leaves a note here, until the notes are more than
    /// the packets.
    fn take(&mut self, id: u64, queued: u64) -> Span {
        if self.waited.is_empty() {
            return Span::ZERO;
        }
        let at = self.waited.iter().position(|&(noted, _)| noted == id);
        let span = at.and_then(|at| self.waited.remove(at)).map_or(Span::ZERO, |(_, span)| span);
        while self.waited.len() as u64 > queued {
            self.waited.pop_front();
        }
        span
    }
}

impl MeteredQueue {
    pub fn new(queue: AnyQueue) -> MeteredQueue {
        MeteredQueue {
            queue,
            meter: LinkMeter::default(),
            counts: PacketCounts::default(),
            sending: false,
            held: HeldPackets::default(),
            borrows: false,
        }
    }

    pub fn packets(&self) -> u64 {
        self.queue.packets()
    }
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// A packet comes and must wait.
    pub fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        self.counts.pushed += 1;
        self.with_queue(now, out, |queue, out| queue.enqueue(now, packet, out));
    }

    /// A packet comes that the medium does not put into the queue yet. It waits all the same.
    pub fn hold(&mut self, now: Time, packet: Packet) {
        self.counts.pushed += 1;
        self.integrate(now);
        self.held.packets += 1;
        self.held.bytes += u64::from(packet.len);
    }

    /// A packet that was held is not any more.
    pub fn release(&mut self, now: Time, packet: Packet) {
        self.integrate(now);
        self.held.packets -= 1;
        self.held.bytes -= u64::from(packet.len);
    }

    /// A packet that was held since some time goes into the queue.
    pub fn enqueue_held(&mut self, now: Time, (since, packet): (Time, Packet), out: &mut Output<'_>) {
        self.release(now, packet);
        if since < now {
            self.held.waited.push_back((packet.id, now - since));
        }
        self.with_queue(now, out, |queue, out| queue.enqueue(now, packet, out));
    }

    /// A packet comes, nothing of its stream waits and it can be sent at once: a limit on what waits cannot drop it.
    pub fn pass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        self.counts.pushed += 1;
        let passed = self.with_queue(now, out, |queue, out| queue.pass(now, packet, out))?;
        self.begin(Span::ZERO, passed.len);
        Some(passed)
    }

    /// The next packet, whose sending begins.
    pub fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<Packet> {
        let (waited, packet) = self.take(now, out)?;
        self.begin(waited, packet.len);
        Some(packet)
    }

    /// The next packet and how long it has waited. Its sending is counted elsewhere.
    pub fn take(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Span, Packet)> {
        let (since, packet) = self.with_queue(now, out, |queue, out| queue.dequeue(now, out))?;
        let before = self.held.take(packet.id, self.queue.packets());
        Some((before + (now - since), packet))
    }

    /// Changes queues with another that borrows this one's, or gives it back.
    pub fn swap_queue(&mut self, other: &mut MeteredQueue) {
        std::mem::swap(&mut self.queue, &mut other.queue);
        other.borrows = !other.borrows;
    }

    /// The sending of a packet begins that has waited so long.
    pub fn begin(&mut self, wait: Span, len: u16) {
        self.meter.begin(wait);
        self.meter.sent_bytes += u64::from(len);
    }

    /// What the queue drops and marks of its own accord is counted here.
    fn with_queue<T>(&mut self, now: Time, out: &mut Output<'_>, act: impl FnOnce(&mut AnyQueue, &mut Output<'_>) -> T) -> T {
        self.integrate(now);
        let before = *out.counts;
        let result = act(&mut self.queue, out);
        self.meter.count(&before, out.counts);
        self.counts.marked += out.counts.marked - before.marked;
        for ((own, before), after) in self.counts.dropped.iter_mut().zip(before.dropped).zip(out.counts.dropped) {
            *own += after - before;
        }
        result
    }

    /// All that waits is lost.
    pub fn discard(&mut self, now: Time, cause: DropReason, out: &mut Output<'_>) {
        while let Some((_, packet)) = self.with_queue(now, out, |queue, out| queue.dequeue(now, out)) {
            self.drop(packet, cause, out);
        }
    }

    /// From `now` on a packet of this stream has the medium, or none has. The time counts as the stream's use of it.
    pub fn set_sending(&mut self, now: Time, sending: bool) {
        self.integrate(now);
        self.sending = sending;
    }

    /// Time of the medium that this stream used, on a medium that counts it in another way than by [`MeteredQueue::set_sending`].
    pub fn add_busy(&mut self, span: Span) {
        self.meter.busy = self.meter.busy + span;
    }

    /// The medium sent frames of its own for this stream: requests, grants, acknowledgements.
    pub fn count_control(&mut self, frames: u64) {
        self.meter.control_packets += frames;
    }

    /// A packet of this stream has crossed.
    pub fn forward(&mut self, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        self.counts.forwarded += 1;
        out.forward(stream.exit(), packet);
    }

    /// A packet of this stream is lost on the medium.
    pub fn drop(&mut self, packet: Packet, cause: DropReason, out: &mut Output<'_>) {
        self.counts.dropped[cause as usize] += 1;
        self.meter.drops += 1;
        out.drop(packet, cause);
    }

    /// Up to date just before `now`.
    pub fn meter(&mut self, now: Time) -> &mut LinkMeter {
        self.integrate(now);
        &mut self.meter
    }

    pub fn sample(&self) -> QueueSample {
        self.meter.sample(self.queue.packets() + self.held.packets, self.queue.bytes() + self.held.bytes)
    }

    pub fn counts(&self) -> PacketCounts {
        self.counts
    }

    fn integrate(&mut self, now: Time) {
        let queued = if self.borrows { 0 } else { self.queue.packets() };
        self.meter.integrate(now, queued + self.held.packets, self.sending);
    }
}
