//! Properties of every congestion control under any events.

use ackclock_core::tcp::cc::{Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow};
use ackclock_core::tcp::delivery_rate::RateSample;
use ackclock_core::tcp::linux_rules::LinuxRules;
use ackclock_core::tcp::{CaState, SlowStart, TcpConfig, Variant};
use ackclock_core::units::{Span, Time};
use proptest::prelude::*;

/// Minimum window of all variants, in segments.
const FLOOR: f64 = 1.0;

#[derive(Clone, Copy, Debug)]
enum CcEvent {
    Ack { after: u64, growth_credit: u32, rtt: Option<u64>, cwnd_limited: bool, delivered: u32, lost: u32, in_flight: u32 },
    Congestion { signal: u8, flight: f64 },
    Recovered { cwnd: f64 },
    Idle { for_ps: u64 },
}

fn cc_events() -> impl Strategy<Value = CcEvent> {
    let span = prop_oneof![Just(0_u64), 1..1_000_000_u64, 1_000_000..1_000_000_000_000_u64, Just(u64::MAX / 4)];
    let rtt = prop::option::of(prop_oneof![Just(0_u64), Just(1_u64), 1_000_000..1_000_000_000_000_u64, Just(u64::MAX)]);
    let count = prop_oneof![0..4_u32, 0..5000_u32, Just(u32::MAX)];
    let cwnd = prop_oneof![1.0..10.0_f64, 1.0..1e5_f64];
    let flight = prop_oneof![Just(0.0), 1.0..1e5_f64];
    prop_oneof![
        8 => (span.clone(), 0..100_u32, rtt, any::<bool>(), count.clone(), count.clone(), count)
            .prop_map(|(after, growth_credit, rtt, cwnd_limited, delivered, lost, in_flight)| CcEvent::Ack { after, growth_credit, rtt, cwnd_limited, delivered, lost, in_flight }),
        2 => (0..3_u8, flight).prop_map(|(signal, flight)| CcEvent::Congestion { signal, flight }),
        2 => cwnd.prop_map(|cwnd| CcEvent::Recovered { cwnd }),
        1 => span.prop_map(|for_ps| CcEvent::Idle { for_ps }),
    ]
}

/// A congestion control and the counts that a sender keeps for it.
struct Bench {
    cc: AnyCc,
    now: Time,
    acked_total: u64,
    sent: u64,
    min_rtt: Option<Span>,
}

impl Bench {
    fn new(variant: Variant, slow_start: SlowStart, cwnd: f64) -> Bench {
        let cc = variant.build(CongestionWindow { cwnd, ssthresh: f64::INFINITY }, slow_start);
        Bench { cc, now: Time::ZERO, acked_total: 0, sent: cwnd as u64, min_rtt: None }
    }

    /// In the published form, and in the kernel's integers where Linux has the control.
    fn forms(variant: Variant, slow_start: SlowStart, cwnd: f64) -> impl Iterator<Item = Bench> {
        let config = TcpConfig { variant, slow_start, linux_rules: LinuxRules::all(), ..TcpConfig::default() };
        let published = Bench::new(variant, slow_start, cwnd);
        let window = CongestionWindow { cwnd, ssthresh: f64::INFINITY };
        let linux = variant.build_linux(window, &config).map(|cc| Bench { cc, ..Bench::new(variant, slow_start, cwnd) });
        std::iter::once(published).chain(linux)
    }

    fn ack(&mut self, m: CcEvent) {
        let CcEvent::Ack { after, growth_credit, rtt, cwnd_limited, delivered, lost, in_flight } = m else { return };
        self.now += Span(after);
        self.acked_total += u64::from(growth_credit);
        self.sent = self.sent.max(self.acked_total + u64::from(in_flight));
        let rtt = rtt.map(Span);
        self.min_rtt = rtt.map_or(self.min_rtt, |r| Some(self.min_rtt.map_or(r, |m| m.min(r))));
        let interval = Span(after.max(1));
        let rate = (delivered > 0).then_some(RateSample {
            delivered: u64::from(delivered),
            interval,
            prior_delivered: self.acked_total.saturating_sub(u64::from(in_flight)),
            total: self.acked_total,
            lost: u64::from(lost),
            tx_in_flight: in_flight,
            app_limited: !cwnd_limited,
        });
        let ack = Ack {
            now: self.now,
            growth_credit: f64::from(growth_credit),
            acked: growth_credit,
            delivered,
            lost,
            in_flight,
            rtt,
            srtt: rtt.or(self.min_rtt),
            min_rtt: self.min_rtt,
            cwnd_limited,
            acked_total: self.acked_total,
            sent: self.sent,
            rate,
            ..Ack::default()
        };
        self.cc.on_acked(&ack);
        self.cc.on_delivery(&ack);
        if growth_credit > 0 {
            self.cc.on_ack(&ack);
        }
    }

    fn report(&mut self, state: CaState) {
        let ack = Ack { now: self.now, acked_total: self.acked_total, sent: self.sent, ..Ack::default() };
        self.cc.on_state(state, &ack);
    }

