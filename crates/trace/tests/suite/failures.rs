//! Connections that fail, in a few packets each: refused, unanswered, a peer that is gone, a zero
//! window that stays, resets by kind; and think times.

use crate::packet_builder::{Tcp, pcap, read};
use ackclock_trace::report::{FlowReport, Report, VantagePoint};

const RST: u8 = 4;
const RST_ACK: u8 = 20;
const FIN_ACK: u8 = 17;

/// The report on packets with times in milliseconds.
fn flow(packets: &[(u64, Tcp<'_>)]) -> FlowReport {
    let datagrams: Vec<_> = packets.iter().map(|(at, tcp)| (at * 1_000_000, tcp.datagram())).collect();
    let (capture, analysis) = read(pcap(&datagrams, 65_535));
    Report::of(&analysis, &capture).flows.remove(0)
}

fn client(seq: u32, ack: u32, payload: usize) -> Tcp<'static> {
    Tcp { seq, ack, payload, window: 8000, ..Tcp::default() }
}

fn server(seq: u32, ack: u32, payload: usize) -> Tcp<'static> {
    Tcp { from_server: true, seq, ack, payload, window: 8000, ..Tcp::default() }
}

fn syn() -> Tcp<'static> {
    Tcp { seq: 99, syn: true, window: 8000, ..Tcp::default() }
}

/// A handshake at the client with an RTT of 20 ms; then both ends are at sequence number 100.
fn handshake() -> Vec<(u64, Tcp<'static>)> {
    let syn_ack = Tcp { from_server: true, seq: 99, ack: 100, syn: true, window: 8000, ..Tcp::default() };
    vec![(0, syn()), (20, syn_ack), (20, client(100, 100, 0))]
}

