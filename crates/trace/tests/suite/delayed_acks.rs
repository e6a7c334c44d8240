//! Data that waits for a delayed ACK, and the nearest cases in which nothing waits: a path as long, a slow
//! program, an answer.

use crate::packet_builder::{Tcp, pcap, read};
use ackclock_trace::report::{LateAckReport, Report};

const MSS_1400: [u8; 4] = [2, 4, 5, 120];

/// Microseconds.
type Script = Vec<(u64, Tcp<'static>)>;

fn client(seq: u32, ack: u32, payload: usize) -> Tcp<'static> {
    Tcp { seq, ack, payload, window: 60_000, ..Tcp::default() }
}

fn server(seq: u32, ack: u32, payload: usize) -> Tcp<'static> {
    Tcp { from_server: true, ..client(seq, ack, payload) }
}

/// What waited of the server's data after a handshake at the server with this RTT.
fn late(rtt: u64, rest: Script) -> LateAckReport {
    let syn = Tcp { seq: 99, syn: true, options: &MSS_1400, window: 60_000, ..Tcp::default() };
    let mut packets = vec![(0, syn), (10, Tcp { from_server: true, ack: 100, ..syn }), (10 + rtt, client(100, 100, 0))];
    packets.extend(rest);
    let datagrams: Vec<_> = packets.iter().map(|(at, tcp)| (at * 1000, tcp.datagram())).collect();
    let (capture, analysis) = read(pcap(&datagrams, 65_535));
    Report::of(&analysis, &capture).flows.remove(0).b2a.late_acks
}

/// Responses in two parts, the second of which leaves `after` the ACK of the first, which comes `delay` later, and is
/// acknowledged after `rtt`; the client asks again `pause` after that ACK. All at the server.
fn responses((first, second): (usize, usize), rtt: u64, delay: u64, after: u64, pause: u64) -> Script {
    let mut packets = Vec::new();
    let (mut at, mut asked, mut sent) = (100_000, 100, 100);
    for _ in 0..5 {
        let both = sent + (first + second) as u32;
        packets.push((at, client(asked, sent, 80)));
        asked += 80;
        packets.push((at + 100, server(sent, asked, first)));
        packets.push((at + 100 + delay, client(asked, sent + first as u32, 0)));
        packets.push((at + 100 + delay + after, server(sent + first as u32, asked, second)));
        packets.push((at + 100 + rtt + delay + after, client(asked, both, 0)));
        (at, sent) = (at + 100 + rtt + delay + after + pause, both);
    }
    packets
}

// finding("C18")
#[test]
fn small_segment_waits_when_it_leaves_right_after_a_late_ack() {
    let waited = late(1000, responses((120, 400), 1000, 41_000, 40, 10));
    assert_eq!((waited.acks, waited.held_small, waited.held_full), (5, 5, 0));
    assert!((waited.waited_s - 5.0 * 0.040).abs() < 1e-3, "{waited:?}");
    assert!((waited.mean_ms.unwrap() - 40.0).abs() < 0.1 && waited.sd_ms.unwrap() < 0.1, "{waited:?}");
}

// finding("C18")
#[test]
fn nothing_waits_when_the_path_is_as_long_or_the_program_writes_later_or_the_ack_is_early() {
    // A path of 41 ms.
    assert_eq!(late(41_000, responses((120, 400), 41_000, 41_000, 40, 10)).held_small, 0);
    // The program writes its second part 5 ms after the ACK.
    let slow = late(1000, responses((120, 400), 1000, 41_000, 5000, 10));
    assert_eq!((slow.acks, slow.held_small), (5, 0));
    // The receiver acknowledges at once; the client thinks for 40 ms.
    let thinks = late(1000, responses((120, 400), 1000, 1000, 40, 40_000));
    assert_eq!((thinks.acks, thinks.held_small), (0, 0));
}

// finding("C18")
#[test]
fn answer_does_not_wait_for_the_ack_that_comes_just_before_its_request() {
    let mut packets = Vec::new();
    for i in 0..5u32 {
        let (at, asked, sent) = (5000 + u64::from(i) * 60_000, 100 + i * 80, 100 + i * 500);
        packets.push((at, client(asked, sent, 80)));
        packets.push((at + 100, server(sent, asked + 80, 500)));
        // The delayed ACK of the response leaves just before the next request.
        packets.push((at + 59_900, client(asked + 80, sent + 500, 0)));
    }
    let asked = late(1000, packets);
    assert_eq!((asked.acks, asked.held_small), (5, 0));
}

// finding("C19")
#[test]
fn full_segments_wait_when_each_is_alone_in_flight_and_its_ack_is_late() {
    let alone = |i: u32| {
        let (at, seq) = (5000 + u64::from(i) * 201_600, 100 + i * 1400);
        [(at, server(seq, 100, 1400)), (at + 201_000, client(100, seq + 1400, 0))]
    };
    let waited = late(1000, (0..10).flat_map(alone).collect());
    assert_eq!((waited.acks, waited.held_small, waited.held_full), (10, 0, 9));
    assert!((waited.mean_ms.unwrap() - 200.0).abs() < 0.1, "{waited:?}");
    // Two segments in flight, of which one is acknowledged late, are none.
    let pairs = |i: u32| {
        let (at, seq) = (5000 + u64::from(i) * 201_600, 100 + i * 2800);
        [(at, server(seq, 100, 1400)), (at + 10, server(seq + 1400, 100, 1400)), (at + 201_000, client(100, seq + 2800, 0))]
    };
    assert_eq!(late(1000, (0..10).flat_map(pairs).collect()).acks, 0);
}
