//! The contract of [`ackclock_core::Element`], for every kind of element under random traffic and
//! with every driver.

use crate::common::{Driver, Journey, STATIONS, ports, traffic, travel};
use ackclock_core::element::PacketCounts;
use ackclock_core::host::{Gro, HostArrival, ProcessingClock, ProcessingJitter, ProcessingTimes};
use ackclock_core::impairment::{
    Delay, Duplicate, DuplicateConfig, Handover, HandoverConfig, Jitter, JitterConfig, ListedPackets, Loss, LossConfig, Outage,
    OutageConfig, Reorder, ReorderConfig, ScheduledFades, SendDelay, SendDelayConfig, Sojourns, VaryingDelay,
};
use ackclock_core::link::{
    Cells, Exceed, Framing, FusedLink, GrantCycleConfig, LinkLayer, Policer, PolicerConfig, RateLink, RateSchedule,
    RateScheduleConfig, Shaper, ShaperConfig, SlotsConfig, SlottedRate, TraceLink,
};
use ackclock_core::medium::grants::{
    ContentionConfig, DirectionConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
};
use ackclock_core::medium::wlan::{AmpduConfig, Format};
use ackclock_core::medium::{
    GrantConfig, Grants, HalfDuplex, HalfDuplexConfig, PacketRadio, RadioConfig, RadioMac, Wlan, WlanConfig,
};
use ackclock_core::network::AnyElement;
use ackclock_core::queue::{AnyQueue, DropTail, Limit};
use ackclock_core::rng::Rng;
use ackclock_core::schedule::ScheduleConfig;
use ackclock_core::units::{Rate, Span, Time};
use proptest::prelude::*;
use std::sync::Arc;

/// Builds the same element repeatedly.
#[derive(Clone, Debug)]
enum Recipe {
    FusedLink { bps: Option<u64>, delay: Span, limit: Limit, framing: Framing },
    RateLink { bps: u64, limit: Limit, framing: Framing },
    TraceLink { times_ms: Vec<u64>, limit: Limit, framing: Framing },
    ScheduledLink { schedule: RateScheduleConfig, limit: Limit, framing: Framing },
    Policer(PolicerConfig),
    Shaper { config: ShaperConfig, limit: Limit },
    SlottedLink { slots: SlotsConfig, limit: Limit, framing: Framing },
    SlottedPath(SlotsConfig),
    Delay(Span),
    VaryingDelay(ScheduleConfig<Span>),
    Jitter(JitterConfig),
    SendDelay(SendDelayConfig),
    HostArrival { delay: Span, jitter: ProcessingJitter },
    Gro(Span),
    Loss(LossConfig),
    Duplicate(DuplicateConfig),
    Reorder(ReorderConfig),
    Outage(Vec<OutageConfig>),
    Handover(HandoverConfig),
    Cells { every: Span, first: Span, delays: Vec<Span> },
    HalfDuplex { config: HalfDuplexConfig, limit: Limit },
    PacketRadio { config: RadioConfig, limit: Limit },
    Wlan { config: WlanConfig, limit: Limit },
    Grants { config: GrantConfig, limit: Limit },
}

