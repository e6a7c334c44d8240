//! Properties of connections over any path, and of endpoints under invalid segments.

use crate::path::{Path, PathConditions, TestEndpoint};
use ackclock_core::app::{AnyApp, BulkSource, Sink};
use ackclock_core::endpoint::Endpoint;
use ackclock_core::packet::{Body, Ecn, Flags, SackBlocks, Segment, SynOptions, Timestamps};
use ackclock_core::tcp::{
    DelayedAck, FrtoKind, IdleRestart, MetricsCache, NewRenoExit, RecoveryKind, RtoFloor, RtoRestart, SackCompression, SlowStart,
    TcpConfig, TcpEndpoint, Variant, WindowRule, WindowValidation,
};
use ackclock_core::units::{Rate, Span, Time};
use proptest::prelude::*;
use proptest::sample::select;

/// Every algorithm and every rule, and buffers down to less than a segment.
fn configs() -> impl Strategy<Value = TcpConfig> {
    let algorithms = (
        select(Variant::ALL),
        select(RecoveryKind::ALL),
        any::<[bool; 10]>(),
        select(vec![0u32, 1, 2, 65_535]),
        select(vec![FrtoKind::Off, FrtoKind::Basic, FrtoKind::Sack]),
    );
    let sizes = (
        select(vec![1u32, 100, 536, 1448]),
        select(vec![1u32, 50, 536, 2000, 9000, 65_535, 200_000]),
        select(vec![1u64, 700, 3000, 20_000, u64::MAX]),
    );
    let timing = (
        select(vec![0u32, 1, 2, 4]),
        select(vec![1u64, 40, 500]),
        select(vec![1.0, 2.0, 10.0]),
        select(vec!["classic", "inclusive", "limited", "hystart", "hystart++"]),
        select(vec![1u64, 10, 500]),
    );
    (algorithms, sizes, timing).prop_map(|(algorithms, sizes, timing)| {
        let (
            variant,
            recovery,
            [sack, timestamps, in_flight, flag, floor, scaling, pacing, dsack, undo, eifel],
            byte_counting,
            frto,
        ) = algorithms;
        let (segment, receive_buffer, send_buffer) = sizes;
        let (every, timer, initial_window, slow_start, tick) = timing;
        TcpConfig {
            variant,
            recovery,
            segment,
            send_buffer,
            receive_buffer,
            window_rule: if in_flight { WindowRule::InFlight } else { WindowRule::Sequence },
            delayed_ack: (every > 0).then_some(DelayedAck::new(every, Span::from_ms(timer))),
            initial_window,
            initial_ssthresh: if flag { f64::INFINITY } else { 8.0 },
            rto_initial: Span::from_secs(1),
            rto_tick: Span::from_ms(tick),
            rto_floor: if floor { RtoFloor::Variance } else { RtoFloor::Timeout },
            rto_restart: if in_flight { RtoRestart::Recovery } else { RtoRestart::Advance },
            sack,
            dsack,
            undo,
            eifel,
            frto,
            idle_restart: if eifel { IdleRestart::Decay } else { IdleRestart::Restart },
            window_validation: [WindowValidation::Off, WindowValidation::Rfc2861, WindowValidation::Rfc7661]
                [usize::from(undo) + usize::from(eifel)],
            fine_timer: dsack,
            sack_compression: floor.then_some(SackCompression { segments: 44, share: 0.05, longest: Span::from_ms(1) }),
            timestamps,
            timestamp_bytes: 12,
            window_scaling: scaling,
            pacing,
            slow_start: SlowStart::from_name(slow_start).expect("a slow start"),
            byte_counting,
            newreno_exit: if flag { NewRenoExit::Flight } else { NewRenoExit::Threshold },
            limited_transmit: scaling,
            ping_pong: dsack,
            quick_acks: if flag { 4 } else { 0 },
            metrics_cache: if undo { MetricsCache::Full } else { MetricsCache::Rtt },
            immediate_ack_on_fill: flag,
            ..TcpConfig::default()
        }
    })
}

fn path_conditions() -> impl Strategy<Value = PathConditions> {
    (any::<u64>(), select(vec![0.0, 0.02, 0.3]), select(vec![0.0, 0.1]), select(vec![0u64, 1, 30, 400])).prop_map(
        |(seed, loss, duplicates, jitter)| PathConditions {
            seed,
            loss,
            duplicates,
            delay: Span::from_ms(10),
            jitter: Span::from_ms(jitter),
        },
    )
}

