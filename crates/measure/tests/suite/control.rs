//! The control channel's state machines without sockets: who gets in, what is refused, and that nothing that comes in does harm.

use ackclock_measure::control::client::{ClientSession, ServerMessage};
use ackclock_measure::control::frame::{FrameKind, FrameWriter};
use ackclock_measure::control::hello::{HandshakeVerdict, hello};
use ackclock_measure::control::keys::{Nonces, SessionKeys};
use ackclock_measure::control::message::{ClockState, MAX_REPLY, MAX_REQUEST, Reply, Request, TableId, Welcome};
use ackclock_measure::control::server::{Action, ServerSession};
use ackclock_measure::control::table::IntTable;
use ackclock_measure::quotas::{HANDSHAKE_NS, Quotas};
use ackclock_measure::token::Token;
use ackclock_measure::{MS, SECOND};
use proptest::prelude::*;

/// More than any session may ever hold: one request, two replies, and what vectors round up to.
const BOUND: usize = 2 * (MAX_REQUEST + 4 * MAX_REPLY);

fn token(c: char) -> Token {
    Token::parse(&format!("{c}q7ZkX2mW9vB4nT8sL1rY6pD")).unwrap()
}

fn server() -> ServerSession {
    ServerSession::new(token('t'), Quotas::default(), [9; 32], 0)
}

fn welcome() -> Welcome {
    let clock = ClockState { synchronised: false, pps: false, max_error_ns: 0 };
    Welcome { version: "1".into(), system: String::new(), quotas: Quotas::default(), congestion: vec!["reno".into()], clock }
}

/// What the server makes of these bytes, answered as the loop answers it.
fn deliver(server: &mut ServerSession, now: i64, bytes: &[u8]) -> Vec<Action> {
    let mut actions = Vec::new();
    server.receive(now, bytes, &mut actions);
    if actions.contains(&Action::Authenticated) {
        server.admit(now, HandshakeVerdict::Welcome, welcome(), &mut actions);
    }
    actions
}

fn take(server: &mut ServerSession) -> Vec<u8> {
    let out = server.outbox().to_vec();
    server.sent(out.len());
    out
}

/// Both ends in an open session.
fn open() -> (ServerSession, ClientSession) {
    let (mut server, mut client) = (server(), ClientSession::new(token('t'), [3; 32]));
    let mut received = Vec::new();
    for _ in 0..3 {
        let out = client.outbox().to_vec();
        client.sent(out.len());
        deliver(&mut server, 0, &out);
        client.receive(&take(&mut server), &mut received).unwrap();
    }
    assert_eq!(received, [ServerMessage::Reply(Reply::Welcome(welcome()))]);
    (server, client)
}

fn request_bytes(client: &mut ClientSession, request: &Request) -> Vec<u8> {
    client.send_request(request).unwrap();
    let out = client.outbox().to_vec();
    client.sent(out.len());
    out
}

fn why(actions: &[Action]) -> Option<&str> {
    actions.iter().find_map(|act| if let Action::Close(Err(why)) = act { Some(why.as_str()) } else { None })
}

#[test]
fn two_that_know_the_token_understand_each_other() {
    let (mut server, mut client) = open();
    let request = Request::Stop { test: 3, quiet_ns: 7 };
    assert_eq!(deliver(&mut server, 1, &request_bytes(&mut client, &request)), [Action::Request(request)]);
    let mut table = IntTable::new(2);
    (0..100_000).for_each(|n| table.push(&[n, n * 1_000_003]));
    let (mut next, mut back) = (0, IntTable::new(2));
    while next < table.len() {
        next = server.send_rows(8, TableId::Received, &table, next);
        let mut received = Vec::new();
        client.receive(&take(&mut server), &mut received).unwrap();
        for one in received {
            let ServerMessage::Rows(8, TableId::Received, 2, piece) = one else { panic!("{one:?}") };
            back.decode_rows(&piece, 1_000_000).unwrap();
        }
    }
    assert_eq!(back, table);
    assert_eq!(deliver(&mut server, 2, &request_bytes(&mut client, &Request::Quit {})), [Action::Close(Ok(()))]);
}

#[test]
fn a_wrong_token_is_told_so_and_learns_nothing() {
    let (mut server, mut client) = (server(), ClientSession::new(token('x'), [3; 32]));
    let mut received = Vec::new();
    deliver(&mut server, 0, client.outbox());
    client.sent(client.outbox().len());
    client.receive(&take(&mut server), &mut received).unwrap();
    let actions = deliver(&mut server, 0, client.outbox());
    assert!(why(&actions).unwrap().contains("token"));
    let answer = take(&mut server);
    assert_eq!(answer[1..], [0; 32], "no proof for those that have none");
    assert!(client.receive(&answer, &mut received).unwrap_err().statement.contains("token"));
    assert_eq!(deliver(&mut server, 0, &[0; 1000]), []);
}

