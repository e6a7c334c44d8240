//! Retransmissions in hand-made conversations: pairs of a fast and a timed one, the test of whether a timeout was spurious (papers/README.md, 7.7), and
//! repairs of repairs.

use crate::by_hand::{Tcp, pcap, read};
use ackclock_trace::report::{DirectionReport, Report};

/// One packet: when in milliseconds, and what the server sends or the client acknowledges. Segments have 1000 bytes and the stream begins at 1.
enum Passes {
    Data(u64, u32),
    Ack(u64, u32),
    Sack(u64, u32, (u32, u32)),
}
use Passes::{Ack, Data, Sack};

fn datagram(passes: &Passes, id: u16) -> (u64, Vec<u8>) {
    let mut options = Vec::new();
    if let Sack(_, _, (left, right)) = passes {
        options.extend([1, 1, 5, 10]);
        options.extend(left.to_be_bytes().into_iter().chain(right.to_be_bytes()));
    }
    let usual = Tcp { window: 0xffff, id, options: &options, ..Tcp::default() };
    let (at, tcp) = match *passes {
        Data(at, seq) => (at, Tcp { from_server: true, seq, ack: 7, payload: 1000, ..usual }),
        Ack(at, ack) | Sack(at, ack, _) => (at, Tcp { seq: 7, ack, ..usual }),
    };
    (at * 1_000_000, tcp.datagram())
}

/// What the analyzer says of the server's data.
fn server(passes: &[Passes]) -> DirectionReport {
    let packets: Vec<_> = (100..).zip(passes).map(|(id, passes)| datagram(passes, id)).collect();
    let (capture, analysis) = read(pcap(&packets, 65_535));
    Report::of(&analysis, &capture).flows.remove(0).b2a
}

/// At the server, 100 ms from the client and back. Of eight segments from 4001 on the first is lost, and sent again at the third duplicate.
fn recovery() -> Vec<Passes> {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..12).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Ack(200, 4001), Ack(201, 4001), Ack(202, 4001), Data(202, 4001), Ack(203, 4001), Ack(204, 4001)]);
    all
}

/// The third segment was lost too. Nothing asks for it, so the timer does; its ACK comes so many milliseconds later.
fn two_lost(ack_after: u64) -> DirectionReport {
    let mut all = recovery();
    all.extend([Ack(302, 6001), Data(650, 6001), Ack(650 + ack_after, 12_001)]);
    server(&all)
}

#[test]
fn a_timeout_of_another_segment_in_a_recovery_makes_a_pair_that_was_needed() {
    let found = two_lost(100);
    assert_eq!((found.fast_retransmits, found.rto_retransmits), (1, 1));
    assert_eq!((found.repairs.pairs, found.repairs.fast_then_timeout, found.repairs.pairs_not_needed), (1, 0, 0));
    assert_eq!((found.spurious.early_timeouts, found.spurious_retransmits), (0, 0));
}

#[test]
fn its_ack_sooner_than_the_least_round_trip_shows_that_it_was_not_needed() {
    let found = two_lost(30);
    assert_eq!((found.fast_retransmits, found.rto_retransmits), (1, 1));
    assert_eq!((found.repairs.pairs, found.repairs.fast_then_timeout, found.repairs.pairs_not_needed), (1, 0, 1));
    assert_eq!((found.spurious.early_timeouts, found.spurious.of_timeouts, found.spurious.early_ack), (1, 1, 1));
}

#[test]
fn a_fast_retransmission_that_is_lost_makes_a_pair_of_one_segment() {
    let mut all = recovery();
    all.extend([Data(650, 4001), Ack(750, 12_001)]);
    let found = server(&all);
    assert_eq!((found.fast_retransmits, found.rto_retransmits), (1, 1));
    assert_eq!((found.repairs.pairs, found.repairs.fast_then_timeout, found.repairs.pairs_not_needed), (1, 1, 0));
}

#[test]
fn the_ack_for_the_first_of_a_pair_that_covers_the_second_came_before_its_round_trip_was_over() {
    let mut all = recovery();
    // The fast retransmission fills the only hole; its ACK is late, and the timer does not wait for it.
    all.extend([Data(650, 4001), Ack(660, 12_001)]);
    let found = server(&all);
    assert_eq!((found.repairs.pairs, found.repairs.fast_then_timeout, found.repairs.pairs_not_needed), (1, 1, 1));
    assert_eq!(found.spurious.early_timeouts, 1);
}

#[test]
fn a_timeout_without_a_recovery_makes_no_pair_and_is_tested_too() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.extend([Ack(100, 4001), Data(100, 4001), Data(100, 5001), Data(650, 4001), Ack(655, 6001)]);
    let found = server(&all);
    assert_eq!((found.rto_retransmits, found.repairs.pairs), (1, 0));
    assert_eq!((found.spurious.early_timeouts, found.spurious.of_timeouts), (1, 1));
}

/// RFC 8985, section 6.2, step 2: of two that left at one time the one further on left later.
#[test]
fn a_retransmission_is_lost_when_what_left_beside_it_arrives() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..12).map(|i| Data(100, 1 + i * 1000)));
    all.extend((0..7).map(|i| Sack(200 + u64::from(i / 3), 4001, (5001, 6001 + i * 1000))));
    all.extend([Data(202, 4001), Data(202, 12_001)]);
    // Only what left beside it has come: it is lost, and nothing else is.
    all.extend([Sack(303, 4001, (5001, 13_001)), Data(303, 4001), Data(303, 13_001), Ack(403, 14_001)]);
    let found = server(&all);
    assert_eq!((found.fast_retransmits, found.rto_retransmits, found.go_back_n_retransmits), (2, 0, 0));
}

/// RFC 6582, section 3.2: in a recovery an ACK for a part asks for what comes next, whenever that was sent.
#[test]
fn what_a_partial_ack_asks_for_is_no_timeout_however_lately_it_was_sent() {
    let mut all = recovery();
    all.insert(13, Data(150, 12_001));
    all.extend([Ack(206, 12_001), Data(206, 12_001), Ack(306, 13_001)]);
    let found = server(&all);
    assert_eq!((found.fast_retransmits, found.rto_retransmits), (2, 0));
}
