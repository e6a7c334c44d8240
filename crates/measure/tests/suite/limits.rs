//! Limits of a far end against clients with and without the token: work per iteration of its loop,
//! and bytes moved.
#![allow(clippy::disallowed_methods, reason = "the tests use real sockets and clocks")]

use crate::far_end::connection_flood::{connect_from, flood_connections};
use crate::far_end::daemon::Daemon;
use crate::far_end::{FarEnd, RawClient};
use ackclock_measure::control::hello::DataHello;
use ackclock_measure::control::message::ClientRequest;
use ackclock_measure::net::client::{ClientConfig, MeasurementClient};
use ackclock_measure::net::server::{LoopWork, MAX_ACCEPTED, MAX_BYTES, MAX_CALLS, raise_descriptors};
use ackclock_measure::quotas::Quotas;
use ackclock_measure::record::TestRecord;
use ackclock_measure::test_spec::{Bulk, Direction, TestSpec, Train, Transfers};
use ackclock_measure::token::Token;
use ackclock_measure::udp::address_validation::address_hello;
use ackclock_measure::udp::packet::DatagramHeader;
use ackclock_measure::{MS, SECOND};
use nix::sys::socket;
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Bytes that one system call may move beyond the limit of an iteration.
const PIECE: u64 = 70_000;

fn bulk(down: u16, seconds: i64) -> TestSpec {
    TestSpec::Bulk(Bulk { down, duration_ns: seconds * SECOND, sample_ns: 100 * MS, ..Bulk::default() })
}

fn down(payload: u32, gap_ns: i64, count: u32) -> TestSpec {
    TestSpec::Datagrams { down: Some(Train { payload, gap_ns, count }), up: None }
}

// finding("S1")
#[test]
fn loop_iteration_is_bounded_when_a_train_requests_a_million_datagrams_a_second() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = seen.clone();
    let far = FarEnd::with_observer(Quotas::default(), move |work: &LoopWork| kept.lock().unwrap().push(*work));
    let mut attacker = far.client();
    let running = std::thread::spawn(move || attacker.run(vec![down(20, 1000, 1_000_000)], &mut |_| true).map(drop));
    std::thread::sleep(Duration::from_millis(300));
    let from = seen.lock().unwrap().len();
    for _ in 0..20 {
        far.client().quit();
    }
    let iterations = seen.lock().unwrap()[from..].to_vec();
    assert!(!running.is_finished(), "the train continues beside other clients");
    let max = iterations.iter().map(|w| w.calls[0]).max().unwrap();
    println!("20 clients were admitted within {} iterations, of at most {max} datagrams each", iterations.len());
    assert!(
        max > 1
            && iterations
                .iter()
                .all(|w| w.calls[0] <= MAX_CALLS && w.bytes[0] <= MAX_BYTES + PIECE && w.accepted <= MAX_ACCEPTED)
    );
    drop(far);
    let _ = running.join();
}

// finding("S1")
#[test]
fn loop_iteration_is_bounded_when_four_sessions_use_all_connections_of_their_quota() {
    let max = Arc::new(Mutex::new(LoopWork::default()));
    let kept = max.clone();
    let quotas = Quotas { sessions_per_peer: 4, ..Quotas::default() };
    let far = FarEnd::with_observer(quotas, move |work: &LoopWork| {
        let mut max = kept.lock().unwrap();
        for direction in 0..2 {
            max.calls[direction] = max.calls[direction].max(work.calls[direction]);
            max.bytes[direction] = max.bytes[direction].max(work.bytes[direction]);
        }
    });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut client = far.client();
            scope.spawn(move || client.run((0..4).map(|_| bulk(8, 1)).collect(), &mut |_| true).unwrap());
        }
    });
    let max = max.lock().unwrap();
    println!("at most {:?} calls and {:?} bytes per iteration, out and in", max.calls, max.bytes);
    assert!(max.calls[0] <= MAX_CALLS && max.bytes[0] <= MAX_BYTES + PIECE);
}

/// Maximum of the bytes of IP sent in a second.
fn max_in_a_second(sent: &[(Instant, u64)]) -> u64 {
    let (mut first, mut within, mut max) = (0, 0, 0);
    for (at, bytes) in sent {
        within += bytes;
        while at.duration_since(sent[first].0) >= Duration::from_secs(1) {
            within -= sent[first].1;
            first += 1;
        }
        max = max.max(within);
    }
    max
}

