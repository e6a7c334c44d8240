//! Linux's controls against numbers of the kernel's integers.

use super::*;
use crate::packet::Timestamps;
use crate::tcp::cc::testing::{TestPath, loss, timeout};
use crate::tcp::linux_rules::LinuxRules;

/// A host with every rule of Linux, and a tick of 1 ms.
fn host(variant: Variant) -> TcpConfig {
    TcpConfig { variant, linux_rules: LinuxRules::all(), first_climb: 0.05, ..TcpConfig::default() }
}

fn control(config: &TcpConfig, cwnd: u32, ssthresh: u32) -> AnyCc {
    let window = CongestionWindow { cwnd: f64::from(cwnd), ssthresh: f64::from(ssthresh) };
    config.variant.build_linux(window, config).expect("a control of Linux")
}

fn linux(variant: Variant, cwnd: u32) -> AnyCc {
    control(&host(variant), cwnd, 2)
}

fn ecn(flight: f64) -> Congestion {
    Congestion { signal: CongestionSignal::Ecn, ..loss(flight) }
}

/// ssthresh after a loss at the window in force.
fn cut(cc: &mut AnyCc) -> f64 {
    cc.on_congestion(&loss(cc.cwnd()));
    cc.cwnd()
}

#[test]
fn published_forms_are_built_when_the_rule_is_off_or_linux_has_no_such_control() {
    let window = CongestionWindow { cwnd: 10.0, ssthresh: 2.0 };
    let rfc = TcpConfig { linux_rules: LinuxRules::all().without(LinuxRule::IntegerControls), ..host(Variant::Cubic) };
    assert!(Variant::Cubic.build_linux(window, &rfc).is_none());
    for published in [Variant::BicPaper, Variant::Bic268, Variant::VegasOriginal, Variant::Westwood, Variant::Cubic2] {
        assert!(published.build_linux(window, &host(published)).is_none(), "{published:?}");
    }
}

/// 717/1024 of the window, rounded down, at least two: RFC 9438 leaves 0.7 of a segment.
// finding("K4")
#[test]
fn cubic_ssthresh_is_a_whole_number_of_segments() {
    for (cwnd, left) in [(10, 7.0), (11, 7.0), (13, 9.0), (44, 30.0), (100, 70.0), (3, 2.0), (1, 2.0)] {
        assert_eq!(cut(&mut linux(Variant::Cubic, cwnd)), left, "{cwnd}");
    }
    let mut rfc = Variant::Cubic.build(CongestionWindow { cwnd: 11.0, ssthresh: 2.0 }, LinuxWindow::CLASSIC);
    assert!((cut(&mut rfc) - 7.7).abs() < 1e-9);
}

/// The path drops at 101 segments each time: a fraction of a segment made every second loss one
/// below W_max.
// finding("K19")
#[test]
fn fast_convergence_compares_whole_windows() {
    let at = |cc: &mut AnyCc, cwnd: f64| {
        cc.on_recovered(Time::ZERO, cwnd);
        cut(cc);
        let AnyCc::LinuxCubic(cubic) = cc else { panic!("{cc:?}") };
        cubic.control.w_max()
    };
    let mut cc = linux(Variant::Cubic, 101);
    assert_eq!([101.9, 101.2, 101.0].map(|cwnd| at(&mut cc, cwnd)), [101, 101, 101]);
    assert_eq!(at(&mut cc, 100.9), 85, "100 (1024 + 717)/2048");
}

/// 20 segments of window at 10 ms grow in the Reno-friendly region: a segment per 1.875 windows
/// before and after they pass the window of the loss; by RFC 9438, one per window after it.
// finding("K0")
#[test]
fn reno_friendly_growth_stays_at_half_a_segment_above_the_last_window() {
    let rfc = LinuxRules::all().without(LinuxRule::CubicRenoRate);
    let [linux, rfc] = [LinuxRules::all(), rfc].map(|linux_rules| {
        let mut cc = control(&TcpConfig { linux_rules, ..host(Variant::Cubic) }, 20, 2);
        cut(&mut cc);
        let mut path = TestPath::new(Span::from_ms(10));
        let windows = path.rounds(&mut cc, 40);
        (windows[10], windows[39] - windows[19])
    });
    assert_eq!(linux.0, rfc.0, "below the window of the loss");
    assert!((8.0..=12.0).contains(&linux.1), "20 RTTs: {}", linux.1);
    assert!((17.0..=23.0).contains(&rfc.1), "20 RTTs: {}", rfc.1);
}

