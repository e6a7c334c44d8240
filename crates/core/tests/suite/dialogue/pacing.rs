//! Transmission times of a paced sender.

use crate::dialogue::script::{Dialogue, tcp};
use ackclock_core::tcp::RecoveryKind::NewReno;
use ackclock_core::tcp::{TcpConfig, TsoAutosize};
use ackclock_core::units::Span;

/// Ten segments per 100 ms, at twice that rate in slow start: a segment every 5 ms. The first has a
/// credit of half a gap.
#[test]
fn paced_window_is_sent_segment_by_segment() {
    let mut d = Dialogue::sender(TcpConfig { pacing: true, ..tcp(NewReno) });
    for n in 0..10 {
        let at = 0.1 + if n == 0 { 0.0 } else { 0.005 * n as f64 - 0.0025 };
        d.expects_new(at, n * 1000 + 1..n * 1000 + 1001);
    }
}

/// As above three at a time, each burst when the pacer allows it; the window cuts the last burst
/// short.
#[test]
fn tso_sends_bursts_at_the_same_pacing_rate() {
    let tso = TsoAutosize { min_segments: 3, time: Span::from_ms(1), max_bytes: 65_536 };
    let mut d = Dialogue::sender(TcpConfig { pacing: true, tso: Some(tso), ..tcp(NewReno) });
    for (at, bytes) in [(0.1, 1..3001), (0.1125, 3001..6001), (0.1275, 6001..9001), (0.1425, 9001..10_001)] {
        d.expects_new(at, bytes);
    }
    d.sends_nothing_until(0.19);
}

#[test]
fn unpaced_window_is_sent_at_once_with_tso() {
    let tso = TsoAutosize { min_segments: 3, time: Span::from_ms(1), max_bytes: 65_536 };
    let mut d = Dialogue::sender(TcpConfig { tso: Some(tso), ..tcp(NewReno) });
    d.expects_new(0.1, 1..10_001);
}