fn received(records: &[TestRecord]) -> u64 {
    let datagrams = |r: &TestRecord| r.near.values().map(|t| t.len() as u64).sum::<u64>() * 1000;
    records.iter().map(|r| r.flows.iter().map(|f| f.bytes).sum::<u64>() + if r.flows.is_empty() { datagrams(r) } else { 0 }).sum()
}

// finding("S1")
#[test]
fn far_end_reads_no_more_requests_when_a_client_does_not_read_its_answers() {
    // Both kernels buffer some megabytes of a connection; the far end buffers two replies of a
    // session.
    const KERNELS: usize = 14_000_000;
    let daemon = Daemon::start("answers", 1024, &[]);
    let resident = |daemon: &Daemon| {
        let status = daemon.proc("status");
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = resident(&daemon);
    let mut raw = RawClient::connect(daemon.at(), &daemon.config.token);
    let request_bytes = raw.send_repeatedly(&ClientRequest::Capture { bytes: 0 }, Duration::from_secs(2));
    let more = resident(&daemon).saturating_sub(before);
    println!("the far end read {request_bytes} bytes of requests and took {more} kB of memory");
    assert!(request_bytes < KERNELS && more < 2_000, "{request_bytes} bytes of requests, {more} kB of memory");
    daemon.client().quit();
}

// finding("S1")
#[test]
fn report_is_complete_when_a_test_has_more_connections_than_a_reply_holds() {
    let far = FarEnd::with(Quotas::default());
    let transfers =
        Transfers { direction: Direction::Down, bytes: 1, count: 700, congestion: None, every_ns: 0, limit_ns: 20 * SECOND };
    let done = far.client().run(vec![TestSpec::Transfers(transfers)], &mut |_| true).unwrap();
    let reported: Vec<u16> = done[0].outcome.flows.iter().map(|f| f.flow).collect();
    assert_eq!(reported, (0..700).collect::<Vec<_>>());
    assert!(done[0].outcome.flows.iter().all(|f| f.bytes == 1 && f.why_failed.is_none()));
}

// finding("S2")
#[test]
fn far_end_sends_no_more_than_its_budget_when_four_sessions_run_eight_tests_each() {
    const BUDGET: u64 = 20_000_000;
    let sent = Arc::new(Mutex::new(Vec::new()));
    let kept = sent.clone();
    let quotas = Quotas { rate_bps: BUDGET, sessions_per_peer: 4, ..Quotas::default() };
    let far = FarEnd::with_observer(quotas, move |work: &LoopWork| kept.lock().unwrap().push((Instant::now(), work.bytes[0])));
    let began = Instant::now();
    let session_bytes: Vec<u64> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..4)
            .map(|n| {
                let mut client = far.client();
                // One session requests all that the quotas permit; the others request trains alone,
                // connections alone, and a single test.
                let tests = match n {
                    0 => (0..8).map(|k| if k % 2 == 0 { bulk(4, 2) } else { down(972, 400_000, 5000) }).collect(),
                    1 => vec![bulk(1, 2)],
                    2 => (0..8).map(|_| down(972, 400_000, 5000)).collect(),
                    _ => (0..8).map(|_| bulk(1, 2)).collect(),
                };
                scope.spawn(move || received(&client.run(tests, &mut |_| true).unwrap()))
            })
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let seconds = began.elapsed().as_secs_f64();
    let max = 8 * max_in_a_second(&sent.lock().unwrap());
    println!(
        "of {BUDGET} b/s at most {max} were sent in a second; the sessions received {session_bytes:?} bytes in {seconds:.1} s"
    );
    assert!(max as f64 <= 1.05 * BUDGET as f64, "{max} b/s");
    // While all four sessions ran, each had a quarter, whatever its number of tests; the trains ran
    // longer.
    let share = BUDGET as f64 / 8.0 / 4.0 * 2.0;
    assert!(
        session_bytes.iter().all(|bytes| (0.6 * share..4.5 * share).contains(&(*bytes as f64))),
        "{session_bytes:?} of {share} each"
    );
    assert!((session_bytes[1] as f64) > 0.7 * session_bytes[3] as f64, "one test against eight: {session_bytes:?}");
}

/// Data connections with a small receive buffer, opened without `Client`, that read nothing until
/// `drain`.
struct Stalled {
    /// Keeps the session open.
    _control: RawClient,
    connections: Vec<TcpStream>,
    read: u64,
}

