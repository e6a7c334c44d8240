//! Invariants of every cell: order, conservation, and independence of the driver.

use crate::wimax::drive::{Drive, down, nist, station, up, wandering};
use ackclock_core::medium::wimax::arq::ArqConfig;
use ackclock_core::medium::wimax::contention::{Region, RegionLayout};
use ackclock_core::medium::wimax::frame::Split;
use ackclock_core::medium::wimax::harq::HarqConfig;
use ackclock_core::medium::wimax::phy::{Channel, Technique};
use ackclock_core::medium::wimax::qos_class::{QosClass, ServiceFlow};
use ackclock_core::medium::wimax::rate_limit::{Excess, RateLimitConfig, TrafficFilter};
use ackclock_core::medium::wimax::retransmission::RetransmissionMode;
use ackclock_core::medium::wimax::{RequestRule, WimaxConfig};
use ackclock_core::packet::Kind;
use ackclock_core::queue::Limit;
use ackclock_core::units::{Span, Time};
use proptest::prelude::*;

/// WiBro parameters.
fn wibro() -> WimaxConfig {
    let mut config = nist(1, 1, 3);
    config.frame.channel = Channel { technique: Technique::Ofdma { fft: 1024 }, width_hz: 8_750_000, prefix: 8, tail_bytes: 0 };
    config.frame.ttg = Span::from_ns(87_200);
    config.frame.rtg = Span::from_ns(74_400);
    config.frame.split = Split::Symbols { down: 27, up: 15 };
    config.frame.preamble = 1;
    config.frame.maps.mcs = 0;
    config.frame.maps.repetition = 4;
    config.frame.burst_gap = 0;
    config.frame.region = Region { opportunities: 6, layout: RegionLayout::Columns { columns: 1 } };
    config
}

fn config() -> impl Strategy<Value = WimaxConfig> {
    let base = prop_oneof![Just(wibro()), (1u32..=6, 0u8..=6).prop_map(|(ratio, mcs)| nist(ratio, 1, mcs))];
    let repair = prop_oneof![
        Just(RetransmissionMode::None),
        (1u32..4, 1u64..4).prop_map(|(attempts, feedback)| RetransmissionMode::Harq(HarqConfig { attempts, feedback })),
        (prop_oneof![Just(32u32), Just(64)], 1u32..64, 1u64..6, 1u32..5).prop_map(|(block, window, timer, attempts)| {
            RetransmissionMode::Arq(ArqConfig { block, window, timer, attempts })
        }),
    ];
    let class = prop_oneof![
        Just(ServiceFlow::BEST_EFFORT),
        Just(ServiceFlow { class: QosClass::Ugs, interval: 2, bytes: 300 }),
        Just(ServiceFlow { class: QosClass::Ertps, interval: 2, bytes: 300 }),
        Just(ServiceFlow { class: QosClass::Rtps, interval: 3, bytes: 0 }),
        Just(ServiceFlow { class: QosClass::Nrtps, interval: 10, bytes: 0 }),
    ];
    let shaped = RateLimitConfig {
        traffic: TrafficFilter::All,
        low_bps: 100_000,
        high_bps: 900_000,
        every: Span::from_ms(30),
        burst: 2000,
        excess: Excess::Shape { bytes: 4000 },
    };
    let rate_limits = prop_oneof![2 => Just(None), 1 => Just(Some(shaped)), 1 => Just(Some(RateLimitConfig { excess: Excess::Police, ..shaped }))];
    let odds = prop_oneof![2 => Just(0.0), 1 => Just(0.3), 1 => Just(1.0)];
    let rule = prop_oneof![Just(RequestRule::Standard), Just(RequestRule::NistReleased), Just(RequestRule::NistCorrected)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 1u64..5, rule);
    (base, repair, class, rate_limits, odds, flags).prop_map(|(mut config, repair, service, cap, p, flags)| {
        let (fades, piggyback, bundling, grant_frames, rule) = flags;
        if repair == RetransmissionMode::None && config.frame.channel.technique == Technique::Ofdm {
            config.uplink.rule = rule;
        }
        config.repair = [repair; 2];
        config.uplink.piggyback = piggyback;
        config.uplink.bundling = bundling;
        config.uplink.grant_frames = grant_frames;
        let mcs = config.stations[0].mcs[0];
        let mut other = station(mcs);
        other.service = service;
        if fades && config.check_with(wandering(mcs, 12.0, 6.0)) {
            config.stations[0] = wandering(mcs, 12.0, 6.0);
        }
        config.stations.push(other);
        for station in &mut config.stations {
            station.error = [p, p];
            station.rate_limits = [cap.into_iter().collect(), cap.into_iter().collect()];
        }
        config
    })
}

