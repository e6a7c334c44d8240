//! Impairments against closed forms, and packet by packet.

use crate::common::{Arrival, Driver, TCP_ACK, TCP_DATA, TCP_SYN, arrivals, travel};
use ackclock_core::impairment::{
    Duplicate, DuplicateConfig, GilbertElliott, Handover, Jitter, JitterConfig, ListedPackets, Loss, LossConfig, Outage,
    OutageConfig, Reorder, ReorderConfig, ScheduledFades, SignalLossConfig, Sojourns, VaryingDelay,
};
use ackclock_core::link::SlotsConfig;
use ackclock_core::medium::radio_channel::{FadingConfig, Level, LossCurve};
use ackclock_core::rng::Rng;
use ackclock_core::schedule::ScheduleConfig;
use ackclock_core::units::{Span, Time};

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn rng() -> Rng {
    Rng::for_element(1, "line")
}

/// `n` data packets, one every `gap`.
fn every(gap: Span, n: u64) -> Vec<Arrival> {
    arrivals((0..n).map(|i| (Time::ZERO + gap.saturating_mul(i), 1000)))
}

fn lost(config: LossConfig, traffic: &[Arrival]) -> Vec<bool> {
    lost_with(config, rng(), traffic)
}

fn lost_with(config: LossConfig, losses: Rng, traffic: &[Arrival]) -> Vec<bool> {
    let mut lost = vec![true; traffic.len()];
    travel(Loss::new(&config, losses, Rng::for_element(1, "signal")), traffic, Driver::Steps)
        .numbers()
        .into_iter()
        .for_each(|n| lost[n as usize] = false);
    lost
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|&&l| l).count() as f64 / lost.len() as f64
}

/// Mean length of a run of losses.
fn mean_run(lost: &[bool]) -> f64 {
    let runs = lost.windows(2).filter(|w| w[0] && !w[1]).count() + usize::from(lost.last() == Some(&true));
    lost.iter().filter(|&&l| l).count() as f64 / runs as f64
}

#[test]
fn bernoulli_loss_has_its_mean_and_no_memory() {
    let lost = lost(LossConfig::Bernoulli { mean: 0.1 }, &every(Span::from_ms(1), 1_000_000));
    // Four standard errors: sqrt(p(1-p)/n) and, for geometric runs, sqrt(p)/(1-p)/sqrt(n p).
    assert!((share(&lost) - 0.1).abs() < 4.0 * 0.0003, "{}", share(&lost));
    assert!((mean_run(&lost) - 1.0 / 0.9).abs() < 4.0 * 0.0012, "{}", mean_run(&lost));
}

#[test]
fn signal_loss_follows_its_curve_at_each_level() {
    let level = |db, ms| Level { db, stay: Span::from_ms(ms) };
    let fading = FadingConfig::Markov { levels: vec![level(5.0, 300), level(20.0, 900)] };
    let curve = |share| LossCurve::new(vec![(5.0, share), (20.0, 0.0)]).unwrap();
    let config =
        |share| LossConfig::Signal(SignalLossConfig { fading: fading.clone(), step: Span::from_ms(10), curve: curve(share) });
    let traffic = every(Span::from_ms(1), 1_000_000);
    let all = lost(config(1.0), &traffic);
    assert!((share(&all) / 0.25 - 1.0).abs() < 0.12, "a quarter of the time: {}", share(&all));
    // The other direction has independent losses in the same fades.
    let half = lost_with(config(0.5), Rng::for_element(1, "other"), &traffic);
    assert!(all.iter().zip(&half).all(|(&all, &half)| all || !half), "nothing is lost outside of a fade");
    assert!((share(&half) / share(&all) - 0.5).abs() < 0.01);
}

