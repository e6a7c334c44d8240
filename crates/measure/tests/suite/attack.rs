//! `make attack`: load with and without the token against `ackclockd` in a process of its own,
//! while a probing client opens twenty sessions per second on loopback. The tests take a minute.
#![allow(clippy::disallowed_methods, reason = "the tests use real sockets and clocks")]

use crate::far_end::connection_flood::flood_connections;
use crate::far_end::daemon::Daemon;
use ackclock_measure::control::message::TableId;
use ackclock_measure::net::client::MeasurementClient;
use ackclock_measure::net::server::raise_descriptors;
use ackclock_measure::record::TestRecord;
use ackclock_measure::test_spec::{Bulk, TestSpec, Train};
use ackclock_measure::{MS, SECOND};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ANSWERED: Duration = Duration::from_millis(100);
/// Sessions of four attackers, one probing client, and one session that is ending.
const SESSIONS: [&str; 4] = ["--most-sessions", "6", "--most-sessions-per-peer", "6"];

fn bulk(down: u16, seconds: i64) -> TestSpec {
    TestSpec::Bulk(Bulk { down, duration_ns: seconds * SECOND, sample_ns: 10 * MS, ..Bulk::default() })
}

fn down(payload: u32, gap_ns: i64, count: u32) -> TestSpec {
    TestSpec::Datagrams { down: Some(Train { payload, gap_ns, count }), up: None }
}

/// Maximum session set-up time of the probing client, its number of attempts, and the maximum
/// wakeup delay of a sleeping thread.
struct Answered {
    longest: Duration,
    times: usize,
    machine: Duration,
}

fn probe_sessions(daemon: &Daemon, stop: &AtomicBool) -> Answered {
    std::thread::scope(|scope| {
        let asleep = scope.spawn(|| {
            let (mut latest, nap) = (Duration::ZERO, Duration::from_millis(1));
            while !stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::sleep(nap);
                latest = latest.max(began.elapsed() - nap);
            }
            latest
        });
        let (mut longest, mut times) = (Duration::ZERO, 0);
        while !stop.load(Ordering::Relaxed) {
            let began = Instant::now();
            let client = MeasurementClient::connect(&daemon.config, &mut || true).expect("a client with the token is admitted");
            longest = longest.max(began.elapsed());
            client.quit();
            times += 1;
            std::thread::sleep(Duration::from_millis(50));
        }
        Answered { longest, times, machine: asleep.join().unwrap() }
    })
}

/// Response times need an otherwise idle machine, so an environment variable enables the tests.
fn is_enabled() -> bool {
    let enabled = std::env::var_os("ACKCLOCK_ATTACK").is_some();
    if !enabled {
        println!("skipped: run `make attack`");
    }
    enabled
}

/// Runs an attack beside the probing client, up to three times if the machine's wakeups were late.
/// Returns the last result.
fn run_attack<T>(name: &str, descriptors: u64, more: &[&str], attack: impl Fn(&Daemon) -> T) -> T {
    raise_descriptors();
    for attempt in 1.. {
        let daemon = Daemon::start(name, descriptors, &[&SESSIONS[..], more].concat());
        let stop = AtomicBool::new(false);
        let (answered, result) = std::thread::scope(|scope| {
            let asking = scope.spawn(|| probe_sessions(&daemon, &stop));
            let result = attack(&daemon);
            stop.store(true, Ordering::Relaxed);
            (asking.join().unwrap(), result)
        });
        let Answered { longest, times, machine } = answered;
        println!("{name}: {times} of {times} admitted, after {longest:.1?} at most; the machine was {machine:.1?} late at most");
        if longest <= ANSWERED {
            return result;
        }
        assert!(attempt < 3 && machine > ANSWERED / 4, "{name}: answered after {longest:?}");
    }
    unreachable!("the last attempt returns")
}

/// Four concurrent sessions with their tests.
fn four(daemon: &Daemon, tests: impl Fn(usize) -> Vec<TestSpec> + Sync) -> Vec<Vec<TestRecord>> {
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..4)
            .map(|n| {
                let (mut client, tests) = (daemon.client(), &tests);
                scope.spawn(move || client.run(tests(n), &mut |_| true).unwrap())
            })
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    })
}

