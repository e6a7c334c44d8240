//! All congestion controls in one table: growth per RTT at chosen windows, and the reduction by
//! each signal, worked out from their equations. The path has an RTT of 100 ms, an ACK per segment,
//! and no queue. `bbr` and `bbr3` are not in it, as their windows follow the delivery rate; their
//! own tests have a path.

use ackclock_core::tcp::cc::{Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnAgreement};
use ackclock_core::tcp::{SlowStart, Variant};
use ackclock_core::units::{Span, Time};

const RTT: Span = Span::from_ms(100);

/// A congestion control in congestion avoidance, on its path.
struct Stage {
    cc: AnyCc,
    now: Time,
    acked_total: u64,
}

impl Stage {
    fn new(variant: Variant, cwnd: f64) -> Stage {
        let classic = SlowStart::from_name("classic").expect("a slow start");
        let mut cc = variant.build(CongestionWindow { cwnd, ssthresh: cwnd.max(2.0) }, classic);
        cc.on_ecn_negotiated(&EcnAgreement { echoed: true, accurate: true, beta: None });
        Stage { cc, now: Time::ZERO + Span::from_secs(1), acked_total: 0 }
    }

    /// The ACKs of a window, evenly over an RTT.
    fn round(&mut self) {
        let n = self.cc.cwnd() as u64;
        for _ in 0..n {
            self.now += Span(RTT.0 / n);
            self.acked_total += 1;
            let ack = Ack {
                now: self.now,
                growth_credit: 1.0,
                acked: 1,
                delivered: 1,
                in_flight: n as u32 - 1,
                rtt: Some(RTT),
                srtt: Some(RTT),
                min_rtt: Some(RTT),
                cwnd_limited: true,
                acked_total: self.acked_total,
                sent: self.acked_total + n - 1,
                ..Ack::default()
            };
            self.cc.on_delivery(&ack);
            self.cc.on_marks(&ack);
            self.cc.on_ack(&ack);
        }
    }

    /// The state after six seconds at this window.
    fn settled(variant: Variant, cwnd: f64) -> Stage {
        let mut stage = Stage::new(variant, cwnd);
        for _ in 0..ROUNDS {
            stage.round();
            stage.cc.on_restart(stage.now, CongestionWindow { cwnd, ssthresh: cwnd.min(stage.cc.ssthresh()) });
        }
        stage
    }

    fn congestion(&mut self, signal: CongestionSignal, flight: f64) {
        self.cc.on_congestion(&Congestion { now: self.now, signal, flight });
    }
}

/// RTTs at a window before a measurement.
const ROUNDS: i32 = 60;
const WINDOWS: [f64; 2] = [20.0, 200.0];

/// `a` segments per RTT, added as a/cwnd on each ACK: the square of the window grows by 2a on each.
fn per_ack(a: f64) -> [f64; 2] {
    WINDOWS.map(|w| (w * w + 2.0 * a * w).sqrt() - w)
}

/// A segment per `count` + 1 ACKs: the kernel of the time compares its counter before it counts.
fn kernel(count: [f64; 2]) -> [f64; 2] {
    [0, 1].map(|i| (WINDOWS[i] / (count[i].floor().max(1.0) + 1.0)).floor())
}

/// Linux's estimate of segments per ACK stays at 31/16 for an ACK per segment, as it counts in
/// whole sixteenths.
fn delayed(count: f64) -> f64 {
    (count.floor() * 16.0 / 31.0).floor()
}

/// RFC 3649, section 5: log p and b are linear in log w, from (38, 10^-3, 0.5) to (83000, 10^-7,
/// 0.1).
fn highspeed_b(w: f64) -> f64 {
    0.5 - 0.4 * (w / 38.0).ln() / (83_000.0_f64 / 38.0).ln()
}

fn highspeed_a(w: f64) -> f64 {
    let p = 1e-3 * (w / 38.0).powf(1e-4_f64.ln() / (83_000.0_f64 / 38.0).ln());
    w * w * p * 2.0 * highspeed_b(w) / (2.0 - highspeed_b(w))
}

/// Growth over four RTTs at windows of 20 and 200 without a previous loss, one RTT each, restored
/// after each.
fn growth(variant: Variant) -> Option<[f64; 2]> {
    use Variant::*;
    Some(match variant {
        // One segment (RFC 5681). Veno with nothing queued, Westwood, and LP without delay are
        // Reno.
        Reno | NewReno | Veno | Westwood | WestwoodPlus | WestwoodNs2 | Lp | Dctcp => [1.0, 1.0],
        // H-TCP before its first loss, and Prague without marks.
        Htcp | Prague => per_ack(1.0),
        // Nothing queued. Linux's Vegas compares with the window a round before, which is the same
        // here.
        VegasOriginal | Vegas => [1.0, 1.0],
        // rho = 100/25, squared.
        Hybla => per_ack(16.0),
        // Without delay.
        Illinois => per_ack(10.0),
        // A hundredth per ACK; YeAH is no slower than Reno.
        Scalable => WINDOWS.map(|w| w * 0.01),
        Yeah => [per_ack(1.0)[0], 2.0],
        HighSpeed => [per_ack(1.0)[0], highspeed_a(200.0)],
        // W_max is unknown, so max probing from 0: cwnd/(B - 1) per RTT up to S_max; B is 4, and 2
        // in the paper.
        Bic | Biad => kernel([delayed(3.0), delayed(200.0 / 16.0)]),
        Bic268 => kernel([3.0, 200.0 / 32.0]),
        BicPaper => [20.0, per_ack(32.0)[1]],
        // 1/min(16, ceil(2 * 60 ms/100 ms)) without queueing.
        LedbatPp => per_ack(0.5),
        // By time since the last loss: `growth.rs` of the dialogues, and their own tests.
        Cubic | Cubic2 => return None,
        // By delivery rate: their own tests have a path.
        Bbr | Bbr3 => return None,
    })
}

