//! Link of a fixed, a scheduled or a slotted rate with any queue: dequeues the next packet when the previous
//! transmission ends.

use super::{Framing, RateSchedule, SlottedRate};
use crate::element::{Element, Output, Port, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::{AnyQueue, Queue, with_queue};
use crate::units::{Rate, Span, Time};

/// The rate of a link: one, or one that changes with time.
pub enum LinkRate {
    Fixed(Rate),
    Scheduled(Box<RateSchedule>),
    Slotted(Box<SlottedRate>),
}

impl From<Rate> for LinkRate {
    fn from(rate: Rate) -> LinkRate {
        LinkRate::Fixed(rate)
    }
}

impl From<RateSchedule> for LinkRate {
    fn from(schedule: RateSchedule) -> LinkRate {
        LinkRate::Scheduled(Box::new(schedule))
    }
}

impl From<SlottedRate> for LinkRate {
    fn from(slots: SlottedRate) -> LinkRate {
        LinkRate::Slotted(Box::new(slots))
    }
}

impl LinkRate {
    /// End of the transmission of `bytes` that starts at `now`.
    #[inline]
    fn end(&mut self, now: Time, bytes: u32) -> Time {
        match self {
            LinkRate::Fixed(rate) => now + rate.time_to_send(bytes),
            LinkRate::Scheduled(schedule) => schedule.end(now, bytes),
            LinkRate::Slotted(slots) => slots.end(now, bytes),
        }
    }
}

pub struct RateLink {
    queue: AnyQueue,
    transmitter: Transmitter,
}

/// What takes packets from the queue and transmits them.
struct Transmitter {
    rate: LinkRate,
    framing: Framing,
    /// The packet in transmission and the end of its transmission.
    sending: Option<(Time, Packet)>,
    meter: LinkMeter,
}

impl RateLink {
    pub fn new(rate: impl Into<LinkRate>, framing: Framing, queue: AnyQueue) -> RateLink {
        let transmitter = Transmitter { rate: rate.into(), framing, sending: None, meter: LinkMeter::default() };
        RateLink { queue, transmitter }
    }
}

impl Transmitter {
    fn push(&mut self, queue: &mut impl Queue, now: Time, packet: Packet, out: &mut Output<'_>) {
        // A transmission that ends now has ended, in whatever order the driver calls: otherwise the
        // queue limit would depend on that order.
        if self.due() <= now {
            self.wake(queue, now, out);
        }
        self.integrate(now, queue.packets());
        let before = out.counts.signals();
        if self.sending.is_some() {
            queue.enqueue(now, packet, out);
        } else if let Some(packet) = queue.pass(now, packet, out) {
            self.start(now, Span::ZERO, packet);
        }
        self.meter.count(before, out.counts.signals());
    }

    fn wake(&mut self, queue: &mut impl Queue, now: Time, out: &mut Output<'_>) {
        if self.due() > now {
            return;
        }
        let before = out.counts.signals();
        while let Some((done, packet)) = &self.sending
            && *done <= now
        {
            let (done, packet) = (*done, Packet { wire_len: packet.len, ..*packet });
            self.integrate(done, queue.packets());
            out.forward(Port(0), packet);
            self.sending = None;
            if let Some((since, packet)) = queue.dequeue(done, out) {
                self.start(done, done - since, packet);
            }
        }
        self.meter.count(before, out.counts.signals());
    }

    #[inline]
    fn integrate(&mut self, now: Time, waiting: u64) {
        self.meter.integrate(now, waiting, self.sending.is_some());
    }

    #[inline]
    fn start(&mut self, now: Time, wait: Span, mut packet: Packet) {
        packet.wire_len = self.framing.wire_len(&packet);
        self.meter.begin(wait);
        self.meter.sent_bytes += u64::from(packet.wire_len);
        self.sending = Some((self.rate.end(now, u32::from(packet.wire_len)), packet));
    }

    #[inline]
    fn due(&self) -> Time {
        self.sending.as_ref().map_or(Time::NEVER, |(done, _)| *done)
    }
}

impl Element for RateLink {
    #[inline]
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        with_queue!(&mut self.queue, queue => self.transmitter.push(queue, now, packet, out));
    }

    #[inline]
    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        with_queue!(&mut self.queue, queue => self.transmitter.wake(queue, now, out));
    }

    #[inline]
    fn due(&self) -> Time {
        self.transmitter.due()
    }

    fn occupancy(&self) -> u64 {
        self.queue.packets() + u64::from(self.transmitter.sending.is_some())
    }

    fn meter(&mut self, now: Time, _queue: QueueId) -> Option<&mut LinkMeter> {
        let Transmitter { rate, meter, sending, .. } = &mut self.transmitter;
        meter.integrate(now, self.queue.packets(), sending.is_some());
        meter.offered_bytes = match rate {
            LinkRate::Fixed(_) => None,
            LinkRate::Scheduled(schedule) => Some(schedule.bytes(meter.since, now)),
            LinkRate::Slotted(slots) => Some(slots.bytes(meter.since, now)),
        };
        Some(meter)
    }

    fn sample(&mut self, _now: Time, _queue: QueueId) -> Option<QueueSample> {
        Some(self.transmitter.meter.sample(self.queue.packets(), self.queue.bytes()))
    }
}
