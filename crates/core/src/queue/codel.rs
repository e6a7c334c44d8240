//! CoDel (RFC 8289): drops or marks with increasing frequency while the sojourn time stays above
//! the target.

use super::{AqmSignal, Fifo, Limit, Order, Queue, QueuedPacket, SingleFifo, mark_or_drop};
use crate::config_check::{Checked, check_span, ensure};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoDelConfig {
    #[serde(flatten)]
    pub limit: Limit,
    #[serde(flatten)]
    pub control: CoDelParameters,
    #[serde(skip)]
    pub order: Order,
}

impl CoDelConfig {
    pub(super) fn check(&self) -> Checked {
        self.limit.check_room()?;
        self.control.check()
    }
}

/// Parameters of the control law (RFC 8289, sections 4.2 and 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct CoDelParameters {
    /// Acceptable standing delay.
    #[serde(rename = "target_ps")]
    pub target: Span,
    /// Time that the delay may stay above the target: a worst-case RTT.
    #[serde(rename = "interval_ps")]
    pub interval: Span,
    /// No signal with at most this many bytes queued.
    pub mtu: u32,
    pub signal: AqmSignal,
}

impl CoDelParameters {
    pub(super) fn check(&self) -> Checked {
        check_span("queue.target_ps", self.target)?;
        ensure(self.interval > Span::ZERO, || "queue.interval_ps is 0".into())?;
        check_span("queue.interval_ps", self.interval)
    }
}

/// State for one FIFO (RFC 8289, section 5.2).
#[derive(Clone, Debug, Default)]
pub struct CoDelState {
    /// Time at which the delay will have been above the target for an interval; `None` while it is
    /// below.
    first_above: Option<Time>,
    /// In the dropping state; the next signal is due at `drop_next`.
    dropping: bool,
    drop_next: Time,
    /// Signals in this dropping state, and the count when the state was entered.
    count: u64,
    last_count: u64,
}

impl CoDelState {
    /// The next packet of the FIFO, after dropping or marking packets (RFC 8289, sections 5.5 and
    /// 5.6).
    #[inline]
    pub fn dequeue(
        &mut self,
        now: Time,
        fifo: &mut Fifo,
        control: &CoDelParameters,
        out: &mut Output<'_>,
    ) -> Option<QueuedPacket> {
        let ok_to_drop = self.ok_to_drop(now, fifo, control);
        if ok_to_drop && (!self.dropping || now >= self.drop_next) {
            return self.signal(now, fifo, control, out);
        }
        self.dropping &= ok_to_drop;
        fifo.pop()
    }

    /// Drops or marks the first packet, and others while more signals are due. Returns the next packet.
    fn signal(&mut self, now: Time, fifo: &mut Fifo, control: &CoDelParameters, out: &mut Output<'_>) -> Option<QueuedPacket> {
        if !self.dropping {
            let mut first = fifo.pop()?;
            let stays = mark_or_drop(control.signal, &mut first.packet, out);
            self.enter_dropping(now, control.interval);
            if stays {
                return Some(first);
            }
            self.ok_to_drop(now, fifo, control);
            return fifo.pop();
        }
        while self.dropping && now >= self.drop_next {
            let mut first = fifo.pop()?;
            self.count += 1;
            let stays = mark_or_drop(control.signal, &mut first.packet, out);
            if stays {
                self.drop_next = control_law(self.drop_next, self.count, control.interval);
                return Some(first);
            }
            self.dropping = self.ok_to_drop(now, fifo, control);
            if self.dropping {
                self.drop_next = control_law(self.drop_next, self.count, control.interval);
            }
        }
        fifo.pop()
    }

    /// Whether it is OK to drop the first packet (RFC 8289, section 5.4): the delay has been above the
    /// target for an interval. An empty FIFO has no delay.
    #[inline]
    fn ok_to_drop(&mut self, now: Time, fifo: &Fifo, control: &CoDelParameters) -> bool {
        let above = fifo.first().is_some_and(|first| {
            first.sojourn(now) >= control.target && fifo.bytes() - u64::from(first.packet.len) > u64::from(control.mtu)
        });
        if !above {
            self.first_above = None;
            return false;
        }
        now >= *self.first_above.get_or_insert(now + control.interval)
    }

    /// Enters the dropping state. Soon after the previous one, the count continues near its last
    /// value (RFC 8289, section 5.5).
    fn enter_dropping(&mut self, now: Time, interval: Span) {
        self.dropping = true;
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < interval.saturating_mul(16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = control_law(now, self.count, interval);
        self.last_count = self.count;
    }
}

/// next = t + interval / sqrt(count) // RFC 8289, section 5.3
pub(super) fn control_law(t: Time, count: u64, interval: Span) -> Time {
    t + Span::from_secs_f64(interval.as_secs() / libm::sqrt(count.max(1) as f64))
}

#[derive(Debug)]
pub struct CoDel {
    config: CoDelConfig,
    codel: CoDelState,
    fifo: Fifo,
}

impl CoDel {
    pub fn new(config: CoDelConfig) -> CoDel {
        CoDel { config, codel: CoDelState::default(), fifo: Fifo::new(config.order) }
    }
}

impl SingleFifo for CoDel {
    const DROPS_ON_DEPARTURE: bool = true;

    #[inline]
    fn admit(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        if self.has_room(&packet) { self.fifo.push(now, packet) } else { out.drop(packet, DropReason::QueueFull) }
    }

    fn bypass(&mut self, _now: Time, packet: Packet, _out: &mut Output<'_>) -> Option<Packet> {
        // The sojourn time is zero: below any target.
        self.codel.first_above = None;
        self.codel.dropping = false;
        Some(packet)
    }

    #[inline]
    fn take_next(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        self.codel.dequeue(now, &mut self.fifo, &self.config.control, out).map(|first| (first.since, first.packet))
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
    fn control_law_divides_the_interval_by_the_root_of_the_count() {
        let interval = Span::from_ms(100);
        for (count, ms) in [(1, 100.0), (2, 70.710_678), (4, 50.0), (9, 33.333_333), (100, 10.0)] {
            let next = control_law(Time::ZERO, count, interval);
            assert!((next.as_secs() * 1e3 - ms).abs() < 1e-6, "{count}");
        }
    }

    /// RFC 8289, section 5.5: within 16 intervals of the last dropping state the count goes on near its last
    /// value, with what it gained then.
    #[test]
    fn dropping_state_continues_the_count_when_it_begins_within_16_intervals_of_the_last() {
        let (last, interval) = (Time::ZERO + Span::from_secs(5), Span::from_ms(100));
        let entered = |count, last_count, pause: Span| {
            let mut state = CoDelState { count, last_count, drop_next: last, ..CoDelState::default() };
            state.enter_dropping(last + pause, interval);
            assert_eq!(state.drop_next, control_law(last + pause, state.count, interval));
            assert_eq!((state.dropping, state.last_count), (true, state.count));
            state.count
        };
        let limit = Span::from_ms(1600);
        assert_eq!(entered(7, 2, limit - Span(1)), 5);
        assert_eq!(entered(7, 2, limit), 1);
        assert_eq!(entered(4, 2, Span::ZERO), 2);
        // One drop more than at the last entry is no reason.
        assert_eq!(entered(3, 2, Span::ZERO), 1);
    }
}
