//! Bandwidth requests, grants and their use.

use crate::wimax::drive::{Drive, FRAME, down, nist, up};
use ackclock_core::medium::wimax::contention::{Region, RegionLayout};
use ackclock_core::medium::wimax::pdu::Pdu;
use ackclock_core::medium::wimax::qos_class::{QosClass, ServiceFlow};
use ackclock_core::medium::wimax::{RequestRule, WimaxConfig};
use ackclock_core::packet::Kind;
use ackclock_core::units::{Span, Time};

const ACK: Kind = Kind::TCP.with(Kind::PURE_ACK);

fn ms(x: u64) -> Time {
    Time::ZERO + Span::from_ms(x)
}

/// Delays in frames of single ACKs, at all phases of the frame.
fn lone_acks(drive: &mut Drive) -> Vec<f64> {
    for i in 0..200 {
        drive.push(ms(100 * i) + Span::from_us(25 * i), up(0), 40, ACK);
    }
    drive.run_to(ms(30_000));
    drive.left.iter().map(|l| (l.at - l.entered).as_secs() / FRAME.as_secs()).collect()
}

#[test]
fn single_ack_takes_2_to_3_frames_on_the_uplink() {
    let delays = lone_acks(&mut Drive::new(nist(3, 1, 6), 1, 1));
    assert_eq!(delays.len(), 200);
    let mean = delays.iter().sum::<f64>() / 200.0;
    assert!((2.0..3.2).contains(&mean), "{mean} frames on average");
    assert!(delays.iter().all(|&d| d > 1.9 && d < 3.4), "{delays:?}");
}

#[test]
fn downlink_packet_waits_at_most_one_frame() {
    let mut drive = Drive::new(nist(3, 1, 6), 1, 1);
    for i in 0..200 {
        drive.push(ms(100 * i) + Span::from_us(25 * i), down(0), 1052, Kind::DATA);
    }
    drive.run_to(ms(30_000));
    // Six symbols of overhead and ten of the packet, after the wait for the frame.
    let place = Span::from_us(16 * 34);
    for left in &drive.left {
        let delay = left.at - left.entered;
        assert!(delay > place && delay <= place + FRAME, "{delay:?}");
    }
    assert_eq!(drive.left.len(), 200);
}

#[test]
fn two_symbols_carry_216_bytes_of_acks_per_frame() {
    // 6:1 with fractional contention: 19 of 21 symbols are for contention.
    let mut config = nist(6, 1, 6);
    config.frame.region = Region { opportunities: 5, layout: RegionLayout::Fractional { mcs: 6 } };
    assert_eq!(config.frame.layout().unwrap().up.slots() * 108, 216);
    let mut drive = Drive::new(config, 1, 1);
    // Ten ACKs per frame are offered: 500 bytes with their headers.
    for i in 0..4000 {
        drive.push(Time::ZERO + Span::from_us(500 * i), up(0), 40, ACK);
    }
    drive.run_to(ms(2000));
    let per_frame = drive.left.len() as f64 / 400.0;
    // A piggybacked request takes 2 bytes, a packet cut by the end of the frame 14.
    let fits = (216.0 - 2.0 - 14.0) / 50.0;
    assert!((per_frame / fits - 1.0).abs() < 0.02, "{per_frame} ACKs a frame instead of {fits}");
    assert!(drive.counts.drops() > 2000, "the rest is dropped: {}", drive.counts.drops());
}

#[test]
fn all_acks_pass_at_a_3_to_1_split() {
    let mut drive = Drive::new(nist(3, 1, 6), 1, 1);
    for i in 0..4000 {
        drive.push(Time::ZERO + Span::from_us(500 * i), up(0), 40, ACK);
    }
    drive.run_to(ms(3000));
    assert_eq!((drive.left.len(), drive.counts.drops()), (4000, 0));
}

#[test]
fn piggybacked_request_avoids_contention() {
    let control = |piggyback| {
        let mut config = nist(1, 1, 6);
        config.uplink.piggyback = piggyback;
        let mut drive = Drive::new(config, 1, 1);
        drive.saturate(&[up(0)], 500, ms(1000));
        drive.cell_control(0)
    };
    let (with, without) = (control(true), control(false));
    assert!(with <= 2 && without > 20, "{with} and {without} requests");
}

#[test]
fn later_packet_uses_an_earlier_grant_only_with_bundling() {
    let second = |bundling| {
        let mut config = nist(1, 1, 6);
        config.uplink.grant_frames = 12;
        config.uplink.bundling = bundling;
        let mut drive = Drive::new(config, 1, 1);
        drive.push(ms(1), up(0), 40, ACK);
        drive.push(ms(50), up(0), 40, ACK);
        drive.run_to(ms(1000));
        assert_eq!(drive.left.len(), 2);
        (drive.left[1].at - drive.left[1].entered).as_millis()
    };
    let (with, without) = (second(true), second(false));
    assert!(with < 25.0, "{with} ms: in the grant of the first, which has 108 bytes");
    assert!(without > 55.0, "{without} ms: a request of its own, riding on the first");
}

