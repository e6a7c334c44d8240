//! The queue of one stream of a medium, with its own meter and counters.

use super::Stream;
use crate::element::{DropReason, Output, PacketCounts};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::{AnyQueue, Queue};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// The queue of one stream, its statistics, and its packets held before the queue.
#[derive(Debug)]
pub struct MeteredQueue {
    queue: AnyQueue,
    meter: LinkMeter,
    counts: PacketCounts,
    /// A packet of this stream occupies the medium.
    sending: bool,
    held: HeldPackets,
    /// Packets that have left the channel and are not delivered yet.
    received: u64,
    /// The queue is borrowed from another stream for one call; its content is counted there.
    borrows: bool,
    /// The packet in the queue that found none of its stream before it.
    first: Option<u64>,
}

/// Packets of the stream that wait before its queue, for example in a shaper.
#[derive(Debug, Default)]
struct HeldPackets {
    packets: u64,
    bytes: u64,
    /// For packets in the queue: packet id and waiting time before the queue.
    waited: VecDeque<(u64, Span)>,
}

impl HeldPackets {
    /// Waiting time before the queue of a packet that is dequeued. Entries of packets that the
    /// queue dropped remain until there are more entries than packets.
    fn take(&mut self, id: u64, queued: u64) -> Span {
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
            received: 0,
            borrows: false,
            first: None,
        }
    }

    #[inline]
    pub fn packets(&self) -> u64 {
        self.queue.packets()
    }
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Enqueues an arriving packet.
    pub fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        if self.in_channel() <= 0 {
            self.first = Some(packet.id);
        }
        self.counts.pushed += 1;
        self.with_queue(now, out, |queue, out| queue.enqueue(now, packet, out));
    }

    /// Packets of this stream that wait for the channel or occupy it. Those of a shared queue count
    /// where they arrived and are subtracted where they leave, so only the sum over the streams of
    /// a direction is meaningful.
    #[inline]
    pub fn in_channel(&self) -> i64 {
        let gone = self.counts.forwarded + self.counts.drops() + self.received;
        self.counts.pushed as i64 - gone as i64
    }

    /// A packet of this stream occupies the medium.
    #[inline]
    pub fn is_sending(&self) -> bool {
        self.sending
    }

    /// A packet has left the channel and is delivered later.
    pub fn leave_channel(&mut self) {
        self.received += 1;
    }

    /// Delivers a packet that has left the channel before.
    pub fn forward_received(&mut self, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        self.received -= 1;
        self.forward(stream, packet, out);
    }

    /// Counts an arriving packet that the medium holds before the queue.
    pub fn hold(&mut self, now: Time, packet: Packet) {
        self.counts.pushed += 1;
        self.integrate(now);
        self.held.packets += 1;
        self.held.bytes += u64::from(packet.len);
    }

    /// A held packet is no longer held.
    pub fn release(&mut self, now: Time, packet: Packet) {
        self.integrate(now);
        self.held.packets -= 1;
        self.held.bytes -= u64::from(packet.len);
    }

    /// Enqueues a packet held since some time.
    pub fn enqueue_held(&mut self, now: Time, (since, packet): (Time, Packet), out: &mut Output<'_>) {
        self.release(now, packet);
        if since < now {
            self.held.waited.push_back((packet.id, now - since));
        }
        self.with_queue(now, out, |queue, out| queue.enqueue(now, packet, out));
    }

    /// A packet arrives while its stream is idle and the medium is free: a queue limit cannot drop
    /// it.
    pub fn pass(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) -> Option<Packet> {
        self.counts.pushed += 1;
        let passed = self.with_queue(now, out, |queue, out| queue.pass(now, packet, out))?;
        self.begin(Span::ZERO, passed.len);
        Some(passed)
    }

    /// The next packet; its transmission starts.
    #[inline]
    pub fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<Packet> {
        let (waited, packet) = self.take(now, out)?;
        self.begin(waited, packet.len);
        if self.first == Some(packet.id) {
            self.first = None;
            self.meter.access.add(waited);
        }
        Some(packet)
    }

    /// The next packet and its total waiting time. The caller counts its transmission.
    pub fn take(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Span, Packet)> {
        let (since, packet) = self.with_queue(now, out, |queue, out| queue.dequeue(now, out))?;
        let waited = now - since;
        if self.held.waited.is_empty() {
            return Some((waited, packet));
        }
        Some((self.held.take(packet.id, self.queue.packets()) + waited, packet))
    }

    /// Exchanges the queue with another stream that borrows it, or returns it.
    pub fn swap_queue(&mut self, other: &mut MeteredQueue) {
        std::mem::swap(&mut self.queue, &mut other.queue);
        other.borrows = !other.borrows;
    }

    /// Counts a packet of `len` bytes whose transmission starts after waiting for `wait`.
    pub fn begin(&mut self, wait: Span, len: u16) {
        self.meter.begin(wait);
        self.meter.sent_bytes += u64::from(len);
    }

    /// Calls the queue, and adds its drops and marks to the counters.
    #[inline]
    fn with_queue<T>(&mut self, now: Time, out: &mut Output<'_>, act: impl FnOnce(&mut AnyQueue, &mut Output<'_>) -> T) -> T {
        self.integrate(now);
        let (before, dropped) = (out.counts.signals(), out.counts.dropped);
        let result = act(&mut self.queue, out);
        let after = out.counts.signals();
        if after != before {
            self.meter.count(before, after);
            self.counts.add_signals(&dropped, after.marks - before.marks, out.counts);
        }
        result
    }

    /// Drops all queued packets.
    pub fn discard(&mut self, now: Time, cause: DropReason, out: &mut Output<'_>) {
        while let Some((_, packet)) = self.with_queue(now, out, |queue, out| queue.dequeue(now, out)) {
            self.drop(packet, cause, out);
        }
    }

    /// Sets whether a packet of this stream occupies the medium from `now` on, which counts as busy
    /// time.
    pub fn set_sending(&mut self, now: Time, sending: bool) {
        self.integrate(now);
        self.sending = sending;
    }

    /// Adds busy time, for media that do not use [`MeteredQueue::set_sending`].
    pub fn add_busy(&mut self, span: Span) {
        self.meter.busy = self.meter.busy + span;
    }

    /// Counts the medium's own frames for this stream: requests, grants, acknowledgements.
    #[inline]
    pub fn count_control(&mut self, frames: u64) {
        self.meter.control_packets += frames;
    }

    /// Delivers a packet of this stream.
    #[inline]
    pub fn forward(&mut self, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        self.counts.forwarded += 1;
        out.forward(stream.exit(), packet);
    }

    /// Drops a packet of this stream on the medium.
    pub fn drop(&mut self, packet: Packet, cause: DropReason, out: &mut Output<'_>) {
        self.counts.count_drop(cause);
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

    #[inline]
    fn integrate(&mut self, now: Time) {
        let queued = if self.borrows { 0 } else { self.queue.packets() };
        self.meter.integrate(now, queued + self.held.packets, self.sending);
    }
}
