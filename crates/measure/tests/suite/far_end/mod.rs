//! A far end on the loopback interface, in a thread of its own.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::disallowed_methods, reason = "the tests use real sockets and clocks")]

pub mod connection_flood;
pub mod daemon;

use ackclock_measure::SECOND;
use ackclock_measure::control::client::ClientSession;
use ackclock_measure::control::message::ClientRequest;
use ackclock_measure::net::client::{ClientConfig, MeasurementClient};
use ackclock_measure::net::server::{LoopWork, MeasurementServer, ServerConfig};
use ackclock_measure::net::stamp::ReflectorConfig;
use ackclock_measure::quotas::Quotas;
use ackclock_measure::token::{Token, random};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub struct FarEnd {
    pub at: SocketAddr,
    pub token: Token,
    pub stamp_port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FarEnd {
    pub fn with(quotas: Quotas) -> FarEnd {
        FarEnd::at("127.0.0.1:0", quotas).expect("loopback")
    }

    /// None if the host has no such address. The far end's clock is 5 s ahead.
    pub fn at(listen: &str, quotas: Quotas) -> Option<FarEnd> {
        FarEnd::with_stamp_key(listen, quotas, None)
    }

    /// With a key of its STAMP reflector.
    pub fn with_stamp_key(listen: &str, quotas: Quotas, key: Option<Vec<u8>>) -> Option<FarEnd> {
        let token = Token::generate().unwrap();
        let listen = listen.parse().unwrap();
        let stamp = Some(ReflectorConfig { port: 0, key });
        let config =
            ServerConfig { listen, token: token.clone(), quotas, clock_shift: 5 * SECOND, stamp, log: Default::default() };
        let mut server = MeasurementServer::open(config).ok()?;
        let stamp_port = server.stamp_address()?.port();
        let (at, stop) = (server.address().ok()?, Arc::new(AtomicBool::new(false)));
        let asked = stop.clone();
        let thread = std::thread::spawn(move || server.run(|| !asked.load(Ordering::Relaxed)).unwrap());
        Some(FarEnd { at, token, stamp_port, stop, thread: Some(thread) })
    }

    /// A far end that reports the work of each loop iteration to `observe`.
    pub fn with_observer(quotas: Quotas, mut observe: impl FnMut(&LoopWork) + Send + 'static) -> FarEnd {
        let token = Token::generate().unwrap();
        let listen = "127.0.0.1:0".parse().unwrap();
        let config = ServerConfig { listen, token: token.clone(), quotas, clock_shift: 0, stamp: None, log: Default::default() };
        let mut server = MeasurementServer::open(config).unwrap();
        let (at, stop) = (server.address().unwrap(), Arc::new(AtomicBool::new(false)));
        let asked = stop.clone();
        let thread = std::thread::spawn(move || {
            while !asked.load(Ordering::Relaxed) {
                observe(&server.poll_once().unwrap());
            }
        });
        FarEnd { at, token, stamp_port: 0, stop, thread: Some(thread) }
    }

    pub fn config(&self, token: &Token) -> ClientConfig {
        ClientConfig { host: self.at.ip().to_string(), port: self.at.port(), token: token.clone() }
    }

    pub fn config_at(&self, at: SocketAddr) -> ClientConfig {
        ClientConfig { host: at.ip().to_string(), port: at.port(), token: self.token.clone() }
    }

    pub fn client(&self) -> MeasurementClient {
        MeasurementClient::connect(&self.config(&self.token), &mut || true).unwrap()
    }

    /// Bytes of a client in a successful handshake.
    pub fn recorded_handshake(&self) -> Vec<u8> {
        let mut raw = RawClient::new(self.at, &self.token);
        let mut recorded = Vec::new();
        while raw.session.keys().is_none() {
            recorded.extend_from_slice(raw.session.outbox());
            raw.flush();
            raw.receive();
        }
        recorded
    }
}

/// A client with the token that sends any requests.
pub struct RawClient {
    pub stream: TcpStream,
    pub session: ClientSession,
}

impl RawClient {
    fn new(at: SocketAddr, token: &Token) -> RawClient {
        let (stream, mut ephemeral) = (TcpStream::connect(at).unwrap(), [0; 32]);
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        random(&mut ephemeral).unwrap();
        RawClient { stream, session: ClientSession::new(token, ephemeral) }
    }

    pub fn connect(at: SocketAddr, token: &Token) -> RawClient {
        let mut raw = RawClient::new(at, token);
        while raw.session.keys().is_none() {
            raw.flush();
            raw.receive();
        }
        raw
    }

    pub fn flush(&mut self) {
        let output = self.session.outbox().to_vec();
        self.stream.write_all(&output).unwrap();
        self.session.sent(output.len());
    }

    fn receive(&mut self) {
        let mut bytes = [0; 65_536];
        let read = self.stream.read(&mut bytes).unwrap();
        self.session.receive(&bytes[..read], &mut Vec::new()).unwrap();
    }

    /// Sends the request as often as the far end reads it, for `min`. Returns the bytes sent.
    pub fn send_repeatedly(&mut self, request: &ClientRequest, min: Duration) -> usize {
        let (until, mut sent) = (std::time::Instant::now() + min, 0);
        self.stream.set_nonblocking(true).unwrap();
        while std::time::Instant::now() < until {
            while self.session.outbox().len() < 65_536 {
                self.session.send_request(request).unwrap();
            }
            match self.stream.write(self.session.outbox()) {
                Ok(written) => {
                    sent += written;
                    self.session.sent(written);
                }
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        sent
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Packets of a capture: length on the wire, and headers.
pub fn records(bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let (mut out, mut rest) = (Vec::new(), bytes);
    while let Some((head, more)) = rest.split_first_chunk::<16>() {
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let (headers, after) = more.split_at(word(8) as usize);
        out.push((word(12), headers));
        rest = after;
    }
    out
}

/// Resident memory of this process in kB, and its number of open descriptors.
pub fn process_resources() -> (u64, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    let memory = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (memory, std::fs::read_dir("/proc/self/fd").unwrap().count())
}

/// Opens connections that send a valid handshake damaged, truncated or extended, or random bytes,
/// until `more` returns false. Returns their number.
pub fn fuzz(at: SocketAddr, good: &[u8], more: impl Fn() -> bool) -> u64 {
    let (mut state, mut connections) = (1_u64, 0);
    let mut random = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    while more() {
        let mut bytes = good.to_vec();
        let length = bytes.len() as u64;
        match random() % 4 {
            0 => bytes.truncate((random() % length) as usize),
            1 => bytes.extend((0..random() % 2000).map(|_| random() as u8)),
            2 => bytes = (0..random() % 200).map(|_| random() as u8).collect(),
            _ => bytes[(random() % length) as usize] ^= random() as u8,
        }
        if let Ok(mut stream) = TcpStream::connect(at) {
            // The reply and the time of the close do not matter.
            let _ = stream.set_read_timeout(Some(Duration::from_millis(40))).and_then(|()| stream.write_all(&bytes));
            let _ = stream.read(&mut [0; 200]);
            connections += 1;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    connections
}