impl Stalled {
    fn open(far: &FarEnd, down: u16, seconds: i64) -> Stalled {
        let mut raw = RawClient::connect(far.at, &far.token);
        raw.session.send_request(&ClientRequest::Start { test: 0, spec: bulk(down, seconds) }).unwrap();
        raw.flush();
        std::thread::sleep(Duration::from_millis(50));
        let keys = raw.session.keys().unwrap();
        let connect = |flow| {
            let kind = socket::SockType::Stream;
            let fd = socket::socket(socket::AddressFamily::Inet, kind, socket::SockFlag::SOCK_CLOEXEC, None).unwrap();
            socket::setsockopt(&fd, socket::sockopt::RcvBuf, &4096).unwrap();
            socket::connect(fd.as_raw_fd(), &socket::SockaddrStorage::from(far.at)).unwrap();
            let mut stream = TcpStream::from(fd);
            stream.write_all(&DataHello { session: keys.session_id, test: 0, flow, since: 0 }.write(keys)).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        };
        let connections = (0..down).map(connect).collect();
        Stalled { _control: raw, connections, read: 0 }
    }

    fn drain(&mut self) {
        let mut scratch = [0; 65_536];
        for stream in &mut self.connections {
            while let Ok(read @ 1..) = stream.read(&mut scratch) {
                self.read += read as u64;
            }
        }
    }

    /// Bytes that have arrived: read, and in the receive iterations.
    fn arrived(&self) -> u64 {
        let queued = |stream: &TcpStream| {
            let mut bytes: libc::c_int = 0;
            // SAFETY: FIONREAD writes one int.
            unsafe { libc::ioctl(stream.as_raw_fd(), libc::FIONREAD, &raw mut bytes) };
            bytes as u64
        };
        self.read + self.connections.iter().map(queued).sum::<u64>()
    }
}

// finding("S2")
#[test]
fn far_end_sends_no_more_than_its_budget_when_stalled_clients_read_all_at_once() {
    const BUDGET: u64 = 20_000_000;
    const CONNECTIONS: u16 = 8;
    let quotas = Quotas { rate_bps: BUDGET, sessions_per_peer: 4, ..Quotas::default() };
    let far = FarEnd::with(quotas);
    let mut busy = Stalled::open(&far, CONNECTIONS, 4);
    let mut stalled: Vec<Stalled> = (0..3).map(|_| Stalled::open(&far, CONNECTIONS, 4)).collect();
    // One session uses the whole budget while the windows of the others are closed; then all read.
    let (began, mut arrivals, mut before) = (Instant::now(), Vec::new(), 0);
    while began.elapsed() < Duration::from_millis(3500) {
        busy.drain();
        if began.elapsed() > Duration::from_millis(2000) {
            stalled.iter_mut().for_each(Stalled::drain);
        }
        let arrived = busy.arrived() + stalled.iter().map(Stalled::arrived).sum::<u64>();
        // With headers, for segments of 1,448 bytes.
        arrivals.push((Instant::now(), (arrived - before) * 1500 / 1448));
        before = arrived;
        std::thread::sleep(Duration::from_micros(500));
    }
    let max = 8 * max_in_a_second(&arrivals);
    let total = 8.0 * before as f64 / began.elapsed().as_secs_f64();
    println!("of {BUDGET} b/s at most {max} arrived in a second, {total:.0} on average");
    assert!(stalled.iter().all(|s| s.read > 100_000) && total > 0.85 * BUDGET as f64, "{total} b/s on average");
    assert!(max as f64 <= 1.05 * BUDGET as f64, "{max} b/s");
}

