//! Limits of an exposed far end (docs/inside/adr/0006-measurement-protocol.md) over real sockets,
//! one by one. Each test prints its figures for docs/reference/measure.md
//! (`cargo test -p ackclock-measure safety -- --nocapture`).
#![allow(clippy::disallowed_methods, reason = "the tests use real sockets and clocks")]

use crate::far_end::FarEnd;
use ackclock_measure::control::hello::{REPLY_BYTES, hello};
use ackclock_measure::control::message::TableId;
use ackclock_measure::net::client::MeasurementClient;
use ackclock_measure::quotas::{HANDSHAKE_NS, Quotas};
use ackclock_measure::test_spec::{Bulk, Direction, TestSpec, Train, Transfers};
use ackclock_measure::{MS, MeasureError, SECOND};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn bulk(down: u16, up: u16, seconds: i64) -> TestSpec {
    TestSpec::Bulk(Bulk { down, up, duration_ns: seconds * SECOND, sample_ns: 100 * MS, ..Bulk::default() })
}

fn train(count: u32) -> TestSpec {
    TestSpec::Datagrams { down: Some(Train { payload: 972, gap_ns: MS, count }), up: None }
}

fn refused<T>(done: Result<T, MeasureError>) -> String {
    match done {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the request succeeded"),
    }
}

/// Not by a macro, whose output is shown of failed tests only.
fn skipped(why: &str) {
    let test = std::thread::current();
    let _ = writeln!(std::io::stderr(), "skipped: {}: {why}", test.name().unwrap_or_default());
}

#[test]
fn session_ends_at_its_maximum_duration_when_a_test_is_running() {
    let far = FarEnd::with(Quotas { session_ns: SECOND, ..Quotas::default() });
    let mut client = far.client();
    let began = Instant::now();
    let why = refused(client.run(vec![bulk(1, 0, 30)], &mut |_| true));
    assert!(why.contains("maximum duration"), "{why}");
    let took = began.elapsed().as_secs_f64();
    println!("a session of at most 1 s ended after {took:.2} s: {why}");
    assert!((0.5..5.0).contains(&took), "{took} s");
}

#[test]
fn test_is_cut_short_or_refused_when_the_session_has_moved_its_maximum_bytes() {
    let far = FarEnd::with(Quotas { session_bytes: 5_000_000, rate_bps: 80_000_000, ..Quotas::default() });
    let mut client = far.client();
    let done = client.run(vec![bulk(1, 0, 10)], &mut |_| true).unwrap();
    let moved = done[0].outcome.flows[0].bytes;
    assert!(done[0].outcome.cut_short.as_ref().is_some_and(|why| why.contains("bytes")), "{:?}", done[0].outcome);
    println!("a session of at most 5,000,000 bytes moved {moved}");
    // The loop checks the limit after each write of 256 KiB at most, and every 100 ms.
    assert!((4_700_000..7_000_000).contains(&moved), "{moved} bytes of 5,000,000");
    let why = refused(client.run(vec![train(5000)], &mut |_| true));
    assert!(why.contains("bytes in one session"), "{why}");
}

// finding("M12")
#[test]
fn test_ends_in_either_direction_when_it_has_moved_its_own_maximum_bytes() {
    let far = FarEnd::with(Quotas { rate_bps: 80_000_000, ..Quotas::default() });
    let mut client = far.client();
    for (down, up) in [(1, 0), (0, 1), (2, 2)] {
        let TestSpec::Bulk(unbounded) = bulk(down, up, 10) else { unreachable!() };
        let bounded = TestSpec::Bulk(Bulk { max_bytes: Some(3_000_000), ..unbounded });
        let began = Instant::now();
        let done = client.run(vec![bounded], &mut |_| true).unwrap();
        let near: u64 = done[0].flows.iter().map(|flow| flow.bytes).sum();
        let far: u64 = done[0].outcome.flows.iter().map(|flow| flow.bytes).sum();
        println!("at most 3,000,000 bytes, {down} down and {up} up: {near} of payload at the client, {far} at the server");
        assert!((1_500_000..3_000_000).contains(&near.max(far)), "{near} and {far} bytes");
        let why = done[0].outcome.cut_short.as_ref().or(done[0].cut_short.as_ref());
        assert!(why.is_some_and(|why| why.contains("3000000 bytes")), "{why:?}");
        assert!(began.elapsed().as_secs() < 8, "{:?}", began.elapsed());
    }
    let TestSpec::Bulk(unbounded) = bulk(1, 0, 1) else { unreachable!() };
    let done = client.run(vec![TestSpec::Bulk(Bulk { max_bytes: Some(100_000_000), ..unbounded })], &mut |_| true).unwrap();
    assert_eq!((&done[0].cut_short, &done[0].outcome.cut_short), (&None, &None));
    assert!(done[0].flows[0].bytes > 3_000_000);
}

