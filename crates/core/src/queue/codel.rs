//! CoDel (RFC 8289): a queue that stays long is told so, ever more often until it is short again.

use super::{Fifo, Limit, OneLine, Order, Queue, Signal, Waiting, signal};
use crate::element::{Cause, Out};
use crate::packet::Packet;
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug)]
pub struct CoDelSettings {
    pub limit: Limit,
    pub control: Control,
    pub order: Order,
}

/// What the control law works with (RFC 8289, sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// A standing delay up to this is good.
    pub target: Span,
    /// How long it may last: a worst-case round trip.
    pub interval: Span,
    /// With less than this many bytes waiting nothing is wrong.
    pub mtu: u64,
    pub signal: Signal,
}

/// The law's state for one line (RFC 8289, section 5.2).
#[derive(Clone, Debug, Default)]
pub struct Law {
    /// When the delay will have been above the target for an interval; none while it is below.
    first_above: Option<Time>,
    /// Signals are being given, the next one then.
    dropping: bool,
    next: Time,
    /// Signals in this spell, and where the count stood when the spell began.
    count: u64,
    last_count: u64,
}

impl Law {
    /// The next packet of the line; what must go on the way there is dropped or marked (RFC 8289, sections 5.5 and 5.6).
    pub fn take(&mut self, now: Time, line: &mut Fifo, control: &Control, out: &mut Out<'_>) -> Option<Waiting> {
        let (mut first, mut bad) = self.look_on(now, line, control)?;
        if self.dropping {
            self.dropping = bad;
            while self.dropping && now >= self.next {
                self.count += 1;
                let stays = signal(control.signal, &mut first.packet, out);
                if stays {
                    self.next = control_law(self.next, self.count, control.interval);
                    return Some(first);
                }
                (first, bad) = self.look_on(now, line, control)?;
                self.dropping = bad;
                if bad {
                    self.next = control_law(self.next, self.count, control.interval);
                }
            }
        } else if bad {
            let stays = signal(control.signal, &mut first.packet, out);
            self.begin(now, control.interval);
            if !stays {
                (first, _) = self.look(now, line, control)?;
            }
        }
        Some(first)
    }

    /// The line may run dry under the law, which ends its spell.
    fn look_on(&mut self, now: Time, line: &mut Fifo, control: &Control) -> Option<(Waiting, bool)> {
        let looked = self.look(now, line, control);
        self.dropping &= looked.is_some();
        looked
    }

    /// The first of the line, and whether it may go (RFC 8289, section 5.4).
    fn look(&mut self, now: Time, line: &mut Fifo, control: &Control) -> Option<(Waiting, bool)> {
        let Some(first) = line.pop() else {
            self.first_above = None;
            return None;
        };
        if first.sojourn(now) < control.target || line.bytes() <= control.mtu {
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
    settings: CoDelSettings,
    law: Law,
    line: Fifo,
}

impl CoDel {
    pub fn new(settings: CoDelSettings) -> CoDel {
        CoDel { settings, law: Law::default(), line: Fifo::new(settings.order) }
    }
}

impl OneLine for CoDel {
    fn take_in(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        if self.has_room(&packet) { self.line.push(now, packet) } else { out.drop(packet, Cause::QueueFull) }
    }

    fn let_by(&mut self, _now: Time, packet: Packet, _out: &mut Out<'_>) -> Option<Packet> {
        // It has not waited: below any target.
        self.law.first_above = None;
        self.law.dropping = false;
        Some(packet)
    }

    fn give(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)> {
        self.law.take(now, &mut self.line, &self.settings.control, out).map(|first| (first.since, first.packet))
    }

    fn line(&self) -> (&Fifo, Limit) {
        (&self.line, self.settings.limit)
    }
    fn line_mut(&mut self) -> &mut Fifo {
        &mut self.line
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
