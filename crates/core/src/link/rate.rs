//! Link of a fixed, a scheduled or a slotted rate with any queue: dequeues the next packet when the previous
//! transmission ends.

use super::{Framing, RateSchedule, SlottedRate};
use crate::element::{Element, Output, Port, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::{AnyQueue, Queue};
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
    rate: LinkRate,
    framing: Framing,
    queue: AnyQueue,
    /// The packet in transmission and the end of its transmission.
    sending: Option<(Time, Packet)>,
    meter: LinkMeter,
}

impl RateLink {
    pub fn new(rate: impl Into<LinkRate>, framing: Framing, queue: AnyQueue) -> RateLink {
        RateLink { rate: rate.into(), framing, queue, sending: None, meter: LinkMeter::default() }
    }

    #[inline]
    fn integrate(&mut self, now: Time) {
        self.meter.integrate(now, self.queue.packets(), self.sending.is_some());
    }

    #[inline]
    fn start(&mut self, now: Time, wait: Span, mut packet: Packet) {
        packet.wire_len = self.framing.wire_len(&packet);
        self.meter.begin(wait);
        self.meter.sent_bytes += u64::from(packet.wire_len);
        self.sending = Some((self.rate.end(now, u32::from(packet.wire_len)), packet));
    }

    #[inline]
    fn start_next(&mut self, now: Time, out: &mut Output<'_>) {
        if let Some((since, packet)) = self.queue.dequeue(now, out) {
            self.start(now, now - since, packet);
        }
    }
}

impl Element for RateLink {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        // A transmission that ends now has ended, in whatever order the driver calls: otherwise the
        // queue limit would depend on that order.
        if self.due() <= now {
            self.wake(now, out);
        }
        self.integrate(now);
        let before = out.counts.signals();
        if self.sending.is_some() {
            self.queue.enqueue(now, packet, out);
        } else if let Some(packet) = self.queue.pass(now, packet, out) {
            self.start(now, Span::ZERO, packet);
        }
        self.meter.count(before, out.counts.signals());
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        if self.due() > now {
            return;
        }
        let before = out.counts.signals();
        while let Some((done, packet)) = &self.sending
            && *done <= now
        {
            let (done, packet) = (*done, Packet { wire_len: packet.len, ..*packet });
            self.integrate(done);
            out.forward(Port(0), packet);
            self.sending = None;
            self.start_next(done, out);
        }
        self.meter.count(before, out.counts.signals());
    }

    #[inline]
    fn due(&self) -> Time {
        self.sending.as_ref().map_or(Time::NEVER, |(done, _)| *done)
    }

    fn occupancy(&self) -> u64 {
        self.queue.packets() + u64::from(self.sending.is_some())
    }

    fn meter(&mut self, now: Time, _queue: QueueId) -> Option<&mut LinkMeter> {
        self.integrate(now);
        self.meter.offered_bytes = match &mut self.rate {
            LinkRate::Fixed(_) => None,
            LinkRate::Scheduled(schedule) => Some(schedule.bytes(self.meter.since, now)),
            LinkRate::Slotted(slots) => Some(slots.bytes(self.meter.since, now)),
        };
        Some(&mut self.meter)
    }

    fn sample(&mut self, _now: Time, _queue: QueueId) -> Option<QueueSample> {
        Some(self.meter.sample(self.queue.packets(), self.queue.bytes()))
    }
}
