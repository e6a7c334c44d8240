//! UDP traffic: constant bit rate, or on/off with random periods.

use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::{Arena, Body, Datagram, Ecn, Kind};
use crate::rng::Rng;
use crate::statistics::Histogram;
use crate::units::{Rate, Span, Time};

/// Sending pattern of a source.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Without pauses.
    Constant,
    /// Without pauses, with intervals drawn uniformly, this share below and above their mean.
    Varied { share: f64, rng: Rng },
    /// Exponential on and off periods with these means.
    Exponential { on: Span, off: Span, rng: Rng },
    /// Pareto on and off periods with these means and this shape.
    Pareto { on: Span, off: Span, shape: f64, rng: Rng },
}

impl Pattern {
    fn draw(rng: &mut Rng, mean: Span, shape: Option<f64>) -> Span {
        let mean = mean.as_secs();
        Span::from_secs_f64(match shape {
            None => rng.exponential(mean),
            Some(shape) => rng.pareto(mean, shape),
        })
    }

    /// The time from one packet to the next whose mean is `mean`.
    fn gap(&mut self, mean: Span) -> Span {
        let Pattern::Varied { share, rng } = self else { return mean };
        let spread = *share * (2.0 * rng.uniform() - 1.0);
        Span::from_secs_f64(mean.as_secs() * (1.0 + spread))
    }

    /// The next on and off periods; `None` for a source without pauses.
    fn periods(&mut self) -> Option<(Span, Span)> {
        let (on, off, shape, rng) = match self {
            Pattern::Constant | Pattern::Varied { .. } => return None,
            Pattern::Exponential { on, off, rng } => (*on, *off, None, rng),
            Pattern::Pareto { on, off, shape, rng } => (*on, *off, Some(*shape), rng),
        };
        let first = Self::draw(rng, on, shape);
        Some((first, Self::draw(rng, off, shape)))
    }
}

/// Sends packets of one size at one rate during its on periods.
#[derive(Clone, Debug)]
pub struct UdpSource {
    packet: u16,
    gap: Span,
    pattern: Pattern,
    stop: Time,
    next: Time,
    on_until: Time,
    off: Span,
    sent: u64,
}

impl UdpSource {
    /// `rate` counts IP bytes; every packet has `packet` bytes. Sends from `start` until `stop`.
    pub fn new(rate: Rate, packet: u16, mut pattern: Pattern, start: Time, stop: Time) -> UdpSource {
        let (on_until, off) = pattern.periods().map_or((Time::NEVER, Span::ZERO), |(on, off)| (start + on, off));
        UdpSource { packet, gap: rate.time_to_send(u32::from(packet)), pattern, stop, next: start, on_until, off, sent: 0 }
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Moves the next send time past the off periods.
    fn skip_pauses(&mut self) {
        while self.next >= self.on_until {
            let begin = self.on_until + self.off;
            let Some((on, off)) = self.pattern.periods() else { return };
            self.next = self.next.max(begin);
            self.on_until = begin + on;
            self.off = off;
        }
    }
}

impl Endpoint for UdpSource {
    fn receive(&mut self, _now: Time, _body: &Body, _ecn: Ecn) {}

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, now: Time, arena: &mut Arena) -> Option<Outgoing> {
        if self.next > now || self.next >= self.stop {
            return None;
        }
        let number = self.sent;
        self.sent += 1;
        self.next += self.pattern.gap(self.gap);
        self.skip_pauses();
        let body = arena.insert(Body::Datagram(Datagram { number, sent: now }));
        Some(Outgoing { body, len: self.packet, kind: Kind::DATA, ecn: Ecn::NotEct, no_more: self.due() > now })
    }

    fn due(&self) -> Time {
        if self.next >= self.stop { Time::NEVER } else { self.next }
    }
}

/// Counts received datagrams.
#[derive(Clone, Debug, Default)]
pub struct UdpSink {
    pub packets: u64,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// One-way delay of each packet since the last start of the measurement.
    delay: Histogram,
    /// One more than the highest number received.
    next: u64,
    /// `next` at the last start of the measurement.
    from: u64,
}

impl UdpSink {
    /// Restarts the measurement of delays and losses.
    pub fn restart_meters(&mut self) {
        self.delay = Histogram::default();
        self.from = self.next;
    }

    /// One-way delay of each packet since the last start of the measurement.
    pub fn delay(&self) -> &Histogram {
        &self.delay
    }

    /// Numbers below the highest received that are missing, less the duplicates, since the last
    /// start of the measurement (RFC 3550, A.3). Packets after the highest may still be in flight.
    pub fn lost(&self) -> u64 {
        (self.next - self.from).saturating_sub(self.delay.count())
    }
}

impl Endpoint for UdpSink {
    fn receive(&mut self, now: Time, body: &Body, _ecn: Ecn) {
        self.packets += 1;
        if let Body::Datagram(datagram) = body {
            self.delay.add(now - datagram.sent);
            self.next = self.next.max(datagram.number + 1);
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    fn on_timer(&mut self, _now: Time) {}

    fn poll(&mut self, _now: Time, _arena: &mut Arena) -> Option<Outgoing> {
        None
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(sink: &mut UdpSink, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            let datagram = Datagram { number, sent: Time::ZERO };
            sink.receive(Time::ZERO + Span::from_ms(20), &Body::Datagram(datagram), Ecn::NotEct);
        }
    }

    #[test]
    fn intervals_spread_around_their_mean_when_they_vary() {
        let pattern = Pattern::Varied { share: 0.5, rng: Rng::for_element(1, "flow") };
        let mut source = UdpSource::new(Rate::from_bps(8_000), 1000, pattern, Time::ZERO, Time::NEVER);
        let mut arena = Arena::default();
        let mut gaps = Vec::new();
        for _ in 0..1000 {
            let due = source.due();
            assert!(source.poll(due, &mut arena).is_some());
            gaps.push((source.due() - due).as_secs());
        }
        assert!(gaps.iter().all(|gap| (0.5..1.5).contains(gap)));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.03 && (variance - 1.0 / 12.0).abs() < 0.01, "{mean} {variance}");
    }

    #[test]
    fn datagram_is_lost_when_a_later_one_has_arrived() {
        let mut sink = UdpSink::default();
        receive(&mut sink, [0, 1, 4, 3]);
        assert_eq!(sink.lost(), 1, "2 is missing; the last ones may be in flight");
        receive(&mut sink, [2]);
        assert_eq!(sink.lost(), 0);
    }

    #[test]
    fn losses_are_counted_from_the_restart_of_the_meters() {
        let mut sink = UdpSink::default();
        receive(&mut sink, [0, 5]);
        sink.restart_meters();
        receive(&mut sink, [6, 9]);
        assert_eq!((sink.lost(), sink.delay().count()), (2, 2));
    }
}
