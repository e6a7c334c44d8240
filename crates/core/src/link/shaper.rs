//! Shaper: a queue, and a token bucket that its packets leave through (tc-tbf(8), tc-cake(8)).
//!
//! With a burst in bytes a packet leaves when the bucket holds its length. A queue whose next packet
//! is decided on departure (CoDel, FQ) gives it to the shaper as soon as the one before has left, as
//! it does to tbf. With a burst of one packet, whatever its length, a packet leaves when the one before
//! would have been sent at the rate, as from CAKE: only then the queue decides.

use super::Framing;
use super::token_bucket::TokenBucket;
use crate::config_check::{Checked, ensure};
use crate::config_form::{is_default, nullable};
use crate::element::{DropReason, Element, Output, Port, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::queue::{AnyQueue, Queue};
use crate::units::{Rate, Time};
use serde::{Deserialize, Serialize};

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct ShaperConfig {
    #[serde(rename = "bps")]
    pub rate: Rate,
    /// Bytes of the bucket, with framing; null is one packet of whatever length. A longer packet is
    /// dropped.
    #[serde(deserialize_with = "nullable")]
    pub burst: Option<u64>,
    /// Rate at which the burst leaves; null is unlimited.
    #[serde(rename = "peak_bps", deserialize_with = "nullable")]
    pub peak: Option<Rate>,
    /// How the shaper counts a packet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub framing: Framing,
}

impl ShaperConfig {
    pub fn check(&self) -> Checked {
        ensure(self.burst != Some(0), || "burst is 0 bytes: no packet passes".into())?;
        ensure(self.peak.is_none_or(|peak| peak.bps() >= self.rate.bps()), || {
            format!("peak_bps is below bps, {}", self.rate.bps())
        })
    }
}

/// Bytes of a bucket of one packet: the longest one. It has to be full for a packet to leave, so that
/// the wait after a packet is the packet's own time.
const ONE_PACKET: u64 = u16::MAX as u64;

pub struct Shaper {
    config: ShaperConfig,
    queue: AnyQueue,
    tokens: TokenBucket,
    peak: Option<TokenBucket>,
    /// The next packet, of a queue that decides on departure.
    head: Option<(Time, Packet)>,
    /// With a burst of one packet: the time of the last packet is not over.
    busy: bool,
    /// Tokens of the bucket without which the shaper does nothing; none while nothing waits.
    needed: Option<u64>,
    due: Time,
    meter: LinkMeter,
}

impl Shaper {
    pub fn new(config: ShaperConfig, queue: AnyQueue) -> Shaper {
        let tokens = TokenBucket::new(config.rate, config.burst.unwrap_or(ONE_PACKET));
        let peak = config.peak.map(|peak| TokenBucket::new(peak, ONE_PACKET));
        Shaper {
            config,
            queue,
            tokens,
            peak,
            head: None,
            busy: false,
            needed: None,
            due: Time::NEVER,
            meter: LinkMeter::default(),
        }
    }

    pub fn rate(&self) -> Rate {
        self.config.rate
    }

    /// Shapes to another rate from `now` on. The bucket keeps what it earned; a packet that waits leaves
    /// when the bucket holds its tokens at the new rate.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.integrate(now);
        self.tokens.set_rate(now, rate);
        self.queue.set_rate(rate);
        self.config.rate = rate;
        self.set_due(now);
    }

    fn bytes(&self, packet: &Packet) -> u64 {
        u64::from(self.config.framing.wire_len(packet))
    }

    /// What the bucket has to hold for a packet.
    fn needed(&self, packet: &Packet) -> u64 {
        if self.config.burst.is_some() { self.bytes(packet) } else { ONE_PACKET }
    }

    fn may_send(&mut self, now: Time, packet: &Packet) -> bool {
        let needed = self.needed(packet);
        self.tokens.holds(now, needed) && self.peak.as_mut().is_none_or(|peak| peak.holds(now, ONE_PACKET))
    }

    fn waiting(&self) -> u64 {
        self.queue.packets() + u64::from(self.head.is_some())
    }

    fn send(&mut self, now: Time, since: Time, packet: Packet, out: &mut Output<'_>) {
        let bytes = self.bytes(&packet);
        self.tokens.spend(bytes);
        if let Some(peak) = &mut self.peak {
            peak.spend(bytes);
        }
        self.meter.begin(now - since);
        self.meter.sent_bytes += bytes;
        self.busy = true;
        out.forward(Port(0), packet);
    }

    /// Sets the due time to that of the next packet.
    fn schedule(&mut self, now: Time, out: &mut Output<'_>) {
        self.needed = if self.config.burst.is_none() {
            (self.busy || self.waiting() > 0).then_some(ONE_PACKET)
        } else if let Some(next) = self.queue.peek().filter(|_| self.head.is_none()) {
            Some(self.bytes(next))
        } else {
            // An empty queue learns here that the shaper is idle.
            self.head = self.head.take().or_else(|| self.queue.dequeue(now, out));
            self.head.as_ref().map(|(_, next)| self.bytes(next))
        };
        self.set_due(now);
    }

    fn set_due(&mut self, now: Time) {
        self.due = self.needed.map_or(Time::NEVER, |needed| {
            let peak = self.peak.as_ref().map_or(Time::ZERO, |peak| peak.time_of(ONE_PACKET));
            self.tokens.time_of(needed).max(peak).max(now)
        });
    }

    /// The link is busy while the bucket is not full: the time of what was sent at the rate.
    fn integrate(&mut self, now: Time) {
        let waiting = self.waiting();
        let full = self.tokens.full_at().min(now);
        if full > self.meter.counted_to() {
            self.meter.integrate(full, waiting, true);
        }
        self.meter.integrate(now, waiting, waiting > 0);
    }
}

impl Element for Shaper {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        // A packet whose tokens are there now has left, in whatever order the driver calls.
        self.wake(now, out);
        self.integrate(now);
        let before = out.counts.signals();
        if self.config.burst.is_some_and(|burst| self.bytes(&packet) > burst) {
            out.drop(packet, DropReason::Policed);
        } else if self.waiting() == 0 && self.may_send(now, &packet) {
            if let Some(packet) = self.queue.pass(now, packet, out) {
                self.send(now, now, packet, out);
            }
        } else {
            self.queue.enqueue(now, packet, out);
        }
        self.schedule(now, out);
        self.meter.count(before, out.counts.signals());
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        if self.due > now {
            return;
        }
        let before = out.counts.signals();
        while self.due <= now && self.due != Time::NEVER {
            let at = self.due;
            self.integrate(at);
            self.busy = false;
            if let Some((since, packet)) = self.head.take().or_else(|| self.queue.dequeue(at, out)) {
                let may = self.may_send(at, &packet);
                debug_assert!(may, "a packet is due when its tokens are there");
                self.send(at, since, packet, out);
            }
            self.schedule(at, out);
        }
        self.meter.count(before, out.counts.signals());
    }

    #[inline]
    fn due(&self) -> Time {
        self.due
    }

    fn occupancy(&self) -> u64 {
        self.waiting()
    }

    fn meter(&mut self, now: Time, _queue: QueueId) -> Option<&mut LinkMeter> {
        self.integrate(now);
        Some(&mut self.meter)
    }

    fn sample(&mut self, _now: Time, _queue: QueueId) -> Option<QueueSample> {
        let head = self.head.map_or(0, |(_, packet)| u64::from(packet.len));
        Some(self.meter.sample(self.waiting(), self.queue.bytes() + head))
    }
}
