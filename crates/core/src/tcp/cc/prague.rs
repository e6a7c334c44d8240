//! Prague (draft-briscoe-iccrg-prague-congestion-control): DCTCP for the Internet. It sends ECT(1)
//! for frequent marks, grows between them, paces, and grows as if the RTT were at least 25 ms.

use super::dctcp::{DctcpConfig, MarkShare, dctcp_window};
use super::reno::reno_ssthresh;
use super::slow_start::SlowStart;
use super::{
    Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnAgreement, EcnResponse, Phase, RoundCounter,
    window_methods,
};
use crate::units::{Span, Time};

/// The draft's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PragueConfig {
    /// g, and alpha before the first mark.
    pub share: DctcpConfig,
    /// Minimum of RTT_virt.
    pub min_virtual_rtt: Span,
    /// RTTs after slow start in which growth follows the real RTT.
    pub transition: u32,
    /// Pacing rate relative to cwnd/srtt, in slow start and after.
    pub opening_pace: f64,
    pub pace: f64,
}

impl PragueConfig {
    pub const DRAFT: PragueConfig = PragueConfig {
        share: DctcpConfig::RFC8257,
        min_virtual_rtt: Span::from_ms(25),
        transition: 500,
        opening_pace: 2.0,
        pace: 1.0,
    };
}

#[derive(Clone, Debug)]
pub struct Prague {
    config: PragueConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    /// AccECN was negotiated; otherwise Prague behaves like Reno, on its codepoint too.
    accurate: bool,
    share: MarkShare,
    /// A mark has been received.
    marked: bool,
    /// Marked segments of the current ACK.
    marked_now: f64,
    srtt: Option<Span>,
    round: RoundCounter,
    /// No update of alpha before this time: a virtual RTT since the last one.
    next_update: Time,
    rounds_since_opening: u32,
}

/// Growth per real RTT, (RTT/RTT_virt)^2 segments: the rate grows as with an RTT of `virtual_rtt`.
pub fn prague_increase(rtt: Span, virtual_rtt: Span) -> f64 {
    let ratio = rtt.as_secs() / virtual_rtt.as_secs();
    ratio * ratio
}

/// RTT before the first sample (Linux paces the first window over 1 ms).
const FIRST_RTT: Span = Span::from_ms(1);

impl Prague {
    pub fn new(config: PragueConfig, window: CongestionWindow, slow_start: SlowStart) -> Prague {
        Prague {
            config,
            window,
            slow_start,
            accurate: false,
            share: MarkShare::new(config.share),
            marked: false,
            marked_now: 0.0,
            srtt: None,
            round: RoundCounter::START,
            next_update: Time::ZERO,
            rounds_since_opening: 0,
        }
    }

    fn virtual_rtt(&self) -> Span {
        self.srtt.unwrap_or(Span::ZERO).max(self.config.min_virtual_rtt)
    }

    fn increase(&self) -> f64 {
        let rtt = self.srtt.filter(|_| self.rounds_since_opening >= self.config.transition);
        rtt.map_or(1.0, |rtt| prague_increase(rtt, self.virtual_rtt()))
    }
}