#[test]
fn a_server_that_does_not_know_the_token_is_not_believed() {
    let mut client = ClientSession::new(token('t'), [3; 32]);
    let mut received = Vec::new();
    client.receive(&hello(&[9; 32]), &mut received).unwrap();
    let impostor = [[0].as_slice(), &[7; 32]].concat();
    assert!(client.receive(&impostor, &mut received).unwrap_err().statement.contains("does not prove"));
    assert!(client.keys().is_none());
}

#[test]
fn what_was_said_in_one_session_is_nothing_in_another() {
    let mut client = ClientSession::new(token('t'), [3; 32]);
    let mut recorded = client.outbox().to_vec();
    client.sent(recorded.len());
    client.receive(&hello(&[9; 32]), &mut Vec::new()).unwrap();
    recorded.extend_from_slice(client.outbox());
    // The very same server nonce would accept it: the nonce is what stands against a replay.
    assert!(deliver(&mut server(), 0, &recorded).contains(&Action::Authenticated));
    let mut later = ServerSession::new(token('t'), Quotas::default(), [10; 32], 0);
    assert!(why(&deliver(&mut later, 0, &recorded)).unwrap().contains("token"));
    // Within a session a frame is received once.
    let (mut server, mut client) = open();
    let frame = request_bytes(&mut client, &Request::Go { test: 0 });
    assert_eq!(deliver(&mut server, 0, &frame).len(), 1);
    assert!(why(&deliver(&mut server, 0, &frame)).unwrap().contains("authentic"));
    assert!(server.is_closed());
}

#[test]
fn malformed_messages_are_refused_with_a_reason_and_unknown_ones_too() {
    let nonces = Nonces { client: [3; 32], server: [9; 32] };
    let bad: [(&[u8], &str); 6] = [
        (b"", "cannot be read"),
        (b"{\"start\":{\"test\":0}}", "cannot be read"),
        (b"{\"go\":{\"test\":0,\"more\":1}}", "cannot be read"),
        (b"{\"format-disk\":{}}", "cannot be read"),
        (b"{\"go\":{\"test\":-1}}", "cannot be read"),
        (&[b'['; 4000], "cannot be read"),
    ];
    for (text, reason) in bad {
        let (mut server, mut client) = open();
        let mut frame = Vec::new();
        FrameWriter::new(SessionKeys::derive(&token('t'), &nonces).to_server).write(FrameKind::Message, text, &mut frame);
        assert!(why(&deliver(&mut server, 0, &frame)).unwrap().contains(reason));
        let mut received = Vec::new();
        client.receive(&take(&mut server), &mut received).unwrap();
        assert!(
            matches!(&received[..], [ServerMessage::Reply(Reply::Bye { reason: applied_options })] if applied_options.contains(reason)),
            "{received:?}"
        );
    }
}

#[test]
fn idle_strangers_and_idle_sessions_are_let_go_of_and_busy_ones_are_not() {
    let mut unauthenticated = server();
    let mut actions = Vec::new();
    unauthenticated.receive(0, &hello(&[1; 32])[..20], &mut actions);
    unauthenticated.tick(HANDSHAKE_NS - 1, &mut actions);
    assert_eq!(actions, []);
    unauthenticated.tick(HANDSHAKE_NS, &mut actions);
    assert!(unauthenticated.is_closed());
    let (mut idle, _) = open();
    let (mut busy, _) = open();
    busy.running = 1;
    let idle_ns = Quotas::default().idle_ns;
    let mut actions = Vec::new();
    busy.tick(idle_ns, &mut actions);
    assert_eq!(actions, []);
    idle.tick(idle_ns, &mut actions);
    assert_eq!(actions, [Action::Close(Err("the session was idle for too long".into()))]);
    let mut actions = Vec::new();
    busy.tick(Quotas::default().session_ns, &mut actions);
    assert_eq!(actions, [Action::Close(Err("the session has reached its maximum duration".into()))], "nobody stays for ever");
}

/// Hello and proof.
const HANDSHAKE: usize = 74;

/// A stream that a proper client could have sent, to be damaged.
fn proper() -> Vec<u8> {
    let mut client = ClientSession::new(token('t'), [3; 32]);
    let mut stream = client.outbox().to_vec();
    client.sent(stream.len());
    client.receive(&hello(&[9; 32]), &mut Vec::new()).unwrap();
    stream.extend_from_slice(client.outbox());
    let mut writer = FrameWriter::new(client_key());
    for request in [
        "{\"start\":{\"test\":0,\"spec\":{\"datagrams\":{\"down\":{\"payload\":20,\"gap_ns\":1000000,\"count\":9},\"up\":null}}}}",
        "{\"go\":{\"test\":0}}",
        "{\"stop\":{\"test\":0,\"quiet_ns\":5}}",
        "{\"quit\":{}}",
    ] {
        writer.write(FrameKind::Message, request.as_bytes(), &mut stream);
    }
    stream
}

fn client_key() -> [u8; 32] {
    SessionKeys::derive(&token('t'), &Nonces { client: [3; 32], server: [9; 32] }).to_server
}