// finding("M1")
#[test]
fn rows_are_free_again_when_the_report_of_their_test_was_sent() {
    let far = FarEnd::with(Quotas { rows: 100, ..Quotas::default() });
    let mut client = far.client();
    for _ in 0..3 {
        assert_eq!(client.run(vec![train(80)], &mut |_| true).unwrap()[0].near[&TableId::Received].len(), 80);
    }
    assert!(refused(client.run(vec![train(60), train(60)], &mut |_| true)).contains("packets and samples"));
}

#[test]
fn rate_is_within_the_maximum_when_datagrams_or_connections_request_more() {
    let far = FarEnd::with(Quotas { rate_bps: 20_000_000, ..Quotas::default() });
    let mut client = far.client();
    let done = client.run(vec![bulk(4, 4, 2)], &mut |_| true).unwrap();
    for sends in [true, false] {
        let bytes: u64 = done[0].outcome.flows.iter().filter(|f| f.sends == sends).map(|f| f.bytes).sum();
        let rate = bytes as f64 * 8.0 / 2.0;
        println!("at most 20 Mb/s: {:.2} Mb/s {}", rate / 1e6, if sends { "down" } else { "up" });
        assert!((10e6..21e6).contains(&rate), "{rate} b/s of 20,000,000");
    }
    let fast = TestSpec::Datagrams { down: Some(Train { payload: 972, gap_ns: 390_000, count: 100 }), up: None };
    assert!(refused(client.run(vec![fast], &mut |_| true)).contains("b/s of datagrams"));
}

#[test]
fn session_ends_and_frees_its_slot_when_it_is_idle() {
    let far = FarEnd::with(Quotas { idle_ns: SECOND / 2, sessions_per_peer: 1, ..Quotas::default() });
    let mut client = far.client();
    let silent = Instant::now();
    // The only slot of this address: another client gets it after the idle session has ended.
    let freed = (0..300).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        MeasurementClient::connect(&far.config(&far.token), &mut || true).ok().map(|next| (next, silent.elapsed()))
    });
    let (next, took) = freed.expect("its slot within 3 s");
    println!("a session silent for 0.5 s: its slot was free after {:.2} s", took.as_secs_f64());
    next.quit();
    let why = refused(client.run(vec![train(10)], &mut |_| true));
    assert!(why.contains("idle for too long") || why.contains("closed") || why.contains("reset"), "{why}");
}

// finding("M1")
#[test]
fn session_outlasts_the_idle_timeout_when_its_client_sends_keepalives() {
    let far = FarEnd::with(Quotas { idle_ns: SECOND / 2, ..Quotas::default() });
    let mut client = far.client();
    for _ in 0..60 {
        std::thread::sleep(Duration::from_millis(25));
        client.keep_alive().unwrap();
    }
    assert_eq!(client.run(vec![train(10)], &mut |_| true).unwrap().len(), 1);
}