impl Recipe {
    fn build(&self, seed: u64) -> AnyElement {
        let rng = Rng::for_element(seed, "element");
        let tail = |limit: Limit| AnyQueue::DropTail(DropTail::new(limit));
        match self.clone() {
            Recipe::FusedLink { bps, delay, limit, framing } => {
                FusedLink::new(bps.map(Rate::from_bps), delay, limit, framing).into()
            }
            Recipe::RateLink { bps, limit, framing } => RateLink::new(Rate::from_bps(bps), framing, tail(limit)).into(),
            Recipe::TraceLink { times_ms, limit, framing } => {
                TraceLink::new(times_ms.into(), framing, tail(limit)).unwrap().into()
            }
            Recipe::ScheduledLink { schedule, limit, framing } => {
                RateLink::new(RateSchedule::new(&schedule), framing, tail(limit)).into()
            }
            Recipe::Policer(config) => Policer::new(config).into(),
            Recipe::Shaper { config, limit } => Shaper::new(config, tail(limit)).into(),
            Recipe::SlottedLink { slots, limit, framing } => {
                RateLink::new(SlottedRate::new(&slots, rng), framing, tail(limit)).into()
            }
            Recipe::SlottedPath(slots) => Handover::of_slots(&slots, seed).into(),
            Recipe::VaryingDelay(schedule) => VaryingDelay::new(schedule).into(),
            Recipe::Delay(delay) => Delay::new(delay).into(),
            Recipe::Jitter(config) => Jitter::new(config, rng).into(),
            Recipe::SendDelay(config) => SendDelay::new(config, rng).into(),
            Recipe::HostArrival { delay, jitter } => {
                let times = Arc::new(ProcessingTimes::new(jitter));
                let clock = |flow: u32| ProcessingClock::new(times.clone(), Rng::for_element(seed, &flow.to_string()));
                // Every other flow's host has a processing time.
                HostArrival::new(delay, (0..40).map(|flow| (flow % 2 == 0).then(|| clock(flow))).collect()).into()
            }
            Recipe::Gro(span) => Gro::new((0..40).map(|flow| (flow % 2 == 0).then_some(span)).collect()).into(),
            Recipe::Loss(config) => Loss::new(&config, rng.clone(), rng).into(),
            Recipe::Duplicate(config) => Duplicate::new(config, rng).into(),
            Recipe::Reorder(config) => Reorder::new(config, rng).into(),
            Recipe::Outage(outages) => Outage::new(&outages).unwrap().into(),
            Recipe::Handover(config) => Handover::new(config, seed, rng).into(),
            Recipe::Cells { every, first, delays } => Handover::with_delays(every, first, delays.into()).into(),
            Recipe::HalfDuplex { config, limit } => HalfDuplex::new(config, (0..2 * STATIONS).map(|_| tail(limit))).into(),
            Recipe::PacketRadio { config, limit } => PacketRadio::new(config, (0..2 * STATIONS).map(|_| tail(limit)), rng).into(),
            Recipe::Wlan { config, limit } => Wlan::new(config, (0..2 * STATIONS).map(|_| tail(limit)), rng).unwrap().into(),
            Recipe::Grants { config, limit } => Grants::new(config, (0..2 * STATIONS).map(|_| tail(limit)), rng).unwrap().into(),
        }
    }
}

fn span() -> impl Strategy<Value = Span> {
    prop_oneof![Just(Span::ZERO), Just(Span(1)), (0u64..50).prop_map(Span::from_ms), (0u64..50_000_000_000).prop_map(Span)]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![Just(Limit::NONE), (0u64..8).prop_map(Limit::packets), (0u64..5000).prop_map(Limit::bytes)]
}

fn framing() -> impl Strategy<Value = Framing> {
    let cells = prop::sample::select(vec![Cells::None, Cells::Atm, Cells::Ptm]);
    let link_layer = (cells, 0u16..50, 0u16..100);
    prop_oneof![
        Just(Framing::None),
        Just(Framing::Cslip),
        (0u16..50).prop_map(|overhead| Framing::Atm { overhead }),
        link_layer.prop_map(|(cells, overhead, mpu)| Framing::LinkLayer(LinkLayer { cells, overhead, mpu })),
    ]
}

fn jitter() -> impl Strategy<Value = JitterConfig> {
    let in_order = any::<bool>;
    prop_oneof![
        (span(), span(), in_order()).prop_map(|(low, high, in_order)| JitterConfig::Uniform { low, high, in_order }),
        (span(), span(), in_order()).prop_map(|(mean, sd, in_order)| JitterConfig::Normal { mean, sd, in_order }),
        (span(), in_order()).prop_map(|(mean, in_order)| JitterConfig::Exponential { mean, in_order }),
        (span(), 0.5f64..3.0, in_order()).prop_map(|(mean, shape, in_order)| JitterConfig::Pareto { mean, shape, in_order }),
    ]
}

fn sojourns() -> impl Strategy<Value = Sojourns> {
    (span(), span(), 0.0..=1.0, 0.0..=1.0).prop_map(|(good, bad, loss_good, loss_bad)| Sojourns {
        good,
        bad,
        loss_good,
        loss_bad,
    })
}

