//! Captures whose order is not that of the path: the two directions of an interface have buffers of their
//! own, so that packets within microseconds change places.

use crate::packet_script::Packet::{self, Ack, Data, Sack, Syn, SynAck};
use crate::packet_script::run;
use ackclock_trace::flow::SegmentKind::{Fast, Timeout};

// finding("C6")
#[test]
fn data_is_new_when_it_is_captured_directly_after_its_own_ack() {
    let before = [Data(100, 1), Ack(100, 1001), Ack(200, 2001)];
    let after = [Data(201, 2001), Ack(201, 3001)];
    let all = |at| before.iter().copied().chain([Data(at, 1001)]).chain(after).collect::<Vec<_>>();
    let (kinds, report) = run(&all(200));
    assert_eq!(kinds, []);
    assert_eq!((report.retransmitted_segments, report.unique_bytes, report.repairs.missed_bytes), (0, 3000, 0));
    // A millisecond later it is a copy of what was not captured.
    assert_eq!(run(&all(201)).1.retransmitted_segments, 1);
}

// finding("C6")
#[test]
fn syn_ack_is_the_first_when_it_is_captured_directly_after_its_own_ack() {
    let (kinds, report) = run(&[Syn(0), Ack(100, 1), SynAck(100), Data(101, 1), Ack(101, 1001)]);
    assert_eq!((kinds, report.retransmitted_segments), (vec![], 0));
}

/// A capture at the client, with the server 100 ms away.
// finding("C6")
#[test]
fn retransmission_is_fast_when_it_is_captured_directly_after_the_ack_of_the_filled_gap() {
    let mut all = vec![Syn(0), SynAck(100), Ack(100, 1), Data(200, 1), Ack(200, 1001)];
    all.extend((2..6).flat_map(|i| [Data(300 + i, 1 + i as u32 * 1000), Sack(300 + i, 1001, (2001, 1001 + i as u32 * 1000))]));
    let (mut swapped, mut ordered) = (all.clone(), all);
    swapped.extend([Ack(405, 6001), Data(405, 1001), Data(406, 6001)]);
    ordered.extend([Data(405, 1001), Ack(405, 6001), Data(406, 6001)]);
    let ((kinds, report), (expected, _)) = (run(&swapped), run(&ordered));
    assert_eq!((kinds, expected), (vec![Fast], vec![Fast]));
    assert_eq!((report.repairs.lost_upstream, report.repairs.missed_bytes), (1, 0));
}

/// A capture at the server: the SACK that triggers the retransmission of 410 ms is captured after it.
pub fn sack_after(at: u64) -> Vec<Packet> {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..14).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Sack(210, 4001, (13_001, 14_001)), Data(410, 4001)]);
    all.extend([Sack(at, 4001, (12_001, 14_001)), Data(at + 1, 14_001)]);
    all
}

// finding("C6")
#[test]
fn retransmission_is_fast_when_the_sack_that_triggers_it_is_captured_directly_after_it() {
    assert_eq!(run(&sack_after(410)).0, [Fast]);
    assert_eq!(run(&sack_after(411)).0, [Timeout]);
}

/// The ACK that triggers the retransmission ends the recovery before the next data passes.
// finding("C6")
#[test]
fn retransmission_is_fast_when_the_recovery_ends_before_the_next_data() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..6).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Data(410, 4001), Sack(410, 4001, (5001, 6001)), Ack(510, 6001), Data(510, 6001)]);
    assert_eq!(run(&all).0, [Fast]);
}

/// A capture at the server, without SACK. The third duplicate ACK, or the partial one, is captured after
/// the retransmission that it triggers; the first duplicate triggers none.
// finding("C6")
#[test]
fn retransmission_without_sack_is_fast_when_its_trigger_is_captured_directly_after_it() {
    let flight = || {
        let mut all = vec![Syn(0), SynAck(0), Ack(100, 1)];
        all.extend((0..4).map(|i| Data(100, 1 + i * 1000)));
        all.push(Ack(200, 4001));
        all.extend((4..12).map(|i| Data(200, 1 + i * 1000)));
        all
    };
    let third = |before: u64| {
        let mut all = flight();
        all.extend((0..before).map(|_| Ack(300, 4001)));
        all.extend([Data(520, 4001), Ack(520, 4001), Ack(530, 4001), Data(531, 12_001)]);
        run(&all).0
    };
    assert_eq!((third(2), third(0)), (vec![Fast], vec![Timeout]));
    let mut partial = flight();
    partial.extend([Ack(300, 4001), Ack(301, 4001), Ack(302, 4001), Data(302, 4001), Data(640, 6001), Ack(640, 6001)]);
    partial.push(Data(650, 12_001));
    assert_eq!(run(&partial).0, [Fast, Fast]);
}
