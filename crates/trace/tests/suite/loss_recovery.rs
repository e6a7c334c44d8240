//! Classification of retransmissions in short conversations: RTOs during fast recovery, spurious
//! RTOs (papers/README.md, 7.7), and lost retransmissions.

use crate::packet_builder::{Tcp, pcap, read};
use ackclock_trace::report::{DirectionReport, Report};

/// One packet: time in milliseconds, and the server's sequence number or the client's
/// acknowledgment number. Segments have 1000 bytes; the stream begins at 1.
enum Packet {
    Data(u64, u32),
    Ack(u64, u32),
    Sack(u64, u32, (u32, u32)),
}
use Packet::{Ack, Data, Sack};

fn datagram(packet: &Packet, id: u16) -> (u64, Vec<u8>) {
    let mut options = Vec::new();
    if let Sack(_, _, (left, right)) = packet {
        options.extend([1, 1, 5, 10]);
        options.extend(left.to_be_bytes().into_iter().chain(right.to_be_bytes()));
    }
    let common = Tcp { window: 0xffff, id, options: &options, ..Tcp::default() };
    let (at, tcp) = match *packet {
        Data(at, seq) => (at, Tcp { from_server: true, seq, ack: 7, payload: 1000, ..common }),
        Ack(at, ack) | Sack(at, ack, _) => (at, Tcp { seq: 7, ack, ..common }),
    };
    (at * 1_000_000, tcp.datagram())
}

/// The analyzer's report on the server's data.
fn server(packets: &[Packet]) -> DirectionReport {
    let packets: Vec<_> = (100..).zip(packets).map(|(id, packet)| datagram(packet, id)).collect();
    let (capture, analysis) = read(pcap(&packets, 65_535));
    Report::of(&analysis, &capture).flows.remove(0).b2a
}

/// A capture at the server, with an RTT of 100 ms. Of eight segments from 4001 on the first is
/// lost, and retransmitted at the third duplicate ACK.
fn recovery() -> Vec<Packet> {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..12).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Ack(200, 4001), Ack(201, 4001), Ack(202, 4001), Data(202, 4001), Ack(203, 4001), Ack(204, 4001)]);
    all
}

/// The third segment is lost too and retransmitted by RTO; its ACK follows `ack_after` milliseconds
/// later.
fn two_lost(ack_after: u64) -> DirectionReport {
    let mut all = recovery();
    all.extend([Ack(302, 6001), Data(650, 6001), Ack(650 + ack_after, 12_001)]);
    server(&all)
}

#[test]
fn rto_in_recovery_is_a_needed_pair_when_its_ack_takes_an_rtt() {
    let report = two_lost(100);
    assert_eq!((report.fast_retransmits, report.rto_retransmits), (1, 1));
    assert_eq!((report.repairs.pairs, report.repairs.fast_then_timeout, report.repairs.pairs_not_needed), (1, 0, 0));
    assert_eq!((report.spurious.early_timeouts, report.spurious_retransmits), (0, 0));
}

#[test]
fn rto_in_recovery_is_spurious_when_its_ack_is_sooner_than_the_min_rtt() {
    let report = two_lost(30);
    assert_eq!((report.fast_retransmits, report.rto_retransmits), (1, 1));
    assert_eq!((report.repairs.pairs, report.repairs.fast_then_timeout, report.repairs.pairs_not_needed), (1, 0, 1));
    assert_eq!((report.spurious.early_timeouts, report.spurious.of_timeouts, report.spurious.early_ack), (1, 1, 1));
}

#[test]
fn rto_after_fast_retransmission_is_a_pair_of_one_segment_when_that_was_lost() {
    let mut all = recovery();
    all.extend([Data(650, 4001), Ack(750, 12_001)]);
    let report = server(&all);
    assert_eq!((report.fast_retransmits, report.rto_retransmits), (1, 1));
    assert_eq!((report.repairs.pairs, report.repairs.fast_then_timeout, report.repairs.pairs_not_needed), (1, 1, 0));
}

#[test]
fn rto_is_spurious_when_the_ack_for_the_fast_retransmission_follows_it() {
    let mut all = recovery();
    // The fast retransmission fills the only gap; its ACK arrives after the RTO.
    all.extend([Data(650, 4001), Ack(660, 12_001)]);
    let report = server(&all);
    assert_eq!((report.repairs.pairs, report.repairs.fast_then_timeout, report.repairs.pairs_not_needed), (1, 1, 1));
    assert_eq!(report.spurious.early_timeouts, 1);
}

#[test]
fn rto_without_recovery_is_no_pair_and_may_be_spurious() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.extend([Ack(100, 4001), Data(100, 4001), Data(100, 5001), Data(650, 4001), Ack(655, 6001)]);
    let report = server(&all);
    assert_eq!((report.rto_retransmits, report.repairs.pairs), (1, 0));
    assert_eq!((report.spurious.early_timeouts, report.spurious.of_timeouts), (1, 1));
}

/// RFC 8985, section 6.2, step 2: of two segments sent at the same time the one with the higher
/// sequence number counts as sent later.
#[test]
fn second_retransmission_is_fast_when_a_segment_sent_at_the_same_time_arrives() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..12).map(|i| Data(100, 1 + i * 1000)));
    all.extend((0..7).map(|i| Sack(200 + u64::from(i / 3), 4001, (5001, 6001 + i * 1000))));
    all.extend([Data(202, 4001), Data(202, 12_001)]);
    // Of the segments sent at that time only the higher one arrived: the retransmission is lost.
    all.extend([Sack(303, 4001, (5001, 13_001)), Data(303, 4001), Data(303, 13_001), Ack(403, 14_001)]);
    let report = server(&all);
    assert_eq!((report.fast_retransmits, report.rto_retransmits, report.go_back_n_retransmits), (2, 0, 0));
}

/// RFC 6582, section 3.2: a partial ACK triggers the retransmission of the next segment, whenever
/// that was sent.
#[test]
fn retransmission_is_fast_when_a_partial_ack_triggers_it_soon_after_the_transmission() {
    let mut all = recovery();
    all.insert(13, Data(150, 12_001));
    all.extend([Ack(206, 12_001), Data(206, 12_001), Ack(306, 13_001)]);
    let report = server(&all);
    assert_eq!((report.fast_retransmits, report.rto_retransmits), (2, 0));
}