fn with(rest: Vec<(u64, Tcp<'static>)>) -> FlowReport {
    flow(&[handshake(), rest].concat())
}

fn close(seconds: f64, expected: f64) -> bool {
    (seconds - expected).abs() < 1e-6
}

// finding("C4")
#[test]
fn zero_window_probes_are_no_retransmissions_when_each_carries_the_next_byte() {
    let closed = |ack| Tcp { window: 0, ..client(100, ack, 0) };
    let mut packets = vec![(100, server(100, 100, 1000)), (101, closed(1100))];
    let probes = [400, 1000, 2200, 4600, 9400, 19_000];
    for at in probes {
        packets.extend([(at, server(1100, 100, 1)), (at + 1, closed(1100))]);
    }
    // The window opens; the sender continues with the byte of the probes.
    packets.extend([(20_000, client(100, 1100, 0)), (20_001, server(1100, 100, 1000)), (20_002, client(100, 2100, 0))]);
    let direction = with(packets).b2a;
    assert_eq!((direction.zero_window_probes, direction.retransmitted_segments, direction.rto_retransmits), (6, 0, 0));
    assert_eq!((direction.zero_windows, direction.zero_window.acks, direction.unique_bytes), (1, 7, 2000));
    assert!(close(direction.zero_window.closed_s, 19.899), "{:?}", direction.zero_window);
    assert_eq!(direction.zero_window.closed_at_end_s, None);
    assert_eq!(direction.repairs.missed_bytes, 0);
}

// finding("C4")
#[test]
fn byte_of_a_probe_is_not_missing_when_the_receiver_accepts_it() {
    let closed = Tcp { window: 0, ..client(100, 1100, 0) };
    let accepted = client(100, 1101, 0);
    let direction = with(vec![
        (100, server(100, 100, 1000)),
        (101, closed),
        (400, server(1100, 100, 1)),
        (401, accepted),
        (402, server(1101, 100, 1000)),
    ])
    .b2a;
    assert_eq!((direction.zero_window_probes, direction.retransmitted_segments), (1, 0));
    assert_eq!(direction.repairs.missed_bytes, 0);
}

// finding("C8")
#[test]
fn window_is_closed_at_the_end_when_no_packet_opens_it() {
    let closed = Tcp { window: 0, ..client(100, 1100, 0) };
    let mut packets = vec![(100, server(100, 100, 1000)), (101, closed)];
    for at in [3400, 10_200, 23_700] {
        packets.extend([(at, server(1099, 100, 0)), (at, Tcp { window: 0, ..client(100, 1100, 0) })]);
    }
    let direction = with(packets).b2a;
    assert_eq!((direction.zero_window_probes, direction.zero_window.acks), (3, 4));
    assert!(close(direction.zero_window.closed_at_end_s.unwrap(), 23.599), "{:?}", direction.zero_window);
}

// finding("C8")
#[test]
fn data_is_unanswered_when_its_copies_back_off_and_nothing_returns() {
    let copies = [100, 306, 906, 2106, 4506, 9311];
    let report = with(copies.map(|at| (at, client(100, 100, 648))).to_vec());
    let unanswered = &report.a2b.unanswered;
    assert_eq!((unanswered.what, unanswered.bytes, unanswered.copies), (Some("data"), 648, 6));
    assert_eq!(unanswered.sent_at_s.len(), 6);
    assert!(close(unanswered.sent_at_s[2], 0.906), "{unanswered:?}");
    assert!(close(unanswered.lasted_s.unwrap(), 9.211), "{unanswered:?}");
    // An answer ends it.
    let mut answered = copies.map(|at| (at, client(100, 100, 648))).to_vec();
    answered.push((9400, server(100, 748, 0)));
    assert_eq!(with(answered).a2b.unanswered.what, None);
}

#[test]
fn data_is_unanswered_after_a_second() {
    let what = |last| with([100, 400, last].map(|at| (at, client(100, 100, 648))).to_vec()).a2b.unanswered.what;
    assert_eq!([1099, 1100].map(what), [None, Some("data")]);
}

// finding("C8")
#[test]
fn data_is_not_unanswered_when_the_capture_ends_in_a_recovery() {
    let mut packets: Vec<_> = (0..5).map(|i| (100, client(100 + i * 100, 100, 100))).collect();
    packets.extend([(1120, server(100, 200, 0)), (1320, client(200, 100, 100)), (1540, client(200, 100, 100))]);
    // The second copy of the oldest segment is answered by a duplicate ACK.
    packets.push((1560, server(100, 200, 0)));
    packets.push((2000, client(200, 100, 100)));
    assert_eq!(with(packets).a2b.unanswered.what, None);
}

// finding("C7")
#[test]
fn syn_is_refused_or_unanswered_by_what_returns() {
    let refused = flow(&[(0, syn()), (1, Tcp { flags: RST_ACK, ..server(0, 100, 0) })]);
    assert_eq!((refused.reset.kind, refused.reset.from), (Some("refused"), Some("server")));
    let silent = flow(&[0, 1000, 3000, 7000].map(|at| (at, syn())));
    assert_eq!((silent.a2b.unanswered.what, silent.a2b.unanswered.copies), (Some("syn"), 4));
    assert_eq!(silent.reset.kind, None);
    assert!(silent.a2b.unanswered.sent_at_s.iter().zip([0.0, 1.0, 3.0, 7.0]).all(|(at, expected)| close(*at, expected)));
}

// finding("C7")
#[test]
fn reset_has_the_kind_that_its_flags_and_packets_before_it_show() {
    let rst = |flags, tcp: Tcp<'static>| Tcp { flags, ..tcp };
    let response = || vec![(50, client(100, 100, 100)), (70, server(100, 200, 1000))];
    let kind = |rest: Vec<(u64, Tcp<'static>)>| with([response(), rest].concat()).reset.kind.unwrap();
    // The program reads nothing and closes; the last data was 10 ms ago.
    assert_eq!(kind(vec![(80, rst(RST_ACK, client(200, 1100, 0)))]), "unread_data");
    // It closes a connection that was idle for 5 s.
    assert_eq!(kind(vec![(71, client(200, 1100, 0)), (5000, rst(RST_ACK, client(200, 1100, 0)))]), "abort");
    // It had closed before more data came.
    let closed = vec![(72, rst(FIN_ACK, client(200, 1100, 0))), (90, server(1100, 201, 1000)), (91, rst(RST, client(201, 0, 0)))];
    assert_eq!(kind(closed), "after_close");
    // The server restarted: it answers data of a connection that it does not have.
    let restarted = vec![(71, client(200, 1100, 0)), (5000, client(200, 1100, 100)), (5020, rst(RST, server(1100, 0, 0)))];
    assert_eq!(kind(restarted), "unknown_connection");
    // The client gives up after copies of its request.
    let silent = [5000, 5300, 5900, 7100].map(|at| (at, client(200, 1100, 100)));
    let given_up = [vec![(71, client(200, 1100, 0))], silent.to_vec(), vec![(9500, rst(RST_ACK, client(300, 1100, 0)))]].concat();
    assert_eq!(kind(given_up), "gave_up");
    // A SYN-ACK for a SYN that its host did not send.
    let scan = flow(&[handshake()[..2].to_vec(), vec![(21, rst(RST, client(100, 0, 0)))]].concat());
    assert_eq!(scan.reset.kind, Some("half_open"));
    // A reset from nearer than the server.
    let injected = with([response(), vec![(71, Tcp { ttl: 61, ..rst(RST_ACK, server(1100, 200, 0)) })]].concat()).reset;
    assert_eq!((injected.ttl, injected.usual_ttl), (Some(61), Some(64)));
}

#[test]
fn vantage_point_is_the_receiver_when_segments_are_retransmitted_that_never_passed() {
    // An RTT of less than 1 ms; each tenth segment passes as a retransmission only.
    let mut packets: Vec<_> = handshake().into_iter().map(|(_, tcp)| (0, tcp)).collect();
    let data = |at, n: u32| (at, Tcp { id: n as u16, ..server(100 + n * 1000, 100, 1000) });
    for round in 0..10u32 {
        let (at, first) = (u64::from(round) * 10 + 1, round * 10);
        packets.extend((0..10).filter(|n| *n != 4).map(|n| data(at, first + n)));
        packets.push((at, client(100, 100 + (first + 4) * 1000, 0)));
        packets.push((at + 5, Tcp { id: 1000 + round as u16, ..data(at, first + 4).1 }));
        packets.push((at + 5, client(100, 100 + (first + 10) * 1000, 0)));
    }
    let report = flow(&packets);
    assert_eq!(report.b2a.repairs.lost_upstream, 10);
    assert_eq!(report.vantage.place, VantagePoint::Client);
    assert_eq!(report.b2a.limited.unwrap().application, None);
}

// finding("C8")
#[test]
fn think_time_is_the_pause_beyond_the_rtt_when_an_end_answers_late() {
    // At the client: the request leaves 1345 ms after the handshake, the response begins 500 ms after it.
    let report = with(vec![(1365, client(100, 100, 627)), (1865, server(100, 727, 1400)), (1866, client(727, 1500, 0))]);
    assert_eq!((report.a2b.think_time.count, report.b2a.think_time.count), (1, 1));
    assert!(close(report.a2b.think_time.total_s, 1.345), "{:?}", report.a2b.think_time);
    assert!(close(report.b2a.think_time.total_s, 0.480), "{:?}", report.b2a.think_time);
    assert!(close(report.b2a.think_time.longest_at_s.unwrap(), 1.865), "{:?}", report.b2a.think_time);
    // A pure ACK of the request shows when it had arrived.
    let acked = vec![(1365, client(100, 100, 627)), (1410, server(100, 727, 0)), (1865, server(100, 727, 1400))];
    assert!(close(with(acked).b2a.think_time.total_s, 0.455));
    // Within the RTT there is none; a server that speaks first thinks, too.
    let fast = with(vec![(25, client(100, 100, 627)), (45, server(100, 727, 1400)), (50, client(727, 1500, 10))]);
    assert_eq!((fast.a2b.think_time.count, fast.b2a.think_time.count), (0, 0));
    let greeting = with(vec![(340, server(100, 100, 50)), (360, client(100, 150, 20))]);
    assert!(close(greeting.b2a.think_time.total_s, 0.3), "{:?}", greeting.b2a.think_time);
}

// finding("C23")
#[test]
fn fin_is_unanswered_with_its_data_when_its_copies_back_off() {
    let fin = |at| (at, Tcp { flags: FIN_ACK, ..client(100, 100, 31) });
    let report = with([200, 510, 1120, 2330, 4740].map(fin).to_vec());
    let unanswered = &report.a2b.unanswered;
    assert_eq!((unanswered.what, unanswered.bytes, unanswered.copies), (Some("fin"), 31, 5));
    // Two copies may be a capture that ends.
    assert_eq!(with([200, 510].map(fin).to_vec()).a2b.unanswered.what, None);
}

// finding("C29")
#[test]
fn probes_of_an_idle_connection_are_no_retransmissions_with_a_byte_or_without() {
    let response = || vec![(30, client(100, 100, 100)), (50, server(100, 200, 1000)), (51, client(200, 1100, 0))];
    let probe = |at, payload| (at, client(199, 1100, payload));
    let answered = |at, payload| [probe(at, payload), (at + 20, server(1100, 200, 0))];
    let kept = [response(), answered(1000, 0).into(), answered(2000, 1).into(), answered(3000, 1).into()].concat();
    let report = with(kept.clone());
    assert_eq!((report.a2b.keep_alives, report.a2b.retransmitted_segments), (3, 0));
    assert_eq!(report.a2b.unanswered_keep_alives.count, 0);
    let silent = [6000, 7000, 8000].map(|at| probe(at, 0)).to_vec();
    let reset = vec![(9000, Tcp { flags: RST_ACK, ..client(200, 1100, 0) })];
    let report = with([kept.clone(), silent, reset].concat());
    assert_eq!((report.a2b.keep_alives, report.a2b.unanswered_keep_alives.count), (6, 3));
    assert!(close(report.a2b.unanswered_keep_alives.first_at_s.unwrap(), 6.0));
    assert_eq!(report.reset.kind, Some("gave_up"));
    // An end that has only received probes with the number of its SYN.
    let received = vec![(30, server(100, 100, 1000)), (31, client(100, 1100, 0))];
    let quiet = [6000, 7000, 8000].map(|at| (at, client(99, 1100, 0))).to_vec();
    assert_eq!(with([received, quiet].concat()).a2b.unanswered_keep_alives.count, 3);
    // Two probes may be a capture that ends; an answer ends them all.
    assert_eq!(with([kept.clone(), vec![probe(6000, 0), probe(7000, 0)]].concat()).a2b.unanswered_keep_alives.count, 0);
    let late = [kept, [6000, 7000, 8000].map(|at| probe(at, 0)).to_vec(), vec![(8020, server(1100, 200, 0))]].concat();
    assert_eq!(with(late).a2b.unanswered_keep_alives.count, 0);
}

// finding("C29")
#[test]
fn segment_of_one_byte_is_retransmitted_when_the_sender_had_sent_it_so() {
    let typed = vec![(30, client(100, 100, 1)), (50, server(100, 101, 0)), (300, client(100, 100, 1))];
    let report = with(typed);
    assert_eq!((report.a2b.keep_alives, report.a2b.retransmitted_segments), (0, 1));
}

// finding("C30")
#[test]
fn reset_is_not_of_its_end_when_that_end_goes_on() {
    let rst = Tcp { flags: RST_ACK, ttl: 46, ..server(0, 100, 0) };
    let accepted = Tcp { from_server: true, seq: 99, ack: 100, syn: true, ttl: 49, ..Tcp::default() };
    let report = flow(&[(0, syn()), (234, rst), (1266, accepted), (1268, client(100, 100, 25))]);
    let reset = &report.reset;
    assert_eq!((reset.kind, reset.ttl, reset.usual_ttl), (Some("refused"), Some(46), Some(49)));
    assert_eq!((reset.packets_after, reset.accepted_after), (1, true));
    assert!(close(reset.went_on_at_s.unwrap(), 1.266));
    // The other end answers what it had not received; the end that reset is silent, or resets again.
    let own = Tcp { flags: RST_ACK, ..server(100, 100, 0) };
    let report = with(vec![(50, own), (51, client(100, 100, 100)), (70, Tcp { flags: RST, ..server(100, 0, 0) })]);
    assert_eq!((report.reset.packets_after, report.reset.went_on_at_s), (0, None));
}

// finding("C34")
#[test]
fn window_opens_by_a_probe_when_its_answer_is_the_first_packet_after_it() {
    let closed = |ack| Tcp { window: 0, ..client(100, ack, 0) };
    let (mut probed, mut announced) = (Vec::new(), Vec::new());
    for n in 0..3u32 {
        let (at, seq) = (100 + u64::from(n) * 1000, 100 + n * 1000);
        let fills = [(at, server(seq, 100, 1000)), (at + 1, closed(seq + 1000))];
        let (probe, opens) = ((at + 200, server(seq + 999, 100, 0)), client(100, seq + 1000, 0));
        probed.extend(fills.into_iter().chain([probe, (at + 201, opens)]));
        announced.extend(fills.into_iter().chain([probe, (at + 201, closed(seq + 1000)), (at + 300, opens)]));
    }
    let window = |packets| with(packets).b2a.zero_window.opened_by_probe;
    assert_eq!((window(probed), window(announced)), (3, 0));
}