#[test]
fn gilbert_elliott_matches_the_closed_forms_of_mean_loss_and_bad_sojourn() {
    // Sampled every d, a fade continues with probability q = b + (1-b) exp(-d (1/good + 1/bad)),
    // where b is the share of bad time: runs of mean 1/(1-q).
    for (good_ms, bad_ms, gap_ms) in [(450, 50, 5), (450, 50, 40), (50, 50, 10), (1000, 10, 4)] {
        let (good, bad, gap) = (Span::from_ms(good_ms), Span::from_ms(bad_ms), Span::from_ms(gap_ms));
        let sojourns = Sojourns { good, bad, loss_good: 0.0, loss_bad: 1.0 };
        let n = 20_000 * (good_ms + bad_ms) / gap_ms;
        let lost = lost(LossConfig::GilbertElliott(sojourns), &every(gap, n));
        let b = bad_ms as f64 / (good_ms + bad_ms) as f64;
        let q = b + (1.0 - b) * (-(gap_ms as f64) * (1.0 / good_ms as f64 + 1.0 / bad_ms as f64)).exp();
        assert!((sojourns.mean_loss() - b).abs() < 1e-12);
        // About 20 000 fades: a standard error of 0.7 %.
        assert!((share(&lost) / b - 1.0).abs() < 0.03, "{good_ms} {bad_ms} {gap_ms}: {} for {b}", share(&lost));
        assert!(
            (mean_run(&lost) * (1.0 - q) - 1.0).abs() < 0.03,
            "{good_ms} {bad_ms} {gap_ms}: {} for {}",
            mean_run(&lost),
            1.0 / (1.0 - q)
        );
    }
}

#[test]
fn gilbert_elliott_loss_is_the_weighted_mean_of_its_states() {
    let sojourns = Sojourns { good: Span::from_ms(30), bad: Span::from_ms(10), loss_good: 0.02, loss_bad: 0.4 };
    let lost = lost(LossConfig::GilbertElliott(sojourns), &every(Span::from_ms(7), 1_000_000));
    assert!((sojourns.mean_loss() - 0.115).abs() < 1e-12);
    assert!((share(&lost) / 0.115 - 1.0).abs() < 0.02, "{}", share(&lost));
}

#[test]
fn fades_do_not_depend_on_the_traffic() {
    let sojourns = Sojourns { good: Span::from_ms(200), bad: Span::from_ms(40), loss_good: 0.0, loss_bad: 1.0 };
    let seen = |gap_ms: u64| lost(LossConfig::GilbertElliott(sojourns), &every(Span::from_ms(gap_ms), 60_000 / gap_ms));
    let (often, seldom) = (seen(1), seen(12));
    for (i, &lost) in seldom.iter().enumerate() {
        assert_eq!(lost, often[12 * i], "at {} ms", 12 * i);
    }
}

#[test]
fn channel_starts_good_and_is_stationary_after_a_long_idle_time() {
    let sojourns = Sojourns { good: Span::from_us(30), bad: Span::from_us(10), loss_good: 0.0, loss_bad: 1.0 };
    let mut starts_bad = 0;
    let mut bad_later = 0;
    for seed in 0..20_000 {
        let mut channel = GilbertElliott::new(sojourns, Rng::for_element(seed, "air"));
        starts_bad += u32::from(channel.loses(Time::ZERO));
        // A hundred days are 2e17 sojourns.
        bad_later += u32::from(channel.loses(ms(100 * 86_400_000)));
    }
    assert_eq!(starts_bad, 0);
    assert!((f64::from(bad_later) / 20_000.0 - 0.25).abs() < 4.0 * 0.0031, "{bad_later}");
}

#[test]
fn loss_list_counts_data_packets_only() {
    let kinds = [TCP_SYN, TCP_ACK, TCP_DATA, TCP_DATA, TCP_ACK, TCP_DATA, TCP_SYN, TCP_DATA];
    let traffic: Vec<_> = (0..).zip(kinds).map(|(number, kind)| Arrival { at: ms(1), number, len: 100, kind }).collect();
    for (list, expected) in [(vec![], vec![]), (vec![1], vec![2]), (vec![3, 1], vec![2, 5]), (vec![4, 4, 0, 99], vec![7])] {
        let lost = lost(LossConfig::List { packets: list.clone(), of: ListedPackets::Data }, &traffic);
        let numbers: Vec<usize> = (0..lost.len()).filter(|&i| lost[i]).collect();
        assert_eq!(numbers, expected, "{list:?}");
    }
}

// finding("K12")
#[test]
fn loss_list_of_all_packets_counts_syns_and_acks() {
    let kinds = [TCP_SYN, TCP_ACK, TCP_DATA, TCP_ACK, TCP_ACK];
    let traffic: Vec<_> = (0..).zip(kinds).map(|(number, kind)| Arrival { at: ms(1), number, len: 100, kind }).collect();
    let lost = lost(LossConfig::List { packets: vec![2, 3, 5], of: ListedPackets::All }, &traffic);
    assert_eq!(lost, [false, true, true, false, true]);
}