/// A recorded handshake, sent a second time: the server's ephemeral key differs, so the first frame is
/// not authentic.
#[test]
fn handshake_is_refused_when_it_is_replayed() {
    let far = FarEnd::with(Quotas::default());
    let recorded = far.recorded_handshake();
    let mut stream = TcpStream::connect(far.at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    stream.write_all(&recorded).unwrap();
    let mut answer = Vec::new();
    // The reply to the hello, which only its maker can decrypt, and the end of the stream: no verdict.
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(answer.len(), REPLY_BYTES, "{answer:?}");
}

#[test]
fn handshake_times_out_after_five_seconds_when_its_bytes_arrive_slowly() {
    let far = FarEnd::with(Quotas::default());
    let mut stream = TcpStream::connect(far.at).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let (began, drops) = (Instant::now(), hello(&[7; 48]));
    let gone = drops.iter().cycle().find_map(|byte| {
        let sent = stream.write_all(&[*byte]);
        std::thread::sleep(Duration::from_millis(190));
        let ended = matches!(stream.read(&mut [0; 100]), Ok(0)) || sent.is_err();
        (ended || began.elapsed().as_secs() > 20).then(|| began.elapsed())
    });
    let limit = HANDSHAKE_NS as f64 * 1e-9;
    let took = gone.unwrap().as_secs_f64();
    println!("one byte of a handshake per 0.19 s: closed after {took:.2} s");
    assert!((limit - 0.5..limit + 3.0).contains(&took), "after {took} s; the timeout is {limit} s");
}

/// Silent connections take the slots of unauthenticated connections, 80 of one address. A session
/// beside them is not affected, and new clients are admitted after the timeout of five seconds.
#[test]
fn half_open_connections_take_no_more_than_their_slots_when_they_flood() {
    let far = FarEnd::with(Quotas::default());
    let mut client = far.client();
    let began = Instant::now();
    let held: Vec<TcpStream> = (0..500).filter_map(|_| TcpStream::connect(far.at).ok()).collect();
    let train = Train { payload: 20, gap_ns: 10 * MS, count: 100 };
    let done = client.run(vec![TestSpec::Datagrams { down: Some(train), up: Some(train) }], &mut |_| true).unwrap();
    assert_eq!(done[0].near[&TableId::Received].len(), 100);
    let open = held.iter().filter(|s| {
        s.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let mut s: &TcpStream = s;
        matches!(s.read(&mut [0; 1]), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
    });
    let open = open.count();
    println!(
        "{open} of {} half-open connections of one address were held; the session beside them got 100 of 100 datagrams",
        held.len()
    );
    assert!(open <= 80, "{open} of 500 are held");
    let free = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        MeasurementClient::connect(&far.config(&far.token), &mut || true).is_ok()
    });
    println!("a new client was admitted {:.1} s after the first connection", began.elapsed().as_secs_f64());
    assert!(free, "after the timeout of the unauthenticated connections");
}

#[test]
fn all_tests_complete_when_both_ends_use_ipv6() {
    let Some(far) = FarEnd::at("[::1]:0", Quotas::default()) else { return skipped("no IPv6 on loopback") };
    let mut client = far.client();
    let train = Train { payload: 20, gap_ns: 10 * MS, count: 50 };
    let transfers =
        Transfers { direction: Direction::Down, bytes: 1000, count: 3, congestion: None, every_ns: 0, limit_ns: 5 * SECOND };
    let specs = vec![TestSpec::Datagrams { down: Some(train), up: Some(train) }, bulk(1, 1, 1), TestSpec::Transfers(transfers)];
    let done = client.run(specs, &mut |_| true).unwrap();
    assert_eq!((done[0].near[&TableId::Received].len(), done[0].far[&TableId::Received].len()), (50, 50));
    assert!(done[1].flows.iter().chain(&done[1].outcome.flows).all(|f| f.bytes > 1000 && f.why_failed.is_none()));
    assert!(done[2].flows.iter().all(|f| f.why_failed.is_none()));
    // An IPv4 client connects to a listener at `::`.
    let both = FarEnd::at("[::]:0", Quotas::default()).unwrap();
    let at = std::net::SocketAddr::new("127.0.0.1".parse().unwrap(), both.at.port());
    MeasurementClient::connect(&both.config_at(at), &mut || true).unwrap().quit();
}

/// Needs CAP_NET_RAW; without it the test checks the refusal.
#[test]
fn capture_has_the_sessions_own_headers_only_when_another_session_runs() {
    // All packets of the client's address count, those of the tests beside this one, too.
    let far = FarEnd::with(Quotas { capture_bytes: 10_000_000, sessions_per_peer: 4, ..Quotas::default() });
    let mut client = far.client();
    if let Err(why) = client.begin_capture(1 << 30, &mut || true) {
        assert!(why.to_string().contains("Operation not permitted"), "{why}");
        return skipped(&why.to_string());
    }
    // A concurrent session of the same address.
    let mut other = far.client();
    let beside = other.run(vec![train(40)], &mut |_| true).unwrap();
    let done = client.run(vec![train(30)], &mut |_| true).unwrap();
    let capture = client.end_capture(&mut || true).unwrap();
    assert_eq!((done[0].near[&TableId::Received].len(), beside[0].near[&TableId::Received].len()), (30, 40));
    let packets = crate::far_end::records(&capture.records);
    let large = packets.iter().filter(|(length, _)| *length == 1000).count();
    assert_eq!(large, 30, "this session's datagrams and not the other's 40");
    assert!(packets.iter().all(|(_, headers)| headers.len() <= 28 || headers[9] == 6), "no payload of any datagram");
    println!("a capture has {} bytes, {large} datagrams of its own and none of the other session", capture.records.len());
    assert!(capture.records.len() <= 100_000);
    assert!(refused(client.begin_capture(1, &mut || true)).contains("capture already"));
    let shut = FarEnd::with(Quotas::default());
    assert!(refused(shut.client().begin_capture(1, &mut || true)).contains("--allow-capture"));
}

