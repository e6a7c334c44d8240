//! ARQ, HARQ and adaptive modulation on a bad channel, and rate limits on a good one.

use crate::wimax::drive::{Drive, down, nist, up, wandering};
use ackclock_core::medium::radio_channel::{FadingConfig, Level, LossCurve};
use ackclock_core::medium::wimax::arq::ArqConfig;
use ackclock_core::medium::wimax::harq::HarqConfig;
use ackclock_core::medium::wimax::rate_limit::{Excess, RateLimitConfig, TrafficFilter};
use ackclock_core::medium::wimax::retransmission::RetransmissionMode;
use ackclock_core::packet::Kind;
use ackclock_core::units::{Span, Time};

fn ms(x: u64) -> Time {
    Time::ZERO + Span::from_ms(x)
}

/// One packet each 60 ms in both directions, never two in a burst. Returns the share of lost
/// packets, downlink and uplink.
fn lost(repair: RetransmissionMode, p: f64) -> [f64; 2] {
    const N: u64 = 10_000;
    let mut config = nist(1, 1, 6);
    config.repair = [repair; 2];
    config.stations[0].error = [p, p];
    let mut drive = Drive::new(config, 1, 1);
    for i in 0..N {
        drive.push(ms(60 * i), down(0), 500, Kind::DATA);
        drive.push(ms(60 * i), up(0), 500, Kind::DATA);
    }
    drive.run_to(ms(60 * N + 5000));
    [down(0), up(0)].map(|stream| 1.0 - drive.of(stream).count() as f64 / N as f64)
}

#[test]
fn harq_residual_loss_is_p_to_the_power_of_attempts_in_both_directions() {
    for (p, attempts) in [(0.1_f64, 1), (0.3, 2), (0.3, 3)] {
        let expected = p.powi(attempts as i32);
        let sd = (expected * (1.0 - expected) / 1e4).sqrt();
        for share in lost(RetransmissionMode::Harq(HarqConfig { attempts, feedback: 2 }), p) {
            assert!((share - expected).abs() < 4.0 * sd, "{p}^{attempts}: {share}");
        }
    }
}

#[test]
fn arq_drops_a_packet_when_the_attempts_of_a_block_are_exhausted() {
    // 510 bytes are 8 blocks of 64: 1 - (1 - p^n)^8.
    let (p, attempts) = (0.2_f64, 3);
    let expected = 1.0 - (1.0 - p.powi(3)).powi(8);
    let repair = RetransmissionMode::Arq(ArqConfig { block: 64, window: 1024, timer: 3, attempts });
    for share in lost(repair, p) {
        assert!((share - expected).abs() < 0.01, "{share} instead of {expected}");
    }
}

#[test]
fn harq_attempt_adds_a_feedback_time() {
    let mut config = nist(1, 1, 6);
    config.repair = [RetransmissionMode::Harq(HarqConfig { attempts: 4, feedback: 2 }); 2];
    config.stations[0].error = [0.5, 0.0];
    let mut drive = Drive::new(config, 1, 1);
    for i in 0..2000 {
        drive.push(ms(100 * i + 1), down(0), 500, Kind::DATA);
    }
    drive.run_to(ms(300_000));
    let first = drive.left.iter().map(|l| l.at - l.entered).min().unwrap();
    let mut counts = [0; 4];
    for left in &drive.left {
        let extra = ((left.at - left.entered) - first).as_millis() / 10.0;
        assert!((extra - extra.round()).abs() < 0.01 && extra < 3.5, "{extra} feedback times");
        counts[extra.round() as usize] += 1;
    }
    // 1/2, 1/4, 1/8 and 1/16 of 2000.
    let expected = [1000.0, 500.0, 250.0, 125.0];
    for (count, expected) in counts.into_iter().zip(expected) {
        assert!((f64::from(count) - expected).abs() < 4.0 * f64::sqrt(expected), "{counts:?}");
    }
}

#[test]
fn small_arq_window_stalls_the_sender() {
    let rate = |window| {
        let mut config = nist(1, 1, 6);
        config.repair = [RetransmissionMode::Arq(ArqConfig { block: 64, window, timer: 4, attempts: 8 }); 2];
        config.stations[0].error = [0.02, 0.02];
        let mut drive = Drive::new(config, 1, 1);
        drive.saturate(&[down(0)], 1000, ms(5000));
        drive.rate(down(0), ms(1000))
    };
    let (small, large) = (rate(64), rate(1024));
    assert!(small < 0.8 * large, "{small} {large}");
}

#[test]
fn varying_channel_lowers_the_mcs_and_adds_errors() {
    let run = |mean_db| {
        let mut config = nist(1, 1, 6);
        config.stations = vec![wandering(6, mean_db, 2.0)];
        config.stations[0].error = [0.01, 0.01];
        config.repair = [RetransmissionMode::Harq(HarqConfig { attempts: 4, feedback: 2 }); 2];
        let mut drive = Drive::new(config, 1, 1);
        drive.saturate(&[down(0)], 1000, ms(10_000));
        drive.rate(down(0), ms(1000))
    };
    let rates = [30.0, 20.0, 13.0, 6.0].map(run);
    assert!(rates.windows(2).all(|p| p[0] > 1.1 * p[1]), "{rates:?}");
    assert!(rates[0] > 11e6 && rates[3] > 0.5e6, "{rates:?}");
}