/// Slots of 200 ms, the first of 100 ms, with delays up to 9 ms of which half are below 1 ms.
fn slots(lost: Span) -> SlotsConfig {
    let delay = [0, 1, 9].map(Span::from_ms).to_vec();
    let (every, first) = (Span::from_ms(200), Span::from_ms(100));
    SlotsConfig { every, first, bps: vec![1_000_000], correlation: 0.0, delay, lost, held: Span::ZERO, grants: None }
}

#[test]
fn delays_of_slots_have_the_stated_quantiles_and_change_with_them_only() {
    // A packet in the middle of each slot, and one 50 ms before its end.
    let middles = (0..4000u64).flat_map(|n| if n == 0 { [40, 50] } else { [200 * n, 200 * n + 50] });
    let traffic = arrivals(middles.map(|at| (ms(at), 1000)));
    let left = travel(Handover::of_slots(&slots(Span::ZERO), 7), &traffic, Driver::Steps).times();
    let delays: Vec<f64> = left.iter().zip(&traffic).map(|((at, _), sent)| (*at - sent.at).as_millis()).collect();
    assert!(delays.chunks(2).all(|pair| pair[0] == pair[1]), "one slot has one delay");
    let mut of_slots: Vec<f64> = delays.iter().copied().step_by(2).collect();
    of_slots.sort_unstable_by(f64::total_cmp);
    let stated = |delay: f64| if delay < 1.0 { delay / 2.0 } else { 0.5 + (delay - 1.0) / 16.0 };
    // Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded once in 1000.
    let farthest = of_slots.iter().enumerate().map(|(i, &delay)| (stated(delay) - (i as f64 + 0.5) / 4000.0).abs());
    assert!(farthest.fold(0.0, f64::max) < 1.95 / 4000f64.sqrt());
    let other = travel(Handover::of_slots(&slots(Span::ZERO), 7), &traffic, Driver::Restless { seed: 1 }).times();
    assert_eq!(other, left, "the other direction has the same paths");
}

#[test]
fn packets_are_lost_after_each_change_of_slot_for_the_stated_time() {
    let lost_at = lost_by(Handover::of_slots(&slots(Span::from_ms(20)), 7), &every(Span::from_ms(1), 1000));
    let expected: Vec<u32> = (0..5).flat_map(|slot| (0..20).map(move |ms| 100 + 200 * slot + ms)).collect();
    assert_eq!(lost_at, expected);
}

/// Numbers of the packets that did not leave.
fn lost_by(element: Handover, traffic: &[Arrival]) -> Vec<u32> {
    let left = travel(element, traffic, Driver::Steps).numbers();
    (0..traffic.len() as u32).filter(|number| !left.contains(number)).collect()
}

fn schedule<V>(steps: Vec<(Span, V)>, repeat: Option<Span>, linear: bool) -> ScheduleConfig<V> {
    ScheduleConfig { steps, repeat, linear }
}

/// Packets every 10 ms over a delay of 20 ms that rises to 50 ms at 100 ms and falls again at 200 ms.
#[test]
fn packet_has_the_delay_of_the_time_at_which_it_is_sent_and_overtakes_none() {
    let step = |at, delay| (Span::from_ms(at), Span::from_ms(delay));
    let delay = schedule(vec![step(0, 20), step(100, 50), step(200, 20)], None, false);
    let left = travel(VaryingDelay::new(delay), &every(Span::from_ms(10), 30), Driver::Steps);
    let expected = |n: u64| match n * 10 {
        sent @ 0..=99 => sent + 20,
        sent @ 100..=199 => sent + 50,
        // Those of the longer path arrive until 240 ms.
        sent => (sent + 20).max(240),
    };
    assert_eq!(left.times(), (0..30).map(|n| (ms(expected(n)), n as u32)).collect::<Vec<_>>());
}

#[test]
fn linear_delay_falls_by_the_closed_form_and_sends_no_two_packets_out_of_order() {
    // From 40 ms to 10 ms in 300 ms: a packet sent at t arrives at t + 40 ms - t / 10.
    let step = |at, delay| (Span::from_ms(at), Span::from_ms(delay));
    let delay = schedule(vec![step(0, 40), step(300, 10)], None, true);
    let left = travel(VaryingDelay::new(delay), &every(Span::from_ms(10), 60), Driver::Steps);
    let expected = |n: u64| if n < 30 { ms(40 + 9 * n) } else { ms(10 * n + 10) };
    assert_eq!(left.times(), (0..60).map(|n| (expected(n), n as u32)).collect::<Vec<_>>());
}

