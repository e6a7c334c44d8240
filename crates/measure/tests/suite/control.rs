//! State machines of the control connection without sockets: authentication, refusals, and
//! robustness against any input.

use ackclock_measure::control::client::{ClientSession, ServerMessage};
use ackclock_measure::control::frame::{FrameChannel, FrameKind};
use ackclock_measure::control::hello::{HELLO_BYTES, HandshakeVerdict, PREFIX, accept, hello};
use ackclock_measure::control::message::{ClientRequest, ClockState, MAX_REPLY, MAX_REQUEST, ServerReply, TableId, Welcome};
use ackclock_measure::control::noise::{INITIATION_BYTES, Initiator, RESPONSE_BYTES, respond};
use ackclock_measure::control::server::{Action, ServerSession, SessionRandomness};
use ackclock_measure::control::table::IntTable;
use ackclock_measure::quotas::{HANDSHAKE_NS, Quotas};
use ackclock_measure::token::Token;
use ackclock_measure::{MS, SECOND};
use proptest::prelude::*;

/// Bound of a session's buffers: one request and two replies, with the spare capacity of vectors.
const BOUND: usize = 2 * (MAX_REQUEST + 4 * MAX_REPLY);

fn token(c: char) -> Token {
    Token::parse(&format!("{c}q7ZkX2mW9vB4nT8sL1rY6pD")).unwrap()
}

fn server() -> ServerSession {
    server_with([9; 32])
}

fn server_with(ephemeral: [u8; 32]) -> ServerSession {
    ServerSession::new(token('t'), Quotas::default(), SessionRandomness { ephemeral, secret: [8; 32] }, 0)
}

fn welcome() -> Welcome {
    let clock = ClockState { synchronised: false, pps: false, max_error_ns: 0 };
    Welcome { version: "1".into(), system: String::new(), quotas: Quotas::default(), congestion: vec!["reno".into()], clock }
}

/// Delivers bytes to the server, and completes an authentication as the event loop does.
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

/// Both ends of an open session.
fn open() -> (ServerSession, ClientSession) {
    let (mut server, mut client) = (server(), ClientSession::new(&token('t'), [3; 32]));
    let mut received = Vec::new();
    for _ in 0..3 {
        let out = client.outbox().to_vec();
        client.sent(out.len());
        deliver(&mut server, 0, &out);
        client.receive(&take(&mut server), &mut received).unwrap();
    }
    assert_eq!(received, [ServerMessage::Reply(ServerReply::Welcome(welcome()))]);
    (server, client)
}

fn request_bytes(client: &mut ClientSession, request: &ClientRequest) -> Vec<u8> {
    client.send_request(request).unwrap();
    let out = client.outbox().to_vec();
    client.sent(out.len());
    out
}

fn why(actions: &[Action]) -> Option<&str> {
    actions.iter().find_map(|act| if let Action::Close(Err(why)) = act { Some(why.as_str()) } else { None })
}

#[test]
fn messages_and_tables_are_equal_at_the_peer_when_both_ends_know_the_token() {
    let (mut server, mut client) = open();
    let request = ClientRequest::Stop { test: 3, quiet_ns: 7 };
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
    assert_eq!(deliver(&mut server, 2, &request_bytes(&mut client, &ClientRequest::Quit {})), [Action::Close(Ok(()))]);
}

#[test]
fn client_is_refused_without_a_proof_when_its_token_is_wrong() {
    let (mut server, mut client) = (server(), ClientSession::new(&token('x'), [3; 32]));
    let actions = deliver(&mut server, 0, client.outbox());
    assert!(why(&actions).unwrap().contains("token"));
    let answer = take(&mut server);
    assert_eq!(answer[..], [PREFIX.as_slice(), &[1]].concat(), "no proof for a client without the token");
    assert!(client.receive(&answer, &mut Vec::new()).unwrap_err().statement.contains("token"));
    assert_eq!(deliver(&mut server, 0, &[0; 1000]), []);
}

#[test]
fn server_is_rejected_when_it_does_not_prove_the_token() {
    let mut client = ClientSession::new(&token('t'), [3; 32]);
    let why = client.receive(&accept(&[7; RESPONSE_BYTES]), &mut Vec::new()).unwrap_err();
    assert!(why.statement.contains("does not prove"));
    assert!(client.keys().is_none());
    client.receive(&[1; 100], &mut Vec::new()).unwrap();
    assert!(client.keys().is_none());
}

