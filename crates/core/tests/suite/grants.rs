//! A medium with grants against closed forms: how long a lone packet takes, what is carried, what repair and collisions cost.

use crate::common::{Driver, Journey, STATIONS, arrivals, travel};
use ackclock_core::medium::grants::{
    ContentionConfig, DirectionConfig, RequestConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
};
use ackclock_core::medium::{GrantConfig, Grants};
use ackclock_core::queue::{AnyQueue, DropTail, Limit};
use ackclock_core::rng::Rng;
use ackclock_core::units::{Rate, Span, Time};

const NO_REPAIR: RetransmissionConfig =
    RetransmissionConfig { error: 0.0, attempts: 1, delay: Span::ZERO, rounds: 0, round_delay: Span::ZERO };

fn way(mbps: u64, interval: Span, layout: ShareLayout) -> DirectionConfig {
    let rate = Rate::from_bps(mbps * 1_000_000);
    DirectionConfig { rate, interval, layout, packet_header: 0, block_header: 0, cap: None, repair: NO_REPAIR }
}

/// 8 Mb/s each way, so a byte takes a microsecond.
fn terms(method: RequestMethod) -> GrantConfig {
    let request = RequestConfig { method, grant_delay: Span::from_ms(4), piggyback: true, many: false };
    let ms = Span::from_ms(1);
    GrantConfig { down: way(8, ms, ShareLayout::Serial), up: way(8, ms, ShareLayout::Serial), request }
}

fn scheduled() -> RequestMethod {
    RequestMethod::Scheduled { period: Span::from_ms(1), first_grant: 100 }
}

fn contention(opportunities: u32, start: u32) -> RequestMethod {
    RequestMethod::Contention(ContentionConfig { opportunities, start, end: 10, tries: 16 })
}

fn run(terms: GrantConfig, at_and_len: Vec<(Time, u16)>, ports: &[u32]) -> Journey {
    let queues = (0..2 * STATIONS).map(|_| AnyQueue::DropTail(DropTail::new(Limit::NONE)));
    let mut traffic = arrivals(at_and_len);
    // A packet's port is its number modulo the ports, so numbers are chosen by the port that is wanted.
    for (place, arrival) in traffic.iter_mut().enumerate() {
        arrival.number = place as u32 * 2 * u32::from(STATIONS) + ports[place % ports.len()];
    }
    let medium = Grants::new(terms, queues, Rng::for_element(1, "medium")).unwrap();
    travel(medium, &traffic, Driver::Steps)
}

const DOWN: u32 = 0;
const UP: u32 = 1;

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn down_a_packet_waits_for_the_next_interval_and_is_there_with_its_last_byte() {
    let journey = run(terms(scheduled()), vec![(us(300), 500), (us(1300), 1500)], &[DOWN]);
    let times: Vec<Time> = journey.left.iter().map(|&(at, _)| at).collect();
    // The second is cut: 1000 bytes in the interval from 2 ms, 500 in the next.
    assert_eq!(times, [us(1500), us(3500)]);
}

#[test]
fn in_blocks_everything_arrives_when_the_interval_ends() {
    let mut terms = terms(scheduled());
    terms.down.layout = ShareLayout::Block;
    let journey = run(terms, vec![(us(300), 100), (us(1300), 1500)], &[DOWN]);
    let times: Vec<Time> = journey.left.iter().map(|&(at, _)| at).collect();
    assert_eq!(times, [us(2000), us(4000)]);
}

#[test]
fn up_a_lone_packet_takes_two_grants_one_for_the_first_bytes_and_one_for_what_they_ask_for() {
    // Asked within a millisecond, granted 4 ms later at the next interval: 100 bytes. They ask for 400 more, granted 4 ms after their end.
    let journey = run(terms(scheduled()), vec![(us(10_300), 500)], &[UP]);
    let took = (journey.left[0].0 - us(10_300)).as_millis();
    assert!((4.0 + 0.1 + 4.0 + 0.4..=3.0 + 4.0 + 0.1 + 4.0 + 0.4 + 1.0).contains(&took), "{took}");
    // A packet that fits the first grant needs no second.
    let journey = run(terms(scheduled()), vec![(us(10_300), 100)], &[UP]);
    let took = (journey.left[0].0 - us(10_300)).as_millis();
    assert!((4.1..=6.1).contains(&took), "{took}");
}

#[test]
fn a_lone_request_in_contention_is_heard_and_its_packet_sent_whole_after_the_grant_delay() {
    let journey = run(terms(contention(1, 0)), vec![(us(10_300), 500)], &[UP]);
    // The opportunity at 11 ms, the grant at 15.
    assert_eq!(journey.left[0].0, us(15_500));
}

