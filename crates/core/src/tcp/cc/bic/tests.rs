use super::super::testing::{classic, loss, round, timeout};
use super::*;

fn bic(p: BicConfig, cwnd: f64) -> Bic {
    Bic::new(p, CongestionWindow { cwnd, ssthresh: 2.0 }, classic())
}

#[test]
fn growth_per_rtt_matches_paper_and_kernel() {
    let mut paper = Search::new(BicConfig::PAPER);
    let mut linux = Search::new(BicConfig::LINUX_2_6_22);
    (paper.w_max, linux.w_max) = (200.0, 200.0);
    for (cwnd, by_paper, by_linux) in [
        (10.0, 1.0, 1.0),
        (100.0, 32.0, 16.0),
        (160.0, 20.0, 10.0),
        (190.0, 5.0, 2.0),
        (193.0, 3.5, 0.2),
        (196.0, 2.0, 0.2),
        (199.99, 0.01, 0.2),
        (203.0, 3.0, 0.2),
        (206.0, 6.0, 2.0),
        (240.0, 32.0, 40.0 / 3.0),
        (300.0, 32.0, 16.0),
    ] {
        assert!((paper.growth(cwnd) - by_paper).abs() < 1e-9, "paper at {cwnd}: {}", paper.growth(cwnd));
        assert!((linux.growth(cwnd) - by_linux).abs() < 1e-9, "Linux at {cwnd}: {}", linux.growth(cwnd));
    }
}

#[test]
fn window_grows_by_the_growth_per_rtt_over_a_round() {
    let mut cc = bic(BicConfig::PAPER, 100.0);
    cc.search.w_max = 1000.0;
    round(&mut cc);
    // n ACKs at w/32 each: w^2 = 100^2 + 64 n.
    assert!((libm::sqrt(10_000.0 + 6400.0) - cc.cwnd()).abs() < 1.0, "{}", cc.cwnd());
}

#[test]
fn loss_leaves_beta_and_sets_w_max() {
    for (p, cwnd, left, w_max) in [
        (BicConfig::LINUX_2_6_22, 200.0, 159.0, 200.0),
        (BicConfig::LINUX_2_6_8, 200.0, 175.0, 200.0),
        (BicConfig::PAPER, 200.0, 175.0, 200.0),
        (BicConfig::PAPER, 14.0, 7.0, 14.0),
    ] {
        let mut cc = bic(p, cwnd);
        cc.on_congestion(&loss(cwnd));
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.search.w_max), (left, left, w_max), "{p:?}");
    }
}

/// The kernel's W_max is whole: 175*15/4 = 656.25 with the defect of 2.6.8.
#[test]
fn second_loss_below_w_max_lowers_it_and_the_defect_raises_it() {
    for (p, w_max) in [(BicConfig::PAPER, 175.0 * 0.9375), (BicConfig::LINUX_2_6_8, 656.0)] {
        let mut cc = bic(p, 200.0);
        cc.on_congestion(&loss(200.0));
        cc.on_congestion(&loss(175.0));
        assert!((cc.search.w_max - w_max).abs() < 1e-9, "{}", cc.search.w_max);
    }
}

#[test]
fn timeout_resets_w_max() {
    let mut cc = bic(BicConfig::LINUX_2_6_22, 200.0);
    cc.on_congestion(&timeout(200.0));
    assert_eq!((cc.cwnd(), cc.ssthresh(), cc.search.w_max), (1.0, 159.0, 0.0));
}