#[test]
fn capture_counts_packets_as_dropped_when_its_quota_is_used_up() {
    let far = FarEnd::with(Quotas { capture_bytes: 2_000, ..Quotas::default() });
    let mut client = far.client();
    if client.begin_capture(1 << 30, &mut || true).is_err() {
        return skipped("no CAP_NET_RAW");
    }
    client.run(vec![train(300)], &mut |_| true).unwrap();
    let capture = client.end_capture(&mut || true).unwrap();
    println!(
        "a capture of at most 2,000 bytes has {}; {} packets are counted as dropped",
        capture.records.len(),
        capture.dropped
    );
    assert!(
        capture.records.len() <= 2_000 && capture.dropped >= 250,
        "{} bytes, {} dropped",
        capture.records.len(),
        capture.dropped
    );
}

/// Short sessions beside connections that send damaged and random bytes, for ACKCLOCK_SOAK_S
/// seconds (default: 20 minutes). Memory and descriptors of this process, which runs both ends,
/// must not grow.
#[test]
#[ignore = "twenty minutes"]
fn memory_and_descriptors_do_not_grow_when_sessions_run_for_twenty_minutes() {
    let seconds = std::env::var("ACKCLOCK_SOAK_S").ok().and_then(|s| s.parse().ok()).unwrap_or(1200);
    let far = FarEnd::with(Quotas { capture_bytes: 1_000_000, ..Quotas::default() });
    let (began, mut sessions, mut settled) = (Instant::now(), 0u64, None);
    let (stop, at, recorded) = (Arc::new(AtomicBool::new(false)), far.at, far.recorded_handshake());
    let asked = stop.clone();
    let fuzz = std::thread::spawn(move || crate::far_end::fuzz(at, &recorded, || !asked.load(Ordering::Relaxed)));
    let mut seen = Vec::new();
    while began.elapsed().as_secs() < seconds {
        let mut client = far.client();
        let captures = client.begin_capture(1_000_000, &mut || true).is_ok();
        let small = Train { payload: 20, gap_ns: MS, count: 20 };
        let transfers =
            Transfers { direction: Direction::Up, bytes: 20_000, count: 2, congestion: None, every_ns: 0, limit_ns: 5 * SECOND };
        client
            .run(vec![TestSpec::Datagrams { down: Some(small), up: Some(small) }, TestSpec::Transfers(transfers)], &mut |_| true)
            .unwrap();
        if captures {
            client.end_capture(&mut || true).unwrap();
        }
        client.quit();
        sessions += 1;
        // The test detects leaks and may run beside other work, so it is idle most of the time.
        std::thread::sleep(Duration::from_millis(150));
        if sessions == 100 {
            settled = Some(crate::far_end::process_resources());
        }
        if began.elapsed().as_secs() >= 120 * seen.len() as u64 {
            seen.push(crate::far_end::process_resources());
            println!(
                "after {} s: {sessions} sessions, kB and descriptors {:?}",
                began.elapsed().as_secs(),
                crate::far_end::process_resources()
            );
        }
    }
    stop.store(true, Ordering::Relaxed);
    let fuzzed = fuzz.join().unwrap();
    // The last connections time out after five seconds.
    std::thread::sleep(Duration::from_secs(7));
    let ((memory, descriptors), (memory_now, descriptors_now)) =
        (settled.expect("a hundred sessions"), crate::far_end::process_resources());
    println!(
        "{sessions} sessions beside {fuzzed} fuzzed connections in {} s: {memory} kB and {descriptors} descriptors after 100, {memory_now} and {descriptors_now} at the end",
        began.elapsed().as_secs()
    );
    assert!(memory_now <= memory + 4096, "{memory} kB, then {memory_now}");
    assert!(descriptors_now <= descriptors + 3, "{descriptors}, then {descriptors_now}");
}