/// Sorted and disjoint outages, from random gaps and lengths.
fn outages() -> impl Strategy<Value = Vec<OutageConfig>> {
    prop::collection::vec((span(), span()), 0..6).prop_map(|pairs| {
        let mut at = Time::ZERO;
        let outage = |(gap, length)| {
            let start = at + gap;
            at = start + length + Span(1);
            OutageConfig { start, end: at }
        };
        pairs.into_iter().map(outage).collect()
    })
}

fn times_ms() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0u64..30, 1..20).prop_map(|mut times| {
        times.sort();
        times.push(times[times.len() - 1].max(1));
        times
    })
}

fn radio() -> impl Strategy<Value = RadioConfig> {
    let phase = || prop_oneof![Just(Span::ZERO), Just(Span::from_us(11_125)), (0u64..20).prop_map(Span::from_ms)];
    let error = || prop_oneof![3 => Just(0.0), 2 => 0.0..0.5, 1 => Just(1.0)];
    let mac = prop_oneof![Just(RadioMac::Ricochet), Just(RadioMac::Ns2Multihop)];
    let rules = (mac, any::<[bool; 3]>(), 1u32..4, 0u64..4);
    let frames = (1u32..100, 1u32..100, 1u32..100, 1u32..100);
    (1u32..5, (phase(), phase(), phase(), phase()), rules, (error(), error()), frames).prop_map(
        |(
            hops,
            (latency, to_receive, to_send, wait),
            (mac, [defer_by_backoff, nack_cts, piggyback], tries, relay_queue),
            errors,
            frames,
        )| {
            let multihop = mac == RadioMac::Ns2Multihop;
            RadioConfig {
                hops,
                mac,
                rate: Rate::from_bps(100_000),
                latency,
                to_receive,
                to_send,
                rts_bytes: frames.0,
                cts_bytes: frames.1,
                header_bytes: frames.2,
                ack_bytes: frames.3,
                backoff_base: wait + Span::from_ms(1),
                backoff_cap: Span::from_secs(1),
                defer_by_backoff: defer_by_backoff || multihop,
                nack_cts: nack_cts && !multihop,
                piggyback: piggyback || multihop,
                ack_timeout: wait.saturating_mul(5),
                tries,
                relay_queue,
                frame_error: if multihop { [0.0; 2] } else { [errors.0, errors.1] },
            }
        },
    )
}

fn wlan() -> impl Strategy<Value = WlanConfig> {
    let error = || prop_oneof![3 => Just(0.0), 2 => 0.0..0.5, 1 => Just(1.0)];
    let space = || prop_oneof![Just(0u64), Just(10), 0u64..400];
    let format = || {
        (1u64..300_000_000, space(), prop_oneof![Just(0u64), Just(4)], space()).prop_map(|(bps, preamble, symbol, extension)| {
            let [preamble, symbol, extension] = [preamble, symbol, extension].map(Span::from_us);
            Format { rate: Rate::from_bps(bps + 100_000), preamble, symbol, extension }
        })
    };
    let aggregate =
        (1u32..6, 1u32..10_000, 0u64..6).prop_map(|(frames, bytes, ms)| AmpduConfig { frames, bytes, air: Span::from_ms(ms) });
    let limits = (prop::option::of(0u32..2000), 1u32..4, 1u32..4, prop::option::of(aggregate));
    let window = (1u32..40, 0u32..1000);
    (format(), format(), (1u64..30, space(), space(), space()), window, limits, (error(), error())).prop_map(
        |(data, control, spaces, window, (rts_threshold, short_retries, long_retries, aggregate), errors)| WlanConfig {
            slot: Span::from_us(spaces.0),
            sifs: Span::from_us(spaces.1),
            difs: Span::from_us(spaces.2),
            eifs: Span::from_us(spaces.3),
            cw: [window.0, window.0 + window.1],
            data,
            control,
            header: 36,
            rts_threshold,
            short_retries,
            long_retries,
            aggregate,
            frame_error: [errors.0, errors.1],
            shared_queue: short_retries % 2 == 0,
        },
    )
}

