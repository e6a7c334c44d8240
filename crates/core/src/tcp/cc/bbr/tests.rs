use super::super::testing::{loss, timeout};
use super::*;
use crate::tcp::delivery_rate::RateSample;

/// A path with a fixed rate and RTT that BBR uses as its pacing and window allow; gives windows and
/// rates per round.
struct BottleneckPath {
    rate: f64,
    rtt: Span,
    now: Time,
    delivered: u64,
    /// Delivered count at the start of the last round, and deliveries in it.
    last: (u64, u64),
    queue: f64,
}

impl BottleneckPath {
    /// An RTT in which the ACKs of `n` segments arrive at the smaller of the path's and the
    /// sender's rate.
    fn round(&mut self, cc: &mut Bbr) -> (f64, f64) {
        let paced = cc.pacing_rate().unwrap_or(0.0) * self.rtt.as_secs();
        let offered = (self.queue + paced).min(cc.cwnd());
        let rate = (offered / self.rtt.as_secs()).min(self.rate);
        let n = ((rate * self.rtt.as_secs()) as u64).max(1);
        self.queue = (offered - n as f64).max(0.0);
        let (prior, before, start) = (self.last.0, self.last.1, self.now);
        self.last = (self.delivered, n);
        for i in 1..=n {
            self.now = start + Span(self.rtt.0 / n * i);
            self.delivered += 1;
            let sample = RateSample {
                delivered: (rate * self.rtt.as_secs()).round() as u64,
                interval: self.rtt,
                prior_delivered: prior + (i - 1) * before / n,
                total: self.delivered,
                ..RateSample::default()
            };
            let ack = Ack {
                now: self.now,
                growth_credit: 1.0,
                acked: 1,
                delivered: 1,
                in_flight: offered as u32,
                rtt: Some(self.rtt),
                srtt: Some(self.rtt),
                min_rtt: Some(self.rtt),
                cwnd_limited: true,
                rate: Some(sample),
                ..Ack::default()
            };
            cc.on_delivery(&ack);
        }
        (cc.cwnd(), cc.pacing_rate().unwrap_or(0.0))
    }
}

fn started() -> (Bbr, BottleneckPath) {
    let cc = Bbr::new(BbrConfig::LINUX, CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY });
    (
        cc,
        BottleneckPath {
            rate: 1000.0,
            rtt: Span::from_ms(100),
            now: Time::ZERO + Span::from_secs(1),
            delivered: 0,
            last: (0, 0),
            queue: 0.0,
        },
    )
}

#[test]
fn startup_doubles_until_the_pipe_is_full_and_drains() {
    let (mut cc, mut pipe) = started();
    let first = pipe.round(&mut cc);
    let second = pipe.round(&mut cc);
    assert!(second.0 / first.0 > 1.8, "{first:?} {second:?}");
    for _ in 0..10 {
        pipe.round(&mut cc);
    }
    assert_eq!(cc.0.mode, BbrMode::ProbeBw);
    assert!((cc.0.model.bandwidth() / 1000.0 - 1.0).abs() < 0.02, "{}", cc.0.model.bandwidth());
}

#[test]
fn probe_bw_paces_around_the_bandwidth_with_two_bdp_in_flight() {
    let (mut cc, mut pipe) = started();
    for _ in 0..15 {
        pipe.round(&mut cc);
    }
    let gains: Vec<f64> = (0..16).map(|_| pipe.round(&mut cc).1 / (1000.0 * 0.99)).collect();
    assert!(gains.iter().any(|g| (g - 1.25).abs() < 0.03) && gains.iter().any(|g| (g - 1.0).abs() < 0.03), "{gains:?}");
    assert!((cc.cwnd() - 200.0).abs() < 14.0, "2 x 100 segments and three chunks: {}", cc.cwnd());
}

