use super::super::testing::{TestPath, loss};
use super::*;

const P: LedbatPpConfig = LedbatPpConfig::DRAFT;

#[test]
fn gain_and_change_match_the_draft() {
    for (base, divisor) in [(5, 16.0), (20, 6.0), (60, 2.0), (100, 2.0), (200, 1.0)] {
        assert_eq!(ledbat_gain(&P, Span::from_ms(base)), 1.0 / divisor, "{base} ms");
    }
    for (delay, change) in [(0, 0.5), (60, 0.5), (66, 0.5 - 10.0), (120, -50.0), (600, -50.0)] {
        let got = ledbat_change(&P, 0.5, 100.0, Span::from_ms(delay));
        assert!((got - change).abs() < 1e-9, "{delay} ms: {got}");
    }
}

#[test]
fn slow_start_grows_by_gain_and_ends_at_three_quarters_of_the_target() {
    let mut cc = LedbatPp::new(P, CongestionWindow { cwnd: 10.0, ssthresh: f64::INFINITY });
    let mut path = TestPath::new(Span::from_ms(100));
    path.round(&mut cc);
    assert_eq!(cc.cwnd(), 15.0, "ten ACKs of half a segment");
    path.rtt = Span::from_ms(146);
    path.round(&mut cc);
    assert!(cc.ssthresh() < 18.0);
}

#[test]
fn slowdowns_start_after_two_rtts_and_nine_times_their_length_apart() {
    let mut cc = LedbatPp::new(P, CongestionWindow { cwnd: 20.0, ssthresh: 30.0 });
    let mut path = TestPath::new(Span::from_ms(100));
    let mut windows = Vec::new();
    for _ in 0..120 {
        path.round(&mut cc);
        windows.push((path.now, cc.cwnd()));
    }
    let rests: Vec<Time> = windows.windows(2).filter(|w| w[1].1 <= 2.0 && w[0].1 > 2.0).map(|w| w[1].0).collect();
    assert!(rests.len() >= 2, "{windows:?}");
    let back = windows.iter().find(|w| w.0 > rests[0] && w.1 >= 30.0).map(|w| w.0);
    let length = back.map_or(0.0, |b| (b - rests[0]).as_secs());
    let spacing = (rests[1] - rests[0]).as_secs();
    assert!((9.0..=11.5).contains(&(spacing / length)), "{length} s long, {spacing} s apart");
}

#[test]
fn window_falls_by_at_most_half_above_the_target_and_loss_halves() {
    let mut cc = LedbatPp::new(P, CongestionWindow { cwnd: 100.0, ssthresh: 50.0 });
    let mut path = TestPath::new(Span::from_ms(100));
    path.ack(&mut cc);
    path.rtt = Span::from_ms(300);
    path.rounds(&mut cc, 2);
    assert!((25.0..=51.0).contains(&cc.cwnd()), "{}", cc.cwnd());
    cc.on_congestion(&loss(40.0));
    assert_eq!(cc.cwnd(), 20.0);
}
