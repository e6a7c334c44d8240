//! What the first packets of connections show: a SYN after its answer, servers that leave SYNs unanswered, one
//! direction, both sides of a NAT, options that a device took away.

use crate::packet_builder::{Tcp, pcap, read};
use ackclock_trace::report::{CaptureIndex, ConnectionCounts, FindingThresholds, FlowReport, FlowRows, ListenerFacts, Report};

const THRESHOLDS: FindingThresholds =
    FindingThresholds { bytes: 20_000, ttl_difference: 1, think_s: 0.5, retransmitted: 5, packets: 10 };
const RTT_MS: u64 = 20;

fn syn(seq: u32) -> Tcp<'static> {
    Tcp { seq, syn: true, window: 8000, ..Tcp::default() }
}

fn syn_ack(seq: u32, ack: u32) -> Tcp<'static> {
    Tcp { from_server: true, ack, ..syn(seq) }
}

fn client(seq: u32, ack: u32, payload: usize) -> Tcp<'static> {
    Tcp { seq, ack, payload, window: 8000, ..Tcp::default() }
}

/// A packet at a time in microseconds whose client has this last byte of its address and this port; the server has
/// `to` in the place of its own.
struct Sent<'a> {
    at: u64,
    client: u8,
    port: u16,
    to: u8,
    tcp: Tcp<'a>,
}

impl Sent<'_> {
    fn datagram(&self) -> (u64, Vec<u8>) {
        let mut bytes = self.tcp.datagram();
        let (own, peer, port) = if self.tcp.from_server { (19, 15, 22) } else { (15, 19, 20) };
        bytes[own] = self.client;
        bytes[peer] = self.to;
        bytes[port..port + 2].copy_from_slice(&self.port.to_be_bytes());
        (self.at * 1000, bytes)
    }
}

/// The flows, what their servers' other connections show, and the connections.
fn analyzed(mut packets: Vec<Sent<'_>>) -> (Vec<FlowReport>, Vec<Option<ListenerFacts>>, ConnectionCounts) {
    packets.sort_by_key(|packet| packet.at);
    let datagrams: Vec<_> = packets.iter().map(Sent::datagram).collect();
    let (capture, analysis) = read(pcap(&datagrams, 65_535));
    let rows = FlowRows::of(&analysis);
    let index = CaptureIndex::of(&rows, THRESHOLDS, &[], None);
    let facts = (0..rows.len()).map(|number| index.listener(&rows.flow(number))).collect();
    let mut flows = Report::of(&analysis, &capture).flows;
    for (number, flow) in flows.iter_mut().enumerate() {
        flow.translation_of = index.translation_of(number);
    }
    (flows, facts, index.summary().connections)
}

fn one(packets: Vec<(u64, Tcp<'_>)>) -> (FlowReport, ConnectionCounts) {
    let sent = packets.into_iter().map(|(at, tcp)| Sent { at, client: 2, port: 5000, to: 1, tcp }).collect();
    let (mut flows, _, counts) = analyzed(sent);
    (flows.remove(0), counts)
}

// finding("C26")
#[test]
fn syn_is_no_retransmission_when_it_is_captured_after_its_answer_and_after_data() {
    let (flow, _) = one(vec![(0, syn_ack(99, 100)), (260, syn(99)), (294, client(100, 100, 0)), (443, client(100, 100, 136))]);
    assert_eq!((flow.a2b.retransmitted_segments, flow.a2b.causes.len()), (0, 0));
    // What the SYN shows of times is nothing.
    assert_eq!((flow.handshake_rtt_ms, flow.handshake.server_side_ms, flow.handshake.complete), (None, None, true));
    let (late, _) = one(vec![(0, client(100, 100, 0)), (50, syn_ack(99, 100)), (60, syn(99)), (500, client(100, 100, 136))]);
    assert_eq!(late.a2b.retransmitted_segments, 0);
    // A second one is.
    let (twice, _) =
        one(vec![(0, syn(99)), (1_000_000, syn(99)), (1_020_000, syn_ack(99, 100)), (1_020_100, client(100, 100, 0))]);
    assert_eq!(twice.a2b.causes["handshake"].count, 1);
}

// finding("C20")
#[test]
fn connection_is_answered_when_its_client_acknowledges_what_was_not_captured() {
    let acks = (1..9).map(|n| (100_000 + n * 500, client(200, 100 + n as u32 * 1400, 0)));
    let packets = [(0, syn(99)), (50_000, client(100, 100, 0)), (50_100, client(100, 100, 100))].into_iter().chain(acks);
    let (flow, counts) = one(packets.collect());
    assert_eq!((flow.b2a.packets, flow.b2a.repairs.missed_bytes), (0, 8 * 1400));
    assert_eq!((counts.unanswered, counts.half_open), (0, 1));
    let (silent, counts) = one(vec![(0, syn(99)), (1_000_000, syn(99))]);
    assert_eq!((counts.unanswered, silent.b2a.repairs.missed_bytes), (1, 0));
}

/// A connection that the server accepts after `answer` microseconds.
fn accepted(at: u64, client_address: u8, port: u16, answer: u64, options: &[u8]) -> Vec<Sent<'_>> {
    let seq = u32::from(port) * 1000;
    let packet = |at, tcp| Sent { at, client: client_address, port, to: 1, tcp };
    vec![
        packet(at, Tcp { options, ..syn(seq) }),
        packet(at + answer, Tcp { options, ..syn_ack(99, seq + 1) }),
        packet(at + answer + RTT_MS * 1000, client(seq + 1, 100, 0)),
    ]
}