#[test]
fn client_receives_the_verdict_when_the_far_end_is_full() {
    let (mut server, mut client) = (server(), ClientSession::new(&token('t'), [3; 32]));
    server.receive(0, client.outbox(), &mut Vec::new());
    client.sent(client.outbox().len());
    client.receive(&take(&mut server), &mut Vec::new()).unwrap();
    let mut actions = Vec::new();
    server.receive(0, client.outbox(), &mut actions);
    assert_eq!(actions, [Action::Authenticated]);
    server.admit(0, HandshakeVerdict::TooManySessions, welcome(), &mut actions);
    let why = client.receive(&take(&mut server), &mut Vec::new()).unwrap_err();
    assert!(why.statement.contains("maximum number of sessions"), "{why}");
    assert!(client.keys().is_none());
}

// finding("S9")
#[test]
fn replay_is_rejected_when_a_handshake_or_a_frame_is_repeated() {
    let recorded = &proper()[..HANDSHAKE];
    // With the same ephemeral key of the server the replay succeeds: the key prevents it.
    assert!(deliver(&mut server(), 0, recorded).contains(&Action::Authenticated));
    let mut later = server_with([10; 32]);
    assert_eq!(deliver(&mut later, 0, &recorded[..HELLO_BYTES]), [], "a repeated hello authenticates no client");
    assert!(why(&deliver(&mut later, 0, &recorded[HELLO_BYTES..])).unwrap().contains("authentic"));
    // Within a session a frame is accepted once.
    let (mut server, mut client) = open();
    let frame = request_bytes(&mut client, &ClientRequest::Go { test: 0 });
    assert_eq!(deliver(&mut server, 0, &frame).len(), 1);
    assert!(why(&deliver(&mut server, 0, &frame)).unwrap().contains("authentic"));
    assert!(server.is_closed());
}

// finding("S9")
#[test]
fn messages_are_not_readable_when_the_token_is_known_but_no_ephemeral_key() {
    let stream = proper();
    assert!(!stream.windows(5).any(|w| w == b"start"), "requests are encrypted");
    // An eavesdropper with the token and the recorded hello, who answers with an own ephemeral key,
    // has other keys than the server whose session was recorded.
    let (mut own, _) = respond(&token('t'), [11; 32], &PREFIX, &stream[PREFIX.len()..HELLO_BYTES], &[8; 32]).unwrap();
    let frame = &stream[HELLO_BYTES + 2..HANDSHAKE];
    assert!(own.read_message(frame, &mut [0; 100]).is_err());
}

#[test]
fn session_ends_with_a_reason_when_a_message_is_malformed_or_unknown() {
    let bad: [(&[u8], &str); 6] = [
        (b"", "malformed"),
        (b"{\"start\":{\"test\":0}}", "malformed"),
        (b"{\"go\":{\"test\":0,\"more\":1}}", "malformed"),
        (b"{\"format-disk\":{}}", "malformed"),
        (b"{\"go\":{\"test\":-1}}", "malformed"),
        (&[b'['; 4000], "malformed"),
    ];
    for (text, reason) in bad {
        let (mut server, mut channel) = prepared();
        let mut frame = Vec::new();
        channel.write(FrameKind::Message, text, &mut frame);
        assert!(why(&deliver(&mut server, 0, &frame)).unwrap().contains(reason));
        let (bye, _) = channel.take(&take(&mut server)).unwrap().unwrap();
        let bye: ServerReply = serde_json::from_slice(&bye.payload).unwrap();
        assert!(matches!(&bye, ServerReply::Bye { reason: sent } if sent.contains(reason)), "{bye:?}");
    }
}

#[test]
fn handshakes_and_idle_sessions_time_out_and_a_running_test_postpones_it() {
    let mut unauthenticated = server();
    let mut actions = Vec::new();
    unauthenticated.receive(0, &proper()[..20], &mut actions);
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
    assert_eq!(
        actions,
        [Action::Close(Err("the session has reached its maximum duration".into()))],
        "a session has a maximum duration"
    );
}

/// Hello and first frame.
const HANDSHAKE: usize = HELLO_BYTES + 2 + 1 + FIRST.len() + 16;
const FIRST: &[u8] = b"{\"keep-alive\":{}}";

/// A client's handshake with `server()`, and its channel after the first frame.
fn handshake() -> (Vec<u8>, FrameChannel) {
    let (client, initiation) = Initiator::new(&token('t'), [3; 32], &PREFIX);
    let (_, response) = respond(&token('t'), [9; 32], &PREFIX, &initiation, &[8; 32]).unwrap();
    let mut channel = FrameChannel::new(client.finish(&response).unwrap().0, MAX_REPLY);
    let mut stream = hello(&initiation);
    channel.write(FrameKind::Message, FIRST, &mut stream);
    (stream, channel)
}