#[test]
fn growth_per_rtt_matches_each_variants_equation() {
    let mut wrong = Vec::new();
    for &variant in Variant::ALL {
        let Some(expected) = growth(variant) else { continue };
        for (window, expected) in WINDOWS.into_iter().zip(expected) {
            let mut stage = Stage::settled(variant, window);
            let mut grown = 0.0;
            for _ in 0..4 {
                stage.round();
                grown += stage.cc.cwnd() - window;
                stage.cc.on_restart(stage.now, CongestionWindow { cwnd: window, ssthresh: stage.cc.ssthresh() });
            }
            let grown = grown / 4.0;
            if (grown - expected).abs() > 0.05 * expected + 0.01 {
                wrong.push(format!("{} at {window}: {grown}, not {expected}", variant.name()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// ssthresh after a loss by duplicate ACKs, an RTO and a mark, at 10 and 100 segments. In whole
/// segments where the kernel's is.
fn left(variant: Variant) -> Option<[[f64; 2]; 3]> {
    use Variant::*;
    let half = [5.0, 50.0];
    let all_alike = |left| [left; 3];
    Some(match variant {
        // RFC 5681 (4); H-TCP at a first loss (section 4.2 of its draft).
        Reno | NewReno | Vegas | VegasOriginal | Lp | Hybla | LedbatPp | Htcp => all_alike(half),
        Cubic => all_alike([7.0, 70.0]),
        Cubic2 => all_alike([10.0, 100.0].map(|w: f64| (w * 819.0 / 1024.0).floor())),
        // Below 14 segments they are Reno.
        Bic => all_alike([5.0, (100.0_f64 * 819.0 / 1024.0).floor()]),
        BicPaper | Bic268 => all_alike([5.0, (100.0_f64 * 896.0 / 1024.0).floor()]),
        // Nothing queued, so the loss is random; an RTO and a mark signal congestion.
        Veno => [[8.0, 80.0], half, half],
        // The BDP is the whole window; the filter of 2001 approaches it from below.
        WestwoodPlus => all_alike([10.0, 100.0]),
        Westwood | Biad => all_alike([9.0, 99.0]),
        // ns-2's keeps Reno's ssthresh.
        WestwoodNs2 => all_alike(half),
        // 7/8 without delay; below 15 and 16 segments Reno.
        Illinois | Scalable => all_alike([5.0, 87.5]),
        HighSpeed => all_alike([5.0, 100.0 * (1.0 - highspeed_b(100.0))]),
        // Marks: alpha was 1 and falls by a sixteenth in each of 60 RTTs without one; Prague
        // updates it from the first mark on.
        Dctcp => [half, half, [10.0, 100.0].map(|w| w * (1.0 - 0.9375_f64.powi(ROUNDS) / 2.0))],
        Prague => all_alike(half),
        // Nothing queued and no competing Reno flow.
        Yeah => [[8.75, 87.5], half, [8.75, 87.5]],
        // No ssthresh: their own tests check their response to loss.
        Bbr | Bbr3 => return None,
    })
}

#[test]
fn reduction_matches_each_variants_equation() {
    let mut wrong = Vec::new();
    for &variant in Variant::ALL {
        let Some(table) = left(variant) else { continue };
        for (signal, row) in [CongestionSignal::Duplicates, CongestionSignal::Timeout, CongestionSignal::Ecn].into_iter().zip(0..)
        {
            for (window, column) in [10.0, 100.0].into_iter().zip(0..) {
                let mut stage = Stage::settled(variant, window);
                stage.congestion(signal, window);
                let (cwnd, ssthresh) = (stage.cc.cwnd(), stage.cc.ssthresh());
                let expected: f64 = table[row][column];
                // RFC 5681, section 3.1: an RTO leaves one segment.
                let window_left = match signal {
                    CongestionSignal::Timeout => 1.0,
                    _ => expected,
                };
                if (ssthresh - expected).abs() > 0.01 * expected || (cwnd - window_left).abs() > 0.01 * window_left {
                    wrong.push(format!("{} {signal:?} at {window}: {cwnd}, {ssthresh}, not {expected}", variant.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