    fn make(&mut self, m: CcEvent) {
        match m {
            CcEvent::Ack { .. } => self.ack(m),
            CcEvent::Congestion { signal, flight } => {
                let signal =
                    [CongestionSignal::Duplicates, CongestionSignal::Timeout, CongestionSignal::Ecn][usize::from(signal)];
                self.cc.on_congestion(&Congestion { now: self.now, signal, flight });
                let state = match signal {
                    CongestionSignal::Duplicates => CaState::Recovery,
                    CongestionSignal::Timeout => CaState::Loss,
                    CongestionSignal::Ecn => CaState::Cwr,
                };
                self.report(state);
            }
            CcEvent::Recovered { cwnd } => {
                self.cc.on_recovered(self.now, cwnd);
                self.report(CaState::Open);
            }
            CcEvent::Idle { for_ps } => {
                let last = self.now;
                self.now += Span(for_ps);
                self.cc.on_transmit_start(self.now, last);
                self.cc.on_idle(self.now, Span(for_ps));
            }
        }
    }
}

fn slow_starts() -> Vec<SlowStart> {
    SlowStart::TABLE.iter().filter_map(|s| SlowStart::from_name(s.0)).collect()
}

fn sane(cc: &AnyCc) -> Result<(), String> {
    let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
    let rate = cc.pacing_rate();
    if !(cwnd.is_finite() && cwnd >= FLOOR) {
        return Err(format!("cwnd {cwnd}"));
    }
    if ssthresh.is_nan() || ssthresh < FLOOR {
        return Err(format!("ssthresh {ssthresh}"));
    }
    if rate.is_some_and(|r| !r.is_finite() || r <= 0.0) {
        return Err(format!("pacing rate {rate:?}"));
    }
    if cc.halving_floor().is_nan() { Err(format!("halving floor {}", cc.halving_floor())) } else { Ok(()) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn window_stays_valid_under_any_events(cwnd in 1.0..200.0_f64, cc_events in prop::collection::vec(cc_events(), 1..120)) {
        for &variant in Variant::ALL {
            for slow_start in slow_starts() {
                for mut bench in Bench::forms(variant, slow_start, cwnd) {
                    for (i, &m) in cc_events.iter().enumerate() {
                        bench.make(m);
                        if let Err(what) = sane(&bench.cc) {
                            prop_assert!(false, "{} with {slow_start:?} after {i} {m:?}: {what}", variant.name());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn loss_does_not_raise_the_window(cwnd in 2.0..500.0_f64, cc_events in prop::collection::vec(cc_events(), 0..40), signal in 0..2_u8) {
        for &variant in Variant::ALL {
            for mut bench in Bench::forms(variant, slow_starts()[0], cwnd) {
                for &m in &cc_events {
                    bench.make(m);
                }
                let before = bench.cc.cwnd();
                bench.make(CcEvent::Congestion { signal, flight: before });
                // The RFC's minimum ssthresh is two segments.
                prop_assert!(bench.cc.cwnd() <= before.max(2.0), "{}: {before} to {}", variant.name(), bench.cc.cwnd());
            }
        }
    }

    #[test]
    fn window_does_not_grow_without_acks(cwnd in 2.0..500.0_f64, cc_events in prop::collection::vec(cc_events(), 0..40), idle in 0..10_000_000_000_000_u64) {
        for &variant in Variant::ALL {
            let mut bench = Bench::new(variant, slow_starts()[0], cwnd);
            for &m in &cc_events {
                bench.make(m);
            }
            let before = bench.cc.cwnd();
            bench.make(CcEvent::Idle { for_ps: idle });
            prop_assert!(bench.cc.cwnd() <= before, "{}", variant.name());
        }
    }

    #[test]
    fn copy_before_a_loss_restores_the_window(cwnd in 2.0..500.0_f64, before in prop::collection::vec(cc_events(), 0..30), after in prop::collection::vec(cc_events(), 1..30)) {
        for &variant in Variant::ALL {
            let mut bench = Bench::new(variant, slow_starts()[0], cwnd);
            for &m in &before {
                bench.make(m);
            }
            let mut undone = Bench { cc: bench.cc.clone(), ..bench };
            undone.make(CcEvent::Congestion { signal: 0, flight: 50.0 });
            undone.cc = bench.cc.clone();
            for &m in &after {
                bench.make(m);
                undone.make(m);
            }
            prop_assert_eq!(bench.cc.cwnd(), undone.cc.cwnd(), "{}", variant.name());
        }
    }
}

/// The ACKs of a window per RTT of 50 ms, without loss, on a path that is never full.
#[test]
fn window_of_every_variant_grows_without_loss_or_queue() {
    for &variant in Variant::ALL {
        let mut bench = Bench::new(variant, slow_starts()[0], 10.0);
        if bench.cc.pacing_rate().is_some() {
            // Variants that send at the delivery rate have a path in their own tests.
            continue;
        }
        for _ in 0..30 {
            let n = bench.cc.cwnd().min(2000.0) as u64;
            for _ in 0..n {
                let after = 50_000_000_000 / n;
                let in_flight = n as u32;
                bench.make(CcEvent::Ack {
                    after,
                    growth_credit: 1,
                    rtt: Some(50_000_000_000),
                    cwnd_limited: true,
                    delivered: 1,
                    lost: 0,
                    in_flight,
                });
            }
        }
        assert!(bench.cc.cwnd() > 30.0, "{}: {}", variant.name(), bench.cc.cwnd());
    }
}