#[test]
fn schedule_of_one_value_is_the_constant() {
    let traffic = every(Span::from_us(777), 20_000);
    let delayed = |element: VaryingDelay| travel(element, &traffic, Driver::Steps).times();
    let one = |delay| schedule(vec![(Span::ZERO, delay)], None, true);
    let constant = travel(ackclock_core::impairment::Delay::new(Span::from_ms(7)), &traffic, Driver::Steps).times();
    assert_eq!(delayed(VaryingDelay::new(one(Span::from_ms(7)))), constant);
    let steps = vec![(Span::ZERO, 0.1), (Span::from_ms(333), 0.1)];
    let mean = schedule(steps, Some(Span::from_secs(1)), false);
    assert_eq!(lost(LossConfig::BernoulliSchedule(mean.clone()), &traffic), lost(LossConfig::Bernoulli { mean: 0.1 }, &traffic));
    let bad = Span::from_ms(5);
    let fades = Sojourns { good: Span::from_ms(45), bad, loss_good: 0.0, loss_bad: 1.0 };
    let scheduled = LossConfig::GilbertElliottSchedule(ScheduledFades { bad, mean });
    assert_eq!(lost(scheduled, &traffic), lost(LossConfig::GilbertElliott(fades), &traffic));
    let never = LossConfig::GilbertElliottSchedule(ScheduledFades { bad, mean: schedule(vec![(Span::ZERO, 0.0)], None, false) });
    assert_eq!(share(&lost(never, &traffic)), 0.0);
}

/// Seconds with a mean of 0 and 0.3 in grant, a packet every 50 us; linear: the mean of both.
#[test]
fn scheduled_loss_has_in_each_step_its_mean_and_the_fades_their_length() {
    let steps = || vec![(Span::ZERO, 0.0), (Span::from_secs(1), 0.3)];
    let mean = |linear| schedule(steps(), Some(Span::from_secs(2)), linear);
    let bad = Span::from_ms(2);
    let traffic = every(Span::from_us(50), 4_000_000);
    let of_second = |lost: &[bool], odd: bool| {
        let chosen: Vec<bool> = lost.iter().enumerate().filter(|(n, _)| (n / 20_000 % 2 == 1) == odd).map(|(_, &l)| l).collect();
        share(&chosen)
    };
    let independent = lost(LossConfig::BernoulliSchedule(mean(false)), &traffic);
    assert_eq!(of_second(&independent, false), 0.0);
    assert!((of_second(&independent, true) - 0.3).abs() < 4.0 * 0.00033, "{}", of_second(&independent, true));
    let fades = lost(LossConfig::GilbertElliottSchedule(ScheduledFades { bad, mean: mean(false) }), &traffic);
    // Of 100 s some 15,000 fades: their share of time has a standard error of 0.3 * 0.7 * sqrt(2 / 15,000);
    // one that has begun ends in the next second.
    assert!((of_second(&fades, true) - 0.3).abs() < 4.0 * 0.0025 + 0.001, "{}", of_second(&fades, true));
    assert!(of_second(&fades, false) < 0.0015, "{}", of_second(&fades, false));
    assert!((mean_run(&fades) / 40.5 - 1.0).abs() < 0.04, "2 ms are 40 packets: {}", mean_run(&fades));
    let linear = lost(LossConfig::GilbertElliottSchedule(ScheduledFades { bad, mean: mean(true) }), &traffic);
    assert!((share(&linear) - 0.15).abs() < 4.0 * 0.0016, "{}", share(&linear));
}

