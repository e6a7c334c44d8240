//! UDP traffic: constant bit rate, with constant or random intervals, or on/off with random periods.

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
    /// Without pauses; intervals are uniform between 1 - `spread` and 1 + `spread` times the mean.
    Spread { spread: f64, rng: Rng },
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

    /// The next on and off periods; `None` for a source without pauses.
    fn periods(&mut self) -> Option<(Span, Span)> {
        let (on, off, shape, rng) = match self {
            Pattern::Constant | Pattern::Spread { .. } => return None,
            Pattern::Exponential { on, off, rng } => (*on, *off, None, rng),
            Pattern::Pareto { on, off, shape, rng } => (*on, *off, Some(*shape), rng),
        };
        let first = Self::draw(rng, on, shape);
        Some((first, Self::draw(rng, off, shape)))
    }

    /// The interval to the next packet, `gap` on average.
    fn interval(&mut self, gap: Span) -> Span {
        match self {
            Pattern::Spread { spread, rng } => Span::from_secs_f64(gap.as_secs() * (1.0 + *spread * (2.0 * rng.uniform() - 1.0))),
            Pattern::Constant | Pattern::Exponential { .. } | Pattern::Pareto { .. } => gap,
        }
    }
}

/// Sends packets of one size at one rate during its on periods.
#[derive(Clone, Debug)]
pub struct UdpSource {
    packet: u16,
    gap: Span,
    pattern: Pattern,
    start: Time,
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
        UdpSource { pattern, on_until, off, ..Self::every(rate.time_to_send(u32::from(packet)), packet, start, stop) }
    }

    /// Without pauses, a packet of `packet` bytes each `gap`, from `start` until `stop`.
    pub fn every(gap: Span, packet: u16, start: Time, stop: Time) -> UdpSource {
        let (pattern, on_until, off) = (Pattern::Constant, Time::NEVER, Span::ZERO);
        UdpSource { packet, gap, pattern, start, stop, next: start, on_until, off, sent: 0 }
    }

    /// Packets that a source without pauses sends before `end`.
    pub fn due_before(&self, end: Time) -> u64 {
        (end.min(self.stop) - self.start).0.div_ceil(self.gap.0.max(1))
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether a datagram is due; it counts as sent.
    #[inline]
    pub(super) fn take(&mut self, now: Time) -> bool {
        if self.next > now || self.next >= self.stop {
            return false;
        }
        self.sent += 1;
        self.next += self.pattern.interval(self.gap);
        self.skip_pauses();
        true
    }

    pub(super) fn next_due(&self) -> Time {
        if self.next >= self.stop { Time::NEVER } else { self.next }
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
        let number = self.sent;
        if !self.take(now) {
            return None;
        }
        let body = arena.insert(Body::Datagram(Datagram { number, sent: now }));
        Some(Outgoing { body, len: self.packet, kind: Kind::DATA, ecn: Ecn::NotEct, no_more: self.due() > now })
    }

    fn due(&self) -> Time {
        self.next_due()
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

    /// Intervals of the first packets of a source of 1000 B at 8 Mb/s, in ms.
    fn intervals_ms(pattern: Pattern) -> Vec<f64> {
        let mut arena = Arena::default();
        let mut source = UdpSource::new(Rate::from_bps(8_000_000), 1000, pattern, Time::ZERO, Time::NEVER);
        let mut at = Vec::new();
        while at.len() <= 2000 {
            let now = source.due();
            assert!(source.poll(now, &mut arena).is_some());
            at.push(now.as_secs() * 1e3);
        }
        at.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn intervals_are_uniform_around_that_of_the_rate_when_they_are_spread() {
        let spread = |spread: f64| intervals_ms(Pattern::Spread { spread, rng: Rng::for_element(1, "spread") });
        let half = spread(0.5);
        let mean = half.iter().sum::<f64>() / half.len() as f64;
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!(half.iter().all(|ms| (0.5..=1.5).contains(ms)), "outside of the spread");
        assert!(half.iter().any(|ms| *ms < 0.51) && half.iter().any(|ms| *ms > 1.49));
        let constant = intervals_ms(Pattern::Constant);
        assert!(constant.iter().chain(&spread(0.0)).all(|ms| (ms - 1.0).abs() < 1e-9));
    }

    #[test]
    fn packets_before_a_time_are_those_that_the_source_has_sent_by_then() {
        let mut source = UdpSource::every(Span::from_ms(20), 200, Time::ZERO + Span::from_ms(5), Time::ZERO + Span::from_ms(100));
        let mut arena = Arena::default();
        for ms in 0..130 {
            let now = Time::ZERO + Span::from_ms(ms);
            assert_eq!(source.due_before(now), source.sent(), "{ms} ms");
            while source.poll(now, &mut arena).is_some() {}
        }
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