#[test]
fn colliding_stations_are_all_served_eventually() {
    let mut drive = Drive::new(nist(1, 1, 6), 30, 1);
    for station in 0..30 {
        drive.push(ms(1), up(station), 40, ACK);
    }
    drive.run_to(ms(20_000));
    assert_eq!(drive.left.len(), 30);
    let last = drive.left.iter().map(|l| l.at).max().unwrap();
    assert!(last > ms(100), "30 stations in 4 opportunities: most wait at least T16, the last until {last:?}");
}

#[test]
fn polled_station_is_served_without_opportunities() {
    for class in [QosClass::Rtps, QosClass::Nrtps, QosClass::BestEffort] {
        let mut config = nist(1, 1, 6);
        config.frame.region.opportunities = 0;
        config.stations[0].service = ServiceFlow { class, interval: 4, bytes: 0 };
        let mut drive = Drive::new(config, 1, 1);
        let delays = lone_acks(&mut drive);
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert_eq!(delays.len(), 200, "{class:?}");
        assert!(mean < 5.0, "half a polling interval and two frames: {mean}");
    }
}

#[test]
fn unsolicited_grant_needs_no_request() {
    for class in [QosClass::Ugs, QosClass::Ertps] {
        let mut config = nist(1, 1, 6);
        config.stations[0].service = ServiceFlow { class, interval: 1, bytes: 200 };
        let mut drive = Drive::new(config, 1, 1);
        let delays = lone_acks(&mut drive);
        assert!(delays.iter().all(|&d| d < 1.6), "{class:?}: at most to the next uplink: {delays:?}");
        assert_eq!(drive.cell_control(0), 0);
    }
}

#[test]
fn higher_qos_class_is_served_first() {
    let mut config = nist(1, 1, 6);
    let best = config.stations[0].clone();
    let mut first = best.clone();
    first.service = ServiceFlow { class: QosClass::Rtps, interval: 1, bytes: 0 };
    config.stations = vec![first, best];
    let mut drive = Drive::new(config, 2, 1);
    drive.saturate(&[down(0), down(1), up(0), up(1)], 1000, ms(3000));
    for direction in [down, up] {
        let (real_time, best_effort) = (drive.rate(direction(0), ms(1000)), drive.rate(direction(1), ms(1000)));
        assert!(best_effort < 0.02 * real_time, "{real_time} {best_effort}");
    }
}

/// The cell with the rules of NIST's module, 3:1 at 64-QAM 3/4.
fn by_nist(rule: RequestRule) -> WimaxConfig {
    let mut config = nist(3, 1, 6);
    config.frame.channel.tail_bytes = 1;
    config.frame.maps.bytes = Some(240);
    config.frame.region.layout = RegionLayout::Fractional { mcs: 6 };
    config.pdu = Pdu { overhead_bytes: 6, min_fragment: 1 };
    config.uplink.backoff.tries = 3;
    config.uplink.rule = rule;
    config
}

#[test]
fn nist_grants_a_lone_ack_in_the_next_frame() {
    for rule in [RequestRule::NistReleased, RequestRule::NistCorrected] {
        let mut drive = Drive::new(by_nist(rule), 1, 1);
        let delays = lone_acks(&mut drive);
        // A frame from request to grant, the region's 19 symbols and one, and up to a frame before.
        let (low, high) = delays.iter().fold((f64::MAX, 0.0_f64), |(low, high), &delay| (low.min(delay), high.max(delay)));
        assert!(low > 1.12 && high < 2.16, "{low} to {high} frames");
    }
}

/// Bytes a second of one station whose queue is never empty.
fn saturated_by_nist(rule: RequestRule) -> f64 {
    let mut drive = Drive::new(by_nist(rule), 1, 1);
    drive.saturate(&[up(0)], 60, ms(4000));
    drive.rate(up(0), ms(1000))
}

#[test]
fn nist_released_request_is_consumed_by_the_data_of_its_frame() {
    let [released, corrected] = [RequestRule::NistReleased, RequestRule::NistCorrected].map(saturated_by_nist);
    assert!(released < 0.2 * corrected, "{released} beside {corrected} B/s");
}

#[test]
fn nist_request_takes_no_opportunity_of_the_region_alone() {
    // No station has a grant: the back-off runs to the end of the uplink, 23 opportunities of 36 us.
    let mean = |start: u32| {
        let mut config = by_nist(RequestRule::NistCorrected);
        config.uplink.backoff.start = start;
        let delays = lone_acks(&mut Drive::new(config, 1, 1));
        delays.iter().sum::<f64>() / delays.len() as f64
    };
    let later = mean(6) - mean(2);
    assert!((0.5..1.4).contains(&later), "from 2^6 instead of 2^2: {later} frames later");
}
