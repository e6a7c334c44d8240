use super::super::testing::{loss, timeout};
use super::*;
use crate::tcp::delivery_rate::{AckDelivery, DeliveryRateEstimator, RateSample};
use std::collections::VecDeque;

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

/// What a policer leaves of a transfer: segments sent and lost, and seconds in which BBR used a
/// long-term rate, with the last such rate.
#[derive(Debug, Default)]
struct Policed {
    sent: u64,
    lost: u64,
    seconds: f64,
    rate: f64,
}

/// `seconds` over 40 ms through a token bucket of 1667 segments per second and 27 segments (20 Mb/s
/// and 40 kB) that drops what finds no token. Losses are detected by the next delivery, and nothing
/// is retransmitted.
fn policed(rules: LinuxRules, seconds: u64) -> Policed {
    const STEP: Span = Span::from_us(50);
    let (rate, burst) = (20e6 / 12_000.0, 40_000.0 / 1500.0);
    let mut cc = Bbr::new(BbrConfig::LINUX, CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY });
    cc = cc.with_linux_rules(rules, 1448);
    let mut samples = DeliveryRateEstimator::default();
    let mut path: VecDeque<(Time, u64, bool)> = VecDeque::new();
    let (mut now, mut next, mut tokens) = (Time::ZERO + Span::from_secs(1), Time::ZERO, burst);
    let (mut index, mut losses, mut unreported) = (0, 0, 0);
    let mut seen = Policed::default();
    let end = now + Span::from_secs(seconds);
    while now < end {
        while path.front().is_some_and(|(at, _, _)| *at <= now) {
            let (_, arrived, delivered) = path.pop_front().expect("the front");
            if !delivered {
                (losses, unreported) = (losses + 1, unreported + 1);
                cc.on_loss(now, &LossSample::default());
                continue;
            }
            let base = arrived + 1;
            let delivery = AckDelivery { acked: 1, sacked: 0, blind_duplicate: false, newest: Some(arrived), base, losses };
            let update = samples.on_ack(now, &delivery);
            let rtt = Some(Span::from_ms(40));
            cc.on_delivery(&Ack {
                now,
                acked: 1,
                delivered: 1,
                lost: std::mem::take(&mut unreported),
                in_flight: path.len() as u32,
                rtt,
                srtt: rtt,
                min_rtt: rtt,
                rate: update.rate,
                next_departure: next,
                ..Ack::default()
            });
        }
        tokens = (tokens + rate * STEP.as_secs()).min(burst);
        while next <= now && (path.len() as f64) < cc.cwnd() {
            samples.on_send(now, index, path.len() as u32 + 1, losses);
            let passes = tokens >= 1.0;
            tokens -= f64::from(u8::from(passes));
            path.push_back((now + Span::from_ms(40), index, passes));
            (seen.sent, seen.lost) = (seen.sent + 1, seen.lost + u64::from(!passes));
            index += 1;
            next = next.max(now) + Span::from_secs_f64(1.0 / cc.pacing_rate().expect("bbr paces"));
        }
        if let Some(rate) = cc.0.policed_rate() {
            (seen.seconds, seen.rate) = (seen.seconds + STEP.as_secs(), rate);
        }
        now += STEP;
    }
    seen
}

/// The kernel (6.12 in virtual time) loses 5.9 % in 60 s behind this policer.
// finding("K22")
#[test]
fn policer_is_detected_and_its_rate_used_when_the_host_has_the_rule() {
    let on = policed(LinuxRules::all(), 20);
    let off = policed(LinuxRules::all().without(LinuxRule::BbrLongTermBandwidth), 20);
    assert!((on.rate / (20e6 / 12_000.0) - 1.0).abs() < 0.05, "{on:?}");
    assert!(on.seconds > 1.0 && off.seconds == 0.0, "{on:?} {off:?}");
    let share = |seen: &Policed| seen.lost as f64 / seen.sent as f64;
    assert!(share(&on) < share(&off), "{on:?} {off:?}");
}

/// Bandwidth 1000 per second: 10 ms until the next departure take 10 of 110 segments away, and a
/// burst of two comes in while the flight is to grow.
// finding("K20")
#[test]
fn flight_at_departure_leaves_out_what_is_delivered_until_then() {
    let now = Time::ZERO + Span::from_secs(1);
    for (wait, burst, left) in [(10, 0.0, 100.0), (10, 2.0, 102.0), (0, 0.0, 110.0), (500, 0.0, 0.0)] {
        let ack = Ack { now, next_departure: now + Span::from_ms(wait), ..Ack::default() };
        assert_eq!(in_flight_at_departure(&ack, 110.0, 1000.0, burst), left, "{wait} ms");
    }
    let late = Ack { now, next_departure: Time::ZERO, ..Ack::default() };
    assert_eq!(in_flight_at_departure(&late, 110.0, 1000.0, 0.0), 110.0);
}