#[test]
fn rate_limit_on_tcp_does_not_affect_udp() {
    let mut config = nist(1, 1, 6);
    let all = RateLimitConfig::fixed(500_000, 3000, Excess::Shape { bytes: 20_000 });
    let cap = RateLimitConfig { traffic: TrafficFilter::Tcp, ..all };
    config.stations[0].rate_limits = [vec![cap], Vec::new()];
    let mut drive = Drive::new(config, 1, 1);
    let mut bits = [0.0; 2];
    for i in 0..10_000u64 {
        let kind = if i % 2 == 0 { Kind::TCP.with(Kind::DATA) } else { Kind::DATA };
        let id = drive.push(ms(i), down(0), if i % 2 == 0 { 1000 } else { 500 }, kind);
        assert_eq!(id % 2 == 1, i % 2 == 0, "the id encodes the kind");
    }
    drive.run_to(ms(11_000));
    for left in drive.of(down(0)).filter(|l| l.at > ms(1000) && l.at <= ms(10_000)) {
        bits[(left.id % 2) as usize] += f64::from(left.len) * 8.0 / 9.0;
    }
    let [udp, tcp] = bits;
    assert!((tcp / 500_000.0 - 1.0).abs() < 0.01, "TCP {tcp}");
    assert!((udp / 2_000_000.0 - 1.0).abs() < 0.01, "UDP {udp}");
}

#[test]
fn residual_loss_follows_the_signal_of_the_station() {
    // A third of the time at 8 dB with 30 % loss, else at 25 dB without loss. HARQ, which recovers
    // everything, does not see this loss.
    let mut config = nist(1, 1, 6);
    config.repair = [RetransmissionMode::Harq(HarqConfig { attempts: 4, feedback: 2 }); 2];
    config.stations = vec![wandering(6, 0.0, 0.0)];
    config.stations[0].error = [0.1, 0.1];
    let level = |db, ms| Level { db, stay: Span::from_ms(ms) };
    if let Some((process, amc)) = &mut config.stations[0].channel {
        *process = FadingConfig::Markov { levels: vec![level(8.0, 500), level(25.0, 1000)] };
        amc.delay = 0;
        amc.decade_db = 0.5;
    }
    config.stations[0].loss = [Some(LossCurve::new(vec![(6.0, 0.45), (10.0, 0.15), (12.0, 0.0)]).unwrap()), None];
    let mut drive = Drive::new(config, 1, 1);
    const N: u64 = 60_000;
    for i in 0..N {
        drive.push(ms(20 * i), down(0), 500, Kind::DATA);
        drive.push(ms(20 * i), up(0), 500, Kind::DATA);
    }
    drive.run_to(ms(20 * N + 5000));
    let [lost_down, lost_up] = [down(0), up(0)].map(|stream| 1.0 - drive.of(stream).count() as f64 / N as f64);
    assert!((lost_down / 0.1 - 1.0).abs() < 0.1, "{lost_down} lost down");
    assert!(lost_up < 0.001, "{lost_up} lost up, where no curve is set");
}

#[test]
fn queue_statistics_include_packets_held_by_a_shaper() {
    // Twice 500 kb/s are offered to an almost idle cell: 20 packets of 500 bytes wait before the
    // queue, 8 ms each.
    let mut config = nist(1, 1, 6);
    let cap = RateLimitConfig::fixed(500_000, 500, Excess::Shape { bytes: 10_000 });
    config.stations[0].rate_limits = [vec![cap], Vec::new()];
    let mut drive = Drive::new(config, 1, 1);
    for i in 0..2500 {
        drive.push(ms(4 * i), down(0), 500, Kind::DATA);
    }
    let (at, place) = (drive.now, down(0).queue_id());
    let sample = ackclock_core::Element::sample(&mut drive.cell, at, place).unwrap();
    assert!((18..=21).contains(&sample.packets) && sample.bytes == 500 * sample.packets, "{sample:?}");
    let meter = ackclock_core::Element::meter(&mut drive.cell, at, place).unwrap();
    let longest = meter.queue_delay.max().unwrap().as_millis();
    assert!((longest / 165.0 - 1.0).abs() < 0.04, "20 packets of 8 ms each, and up to a frame: {longest}");
    assert!((meter.mean_waiting(at) / 20.0 - 1.0).abs() < 0.06, "{}", meter.mean_waiting(at));
}

#[test]
fn packet_passes_all_rate_limits_in_sequence() {
    // 800 kb/s for TCP, 500 kb/s for all traffic.
    let mut config = nist(1, 1, 6);
    let cap = |traffic, bps| RateLimitConfig { traffic, ..RateLimitConfig::fixed(bps, 1000, Excess::Shape { bytes: 20_000 }) };
    config.stations[0].rate_limits = [vec![cap(TrafficFilter::Tcp, 800_000), cap(TrafficFilter::All, 500_000)], Vec::new()];
    let mut drive = Drive::new(config, 1, 1);
    for i in 0..10_000 {
        drive.push(ms(i), down(0), 500, Kind::TCP.with(Kind::DATA));
    }
    let rate = drive.rate(down(0), ms(1000));
    assert!((rate / 500_000.0 - 1.0).abs() < 0.01, "{rate}");
}