// finding("S1")
#[test]
#[ignore = "make attack"]
fn other_clients_are_answered_in_100_ms_when_trains_request_a_million_datagrams_a_second() {
    if !is_enabled() {
        return;
    }
    run_attack("freeze", 8192, &[], |daemon| {
        let one = daemon.client().run(vec![down(20, 1000, 1_900_000)], &mut |_| true).unwrap();
        println!("freeze: {} of 1,900,000 datagrams at 1 us were sent", one[0].far[&TableId::Sent].len());
        four(daemon, |_| (0..8).map(|_| down(20, 1000, 200_000)).collect());
        four(daemon, |_| (0..8).map(|_| bulk(8, 4)).collect());
    });
}

/// Maximum of the bytes received in a second: datagrams by their timestamps, connections by their
/// samples.
fn max_in_a_second(records: &[TestRecord]) -> f64 {
    let mut arrivals: Vec<(i64, f64)> = Vec::new();
    for record in records {
        for row in record.near.get(&TableId::Received).iter().flat_map(|table| table.rows()) {
            let TestSpec::Datagrams { down: Some(train), .. } = record.spec else { continue };
            arrivals.push((row[1], f64::from(train.payload + record.headers)));
        }
        let mut before = std::collections::BTreeMap::new();
        for row in record.near.get(&TableId::Samples).iter().flat_map(|table| table.rows()) {
            let last = before.insert(row[1], row[3]).unwrap_or(0);
            arrivals.push((row[0], (row[3] - last) as f64));
        }
    }
    arrivals.sort_by_key(|(at, _)| *at);
    let (mut first, mut within, mut max) = (0, 0.0, 0.0);
    for (at, bytes) in &arrivals {
        within += bytes;
        while at - arrivals[first].0 >= SECOND {
            within -= arrivals[first].1;
            first += 1;
        }
        max = f64::max(max, within);
    }
    max
}

// finding("S2")
#[test]
#[ignore = "make attack"]
fn budget_is_kept_when_four_sessions_run_eight_tests_each() {
    if !is_enabled() {
        return;
    }
    const BUDGET: f64 = 20e6;
    let records = run_attack("rate", 8192, &["--max-rate", "20"], |daemon| {
        let tests = |n: usize| {
            let one = |k: usize| if (n + k).is_multiple_of(2) { bulk(4, 8) } else { down(1172, 500_000, 16_000) };
            (0..8).map(one).collect()
        };
        four(daemon, tests).concat()
    });
    let max = 8.0 * max_in_a_second(&records);
    println!("rate: at most {:.2} Mb/s of 20 Mb/s arrived in a second", max / 1e6);
    assert!(max <= 1.05 * BUDGET, "{max} b/s");
}

// finding("S3")
#[test]
#[ignore = "make attack"]
fn clients_with_the_token_get_slots_when_unauthenticated_connections_flood() {
    if !is_enabled() {
        return;
    }
    run_attack("places", 8192, &[], |daemon| {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let flooding = scope.spawn(|| flood_connections(daemon.at(), 5, 400, &stop));
            let done = daemon.client().run(vec![bulk(32, 8)], &mut |_| true).unwrap();
            stop.store(true, Ordering::Relaxed);
            println!("slots: {} connections arrived meanwhile", flooding.join().unwrap());
            assert!(done[0].flows.iter().all(|f| f.why_failed.is_none()), "a session's data connections are admitted");
            assert_eq!(done[0].outcome.flows.len(), 32);
        });
    });
}

// finding("S5")
#[test]
#[ignore = "make attack"]
fn descriptors_remain_for_others_when_sessions_and_unauthenticated_connections_flood() {
    if !is_enabled() {
        return;
    }
    run_attack("descriptors", 96, &[], |daemon| {
        let held: Vec<TcpStream> = (0..800).filter_map(|_| TcpStream::connect(daemon.at()).ok()).collect();
        let mut clients: Vec<MeasurementClient> = (0..4).map(|_| daemon.client()).collect();
        std::thread::scope(|scope| {
            for client in &mut clients {
                // The maximum number of connections of one session here; one more is refused.
                scope.spawn(|| {
                    let max = (1..=64).rev().find(|n| client.run(vec![bulk(*n, 1)], &mut |_| true).is_ok());
                    println!("descriptors: {max:?} connections were admitted to a session");
                });
            }
        });
        let before = daemon.cpu();
        std::thread::sleep(Duration::from_secs(2));
        let spent = daemon.cpu() - before;
        println!("descriptors: {spent} s of processor time in 2 s beside {} held connections", held.len());
        assert!(spent < 0.6, "{spent} s of 2 s");
    });
}
