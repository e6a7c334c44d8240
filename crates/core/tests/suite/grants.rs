//! The grant-based medium against closed forms: delay of a single packet, capacity, and the cost of
//! retransmissions and collisions.

use crate::common::{Driver, Journey, STATIONS, arrivals, travel};
use ackclock_core::medium::grants::{
    ContentionConfig, DirectionConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
};
use ackclock_core::medium::{GrantConfig, Grants};
use ackclock_core::queue::{AnyQueue, DropTail, Limit};
use ackclock_core::rng::Rng;
use ackclock_core::units::{Rate, Span, Time};

fn direction(mbps: u64, interval: Span, layout: ShareLayout) -> DirectionConfig {
    let rate = Rate::from_bps(mbps * 1_000_000);
    DirectionConfig { rate, interval, layout, packet_header: 0, block_header: 0, cap: None, repair: RetransmissionConfig::NONE }
}

/// 8 Mb/s per direction, so a byte takes a microsecond.
fn config(method: RequestMethod) -> GrantConfig {
    let serial = direction(8, Span::from_ms(1), ShareLayout::Serial);
    let grant_delay = Span::from_ms(4);
    GrantConfig { down: serial, up: serial, request: method, grant_delay, piggyback: true, many_requests: false }
}

fn scheduled() -> RequestMethod {
    RequestMethod::Scheduled { period: Span::from_ms(1), first_grant: 100 }
}

fn contention(opportunities: u32, start: u32) -> RequestMethod {
    RequestMethod::Contention(ContentionConfig { opportunities, backoff: [start, 10], tries: 16 })
}

fn run(config: GrantConfig, at_and_len: Vec<(Time, u16)>, ports: &[u32]) -> Journey {
    let queues = (0..2 * STATIONS).map(|_| AnyQueue::DropTail(DropTail::new(Limit::NONE)));
    let mut traffic = arrivals(at_and_len);
    // A packet's port is its number modulo the ports, so the number is chosen by the port.
    for (place, arrival) in traffic.iter_mut().enumerate() {
        arrival.number = place as u32 * 2 * u32::from(STATIONS) + ports[place % ports.len()];
    }
    let medium = Grants::new(config, queues, Rng::for_element(1, "medium")).unwrap();
    travel(medium, &traffic, Driver::Steps)
}

const DOWN: u32 = 0;
const UP: u32 = 1;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn downlink_packet_arrives_with_its_last_byte_in_the_next_interval() {
    let journey = run(config(scheduled()), vec![(us(300), 500), (us(1300), 1500)], &[DOWN]);
    let times: Vec<Time> = journey.left.iter().map(|&(at, _)| at).collect();
    // The second packet is fragmented: 1000 bytes in the interval from 2 ms, 500 in the next.
    assert_eq!(times, [us(1500), us(3500)]);
}

#[test]
fn block_layout_delivers_at_the_end_of_the_interval() {
    let mut config = config(scheduled());
    config.down.layout = ShareLayout::Block;
    let journey = run(config, vec![(us(300), 100), (us(1300), 1500)], &[DOWN]);
    let times: Vec<Time> = journey.left.iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [us(2000), us(4000)]);
}

#[test]
fn uplink_packet_takes_two_grants_with_scheduled_requests() {
    // Requested within a millisecond, granted 4 ms later at the next interval: 100 bytes. They
    // request 400 more, granted 4 ms after their end.
    let journey = run(config(scheduled()), vec![(us(10_300), 500)], &[UP]);
    let took = (journey.left[0].0 - us(10_300)).as_millis();
    assert!((4.0 + 0.1 + 4.0 + 0.4..=3.0 + 4.0 + 0.1 + 4.0 + 0.4 + 1.0).contains(&took), "{took}");
    // A packet that fits into the first grant needs no second one.
    let journey = run(config(scheduled()), vec![(us(10_300), 100)], &[UP]);
    let took = (journey.left[0].0 - us(10_300)).as_millis();
    assert!((4.1..=6.1).contains(&took), "{took}");
}

#[test]
fn contention_request_is_granted_after_the_grant_delay() {
    let journey = run(config(contention(1, 0)), vec![(us(10_300), 500)], &[UP]);
    // The opportunity is at 11 ms, the grant at 15.
    assert_eq!(journey.left[0].0, us(15_500));
}