#[test]
fn a_saturated_way_carries_its_rate_less_the_headers() {
    for (block_header, packet_header) in [(0, 0), (10, 0), (10, 18)] {
        let mut terms = terms(contention(2, 3));
        terms.up = DirectionConfig { block_header, packet_header, ..terms.up };
        let journey = run(terms, (0..4000).map(|_| (us(0), 1000)).collect(), &[UP]);
        let seconds = journey.left.last().unwrap().0.as_secs();
        let carried = 4000.0 * 8e3 / seconds;
        // 1000 bytes an interval, of which one header for the share and one for each packet are not the packets' own.
        let expected = 8e6 * (1000.0 - f64::from(block_header)) / 1000.0 * 1000.0 / (1000.0 + f64::from(packet_header));
        assert!((carried / expected - 1.0).abs() < 0.01, "{carried} instead of {expected}");
    }
}

#[test]
fn two_stations_that_both_have_enough_get_the_same() {
    let journey = run(terms(contention(8, 4)), (0..4000).map(|_| (us(0), 1000)).collect(), &[UP, UP + 2]);
    let half: Vec<u32> = journey.numbers()[..2000].iter().map(|number| number % 4 / 2).collect();
    let second: u32 = half.iter().sum();
    assert!((990..=1010).contains(&second), "{second} of 2000");
}

#[test]
fn stations_that_always_choose_the_same_opportunity_collide_until_the_window_is_wide_enough() {
    // One opportunity and a window of one: both send at once, are lost, and their windows double.
    let journey = run(terms(contention(1, 0)), vec![(us(10_300), 100), (us(10_300), 100)], &[UP, UP + 2]);
    assert_eq!(journey.left.len(), 2);
    assert!(journey.left[0].0 > us(19_000), "the first requests were lost: {:?}", journey.left);
}

#[test]
fn a_cap_lets_its_burst_through_and_then_its_rate() {
    let mut terms = terms(scheduled());
    terms.down = DirectionConfig {
        cap: Some(TokenBucketConfig { rate: Rate::from_bps(800_000), burst: 10_000 }),
        ..way(80, Span::from_ms(1), ShareLayout::Serial)
    };
    let journey = run(terms, (0..110).map(|_| (us(0), 1000)).collect(), &[DOWN]);
    let at = |place: usize| journey.left[place].0.as_secs();
    assert!(at(9) < 0.002, "ten packets at once: {}", at(9));
    let rate = 100.0 * 8e3 / (at(109) - at(9));
    assert!((rate / 800e3 - 1.0).abs() < 0.01, "{rate}");
}

#[test]
fn repair_delays_by_its_round_trip_keeps_the_order_and_takes_its_room() {
    let mut terms = terms(scheduled());
    let repair = RetransmissionConfig { error: 0.1, attempts: 8, delay: Span::from_ms(8), rounds: 0, round_delay: Span::ZERO };
    terms.down = DirectionConfig { repair, ..way(8, Span::from_ms(1), ShareLayout::Block) };
    let lone = run(terms.clone(), (0..5000).map(|i| (us(20_000 * i), 500)).collect(), &[DOWN]);
    let delay = |journey: &Journey| {
        let sum: f64 = journey.left.iter().zip(0..).map(|((at, _), i)| at.as_secs() - 0.02 * f64::from(i)).sum();
        sum / journey.left.len() as f64
    };
    // 1 ms and 8 ms for each repetition: 0.1 + 0.01 + .. of them.
    let expected = 0.001 + 0.008 * (0.1 / 0.9);
    assert!((delay(&lone) / expected - 1.0).abs() < 0.05, "{} instead of {expected}", delay(&lone));
    let full = run(terms, (0..9000).map(|_| (us(0), 1000)).collect(), &[DOWN]);
    assert!(full.numbers().is_sorted(), "in order");
    let carried = 9000.0 / full.left.last().unwrap().0.as_secs();
    assert!((carried / 900.0 - 1.0).abs() < 0.02, "a tenth goes into repetitions: {carried} packets a second");
}

#[test]
fn what_no_attempt_repairs_is_lost() {
    let mut terms = terms(scheduled());
    let repair =
        RetransmissionConfig { error: 0.5, attempts: 2, delay: Span::from_ms(8), rounds: 1, round_delay: Span::from_ms(30) };
    terms.down = DirectionConfig { repair, ..terms.down };
    let journey = run(terms, (0..8000).map(|i| (us(100_000 * i), 500)).collect(), &[DOWN]);
    let lost = 1.0 - journey.left.len() as f64 / 8000.0;
    // Four transmissions in all.
    assert!((lost / 0.0625 - 1.0).abs() < 0.15, "{lost}");
}
