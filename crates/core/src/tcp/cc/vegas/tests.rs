use super::super::testing::{TestPath, classic, loss};
use super::*;

fn vegas(p: VegasConfig, cwnd: f64, ssthresh: f64) -> Vegas {
    Vegas::new(p, CongestionWindow { cwnd, ssthresh }, classic())
}

/// Windows after rounds with `queued` segments waiting, at a BaseRTT of 100 ms.
fn adjusted_windows(p: VegasConfig, queued: f64) -> Vec<f64> {
    let mut cc = vegas(p, 50.0, 2.0);
    cc.base = Some(Span::from_ms(100));
    let mut path = TestPath::new(Span::from_ms(100));
    path.rtt = Span::from_secs_f64(0.1 * 50.0 / (50.0 - queued));
    path.rounds(&mut cc, 6)
}

#[test]
fn queued_segments_are_the_papers_diff() {
    assert!((vegas_queued(50.0, Span::from_ms(100), Span::from_ms(125)) - 10.0).abs() < 1e-9);
    assert_eq!(vegas_queued(50.0, Span::from_ms(100), Span::from_ms(100)), 0.0);
}

#[test]
fn window_grows_below_alpha_and_falls_above_beta() {
    for p in [VegasConfig::LINUX_2_6_22, VegasConfig::ORIGINAL] {
        let middle = (p.alpha + p.beta) / 2.0;
        let still = adjusted_windows(p, middle);
        assert!((still[5] - still[2]).abs() < 1e-9, "{still:?}");
        assert!(adjusted_windows(p, p.alpha / 4.0)[5] > 51.0);
        assert!(adjusted_windows(p, p.beta * 1.5)[5] < 49.0);
    }
}

#[test]
fn kernel_grows_every_other_round_and_original_every_round() {
    let (linux, original) = (adjusted_windows(VegasConfig::LINUX_2_6_22, 0.0), adjusted_windows(VegasConfig::ORIGINAL, 0.0));
    assert_eq!(linux[5] - linux[1], 2.0, "{linux:?}");
    assert_eq!(original[5] - original[1], 4.0, "{original:?}");
}

#[test]
fn original_slow_start_grows_every_other_round() {
    let mut cc = vegas(VegasConfig::ORIGINAL, 4.0, f64::INFINITY);
    let mut path = TestPath::new(Span::from_ms(100));
    let windows = path.rounds(&mut cc, 8);
    let ratio = windows[7] / windows[3];
    assert!((3.5..4.6).contains(&ratio), "two doublings in four rounds: {windows:?}");
}

#[test]
fn slow_start_ends_above_gamma() {
    let mut cc = vegas(VegasConfig::LINUX_2_6_22, 16.0, f64::INFINITY);
    let mut path = TestPath::new(Span::from_ms(100));
    path.rounds(&mut cc, 2);
    path.rtt = Span::from_ms(130);
    path.rounds(&mut cc, 2);
    assert_eq!(cc.ssthresh(), 2.0);
    assert!(cc.cwnd() < 64.0, "{}", cc.cwnd());
}

#[test]
fn loss_halves_like_reno() {
    let mut cc = vegas(VegasConfig::LINUX_2_6_22, 101.0, 2.0);
    cc.on_congestion(&loss(101.0));
    assert_eq!((cc.cwnd(), cc.ssthresh()), (50.0, 50.0));
}

/// Of the 40 segments since the start of the interrupted round 1.5 would be queued, of the window 0.8.
#[test]
fn round_after_a_recovery_counts_the_interrupted_one_in_tcp_linux() {
    for (is_module, ssthresh) in [(false, 100.0), (true, 2.0)] {
        let mut cc = vegas(VegasConfig::LINUX_2_6_22, 20.0, 2.0);
        if is_module {
            cc = cc.in_tcp_linux();
        }
        cc.base = Some(Span::from_ms(100));
        let mut path = TestPath::new(Span::from_ms(104));
        path.rounds(&mut cc, 3);
        cc.on_congestion(&loss(40.0));
        (cc.window.cwnd, cc.window.ssthresh) = (20.0, 100.0);
        path.rounds(&mut cc, 2);
        assert_eq!(cc.ssthresh(), ssthresh, "{is_module}");
    }
}