#[test]
fn saturated_direction_carries_its_rate_minus_headers() {
    for (block_header, packet_header) in [(0, 0), (10, 0), (10, 18)] {
        let mut config = config(contention(2, 3));
        config.up = DirectionConfig { block_header, packet_header, ..config.up };
        let journey = run(config, (0..4000).map(|_| (us(0), 1000)).collect(), &[UP]);
        let seconds = journey.left.last().unwrap().0.as_secs();
        let carried = 4000.0 * 8e3 / seconds;
        // 1000 bytes per interval, including one header for the share and one for each packet.
        let expected = 8e6 * (1000.0 - f64::from(block_header)) / 1000.0 * 1000.0 / (1000.0 + f64::from(packet_header));
        assert!((carried / expected - 1.0).abs() < 0.01, "{carried} instead of {expected}");
    }
}

#[test]
fn backlogged_stations_share_the_capacity_equally() {
    let journey = run(config(contention(8, 4)), (0..4000).map(|_| (us(0), 1000)).collect(), &[UP, UP + 2]);
    let half: Vec<u32> = journey.numbers()[..2000].iter().map(|number| number % 4 / 2).collect();
    let second: u32 = half.iter().sum();
    assert!((990..=1010).contains(&second), "{second} of 2000");
}

#[test]
fn stations_collide_until_the_backoff_window_is_wide_enough() {
    // One opportunity and a window of one: both stations send at once and collide, and their
    // windows double.
    let journey = run(config(contention(1, 0)), vec![(us(10_300), 100), (us(10_300), 100)], &[UP, UP + 2]);
    assert_eq!(journey.left.len(), 2);
    assert!(journey.left[0].0 > us(19_000), "the first requests were lost: {:?}", journey.left);
}

#[test]
fn token_bucket_passes_its_burst_then_its_rate() {
    let mut config = config(scheduled());
    config.down = DirectionConfig {
        cap: Some(TokenBucketConfig { rate: Rate::from_bps(800_000), burst: 10_000 }),
        ..direction(80, Span::from_ms(1), ShareLayout::Serial)
    };
    let journey = run(config, (0..110).map(|_| (us(0), 1000)).collect(), &[DOWN]);
    let at = |place: usize| journey.left[place].0.as_secs();
    assert!(at(9) < 0.002, "ten packets at once: {}", at(9));
    let rate = 100.0 * 8e3 / (at(109) - at(9));
    assert!((rate / 800e3 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn retransmission_adds_delay_keeps_order_and_uses_capacity() {
    let mut config = config(scheduled());
    let repair = RetransmissionConfig { error: 0.1, attempts: 8, delay: Span::from_ms(8), rounds: 0, round_delay: Span::ZERO };
    config.down = DirectionConfig { repair, ..direction(8, Span::from_ms(1), ShareLayout::Block) };
    let lone = run(config.clone(), (0..5000).map(|i| (us(20_000 * i), 500)).collect(), &[DOWN]);
    let delay = |journey: &Journey| {
        let sum: f64 = journey.left.iter().zip(0..).map(|((at, _), i)| at.as_secs() - 0.02 * f64::from(i)).sum();
        sum / journey.left.len() as f64
    };
    // 1 ms, and 8 ms for each retransmission: 0.1 + 0.01 + .. of them.
    let expected = 0.001 + 0.008 * (0.1 / 0.9);
    assert!((delay(&lone) / expected - 1.0).abs() < 0.05, "{} instead of {expected}", delay(&lone));
    let full = run(config, (0..9000).map(|_| (us(0), 1000)).collect(), &[DOWN]);
    assert!(full.numbers().is_sorted(), "in order");
    let carried = 9000.0 / full.left.last().unwrap().0.as_secs();
    assert!((carried / 900.0 - 1.0).abs() < 0.02, "a tenth goes into repetitions: {carried} packets a second");
}

#[test]
fn packet_is_lost_when_all_attempts_fail() {
    let mut config = config(scheduled());
    let repair =
        RetransmissionConfig { error: 0.5, attempts: 2, delay: Span::from_ms(8), rounds: 1, round_delay: Span::from_ms(30) };
    config.down = DirectionConfig { repair, ..config.down };
    let journey = run(config, (0..8000).map(|i| (us(100_000 * i), 500)).collect(), &[DOWN]);
    let lost = 1.0 - journey.left.len() as f64 / 8000.0;
    // Four transmissions in total.
    assert!((lost / 0.0625 - 1.0).abs() < 0.15, "{lost}");
}