/// Before the first loss at most 20 segments acknowledged for one of growth, and at least two.
// finding("H11-21")
#[test]
fn cubic_growth_per_rtt_is_between_a_twentieth_and_a_half() {
    let grown = |first_climb: f64| {
        let mut cc = control(&TcpConfig { first_climb, ..host(Variant::Cubic) }, 200, 2);
        TestPath::new(Span::from_ms(10)).round(&mut cc);
        cc.cwnd() - 200.0
    };
    assert_eq!((grown(0.05), grown(0.0)), (10.0, 0.0), "the plateau without it");
    let mut cc = linux(Variant::Cubic, 2000);
    cut(&mut cc);
    let mut path = TestPath::new(Span::from_secs(10));
    path.rounds(&mut cc, 5);
    let before = cc.cwnd();
    path.round(&mut cc);
    let growth = cc.cwnd() / before;
    assert!((1.499..=1.5).contains(&growth), "{growth}");
}

#[test]
fn idle_time_does_not_count_on_cubics_curve() {
    let after = |idle: Span| {
        let mut cc = linux(Variant::Cubic, 300);
        cut(&mut cc);
        let mut path = TestPath::new(Span::from_ms(100));
        path.rounds(&mut cc, 5);
        let last = path.now;
        path.now += idle;
        cc.on_transmit_start(path.now, last);
        path.rounds(&mut cc, 5);
        cc.cwnd()
    };
    assert_eq!(after(Span::from_secs(20)), after(Span::ZERO));
}

/// 40 ms, then 46 ms: above 40 + 5 ms. HyStart ends at the ninth sample of the round, with `cwnd`
/// in force; not below 16 segments, and not when the handshake was as short.
#[test]
fn hystart_ends_slow_start_at_the_ninth_late_sample_of_a_round() {
    let config = TcpConfig { slow_start: SlowStart::from_name("hystart").expect("a slow start"), ..host(Variant::Cubic) };
    for (cwnd, first, ends) in [(20, 40, true), (6, 40, false), (20, 46, false)] {
        let mut cc = control(&config, cwnd, u32::MAX);
        let ack = |i: u64, rtt: u64| Ack {
            now: Time::ZERO + Span::from_ms(100 + 3 * i),
            growth_credit: 1.0,
            acked: 1,
            rtt: Some(Span::from_ms(rtt)),
            cwnd_limited: true,
            acked_total: i + 1,
            sent: 400,
            ..Ack::default()
        };
        cc.on_clean_ack(&ack(0, first));
        for i in 1..8 {
            cc.on_clean_ack(&ack(i, 46));
        }
        // The first sample is one of the round's, so the round has to be another one.
        for i in 0..9 {
            let next = Ack { acked_total: 401 + i, sent: 800, ..ack(200 + i, 46) };
            assert!(cc.ssthresh().is_infinite(), "{cwnd}, sample {i}");
            cc.on_clean_ack(&next);
        }
        assert_eq!(cc.ssthresh() < 100.0, ends, "{cwnd} segments, {first} ms first: {}", cc.ssthresh());
    }
}

/// An undo leaves three quarters of the window as ssthresh, and what the control has learnt.
#[test]
fn undone_reduction_restores_cwnd_and_three_quarters_of_it_as_ssthresh() {
    let mut cc = linux(Variant::Cubic, 31);
    cut(&mut cc);
    assert!(cc.undo());
    assert_eq!((cc.cwnd(), cc.ssthresh()), (31.0, 22.0), "15 + 7");
    let AnyCc::LinuxCubic(cubic) = &cc else { panic!() };
    assert_eq!(cubic.control.w_max(), 31);
}

/// One in `a` segments per RTT; ACKs of two segments count once where Linux counts ACKs.
// finding("K21")
#[test]
fn highspeed_and_hybla_grow_by_acks_and_scalable_by_segments() {
    let grown = |variant: Variant, acked: u32| {
        let mut cc = linux(variant, 400);
        let ack = |total: u64| Ack {
            now: Time::ZERO + Span::from_ms(200),
            growth_credit: f64::from(acked),
            acked,
            rtt: Some(Span::from_ms(100)),
            srtt: Some(Span::from_ms(100)),
            cwnd_limited: true,
            acked_total: total,
            sent: 10_000,
            ..Ack::default()
        };
        cc.on_state(CaState::Open, &ack(0));
        for i in 0..400 / acked {
            cc.on_clean_ack(&ack(u64::from(acked * (i + 1))));
        }
        cc.cwnd() - 400.0
    };
    for (variant, each, pairs) in [(Variant::HighSpeed, 4.0, 2.0), (Variant::Hybla, 14.0, 7.0), (Variant::Scalable, 4.0, 4.0)] {
        assert!((grown(variant, 1) - each).abs() <= 1.0, "{variant:?}: {}", grown(variant, 1));
        assert!((grown(variant, 2) - pairs).abs() <= 1.0, "{variant:?} in pairs: {}", grown(variant, 2));
    }
}

/// alpha is 1 per RTT at 100 ms whatever the time since the loss, within the first second; RTT scaling
/// divides it by 2.5 at 40 ms.
// finding("K21")
#[test]
fn htcp_scales_its_increase_with_the_rtt() {
    let grown = |ms: u64| {
        let mut cc = linux(Variant::Htcp, 200);
        let mut path = TestPath::new(Span::from_ms(ms));
        // Five seconds after the start: 1 + 10*4 + 4 segments for a beta of a half.
        path.now = Time::ZERO + Span::from_secs(5);
        path.round(&mut cc);
        let before = cc.cwnd();
        path.round(&mut cc);
        cc.cwnd() - before
    };
    let (long, short) = (grown(100), grown(40));
    assert!(long > 2.0 * short && short > 1.0, "{long} and {short}");
}