/// Small segments make a short transfer, so that a run stays short.
fn length(config: &TcpConfig, share: f64) -> u64 {
    let piece = u64::from(config.segment.min(config.receive_buffer)).min(config.send_buffer);
    (piece as f64 * 60.0 * share) as u64
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every byte arrives, once and in order; the counters agree; the same seed gives the same run.
    #[test]
    fn transfer_completes_over_any_path(config in configs(), conditions in path_conditions(), share in 0.0f64..1.0, slow in any::<bool>()) {
        let bytes = length(&config, share);
        let rate = slow.then(|| Rate::from_bps(8 * u64::from(config.segment) * 20));
        let ends = || {
            let source = AnyApp::BulkSource(BulkSource::new(bytes, Time::NEVER));
            [TcpEndpoint::client(config.clone(), source, Time::ZERO), TcpEndpoint::server(config.clone(), AnyApp::Sink(Sink::new(rate)))]
        };
        let mut path = Path::new(ends(), conditions, bytes);
        path.run();
        // RACK's tail loss probe is sent after two RTTs, even while a delayed ACK is pending (RFC
        // 8985, section 7.2).
        let probes = matches!(config.recovery, RecoveryKind::Rack | RecoveryKind::Linux);
        path.check(config.delayed_ack.is_none_or(|d| !probes && d.timer < config.rto_min));
        let mut again = Path::new(ends(), conditions, bytes);
        again.run();
        prop_assert_eq!(path.fingerprint, again.fingerprint);
    }
}

/// An invalid or nonsensical segment.
fn invalid_segments() -> impl Strategy<Value = Segment> {
    let number = || prop_oneof![4 => 0u64..6000, 1 => Just(u64::MAX), 1 => any::<u64>(), 1 => any::<u32>().prop_map(u64::from)];
    let small = || prop_oneof![3 => 0u32..3000, 1 => any::<u32>()];
    let blocks = prop::collection::vec((number(), number()), 0..4);
    let syn = prop::option::of((any::<u16>(), prop::option::of(0u8..20), any::<bool>()));
    let timestamps = prop::option::of((any::<u32>(), any::<u32>()));
    (number(), number(), small(), small(), 0u16..512, blocks, syn, timestamps).prop_map(
        |(seq, ack, payload, window, flags, blocks, syn, timestamps)| {
            let mut sack = SackBlocks::default();
            for (start, end) in blocks {
                sack.push(start, end);
            }
            let syn = syn.map(|(mss, window_scale, sack_permitted)| SynOptions { mss, window_scale, sack_permitted });
            let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
            Segment { seq, ack, payload, window, sack, timestamps, flags: Flags(flags & !2), syn, ..Segment::default() }
        },
    )
}

fn opening(answer: bool) -> Segment {
    let flags = if answer { Flags::SYN.with(Flags::ACK) } else { Flags::SYN };
    let syn = Some(SynOptions { mss: 1460, window_scale: Some(2), sack_permitted: true });
    let timestamps = Some(Timestamps { value: 1, echo: 0 });
    Segment { ack: u64::from(answer), window: 5000, flags, syn, timestamps, ..Segment::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    /// No panic, no endless transmission at one instant, a window of at least a segment, and timers
    /// in the future.
    #[test]
    fn nonsense_does_no_harm(
        config in configs(),
        sends in any::<bool>(),
        opened in any::<bool>(),
        script in prop::collection::vec((invalid_segments(), select(vec![0u64, 1, 90, 1500])), 1..60),
    ) {
        let tcp = if sends {
            TcpEndpoint::client(config, AnyApp::BulkSource(BulkSource::new(4000, time(40_000))), Time::ZERO)
        } else {
            TcpEndpoint::server(config, AnyApp::Sink(Sink::new(Some(Rate::from_bps(8000)))))
        };
        let mut endpoint = TestEndpoint::new(tcp);
        endpoint.run_to(Time::ZERO);
        if opened {
            endpoint.receive(opening(sends));
            if !sends {
                endpoint.receive(Segment { seq: 1, ack: 1, window: 5000, flags: Flags::ACK, ..Segment::default() });
            }
        }
        let mut now = Time::ZERO;
        for (segment, pause) in script {
            now += Span::from_ms(pause);
            endpoint.run_to(now);
            endpoint.receive(segment);
        }
        endpoint.run_to(now + Span::from_secs(300));
    }
}

fn time(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// A body that is no segment has no effect.
#[test]
fn bodies_of_other_kinds_are_ignored() {
    let mut server = TcpEndpoint::server(TcpConfig::default(), AnyApp::Sink(Sink::new(None)));
    server.receive(Time::ZERO, &Body::Raw(Box::default()), Ecn::NotEct);
    assert_eq!(server.due(), Time::NEVER);
}