// finding("S2")
#[test]
fn upload_is_read_and_address_hellos_are_rationed_when_another_session_floods_datagrams() {
    const BUDGET: u64 = 20_000_000;
    let far = FarEnd::with(Quotas { rate_bps: BUDGET, ..Quotas::default() });
    let mut raw = RawClient::connect(far.at, &far.token);
    let train = Train { payload: 1000, gap_ns: 420_000, count: 60_000 };
    raw.session
        .send_request(&ClientRequest::Start { test: 0, spec: TestSpec::Datagrams { down: None, up: Some(train) } })
        .unwrap();
    raw.flush();
    std::thread::sleep(Duration::from_millis(100));
    let keys = raw.session.keys().unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let flood = |make: &mut dyn FnMut(u32) -> Vec<u8>, count: u32| {
        for number in 0..count {
            let _ = udp.send_to(&make(number), far.at);
            if number % 64 == 63 {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
    };
    let began = Instant::now();
    flood(&mut |_| address_hello(keys, 0).to_vec(), 2000);
    udp.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let cookies = std::iter::from_fn(|| udp.recv(&mut [0; 100]).ok()).count();
    let ration = 20.0 + began.elapsed().as_secs_f64() * BUDGET as f64 / 100.0 / 8.0 / 92.0;
    // 20 MB, which the budget carries in 8 s.
    let mut datagram = vec![0; 1000];
    let mut tagged_datagram = |number| {
        DatagramHeader { tag: keys.tag(0, true), number, at: 0 }.write(&mut datagram);
        datagram.clone()
    };
    flood(&mut tagged_datagram, 20_000);
    let TestSpec::Bulk(bulk) = bulk(0, 1) else { unreachable!() };
    let upload = TestSpec::Bulk(Bulk { up: 1, ..bulk });
    let done = far.client().run(vec![upload], &mut |_| true).unwrap();
    let bytes: u64 = done[0].outcome.flows.iter().map(|f| f.bytes).sum();
    println!("{cookies} of 2000 address hellos were answered; the upload moved {bytes} bytes in a second");
    assert!((1.0..ration).contains(&(cookies as f64)), "{cookies} cookies, ration {ration}");
    assert!(bytes as f64 > 0.5 * BUDGET as f64 / 8.0, "{bytes} bytes");
}

// finding("S3")
#[test]
fn client_with_the_token_is_admitted_20_of_20_times_when_others_hold_every_slot() {
    raise_descriptors();
    let far = FarEnd::with(Quotas::default());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| flood_connections(far.at, 5, 100, &stop));
        std::thread::sleep(Duration::from_millis(300));
        let mut running = far.client();
        let refusals: Vec<String> = (0..20)
            .filter_map(|_| MeasurementClient::connect(&far.config(&far.token), &mut || true).map(MeasurementClient::quit).err())
            .map(|error| error.to_string())
            .collect();
        // Data connections of a session are not evicted either.
        let done = running.run(vec![bulk(16, 1)], &mut |_| true).unwrap();
        stop.store(true, Ordering::Relaxed);
        flooding.join().unwrap();
        assert!(refusals.is_empty(), "{} of 20: {refusals:?}", refusals.len());
        assert!(done[0].flows.iter().all(|f| f.why_failed.is_none() && f.bytes > 0), "{:?}", done[0].flows);
        assert_eq!(done[0].outcome.flows.len(), 16);
    });
}

// finding("R1")
#[test]
fn handshake_of_50_ms_is_let_in_from_any_address_when_600_others_hold_a_connection_each() {
    raise_descriptors();
    let far = FarEnd::with(Quotas::default());
    let unauthenticated = |n: usize| connect_from([127, 1, (n / 250) as u8, (n % 250) as u8 + 1], far.at).unwrap();
    let mut held: Vec<TcpStream> = (0..600).map(unauthenticated).collect();
    for here in [[127, 0, 0, 9], [127, 1, 1, 254], [127, 250, 0, 9]] {
        for attempt in 0..12 {
            let mut mine = connect_from(here, far.at).unwrap();
            for (n, other) in held.iter_mut().take(50).enumerate() {
                *other = unauthenticated(n);
                std::thread::sleep(Duration::from_millis(1));
            }
            mine.set_nonblocking(true).unwrap();
            let answer = mine.read(&mut [0]).map_err(|e| e.kind());
            assert_eq!(answer, Err(std::io::ErrorKind::WouldBlock), "{here:?}, attempt {attempt}: it was closed");
        }
    }
}

// finding("S5")
#[test]
fn accept_neither_spins_nor_shuts_clients_out_when_descriptors_run_out() {
    let daemon = Daemon::start("descriptors", 14, &[]);
    // More silent connections than the process may have descriptors.
    let held: Vec<TcpStream> = (0..60).filter_map(|_| TcpStream::connect(daemon.at()).ok()).collect();
    let before = daemon.cpu();
    std::thread::sleep(Duration::from_secs(1));
    let spent = daemon.cpu() - before;
    let admitted =
        (0..5).filter(|_| MeasurementClient::connect(&daemon.config, &mut || true).map(MeasurementClient::quit).is_ok()).count();
    println!("{spent} s of processor time in a second beside {} connections; {admitted} of 5 clients were admitted", held.len());
    assert!(spent < 0.3, "{spent} s of a second");
    assert_eq!(admitted, 5);
}