/// With the random offsets of most pairs of hosts the delay overflows, and LP is Reno; with a small
/// one it yields to a queue.
// finding("K21")
#[test]
fn lp_backs_off_only_when_the_peers_timestamps_are_near_its_own() {
    let lowest = |offset: u32| {
        let mut cc = linux(Variant::Lp, 100);
        let AnyCc::LinuxLp(lp) = &mut cc else { panic!() };
        lp.control.set_offset(offset);
        let mut lowest = 100.0f64;
        for i in 0..400u64 {
            // The one-way delay rises by a millisecond in five, up to 60 ms.
            let now = 10_000 + 5 * i;
            let delay = 20 + (i / 5).min(40);
            let ack = Ack {
                now: Time::ZERO + Span::from_ms(now),
                growth_credit: 1.0,
                acked: 1,
                rtt: Some(Span::from_ms(20 + delay)),
                cwnd_limited: true,
                timestamps: Some(Timestamps { value: (now - 20) as u32, echo: (now - 20 - delay) as u32 }),
                acked_total: i + 1,
                sent: i + 100,
                ..Ack::default()
            };
            cc.on_clean_ack(&ack);
            lowest = lowest.min(cc.cwnd());
        }
        lowest
    };
    assert_eq!(lowest(0x9e37_79b9), 100.0);
    assert!(lowest(0) <= 50.0, "{}", lowest(0));
}

/// A mark in ten: alpha falls from 1 by a sixteenth per RTT towards a tenth, and without marks to 0.
#[test]
fn dctcp_alpha_falls_to_zero_without_marks_and_a_loss_halves() {
    let rounds = |n: u64, marked: f64| {
        let mut cc = linux(Variant::Dctcp, 100);
        for i in 0..n {
            cc.on_marks(&Ack { delivered: 100, marked, acked_total: 100 * (i + 1), sent: 100 * (i + 2), ..Ack::default() });
        }
        let mut marked = cc.clone();
        marked.on_congestion(&ecn(100.0));
        (marked.cwnd(), cut(&mut cc))
    };
    assert_eq!(rounds(1, 100.0), (50.0, 50.0));
    assert_eq!(rounds(200, 10.0).0, 95.0, "alpha stops at 111/1024");
    assert_eq!(rounds(200, 0.0), (100.0, 50.0));
}

#[test]
fn timeout_leaves_one_segment_and_resets_cubic() {
    let mut cc = linux(Variant::Cubic, 50);
    cut(&mut cc);
    cc.on_congestion(&timeout(35.0));
    assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 24.0), "717/1024 of 35");
    cc.on_state(CaState::Loss, &Ack::default());
    let AnyCc::LinuxCubic(cubic) = &cc else { panic!() };
    assert_eq!(cubic.control.w_max(), 0);
}

/// Up to 1 queued segment the window gains one, from 5 on it loses one.
#[test]
fn vegas_adjusts_by_one_segment_per_round() {
    for (rtt, window) in [(101, 51.0), (106, 50.0), (112, 49.0)] {
        let mut cc = linux(Variant::Vegas, 50);
        let ack = |total: u64, sent: u64, rtt: u64| Ack {
            now: Time::ZERO + Span::from_ms(1000 + 2 * total),
            growth_credit: 1.0,
            acked: 1,
            rtt: Some(Span::from_ms(rtt)),
            cwnd_limited: true,
            acked_total: total,
            sent,
            ..Ack::default()
        };
        cc.on_state(CaState::Open, &ack(0, 50, 100));
        (1..=51).for_each(|total| cc.on_clean_ack(&ack(total, 100, 100)));
        assert_eq!(cc.cwnd(), 51.0);
        cc.on_recovered(Time::ZERO, 50.0);
        (52..=101).for_each(|total| cc.on_clean_ack(&ack(total, 150, rtt)));
        assert_eq!(cc.cwnd(), window, "{rtt} ms");
    }
}

#[test]
fn yeah_takes_the_queue_at_a_loss_and_at_least_an_eighth() {
    for (rtt, left) in [(100, 350.0), (120, 333.0), (400, 200.0)] {
        let mut cc = linux(Variant::Yeah, 400);
        let mut path = TestPath::new(Span::from_ms(100));
        path.round(&mut cc);
        path.rtt = Span::from_ms(rtt);
        path.rounds(&mut cc, 2);
        let before = cc.cwnd();
        cut(&mut cc);
        let share = cc.cwnd() / before;
        assert!((share - left / 400.0).abs() < 0.02, "{rtt} ms: {share}");
    }
}