#[test]
fn jitter_has_the_means_of_its_distributions() {
    let span = Span::from_ms;
    // Mean of a normal distribution truncated at 0: m F(m/s) + s f(m/s), here with m = s = 10 ms:
    // 10 * 0.841345 + 10 * 0.241971.
    for (config, mean_ms) in [
        (JitterConfig::Uniform { low: span(10), high: span(30), in_order: false }, 20.0),
        (JitterConfig::Normal { mean: span(50), sd: span(5), in_order: false }, 50.0),
        (JitterConfig::Normal { mean: span(10), sd: span(10), in_order: false }, 10.833_15),
        (JitterConfig::Exponential { mean: span(20), in_order: false }, 20.0),
        (JitterConfig::Pareto { mean: span(20), shape: 3.0, in_order: false }, 20.0),
        (JitterConfig::Uniform { low: span(7), high: span(7), in_order: false }, 7.0),
        (JitterConfig::Uniform { low: span(7), high: span(3), in_order: false }, 7.0),
    ] {
        let traffic = every(span(1), 200_000);
        let left = travel(Jitter::new(config, rng()), &traffic, Driver::Steps).left;
        let delay: f64 =
            left.iter().map(|(at, p)| (*at - traffic[p.flow as usize].at).as_millis()).sum::<f64>() / left.len() as f64;
        assert!((delay / mean_ms - 1.0).abs() < 0.01, "{config:?}: {delay} ms");
    }
}

#[test]
fn jitter_reorders_packets_unless_in_order() {
    let config = |in_order| JitterConfig::Uniform { low: Span::ZERO, high: Span::from_ms(20), in_order };
    let traffic = every(Span::from_ms(1), 200);
    let free = travel(Jitter::new(config(false), rng()), &traffic, Driver::Steps).times();
    let ordered = travel(Jitter::new(config(true), rng()), &traffic, Driver::Steps).times();
    let mut drawn = vec![Time::ZERO; traffic.len()];
    free.iter().for_each(|&(at, n)| drawn[n as usize] = at);
    assert!(!free.iter().map(|&(_, n)| n).is_sorted());
    let mut latest = Time::ZERO;
    for (i, &(at, n)) in ordered.iter().enumerate() {
        latest = latest.max(drawn[i]);
        assert_eq!((at, n), (latest, i as u32), "the latest draw so far, in order");
    }
}

#[test]
fn duplicate_follows_at_once_with_its_own_id() {
    let left = travel(Duplicate::new(DuplicateConfig { mean: 1.0 }, rng()), &every(Span::from_ms(1), 3), Driver::Steps).left;
    let listed: Vec<_> = left.iter().map(|(at, p)| (at.as_secs() * 1e3, p.flow, p.id >= 1 << 32)).collect();
    assert_eq!(listed, [(0.0, 0, false), (0.0, 0, true), (1.0, 1, false), (1.0, 1, true), (2.0, 2, false), (2.0, 2, true)]);
    let some = travel(Duplicate::new(DuplicateConfig { mean: 0.1 }, rng()), &every(Span::from_ms(1), 100_000), Driver::Steps);
    assert!((some.counts.copied as f64 - 10_000.0).abs() < 4.0 * 95.0, "{}", some.counts.copied);
}

#[test]
fn delayed_packet_is_overtaken_by_later_packets() {
    let config = |mean| ReorderConfig { mean, delay: Span::from_ms(5) };
    let all = travel(Reorder::new(config(1.0), rng()), &every(Span::from_ms(1), 3), Driver::Steps).times();
    assert_eq!(all, [(ms(5), 0), (ms(6), 1), (ms(7), 2)]);
    let left = travel(Reorder::new(config(0.1), rng()), &every(Span::from_ms(1), 100_000), Driver::Steps).times();
    let delays: Vec<u64> = left.iter().map(|&(at, n)| at.0 / 1_000_000_000 - u64::from(n)).collect();
    assert!(delays.iter().all(|&d| d == 0 || d == 5));
    let late = delays.iter().filter(|&&d| d == 5).count() as f64;
    assert!((late - 10_000.0).abs() < 4.0 * 95.0, "{late}");
}

#[test]
fn outage_drops_packets_from_its_start_until_before_its_end() {
    let outages = |pairs: &[(u64, u64)]| {
        Outage::new(&pairs.iter().map(|&(start, end)| OutageConfig { start: ms(start), end: ms(end) }).collect::<Vec<_>>())
    };
    let outage = outages(&[(2, 4), (4, 5), (7, 8)]).unwrap();
    let numbers = travel(outage, &every(Span::from_ms(1), 10), Driver::Steps).numbers();
    assert_eq!(numbers, [0, 1, 5, 6, 8, 9]);
    let empty = outages(&[(2, 2)]).err().unwrap();
    assert!(empty.starts_with("an outage from 2000000000 to 2000000000 ps:"), "{empty}");
    let overlap = outages(&[(1, 3), (2, 4)]).err().unwrap();
    assert!(overlap.starts_with("an outage from 2000000000 to 4000000000 ps:"), "{overlap}");
}
