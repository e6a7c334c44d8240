//! One access point queue for all stations: head-of-line blocking and shared drops.

use crate::wlan::drive::{Drive, b, down, n, up};
use ackclock_core::element::Element;
use ackclock_core::medium::WlanConfig;
use ackclock_core::rng::Rng;
use ackclock_core::units::{Span, Time};

const QUEUE: u64 = 40;

fn config(shared_queue: bool) -> WlanConfig {
    WlanConfig { shared_queue, ..b() }
}

/// Frames per second of 1000-byte packets: DIFS, 15.5 slots, 192 + 754 us of data, SIFS and 304 us
/// of ACK.
const CAPACITY: f64 = 1e6 / (50.0 + 310.0 + 946.0 + 10.0 + 304.0);

/// Random packets to stations 0 and 1 at these shares of the capacity. Returns the delivered
/// shares.
fn carried(shared: bool, offered: [f64; 2]) -> [f64; 2] {
    const SECONDS: f64 = 60.0;
    let mut drive = Drive::limited(config(shared), 2, 1, QUEUE);
    let mut rng = Rng::for_element(1, "arrivals");
    let mut at = 0.0;
    let all: f64 = offered.iter().sum();
    while at < SECONDS {
        at += rng.exponential(1.0 / (all * CAPACITY));
        drive.run_to(Time::ZERO + Span::from_secs_f64(at));
        drive.push(down(u32::from(rng.chance(offered[1] / all))), 1000);
    }
    [0, 1].map(|station| drive.left.iter().filter(|left| left.stream == down(station)).count() as f64 / (SECONDS * CAPACITY))
}

#[test]
fn shared_queue_drops_the_same_share_of_every_station() {
    let close = |got: [f64; 2], expected: [f64; 2]| {
        let near = got.iter().zip(expected).all(|(got, expected)| (got / expected - 1.0).abs() < 0.04);
        assert!(near, "{got:?} instead of {expected:?}");
    };
    // Twice the capacity, four to one.
    close(carried(true, [1.6, 0.4]), [0.8, 0.2]);
    close(carried(false, [1.6, 0.4]), [0.6, 0.4]);
}

#[test]
fn packet_waits_behind_another_station_in_a_shared_queue() {
    let longest = |shared: bool| {
        let mut drive = Drive::limited(config(shared), 2, 1, QUEUE);
        let mut worst = Span::ZERO;
        for i in 0..200u64 {
            // Station 0 has a full queue; the shared queue has one place left for station 1.
            let now = Time::ZERO + Span::from_ms(100 * i);
            drive.run_to(now);
            (0..QUEUE).for_each(|_| drive.push(down(0), 1000));
            drive.push(down(1), 1000);
            let before = drive.left.len();
            drive.run_to(now + Span::from_ms(99));
            let came = drive.left[before..].iter().find(|left| left.stream == down(1)).expect("within 99 ms");
            worst = worst.max(came.at - now);
        }
        worst.as_secs() * CAPACITY
    };
    let (shared, own) = (longest(true), longest(false));
    assert!((QUEUE as f64 * 0.95..QUEUE as f64 * 1.4).contains(&shared), "the queue's {QUEUE} frames: {shared}");
    assert!(own < 4.0, "at most the frame under way and its own: {own}");
}

#[test]
fn shared_queue_with_ampdu_keeps_order_without_loss() {
    let config = WlanConfig { shared_queue: true, frame_error: [0.2, 0.2], short_retries: 60, ..n() };
    let mut drive = Drive::limited(config, 3, 1, 100_000);
    let mut rng = Rng::for_element(2, "arrivals");
    for i in 0..6000u64 {
        drive.run_to(Time::ZERO + Span::from_us(200 * i));
        let station = (rng.uniform() * 3.0) as u32;
        drive.push(if rng.chance(0.8) { down(station) } else { up(station) }, 1000);
    }
    drive.run_to(Time::ZERO + Span::from_secs(30));
    assert_eq!((drive.left.len(), drive.wlan.occupancy(), drive.counts.drops()), (6000, 0, 0));
    for stream in (0..3).flat_map(|station| [down(station), up(station)]) {
        assert!(drive.left.iter().filter(|left| left.stream == stream).is_sorted_by_key(|left| left.id), "{stream:?}");
    }
}