/// Feeds a stream in pieces and checks what must hold whatever is in it.
fn survive(stream: &[u8], pieces: usize) -> usize {
    let mut server = server();
    let mut requests = 0;
    // A client waits for the verdict on its proof: what it says at once is received in one go.
    let (first, rest) = stream.split_at(stream.len().min(HANDSHAKE));
    for (i, piece) in std::iter::once(first).chain(rest.chunks(rest.len() / pieces + 1)).enumerate() {
        for act in deliver(&mut server, i as i64 * MS, piece) {
            requests += usize::from(matches!(act, Action::Request(_)));
        }
        assert!(server.buffered_bytes() <= BOUND, "{} bytes held", server.buffered_bytes());
        take(&mut server);
    }
    server.tick(i64::MAX, &mut Vec::new());
    requests
}

#[test]
fn the_stream_that_is_damaged_below_is_a_proper_one() {
    assert_eq!(survive(&proper(), 1), 3);
    assert_eq!(survive(&proper(), 400), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_stream_does_no_harm(damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0u8..4), 1..8), pieces in 1usize..50) {
        let mut stream = proper();
        let undamaged = stream.clone();
        for (at, byte, how) in damage {
            if stream.is_empty() { break; }
            let at = at.index(stream.len());
            match how {
                0 => stream[at] = byte,
                1 => stream.insert(at, byte),
                2 => { stream.remove(at); }
                _ => stream.truncate(at.max(1)),
            }
        }
        let requests = survive(&stream, pieces);
        // What is received is what was sent before the first damage, never anything else.
        let intact = stream.iter().zip(&undamaged).take_while(|(a, b)| a == b).count();
        prop_assert!(requests == 0 || intact > HANDSHAKE + 36, "{requests} requests, {intact} bytes intact");
    }

    #[test]
    fn any_bytes_to_either_end_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600), after in 0u8..3) {
        let start = match after { 0 => Vec::new(), 1 => hello(&[1; 32]), _ => proper()[..HANDSHAKE].to_vec() };
        survive(&[start.as_slice(), &bytes].concat(), 3);
        let mut client = ClientSession::new(token('t'), [3; 32]);
        let greeting = if after > 0 { hello(&[9; 32]) } else { Vec::new() };
        let _ = client.receive(&[greeting.as_slice(), &bytes].concat(), &mut Vec::new());
        let (mut server, _) = open();
        deliver(&mut server, SECOND, &bytes);
        prop_assert!(server.buffered_bytes() <= BOUND);
    }
}

/// A cheap generator for many frames: splitmix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Authentic frames with random insides: what somebody who knows the token could send. Those come through the MAC, so the parser sees them.
fn authentic_nonsense(frames: u64, seed: u64) -> u64 {
    let mut random = Random(seed);
    let words = [
        "{",
        "}",
        "\"start\"",
        "\"test\"",
        ":",
        ",",
        "0",
        "-1",
        "1e99",
        "\"spec\"",
        "\"bulk\"",
        "\"go\"",
        "null",
        "[",
        "]",
        "\"\\ud800\"",
        "18446744073709551616",
        "\"stop\"",
        "\"quiet_ns\"",
        "\"quit\"",
        "{}",
        "\"datagrams\"",
    ];
    let mut understood = 0;
    for _ in 0..frames {
        let mut server = prepared();
        let mut text = String::new();
        for _ in 0..random.next() % 12 {
            text.push_str(words[(random.next() % words.len() as u64) as usize]);
        }
        let mut raw = text.into_bytes();
        if random.next().is_multiple_of(4) && !raw.is_empty() {
            let at = (random.next() % raw.len() as u64) as usize;
            raw[at] = random.next() as u8;
        }
        let kind = if random.next().is_multiple_of(16) { FrameKind::Table } else { FrameKind::Message };
        let mut frame = Vec::new();
        FrameWriter::new(client_key()).write(kind, &raw, &mut frame);
        let actions = deliver(&mut server, 0, &frame);
        understood += u64::from(actions.iter().any(|a| matches!(a, Action::Request(_))));
        assert!(server.buffered_bytes() <= BOUND);
        assert!(understood > 0 || server.is_closed() || !actions.is_empty());
    }
    understood
}

/// A server in a session, without the cost of a client's side.
fn prepared() -> ServerSession {
    let mut server = server();
    deliver(&mut server, 0, &proper()[..HANDSHAKE]);
    take(&mut server);
    server
}

#[test]
fn forty_thousand_authentic_frames_of_nonsense_do_no_harm() {
    authentic_nonsense(40_000, 1);
}

#[test]
#[ignore = "minutes"]
fn two_million_random_and_mutated_frames_do_no_harm() {
    authentic_nonsense(1_000_000, 2);
    let (mut random, stream) = (Random(3), proper());
    for _ in 0..1_000_000 {
        let mut damaged = stream.clone();
        for _ in 0..=random.next() % 4 {
            let at = (random.next() % damaged.len() as u64) as usize;
            damaged[at] = random.next() as u8;
        }
        survive(&damaged, 1 + (random.next() % 5) as usize);
    }
}