// finding("S6")
#[test]
fn log_has_a_line_for_every_session_and_refusal() {
    let daemon = Daemon::start("log", 1024, &["--most-bytes", "1"]);
    let mut client = MeasurementClient::connect(&daemon.config, &mut || true).unwrap();
    client.run(vec![down(972, MS, 50)], &mut |_| true).unwrap();
    assert!(client.run(vec![down(972, MS, 5000)], &mut |_| true).is_err());
    client.quit();
    let other_token = ClientConfig { token: Token::generate().unwrap(), ..daemon.config.clone() };
    assert!(MeasurementClient::connect(&other_token, &mut || true).is_err());
    let until = Instant::now() + Duration::from_secs(5);
    let of = |log: &[serde_json::Value], event: &str| log.iter().find(|line| line["event"] == event).cloned();
    while of(&daemon.log(), "refused").is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = daemon.log();
    let [began, refused_test, ended, refused] = ["session-began", "test-refused", "session-ended", "refused"]
        .map(|event| of(&log, event).unwrap_or_else(|| panic!("{log:?}")));
    assert_eq!(began["session"], ended["session"]);
    assert!(refused_test["why"].as_str().unwrap().contains("allowed: 1000000"));
    assert!(ended["bytes_sent"].as_u64().unwrap() >= 50_000 && ended["tests"] == 2 && ended["seconds"].as_f64().unwrap() > 0.0);
    assert!(refused["why"].as_str().unwrap().contains("token") && refused["from"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(log.iter().all(|line| line["time"].as_str().unwrap().ends_with('Z')));
}

// finding("S6")
#[test]
fn token_file_is_made_once_with_mode_0600_and_refused_with_any_other() {
    use std::os::unix::fs::PermissionsExt;
    let path = std::env::temp_dir().join(format!("ackclock-new-token-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let daemon = |option: &str| {
        let run = Command::new(env!("CARGO_BIN_EXE_ackclockd"))
            .arg(option)
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output();
        let done = run.unwrap();
        (done.status.code(), String::from_utf8(done.stderr).unwrap())
    };
    assert_eq!(daemon("--new-token").0, Some(0));
    let made = std::fs::read_to_string(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    let (status, why) = daemon("--new-token");
    assert!(status == Some(2) && why.contains("exists"), "{why}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), made);
    for mode in [0o644, 0o666] {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let (status, why) = daemon("--token-file");
        assert!(status == Some(2) && why.contains("chmod 600"), "{why}");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
    std::fs::write(&path, "a".repeat(22)).unwrap();
    let (status, why) = daemon("--token-file");
    assert!(status == Some(2) && why.contains("--new-token"), "{why}");
    std::fs::remove_file(&path).unwrap();
}

// finding("S7")
#[test]
fn daemon_has_no_privileges_and_cannot_regain_any_when_it_listens() {
    for (more, kept) in [(&[][..], 0u64), (&["--allow-capture", "1"][..], 1 << 13)] {
        let root = nix::unistd::geteuid().is_root();
        let daemon = Daemon::start(&format!("privileges-{kept}"), 1024, more);
        MeasurementClient::connect(&daemon.config, &mut || true).unwrap().quit();
        let status = daemon.proc("status");
        let field = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
        };
        let capabilities = |name: &str| u64::from_str_radix(&field(name)[0], 16).unwrap();
        assert_eq!(field("NoNewPrivs:"), ["1"]);
        let kept = if root { kept } else { 0 };
        assert_eq!(
            [capabilities("CapEff:"), capabilities("CapPrm:"), capabilities("CapInh:"), capabilities("CapAmb:")],
            [kept, kept, 0, 0]
        );
        if root {
            assert!(field("Uid:").iter().all(|uid| uid != "0"), "{status}");
            assert!(field("Gid:").iter().all(|gid| gid != "0"), "{status}");
            assert!(field("Groups:").is_empty(), "{status}");
            assert_eq!(capabilities("CapBnd:"), kept);
        }
    }
    let mut why = String::new();
    let refused = Command::new(env!("CARGO_BIN_EXE_ackclockd"))
        .args(["--port", "0", "--user", "root"])
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    let mut refused = refused.unwrap();
    refused.stderr.take().unwrap().read_to_string(&mut why).unwrap();
    assert!(refused.wait().unwrap().code() == Some(2) && why.contains("--user"), "{why}");
}