trait CheckWith {
    fn check_with(&self, station: ackclock_core::medium::wimax::StationConfig) -> bool;
}

impl CheckWith for WimaxConfig {
    fn check_with(&self, station: ackclock_core::medium::wimax::StationConfig) -> bool {
        WimaxConfig { stations: vec![station], ..self.clone() }.check().is_ok()
    }
}

/// (gap in microseconds, station, uplink, length)
type Step = (u64, u32, bool, u16);

fn traffic() -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0u64..3000, 1 => Just(5000), 1 => 0u64..200_000];
    let len = prop_oneof![Just(40u16), Just(1500), 1u16..1500];
    prop::collection::vec((gap, 0u32..3, any::<bool>(), len), 1..80)
}

fn drive(config: &WimaxConfig, steps: &[Step], early: bool, seed: u64) -> Drive {
    let mut drive = Drive::limited(config.clone(), 3, seed, Limit::packets(10));
    let mut at = Time::ZERO;
    for &(gap, station, is_up, len) in steps {
        if early && gap > 1 {
            drive.run_to(at + Span::from_us(gap / 2));
            drive.wake_early();
        }
        at += Span::from_us(gap);
        drive.push(at, if is_up { up(station) } else { down(station) }, len, Kind::DATA);
    }
    drive.run_to(at + Span::from_secs(600));
    drive
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The driver asserts conservation after every call, and that the cell is not due twice at one
    /// instant.
    #[test]
    fn every_cell_drains_in_order_with_every_driver(config in config(), steps in traffic(), seed in 0u64..100) {
        let one = drive(&config, &steps, false, seed);
        prop_assert_eq!(ackclock_core::Element::occupancy(&one.cell), 0, "all this traffic has an end");
        for stream in (0..3).flat_map(|s| [down(s), up(s)]) {
            let ids: Vec<u64> = one.of(stream).map(|l| l.id).collect();
            prop_assert!(ids.is_sorted(), "{stream:?}: {ids:?}");
        }
        prop_assert!(one.left.windows(2).all(|p| p[0].at <= p[1].at));
        prop_assert_eq!(&one.left, &drive(&config, &steps, true, seed).left);
        prop_assert_eq!(&one.left, &drive(&config, &steps, false, seed).left, "same seed, same packets");
    }
}

#[test]
fn cell_run_differs_when_the_seed_differs() {
    let run = |seed| {
        let mut config = wibro();
        config.stations[0].error = [0.3, 0.3];
        let steps: Vec<Step> = (0..300).map(|i| (2000, i % 3, i % 2 == 0, 500)).collect();
        drive(&config, &steps, false, seed).left
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn cell_keeps_its_packets_at_the_end_of_time() {
    let mut drive = Drive::new(nist(1, 1, 6), 1, 1);
    drive.push(Time(u64::MAX - 5_000_000_000), down(0), 100, Kind::DATA);
    drive.push(Time(u64::MAX - 4_000_000_000), up(0), 100, Kind::DATA);
    drive.run_to(Time(u64::MAX - 1));
    assert_eq!(ackclock_core::Element::occupancy(&drive.cell) + drive.left.len() as u64, 2);
}