/// A valid client's stream.
fn proper() -> Vec<u8> {
    let (mut stream, mut channel) = handshake();
    assert_eq!(stream.len(), HANDSHAKE);
    for request in [
        "{\"start\":{\"test\":0,\"spec\":{\"datagrams\":{\"down\":{\"payload\":20,\"gap_ns\":1000000,\"count\":9},\"up\":null}}}}",
        "{\"go\":{\"test\":0}}",
        "{\"stop\":{\"test\":0,\"quiet_ns\":5}}",
        "{\"quit\":{}}",
    ] {
        channel.write(FrameKind::Message, request.as_bytes(), &mut stream);
    }
    stream
}

/// Delivers a stream in pieces and checks the bound of the buffers.
fn survive(stream: &[u8], pieces: usize) -> usize {
    let mut server = server();
    let mut requests = 0;
    // A client waits for the verdict on its proof, so the handshake is one piece.
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
fn stream_for_the_fuzzing_is_valid_when_undamaged() {
    assert_eq!(survive(&proper(), 1), 3);
    assert_eq!(survive(&proper(), 400), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn damaged_stream_yields_no_request_beyond_its_first_damage(damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>(), 0u8..4), 1..8), pieces in 1usize..50) {
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
        // Requests precede the first damage.
        let intact = stream.iter().zip(&undamaged).take_while(|(a, b)| a == b).count();
        prop_assert!(requests == 0 || intact > HANDSHAKE + 19, "{requests} requests, {intact} bytes intact");
    }

    #[test]
    fn buffers_are_bounded_when_any_bytes_arrive_at_either_end(bytes in proptest::collection::vec(any::<u8>(), 0..600), after in 0u8..3) {
        let start = match after { 0 => Vec::new(), 1 => hello(&[1; INITIATION_BYTES]), _ => proper()[..HANDSHAKE].to_vec() };
        survive(&[start.as_slice(), &bytes].concat(), 3);
        let mut client = ClientSession::new(&token('t'), [3; 32]);
        let greeting = if after > 0 { accept(&[9; RESPONSE_BYTES]) } else { Vec::new() };
        let _ = client.receive(&[greeting.as_slice(), &bytes].concat(), &mut Vec::new());
        let (mut server, _) = open();
        deliver(&mut server, SECOND, &bytes);
        prop_assert!(server.buffered_bytes() <= BOUND);
    }
}

/// Generator of many frames: SplitMix64 (Steele, Lea and Flood 2014).
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

/// Authentic frames with random payload, from a client with the token. They pass the MAC check, so
/// the parser reads them.
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
    let (mut server, mut channel) = prepared();
    for _ in 0..frames {
        if server.is_closed() {
            (server, channel) = prepared();
        }
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
        channel.write(kind, &raw, &mut frame);
        let actions = deliver(&mut server, 0, &frame);
        take(&mut server);
        understood += u64::from(actions.iter().any(|a| matches!(a, Action::Request(_))));
        assert!(server.buffered_bytes() <= BOUND);
        assert!(understood > 0 || server.is_closed() || !actions.is_empty());
    }
    understood
}

/// A server with an open session, and the client's channel, which writes any payload.
fn prepared() -> (ServerSession, FrameChannel) {
    let (mut server, (stream, mut channel)) = (server(), handshake());
    deliver(&mut server, 0, &stream);
    let (output, mut read) = (take(&mut server), HELLO_BYTES - INITIATION_BYTES + 1 + RESPONSE_BYTES);
    // The verdict and the welcome.
    for _ in 0..2 {
        read += channel.take(&output[read..]).unwrap().unwrap().1;
    }
    assert_eq!(read, output.len());
    (server, channel)
}

#[test]
fn buffers_are_bounded_when_ten_thousand_authentic_frames_are_random() {
    authentic_nonsense(10_000, 1);
}

#[test]
#[ignore = "minutes"]
fn buffers_are_bounded_when_a_million_frames_are_random_or_mutated() {
    authentic_nonsense(200_000, 2);
    let (mut random, stream) = (Random(3), proper());
    for _ in 0..800_000 {
        let mut damaged = stream.clone();
        for _ in 0..=random.next() % 4 {
            let at = (random.next() % damaged.len() as u64) as usize;
            damaged[at] = random.next() as u8;
        }
        survive(&damaged, 1 + (random.next() % 5) as usize);
    }
}
