use super::super::testing::{Path, classic, loss};
use super::*;

fn vegas(p: VegasConfig, cwnd: f64, ssthresh: f64) -> Vegas {
    Vegas::new(p, CongestionWindow { cwnd, ssthresh }, classic())
}

/// The window after a round at a base of 100 ms, and rounds that keep `queued` segments waiting.
fn steered(p: VegasConfig, queued: f64) -> Vec<f64> {
    let mut cc = vegas(p, 50.0, 2.0);
    cc.base = Some(Span::from_ms(100));
    let mut path = Path::new(Span::from_ms(100));
    path.rtt = Span::from_secs_f64(0.1 * 50.0 / (50.0 - queued));
    path.rounds(&mut cc, 6)
}

#[test]
fn segments_queued_are_the_papers_diff() {
    assert!((vegas_queued(50.0, Span::from_ms(100), Span::from_ms(125)) - 10.0).abs() < 1e-9);
    assert_eq!(vegas_queued(50.0, Span::from_ms(100), Span::from_ms(100)), 0.0);
}

#[test]
fn between_alpha_and_beta_the_window_stays_below_it_grows_above_it_falls() {
    for p in [VegasConfig::LINUX_2_6_22, VegasConfig::ORIGINAL] {
        let middle = (p.alpha + p.beta) / 2.0;
        let still = steered(p, middle);
        assert!((still[5] - still[2]).abs() < 1e-9, "{still:?}");
        assert!(steered(p, p.alpha / 4.0)[5] > 51.0);
        assert!(steered(p, p.beta * 1.5)[5] < 49.0);
    }
}

#[test]
fn the_kernels_grows_by_one_in_two_rounds_the_original_in_each() {
    let (linux, original) = (steered(VegasConfig::LINUX_2_6_22, 0.0), steered(VegasConfig::ORIGINAL, 0.0));
    assert_eq!(linux[5] - linux[1], 2.0, "{linux:?}");
    assert_eq!(original[5] - original[1], 4.0, "{original:?}");
}

#[test]
fn the_original_opens_in_every_other_round() {
    let mut cc = vegas(VegasConfig::ORIGINAL, 4.0, f64::INFINITY);
    let mut path = Path::new(Span::from_ms(100));
    let windows = path.rounds(&mut cc, 8);
    let ratio = windows[7] / windows[3];
    assert!((3.5..4.6).contains(&ratio), "two doublings in four rounds: {windows:?}");
}

#[test]
fn slow_start_ends_when_more_than_gamma_wait() {
    let mut cc = vegas(VegasConfig::LINUX_2_6_22, 16.0, f64::INFINITY);
    let mut path = Path::new(Span::from_ms(100));
    path.rounds(&mut cc, 2);
    path.rtt = Span::from_ms(130);
    path.rounds(&mut cc, 2);
    assert_eq!(cc.ssthresh(), 2.0);
    assert!(cc.cwnd() < 64.0, "{}", cc.cwnd());
}

#[test]
fn a_loss_is_renos() {
    let mut cc = vegas(VegasConfig::LINUX_2_6_22, 101.0, 2.0);
    cc.on_congestion(&loss(101.0));
    assert_eq!((cc.cwnd(), cc.ssthresh()), (50.0, 50.0));
}
