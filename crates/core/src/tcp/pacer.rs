//! Pacing: the earliest time of the next segment, so that a window spreads over the RTT (as Linux
//! does inside TCP since 4.13).

use super::rtt;
use crate::units::{Span, Time};

/// Linux's `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`.
const SLOW_START_FACTOR: f64 = 2.0;
const AVOIDANCE_FACTOR: f64 = 1.2;

#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    next: Time,
    /// The srtt of a coarse clock; None paces by that of the RTO.
    srtt: Option<TickedSrtt>,
    /// Segments sent back to back; 0 spreads them evenly.
    burst: u32,
    /// Segments sent at `at`.
    gone: u32,
    at: Time,
}

/// Pacing rate of a window-based variant, in segments per second.
pub fn window_rate(cwnd: f64, srtt: Span, slow_start: bool) -> f64 {
    (if slow_start { SLOW_START_FACTOR } else { AVOIDANCE_FACTOR }) * cwnd / srtt.as_secs()
}

/// The smoothed RTT of a clock that counts whole ticks.
#[derive(Clone, Copy, Debug)]
struct TickedSrtt {
    tick: Span,
    srtt: Option<Span>,
}

impl TickedSrtt {
    /// A sample is the nearest number of ticks, at least one (ns-2, `TcpAgent::rtt_update`), and
    /// smoothed as in RFC 6298 (2.3).
    fn sample(&mut self, rtt: Span) {
        let ticks = (rtt.0 + self.tick.0 / 2) / self.tick.0;
        let rtt = self.tick.saturating_mul(ticks.max(1));
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| rtt::smooth(srtt, rtt, rtt::SRTT_SHARE)));
    }
}

impl Pacer {
    /// Paces by an srtt in ticks of this length; zero paces by that of the RTO.
    pub fn with_tick(self, tick: Span) -> Pacer {
        Pacer { srtt: (tick > Span::ZERO).then_some(TickedSrtt { tick, srtt: None }), ..self }
    }

    pub fn on_rtt(&mut self, rtt: Span) {
        if let Some(srtt) = &mut self.srtt {
            srtt.sample(rtt);
        }
    }

    /// The srtt to pace by instead of that of the RTO.
    pub fn srtt(&self) -> Option<Span> {
        self.srtt?.srtt
    }

    /// Bursts of up to `burst` segments, at the mean rate cwnd/srtt (`asymmetry`, sender
    /// adaptation).
    pub fn in_bursts(burst: u32) -> Pacer {
        Pacer { burst, ..Pacer::default() }
    }
    pub fn bursts(self) -> bool {
        self.burst > 0
    }

    pub fn next(self) -> Time {
        self.next
    }

    /// A segment was sent at `now`, at `rate` segments per second. A late segment earns a credit of
    /// at most half a gap, so that the mean rate holds without bursts.
    pub fn on_send(&mut self, now: Time, rate: f64) {
        if self.burst > 0 {
            return self.count(now, rate);
        }
        let gap = if rate > 0.0 { Span::from_secs_f64(1.0 / rate) } else { Span::MAX };
        let earliest = Time(now.0.saturating_sub(gap.0 / 2));
        self.next = self.next.max(earliest) + gap;
    }

    /// The last segment of a burst sets the time of the next: burst*srtt/cwnd later.
    fn count(&mut self, now: Time, rate: f64) {
        if now > self.at {
            (self.at, self.gone) = (now, 0);
        }
        self.gone += 1;
        if self.gone >= self.burst && rate > 0.0 {
            self.next = now + Span::from_secs_f64(f64::from(self.burst) / rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pacer_sends_at_the_rate_and_credits_half_a_gap_when_late() {
        let mut pacer = Pacer::default();
        let start = Time::ZERO + Span::from_secs(1);
        pacer.on_send(start, 1000.0);
        assert_eq!(pacer.next(), start + Span::from_us(500));
        pacer.on_send(pacer.next(), 1000.0);
        assert_eq!(pacer.next(), start + Span::from_us(1500));
        let late = pacer.next() + Span::from_ms(50);
        pacer.on_send(late, 1000.0);
        assert_eq!(pacer.next(), late + Span::from_us(500));
    }

    /// Three back to back at 1000 per second: the next after 3 ms; a single segment is followed by
    /// no pause.
    #[test]
    fn pacer_pauses_after_a_burst_for_its_share_of_the_rtt() {
        let mut pacer = Pacer::in_bursts(3);
        let start = Time::ZERO + Span::from_secs(1);
        for _ in 0..2 {
            pacer.on_send(start, 1000.0);
            assert!(pacer.next() <= start);
        }
        pacer.on_send(start, 1000.0);
        assert_eq!(pacer.next(), start + Span::from_ms(3));
        let later = start + Span::from_ms(10);
        pacer.on_send(later, 1000.0);
        assert!(pacer.next() <= later);
    }

    /// Ticks of 100 ms: 30 ms count as one, 140 as one, 260 as three; 100 + (300 - 100) / 8 is 125.
    #[test]
    fn pacer_smooths_rtts_in_whole_ticks_when_its_clock_is_coarse() {
        let mut pacer = Pacer::in_bursts(3).with_tick(Span::from_ms(100));
        assert_eq!(pacer.srtt(), None);
        for (rtt, srtt) in [(30, 100), (140, 100), (260, 125)] {
            pacer.on_rtt(Span::from_ms(rtt));
            assert_eq!(pacer.srtt(), Some(Span::from_ms(srtt)), "after {rtt} ms");
        }
        let mut exact = Pacer::in_bursts(3).with_tick(Span::ZERO);
        exact.on_rtt(Span::from_ms(30));
        assert_eq!(exact.srtt(), None);
    }

    #[test]
    fn pacing_rate_exceeds_window_per_rtt_by_linux_factors() {
        assert!((window_rate(10.0, Span::from_ms(100), true) - 200.0).abs() < 1e-9);
        assert!((window_rate(10.0, Span::from_ms(100), false) - 120.0).abs() < 1e-9);
    }
}