impl CongestionControl for Prague {
    fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) {
        self.accurate = agreement.accurate;
    }

    fn ecn_response(&self) -> EcnResponse {
        if self.accurate { EcnResponse::Scalable { spacing: self.virtual_rtt() } } else { EcnResponse::Cut }
    }

    fn on_marks(&mut self, ack: &Ack) {
        self.marked_now = ack.marked;
        self.marked |= ack.marked > 0.0;
        self.share.count(ack.delivered, ack.marked);
        if ack.now >= self.next_update && self.round.over(ack) {
            // Alpha is not updated before the first mark: the path may have no ECN marking.
            if self.marked {
                self.share.end_round();
            }
            self.next_update = ack.now + self.virtual_rtt();
            self.rounds_since_opening = match self.phase() {
                Phase::SlowStart => 0,
                Phase::CongestionAvoidance => self.rounds_since_opening.saturating_add(1),
            };
        }
    }

    /// Unmarked segments add their growth, also in the RTT after a reduction.
    fn on_ack(&mut self, ack: &Ack) {
        self.srtt = ack.srtt;
        let marked = std::mem::take(&mut self.marked_now);
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        self.window.cwnd += (credit - marked).max(0.0) * self.increase() / self.window.cwnd;
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let left = match congestion.signal {
            CongestionSignal::Ecn if self.accurate => dctcp_window(self.window.cwnd, self.share.alpha),
            _ => libm::floor(reno_ssthresh(congestion.flight)),
        };
        self.window.cut_to(left, congestion.signal);
    }

    window_methods!();

    fn pacing_rate(&self) -> Option<f64> {
        let factor = if self.phase() == Phase::SlowStart { self.config.opening_pace } else { self.config.pace };
        Some(factor * self.window.cwnd / self.srtt.unwrap_or(FIRST_RTT).max(Span::from_us(1)).as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{classic, loss};
    use super::*;

    const AGREED: EcnAgreement = EcnAgreement { echoed: true, accurate: true, beta: None };

    fn prague(cwnd: f64) -> Prague {
        let mut cc = Prague::new(PragueConfig::DRAFT, CongestionWindow { cwnd, ssthresh: cwnd }, classic());
        cc.on_ecn_negotiated(&AGREED);
        cc
    }

    fn mark() -> Congestion {
        Congestion { signal: CongestionSignal::Ecn, ..loss(0.0) }
    }

    /// An RTT: ten ACKs of two segments each, `marked` segments marked in the last.
    fn round(cc: &mut Prague, n: u64, marked: f64, rtt: Span) {
        for i in 1..=10 {
            let ack = Ack {
                now: Time(rtt.0 * n + rtt.0 / 10 * i),
                growth_credit: 2.0,
                acked: 2,
                delivered: 2,
                marked: if i == 10 { marked } else { 0.0 },
                cwnd_limited: true,
                srtt: Some(rtt),
                acked_total: 20 * n + 2 * i,
                sent: 20 * (n + 1) + 2 * i - 1,
                ..Ack::default()
            };
            cc.on_marks(&ack);
            cc.on_ack(&ack);
        }
    }

    #[test]
    fn alpha_is_not_updated_before_the_first_mark_which_halves() {
        let mut cc = prague(20.0);
        for n in 1..=50 {
            round(&mut cc, n, 0.0, Span::from_ms(40));
        }
        let before = cc.cwnd();
        cc.on_congestion(&mark());
        assert!((cc.cwnd() - before / 2.0).abs() < 1e-9);
    }

    /// Two of twenty marked: 18 segments add 1/20 each, or slightly less as the window grows.
    #[test]
    fn only_unmarked_segments_grow_the_window() {
        for (marked, min_growth, max_growth) in [(0.0, 0.97, 1.0), (2.0, 0.87, 0.9)] {
            let mut cc = prague(20.0);
            round(&mut cc, 1, marked, Span::from_ms(40));
            let added = cc.cwnd() - 20.0;
            assert!((min_growth..=max_growth).contains(&added), "{added}");
        }
    }

    /// RTT_virt of 25 ms: (10/25)^2 = 0.16 segments per RTT of 10 ms; one above 25 ms.
    #[test]
    fn growth_at_a_short_rtt_is_that_of_25_ms() {
        assert!((prague_increase(Span::from_ms(10), Span::from_ms(25)) - 0.16).abs() < 1e-12);
        let mut cc = prague(20.0);
        cc.rounds_since_opening = 500;
        round(&mut cc, 1, 0.0, Span::from_ms(10));
        // The first ACK precedes the first RTT sample.
        let added = cc.cwnd() - 20.0;
        assert!((0.15..0.25).contains(&added), "{added}");
        assert_eq!(cc.ecn_response(), EcnResponse::Scalable { spacing: Span::from_ms(25) });
    }

    #[test]
    fn prague_is_reno_without_accecn() {
        let mut cc = prague(20.0);
        cc.on_ecn_negotiated(&EcnAgreement { accurate: false, ..AGREED });
        assert_eq!(cc.ecn_response(), EcnResponse::Cut);
        cc.on_congestion(&Congestion { signal: CongestionSignal::Ecn, ..loss(15.0) });
        assert_eq!(cc.cwnd(), 7.0);
    }

    /// 20 segments over 40 ms, twice as fast in slow start.
    #[test]
    fn prague_paces_a_window_per_rtt() {
        let mut cc = prague(20.0);
        cc.srtt = Some(Span::from_ms(40));
        assert_eq!(cc.pacing_rate(), Some(500.0));
        cc.window.ssthresh = f64::INFINITY;
        assert_eq!(cc.pacing_rate(), Some(1000.0));
    }
}
