//! Saturation throughput against Bianchi's model with a finite retry limit, solved here by
//! bisection, independently of the medium.
//!
//! G. Bianchi, "Performance Analysis of the IEEE 802.11 Distributed Coordination Function" (2000),
//! with the retry limit of Wu et al., "Performance of Reliable Transport Protocol over IEEE 802.11
//! Wireless LAN" (2002): each of n stations transmits in a slot with probability tau, and collides
//! with p = 1 - (1 - tau)^(n - 1).

use crate::wlan::drive::{Drive, b, up};
use ackclock_core::medium::Stream;
use ackclock_core::units::{Span, Time};

const TRIES: i32 = 7;

fn window(stage: i32) -> f64 {
    (32.0 * 2f64.powi(stage)).min(1024.0)
}

/// Stage j is reached with p^j and lasts (W_j + 1) / 2 slots, the last of which is the frame's.
fn tau(p: f64) -> f64 {
    let frames: f64 = (0..TRIES).map(|j| p.powi(j)).sum();
    let slots: f64 = (0..TRIES).map(|j| p.powi(j) * (window(j) + 1.0) / 2.0).sum();
    frames / slots
}

/// Frames per second.
fn saturation(n: i32, frame: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = (low + high) / 2.0;
        if 1.0 - (1.0 - tau(p)).powi(n - 1) > p { low = p } else { high = p }
    }
    let tau = tau(low);
    let idle = (1.0 - tau).powi(n);
    let success = f64::from(n) * tau * (1.0 - tau).powi(n - 1);
    // A collision costs the frame and EIFS, which is as long as SIFS, ACK and DIFS.
    let busy = frame + 10e-6 + 304e-6 + 50e-6;
    success / (idle * 20e-6 + (1.0 - idle) * busy)
}

#[test]
fn saturation_throughput_is_within_3_percent_of_bianchi() {
    for n in [1, 2, 5, 10, 20, 50] {
        let streams: Vec<Stream> = (0..n).map(up).collect();
        let got = Drive::new(b(), n, 1).saturate(&streams, 1064, 1, Time::ZERO + Span::from_secs(60));
        let model = saturation(n as i32, 992e-6);
        assert!((got / model - 1.0).abs() < 0.03, "{n} stations: {got:.1} frames/s, model {model:.1}");
    }
}