#[test]
fn probe_rtt_drains_to_four_segments_after_ten_seconds() {
    let (mut cc, mut pipe) = started();
    let mut min_cwnd = f64::MAX;
    // The first samples are the minimum, so they expire.
    for i in 0..130 {
        pipe.rtt = Span::from_ms(if i < 15 { 100 } else { 101 });
        min_cwnd = min_cwnd.min(pipe.round(&mut cc).0);
    }
    assert_eq!(min_cwnd, 4.0);
    assert!(cc.cwnd() > 100.0, "and comes back: {}", cc.cwnd());
    assert_eq!(cc.0.model.min_rtt(), Some(Span::from_ms(101)));
}

#[test]
fn loss_keeps_the_rate_and_timeout_leaves_one_segment() {
    let (mut cc, mut pipe) = started();
    for _ in 0..15 {
        pipe.round(&mut cc);
    }
    let (cwnd, rate) = (cc.cwnd(), cc.pacing_rate());
    cc.on_congestion(&loss(100.0));
    assert_eq!((cc.cwnd(), cc.pacing_rate()), (cwnd, rate));
    cc.on_congestion(&timeout(100.0));
    assert_eq!(cc.cwnd(), 1.0);
    pipe.round(&mut cc);
    pipe.round(&mut cc);
    assert!(cc.cwnd() > 0.9 * cwnd, "{}", cc.cwnd());
}

/// Linux marks samples in ProbeRTT as application-limited; a short path has twenty rounds in one
/// ProbeRTT.
#[test]
fn probe_rtt_keeps_the_bandwidth_estimate() {
    let (mut cc, mut pipe) = started();
    pipe.rtt = Span::from_ms(10);
    pipe.rate = 10_000.0;
    for _ in 0..1200 {
        pipe.round(&mut cc);
        assert!(cc.0.model.bandwidth() > 9_000.0 || cc.0.mode == BbrMode::Startup, "{}", cc.0.model.bandwidth());
    }
}

/// Linux's `undo_cwnd`.
#[test]
fn undo_restarts_the_search_for_growth_and_keeps_the_model() {
    let (mut cc, mut pipe) = started();
    for _ in 0..15 {
        pipe.round(&mut cc);
    }
    cc.on_congestion(&loss(100.0));
    let before = cc.0.model.bandwidth();
    assert!(cc.undo());
    assert!(!cc.0.model.full(&BbrConfig::LINUX) && cc.0.model.bandwidth() == before);
}

#[test]
fn restart_from_idle_paces_at_the_bandwidth() {
    let (mut cc, mut pipe) = started();
    for _ in 0..15 {
        pipe.round(&mut cc);
    }
    let bandwidth = cc.0.model.bandwidth();
    cc.on_idle(pipe.now, Span::from_secs(3));
    assert_eq!(cc.pacing_rate(), Some(bandwidth * 0.99));
}

/// A segment sent before the recovery ends no round of it; one sent later does, and then the window
/// grows.
#[test]
fn packet_conservation_lasts_a_whole_round_of_recovery() {
    let (mut cc, mut pipe) = started();
    for _ in 0..15 {
        pipe.round(&mut cc);
    }
    cc.on_congestion(&loss(100.0));
    let windows = [(1, 0), (2, pipe.delivered), (3, pipe.delivered + 1)].map(|(later, prior_delivered)| {
        let rate = RateSample {
            delivered: 100,
            interval: pipe.rtt,
            prior_delivered,
            total: pipe.delivered + later,
            ..RateSample::default()
        };
        let now = pipe.now + Span::from_ms(later);
        let (srtt, min_rtt) = (Some(pipe.rtt), Some(pipe.rtt));
        cc.on_delivery(&Ack {
            now,
            delivered: 1,
            in_flight: 60,
            recovering: true,
            rate: Some(rate),
            srtt,
            min_rtt,
            ..Ack::default()
        });
        cc.cwnd()
    });
    assert_eq!(windows, [61.0, 61.0, 62.0]);
}