/// A SYN that is sent three times, with these options.
fn ignored(at: u64, client_address: u8, port: u16, options: [&[u8]; 3]) -> Vec<Sent<'_>> {
    let copy = |(after, options)| {
        let tcp = Tcp { options, ..syn(u32::from(port) * 1000) };
        Sent { at: at + after, client: client_address, port, to: 1, tcp }
    };
    [0, 1_000_000, 3_000_000].into_iter().zip(options).map(copy).collect()
}

// finding("C25")
#[test]
fn server_has_a_full_queue_when_it_accepts_others_at_the_capture() {
    let facts = |packets: Vec<Vec<Sent<'_>>>| analyzed(packets.into_iter().flatten().collect()).1.into_iter().flatten().last();
    let here = facts(vec![accepted(0, 2, 5000, 60, &[]), ignored(400_000, 2, 5001, [&[]; 3])]).unwrap();
    assert_eq!((here.accepted, here.is_unselective, here.behind_timestamps), (1, true, 0));
    assert!((here.answers_within_ms.unwrap() - 0.06).abs() < 1e-9);
    // The capture is at the client: the answer takes the RTT.
    let away = facts(vec![accepted(0, 2, 5000, 300_000, &[]), ignored(400_000, 2, 5001, [&[]; 3])]).unwrap();
    assert_eq!(away.answers_within_ms, None);
    // Only another address is accepted: a filter may drop this one.
    let filtered = facts(vec![accepted(0, 3, 5000, 60, &[]), ignored(400_000, 2, 5001, [&[]; 3])]).unwrap();
    assert_eq!((filtered.accepted, filtered.is_unselective), (1, false));
    // Others were accepted long before.
    let before = facts(vec![accepted(0, 2, 5000, 60, &[]), ignored(10_100_000, 2, 5001, [&[]; 3])]).unwrap();
    assert_eq!(before.accepted, 0);
    // Nothing is left unanswered.
    assert_eq!(facts(vec![accepted(0, 2, 5000, 60, &[]), accepted(400_000, 2, 5001, 60, &[])]), None);
}

fn timestamp(value: u32) -> &'static [u8] {
    let mut option = vec![1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    option[4..8].copy_from_slice(&value.to_be_bytes());
    option.leak()
}

// finding("C25")
#[test]
fn timestamps_are_behind_only_when_all_ignored_syns_are_below_growing_accepted_ones() {
    let behind = |of_accepted: [u32; 4], of_ignored: [u32; 3]| {
        let (of_accepted, of_ignored) =
            (of_accepted.map(timestamp), of_ignored.map(|value| [0, 1, 3].map(|after| timestamp(value + after))));
        let at = |n: usize| n as u64 * 1_000_000;
        let accept = |(n, option): (usize, &'static [u8])| accepted(at(n), 2, 5000 + n as u16, 60, option);
        let ignore = |(n, options): (usize, [&'static [u8]; 3])| ignored(at(4 + n), 2, 6000 + n as u16, options);
        let accepted = of_accepted.into_iter().enumerate().flat_map(accept);
        let packets = accepted.chain(of_ignored.into_iter().enumerate().flat_map(ignore)).collect();
        analyzed(packets).1.into_iter().flatten().map(|facts| facts.behind_timestamps).max()
    };
    assert_eq!(behind([7000, 7100, 7200, 7300], [100, 200, 300]), Some(3));
    // One that is ignored is above; one that is accepted is below.
    assert_eq!(behind([7000, 7100, 7200, 7300], [100, 200, 9000]), Some(0));
    assert_eq!(behind([7000, 7100, 600, 7300], [100, 200, 300]), Some(0));
    // The accepted ones, a second apart, are of no common clock: each connection has an offset of its own.
    assert_eq!(behind([7000, 9_000_000, 50_000_000, 900_000_000], [100, 200, 300]), Some(0));
}

// finding("C33")
#[test]
fn flow_is_a_translation_when_another_one_has_its_sequence_numbers_at_the_same_time() {
    let nat = |port, initial: u32, later: u64| {
        let inside = accepted(0, 2, 5000, 60, &[]);
        let outside = accepted(later, 9, port, 60, &[]).into_iter().map(move |mut sent| {
            let shift = |number: u32| number.wrapping_sub(u32::from(port) * 1000).wrapping_add(initial);
            let tcp = &mut sent.tcp;
            if tcp.from_server {
                tcp.ack = shift(tcp.ack)
            } else {
                tcp.seq = shift(tcp.seq)
            }
            sent
        });
        let (flows, _, counts) = analyzed(inside.into_iter().chain(outside).collect());
        (flows[1].translation_of, counts.established)
    };
    assert_eq!(nat(6000, 5_000_000, 30), (Some(0), 1));
    assert_eq!(nat(6000, 5_000_001, 30), (None, 2));
    assert_eq!(nat(6000, 5_000_000, 2_000_000), (None, 2));
}

#[test]
fn option_was_erased_when_four_nops_stand_in_a_row() {
    // MSS, SACK permitted, timestamps, NOP, window scale: as Linux sends them, and as a firewall leaves them.
    let head = [[2, 4, 5, 180, 4, 2].as_slice(), &[8, 10, 0, 0, 0, 1, 0, 0, 0, 0]].concat();
    for (tail, erased, scale) in [([1, 3, 3, 7], false, Some(7)), ([1; 4], true, None)] {
        let options = [head.as_slice(), &tail].concat();
        let (flow, _) = one(vec![(0, Tcp { options: &options, ..syn(99) })]);
        let handshake = &flow.handshake;
        assert_eq!((handshake.client_option_erased, handshake.client_window_scale), (erased, scale));
        assert!(handshake.client_sack);
    }
}