fn granted() -> impl Strategy<Value = GrantConfig> {
    let error = || prop_oneof![3 => Just(0.0), 2 => 0.0..0.5, 1 => Just(1.0)];
    let ms = |n: u64| Span::from_ms(n);
    let repair = (error(), 1u32..5, 0u64..20, 0u32..3, 0u64..50).prop_map(move |(error, attempts, delay, rounds, again)| {
        RetransmissionConfig { error, attempts, delay: ms(delay), rounds, round_delay: ms(again) }
    });
    let layout = prop_oneof![Just(ShareLayout::Serial), Just(ShareLayout::Block)];
    let cap = prop::option::of(
        (100_000u64..10_000_000, 100u64..10_000).prop_map(|(bps, burst)| TokenBucketConfig { rate: Rate::from_bps(bps), burst }),
    );
    let direction = || {
        (1_000_000u64..100_000_000, 1u64..6, layout.clone(), 0u32..40, 0u32..12, cap.clone(), repair.clone()).prop_map(
            move |(bps, interval, layout, packet_header, block_header, cap, repair)| DirectionConfig {
                rate: Rate::from_bps(bps),
                interval: ms(interval),
                layout,
                packet_header,
                block_header,
                cap,
                repair,
            },
        )
    };
    let method = prop_oneof![
        (1u32..5, 0u32..3, 0u32..4, 1u32..17).prop_map(|(opportunities, start, more, tries)| RequestMethod::Contention(
            ContentionConfig { opportunities, backoff: [start, start + more], tries }
        )),
        (1u64..40, 50u32..500)
            .prop_map(move |(period, first_grant)| RequestMethod::Scheduled { period: ms(period), first_grant }),
    ];
    (direction(), direction(), method, 0u64..20, any::<[bool; 2]>()).prop_map(
        move |(down, up, request, delay, [piggyback, many_requests])| GrantConfig {
            down,
            up,
            request,
            grant_delay: ms(delay),
            piggyback,
            many_requests,
        },
    )
}

/// Steps of up to a second that begin again, the first with a rate.
fn rate_schedule() -> impl Strategy<Value = RateScheduleConfig> {
    let step = (1u64..1_000_000_000_000, prop_oneof![Just(0u64), 1_000u64..1_000_000_000]);
    (prop::collection::vec(step, 1..5), any::<bool>()).prop_map(|(gaps, linear)| {
        let (mut at, mut steps) = (0, Vec::new());
        for (gap, bps) in gaps {
            steps.push((Span(at), if at == 0 { bps + 100_000 } else { bps }));
            at += gap;
        }
        RateScheduleConfig { steps, repeat: Some(Span(at)), linear }
    })
}

/// The times of a schedule that begins again, with values drawn for its steps.
fn scheduled<V: Clone + std::fmt::Debug>(value: impl Strategy<Value = V>) -> impl Strategy<Value = ScheduleConfig<V>> {
    (prop::collection::vec((1u64..100_000_000_000, value), 1..5), any::<bool>()).prop_map(|(gaps, linear)| {
        let mut at = 0;
        let mut steps = Vec::new();
        for (gap, value) in gaps {
            steps.push((Span(at), value));
            at += gap;
        }
        ScheduleConfig { steps, repeat: Some(Span(at)), linear }
    })
}

