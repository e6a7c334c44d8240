//! Captures at hosts with offloads (GSO, TSO): one captured packet is many segments on the wire, and is
//! retransmitted in parts.

use crate::packet_script::Packet::{Ack, Data, Sack, SuperSegment};
use crate::packet_script::run;
use ackclock_trace::flow::SegmentKind::{Fast, Rack};

/// A capture at the server, with an RTT of 100 ms. The first of three super-segments is lost, and SACKs
/// for the others clock its retransmission, half by half.
// finding("C2")
#[test]
fn retransmission_is_fast_when_another_part_of_the_super_segment_was_retransmitted_before() {
    let mut all = vec![Data(0, 1), Data(0, 1001), Ack(100, 2001)];
    all.extend((0..3).map(|i| SuperSegment(100, 2001 + i * 8000, 8000)));
    all.extend([Sack(200, 2001, (10_001, 18_001)), SuperSegment(200, 2001, 4000)]);
    all.extend([Sack(210, 2001, (10_001, 26_001)), SuperSegment(210, 6001, 4000), Ack(300, 6001), Ack(310, 26_001)]);
    let (kinds, report) = run(&all);
    assert_eq!(kinds, [Fast, Fast]);
    assert_eq!((report.rto_retransmits, report.go_back_n_retransmits), (0, 0));
}

/// The same part once more: the retransmission was lost, which data sent after it shows.
#[test]
fn second_retransmission_is_by_rack_when_the_same_part_was_retransmitted_before() {
    let mut all = vec![Data(0, 1), Data(0, 1001), Ack(100, 2001)];
    all.extend((0..3).map(|i| SuperSegment(100, 2001 + i * 8000, 8000)));
    all.extend([Sack(200, 2001, (10_001, 18_001)), SuperSegment(200, 2001, 4000), SuperSegment(201, 26_001, 8000)]);
    all.extend([Sack(210, 2001, (10_001, 26_001)), SuperSegment(210, 6001, 4000), Sack(290, 2001, (10_001, 26_001))]);
    all.extend([Sack(301, 2001, (10_001, 34_001)), SuperSegment(301, 2001, 4000)]);
    assert_eq!(run(&all).0, [Fast, Fast, Rack]);
}

/// A SACK for a part of a super-segment shows the rest to be missing only.
#[test]
fn bytes_in_flight_exclude_the_sacked_part_of_a_super_segment() {
    let all = [Data(0, 1), Ack(100, 1001), SuperSegment(100, 1001, 8000), Sack(200, 1001, (5001, 9001)), Data(201, 9001)];
    let (kinds, report) = run(&all);
    assert!(kinds.is_empty());
    // 8000 bytes until the SACK; then 4000 and one segment.
    assert_eq!(report.outstanding_bytes.max, 8000);
}
