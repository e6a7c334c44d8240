//! CoDel (RFC 8289): a queue that stays long is told so, ever more often until it is short again.

use super::{AqmSignal, Fifo, Limit, Order, Queue, QueuedPacket, SingleFifo, mark_or_drop};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug)]
pub struct CoDelConfig {
    pub limit: Limit,
    pub control: CoDelParameters,
    pub order: Order,
}

/// What the control law works with (RFC 8289, sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug)]
pub struct CoDelParameters {
    /// A standing delay up to this is good.
    pub target: Span,
    /// How long it may last: a worst-case round trip.
    pub interval: Span,
    /// With less than this many bytes waiting nothing is wrong.
    pub mtu: u64,
    pub signal: AqmSignal,
}

/// The law's state for one fifo (RFC 8289, section 5.2).
#[derive(Clone, Debug, Default)]
pub struct CoDelState {
    /// When the delay will have been above the target for an interval; none while it is below.
    first_above: Option<Time>,
    /// Signals are being given, the next one then.
    dropping: bool,
    next: Time,
    /// Signals in this spell, and where the count stood when the spell began.
    count: u64,
    last_count: u64,
}

impl CoDelState {
    /// The next packet of the fifo; what must go on the way there is dropped or marked (RFC 8289, sections 5.5 and 5.6).
    pub fn take(&mut self, now: Time, fifo: &mut Fifo, control: &CoDelParameters, out: &mut Output<'_>) -> Option<QueuedPacket> {
        let (mut first, mut bad) = self.look_on(now, fifo, control)?;
        if self.dropping {
            self.dropping = bad;
            while self.dropping && now >= self.next {
                self.count += 1;
                let stays = mark_or_drop(control.signal, &mut first.packet, out);
                if stays {
                    self.next = control_law(self.next, self.count, control.interval);
                    return Some(first);
                }
                (first, bad) = self.look_on(now, fifo, control)?;
                self.dropping = bad;
                if bad {
                    self.next = control_law(self.next, self.count, control.interval);
                }
            }
        } else if bad {
            let stays = mark_or_drop(control.signal, &mut first.packet, out);
            self.begin(now, control.interval);
            if !stays {
                (first, _) = self.look(now, fifo, control)?;
            }
        }
        Some(first)
    }

    /// The fifo may run dry under the law, which ends its spell.
    fn look_on(&mut self, now: Time, fifo: &mut Fifo, control: &CoDelParameters) -> Option<(QueuedPacket, bool)> {
        let looked = self.look(now, fifo, control);
        self.dropping &= looked.is_some();
        looked
    }

    /// The first of the fifo, and whether it may go (RFC 8289, section 5.4).
    fn look(&mut self, now: Time, fifo: &mut Fifo, control: &CoDelParameters) -> Option<(QueuedPacket, bool)> {
        let Some(first) = fifo.pop() else {
            self.first_above = None;
            return None;
        };
        if first.sojourn(now) < control.target || fifo.bytes() <= control.mtu {
            self.first_above = None;
            return Some((first, false));
        }
        let above = *self.first_above.get_or_insert(now + control.interval);
        Some((first, now >= above))
    }

    /// A spell begins. Soon after another it goes on nearly where that ended (RFC 8289, section 5.5).
    fn begin(&mut self, now: Time, interval: Span) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.next) < interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.next = control_law(now, self.count, interval);
        self.last_count = self.count;
    }
}

/// next = t + interval / sqrt(count) // RFC 8289, section 5.3
fn control_law(t: Time, count: u64, interval: Span) -> Time {
    t + Span::from_secs_f64(interval.as_secs() / libm::sqrt(count.max(1) as f64))
}

#[derive(Debug)]
pub struct CoDel {
    config: CoDelConfig,
    law: CoDelState,
    fifo: Fifo,
}

impl CoDel {
    pub fn new(config: CoDelConfig) -> CoDel {
        CoDel { config, law: CoDelState::default(), fifo: Fifo::new(config.order) }
    }
}

impl SingleFifo for CoDel {
    fn admit(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        if self.has_room(&packet) { self.fifo.push(now, packet) } else { out.drop(packet, DropReason::QueueFull) }
    }

    fn bypass(&mut self, _now: Time, packet: Packet, _out: &mut Output<'_>) -> Option<Packet> {
        // It has not waited: below any target.
        self.law.first_above = None;
        self.law.dropping = false;
        Some(packet)
    }

    fn take_next(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        self.law.take(now, &mut self.fifo, &self.config.control, out).map(|first| (first.since, first.packet))
    }

    fn fifo(&self) -> (&Fifo, Limit) {
        (&self.fifo, self.config.limit)
    }
    fn fifo_mut(&mut self) -> &mut Fifo {
        &mut self.fifo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_law_is_the_interval_over_the_root_of_the_count() {
        let interval = Span::from_ms(100);
        for (count, ms) in [(1, 100.0), (2, 70.710_678), (4, 50.0), (9, 33.333_333), (100, 10.0)] {
            let next = control_law(Time::ZERO, count, interval);
            assert!((next.as_secs() * 1e3 - ms).abs() < 1e-6, "{count}");
        }
    }
}