fn slots() -> impl Strategy<Value = SlotsConfig> {
    let times = (100u64..400, 1u64..300, 0u64..40, 0u64..40);
    let values = (prop::collection::vec(50_000u64..50_000_000, 1..4), prop::collection::vec(span(), 1..4), 0.0..0.9f64);
    let grants = (1u64..3_000_000_000, 20u32..60, 0u32..10, 1u32..6, 0u32..2).prop_map(|(frame, cycle, more, every, pauses)| {
        GrantCycleConfig { frame: Span(frame), cycle: [cycle, cycle + more], every, pause: every + 7, pauses: [0, pauses] }
    });
    (times, values, prop::option::of(grants)).prop_map(
        |((every, first, lost, held), (mut bps, mut delay, correlation), grants)| {
            bps.sort();
            delay.sort();
            let [every, first, lost, held] = [every, first, lost, held].map(Span::from_ms);
            SlotsConfig { every, first, bps, correlation, delay, lost, held, grants }
        },
    )
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let bps = || prop_oneof![Just(8_000_000u64), Just(28_800), 1_000u64..1_000_000_000];
    let share = || 0.0..=1.0f64;
    prop_oneof![
        (prop::option::of(bps()), span(), limit(), framing()).prop_map(|(bps, delay, limit, framing)| Recipe::FusedLink {
            bps,
            delay,
            limit,
            framing
        }),
        (bps(), limit(), framing()).prop_map(|(bps, limit, framing)| Recipe::RateLink { bps, limit, framing }),
        (rate_schedule(), limit(), framing()).prop_map(|(schedule, limit, framing)| Recipe::ScheduledLink {
            schedule,
            limit,
            framing
        }),
        (slots(), limit(), framing()).prop_map(|(slots, limit, framing)| Recipe::SlottedLink { slots, limit, framing }),
        slots().prop_map(Recipe::SlottedPath),
        scheduled(span()).prop_map(Recipe::VaryingDelay),
        scheduled(0.0..=1.0f64).prop_map(|mean| Recipe::Loss(LossConfig::BernoulliSchedule(mean))),
        (scheduled(0.0..0.9f64), 1u64..50).prop_map(|(mean, ms)| {
            Recipe::Loss(LossConfig::GilbertElliottSchedule(ScheduledFades { bad: Span::from_ms(ms), mean }))
        }),
        (bps(), 1u64..10_000, framing()).prop_map(|(bps, burst, framing)| {
            Recipe::Policer(PolicerConfig { rate: Rate::from_bps(bps), burst, exceed: Exceed::Drop, framing })
        }),
        (bps(), prop::option::of(1u64..10_000), prop::option::of(1u64..9), framing(), limit()).prop_map(
            |(bps, burst, factor, framing, limit)| {
                let peak = factor.map(|factor| Rate::from_bps(bps * factor));
                Recipe::Shaper { config: ShaperConfig { rate: Rate::from_bps(bps), burst, peak, framing }, limit }
            }
        ),
        (times_ms(), limit(), framing()).prop_map(|(times_ms, limit, framing)| Recipe::TraceLink { times_ms, limit, framing }),
        span().prop_map(Recipe::Delay),
        jitter().prop_map(Recipe::Jitter),
        (span(), span(), span()).prop_map(|(alone, shared, from)| {
            Recipe::SendDelay(SendDelayConfig { alone, shared, shared_from: Time::ZERO + from })
        }),
        (span(), span(), span()).prop_map(|(delay, p50, more)| {
            let p50 = p50 + Span(1);
            Recipe::HostArrival { delay, jitter: ProcessingJitter { p50, p99: p50 + more } }
        }),
        span().prop_map(Recipe::Gro),
        share().prop_map(|mean| Recipe::Loss(LossConfig::Bernoulli { mean })),
        sojourns().prop_map(|sojourns| Recipe::Loss(LossConfig::GilbertElliott(sojourns))),
        (prop::collection::vec(0u64..100, 0..20), prop::sample::select(vec![ListedPackets::Data, ListedPackets::All]))
            .prop_map(|(packets, of)| Recipe::Loss(LossConfig::List { packets, of })),
        share().prop_map(|mean| Recipe::Duplicate(DuplicateConfig { mean })),
        (share(), span()).prop_map(|(mean, delay)| Recipe::Reorder(ReorderConfig { mean, delay })),
        outages().prop_map(Recipe::Outage),
        (span(), span(), span(), share(), span(), span()).prop_map(|(every, first, gap, loss, low, more)| {
            Recipe::Handover(HandoverConfig { every: every + Span(1), first, gap, loss, low, high: low + more })
        }),
        (span(), span(), prop::collection::vec(span(), 1..4)).prop_map(|(every, first, delays)| Recipe::Cells {
            every: every + Span(1),
            first,
            delays
        }),
        (bps(), span(), limit()).prop_map(|(bps, turnaround, limit)| {
            Recipe::HalfDuplex { config: HalfDuplexConfig { rate: Rate::from_bps(bps), turnaround }, limit }
        }),
        (radio(), limit()).prop_map(|(config, limit)| Recipe::PacketRadio { config, limit }),
        (wlan(), limit()).prop_map(|(config, limit)| Recipe::Wlan { config, limit }),
        (granted(), limit()).prop_map(|(config, limit)| Recipe::Grants { config, limit }),
    ]
}

/// Observable result: departures with their times, and the fate of other packets.
#[derive(Debug, PartialEq)]
struct Seen {
    left: Vec<(Time, u64)>,
    counts: PacketCounts,
}

fn seen(journey: &Journey) -> Seen {
    Seen { left: journey.left.iter().map(|(at, p)| (*at, p.id)).collect(), counts: journey.counts }
}

/// Departures by input port: a medium keeps the order within one station and direction only.
fn by_port(recipe: &Recipe, journey: &Journey) -> Vec<Vec<(Time, u32)>> {
    let ports = u32::from(ports(&recipe.build(0)));
    let of = |port| journey.times().into_iter().filter(|&(_, number)| number % ports == port).collect();
    (0..ports).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// The driver asserts conservation after every call, that an early wake-up does nothing, that
    /// no body leaks, and that an element woken at its due time is not due again at that instant.
    #[test]
    fn element_result_does_not_depend_on_the_driver(recipe in recipe(), traffic in traffic(80), seed in 0u64..1000) {
        let steps = travel(recipe.build(seed), &traffic, Driver::Steps);
        let restless = travel(recipe.build(seed), &traffic, Driver::Restless { seed });
        prop_assert_eq!(seen(&steps), seen(&restless));
        prop_assert_eq!(seen(&steps), seen(&travel(recipe.build(seed), &traffic, Driver::Steps)), "same seed, same packets");
        prop_assert_eq!(steps.held, 0, "all this traffic has an end");
    }

    #[test]
    fn element_keeps_its_packets_at_the_end_of_time(recipe in recipe(), mut traffic in traffic(80), seed in 0u64..1000, before in 1u64..100_000_000_000) {
        traffic.iter_mut().for_each(|arrival| arrival.at = Time((arrival.at + Span(u64::MAX - before)).0.min(u64::MAX - 1)));
        let steps = travel(recipe.build(seed), &traffic, Driver::Steps);
        prop_assert_eq!(seen(&steps), seen(&travel(recipe.build(seed), &traffic, Driver::Restless { seed })));
    }

    #[test]
    fn packets_leave_in_arrival_order_at_one_instant(recipe in recipe(), traffic in traffic(80), seed in 0u64..1000) {
        for left in by_port(&recipe, &travel(recipe.build(seed), &traffic, Driver::Restless { seed })) {
            for pair in left.windows(2) {
                prop_assert!(pair[0] <= pair[1], "{:?} before {:?}", pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn element_does_not_reorder_unless_configured(recipe in recipe(), traffic in traffic(80), seed in 0u64..1000) {
        let reorders = match recipe {
            Recipe::Reorder(_) => true,
            Recipe::Jitter(config) => !config.in_order(),
            // Each packet is another flow's.
            Recipe::HostArrival { .. } => true,
            _ => false,
        };
        for left in by_port(&recipe, &travel(recipe.build(seed), &traffic, Driver::Steps)) {
            prop_assert!(reorders || left.is_sorted_by_key(|&(_, number)| number), "{left:?}");
        }
    }
}

#[test]
fn random_element_differs_when_the_seed_differs() {
    let ms = Span::from_ms;
    let traffic = crate::common::arrivals((0..500).map(|i| (Time::ZERO + ms(i), 1000)));
    let jitters = [
        JitterConfig::Uniform { low: ms(0), high: ms(5), in_order: false },
        JitterConfig::Normal { mean: ms(5), sd: ms(1), in_order: false },
        JitterConfig::Exponential { mean: ms(5), in_order: false },
        JitterConfig::Pareto { mean: ms(5), shape: 2.5, in_order: false },
    ];
    let fading = Sojourns { good: ms(20), bad: ms(5), loss_good: 0.0, loss_bad: 1.0 };
    let others = [
        Recipe::Loss(LossConfig::Bernoulli { mean: 0.2 }),
        Recipe::Loss(LossConfig::GilbertElliott(fading)),
        Recipe::Duplicate(DuplicateConfig { mean: 0.2 }),
        Recipe::Reorder(ReorderConfig { mean: 0.2, delay: ms(3) }),
    ];
    for recipe in jitters.map(Recipe::Jitter).into_iter().chain(others) {
        let run = |seed| seen(&travel(recipe.build(seed), &traffic, Driver::Steps));
        assert_eq!(run(1), run(1), "{recipe:?}");
        assert_ne!(run(1), run(2), "{recipe:?}");
    }
}
