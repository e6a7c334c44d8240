//! Tail loss probes are claimed of senders that have them. Captures at the server, with an RTT of 100 ms.

use crate::packet_script::Packet::{self, Ack, Data, Syn, SynAck};
use crate::packet_script::run;
use ackclock_trace::flow::SegmentKind::{Fast, GoBackN, TailProbe, Timeout};

/// A lone segment is retransmitted, by a sender with this initial window.
fn lone_segment(initial_window: u32) -> Vec<Packet> {
    let mut all: Vec<_> = (0..initial_window).map(|i| Data(0, 1 + i * 1000)).collect();
    let next = 1 + initial_window * 1000;
    all.extend([Ack(100, next), Data(100, next), Data(500, next)]);
    all
}

// finding("C9")
#[test]
fn lone_segment_is_retransmitted_by_rto_when_the_sender_has_not_shown_to_be_modern() {
    assert_eq!(run(&lone_segment(1)).0, [Timeout]);
    assert_eq!(run(&lone_segment(3)).0, [Timeout]);
    assert_eq!(run(&lone_segment(10)).0, [TailProbe]);
}

// finding("C10")
#[test]
fn new_data_is_a_probe_when_the_sender_retransmitted_a_tail_too() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.extend([Ack(100, 4001), Data(100, 4001), Data(100, 5001), Data(400, 6001), Ack(500, 7001)]);
    let (_, report) = run(&all);
    assert_eq!((report.tlp_retransmits, report.repairs.new_data_probes), (0, 0));
    all.extend([Data(1000, 7001), Data(1000, 8001), Data(1300, 8001)]);
    let (kinds, report) = run(&all);
    assert_eq!(kinds, [TailProbe]);
    assert_eq!((report.tlp_retransmits, report.repairs.new_data_probes, report.retransmitted_segments), (1, 1, 1));
}

/// A capture at the client: the ACK of a retransmission follows within the host's response time.
// finding("C11")
#[test]
fn retransmission_is_not_spurious_when_the_receiver_answers_it_at_once() {
    let mut all = vec![Syn(0), SynAck(100), Ack(100, 1), Data(200, 1), Ack(201, 1001)];
    all.extend([Data(300, 2001), Ack(300, 1001), Data(301, 3001), Ack(301, 1001), Data(302, 4001), Ack(302, 1001)]);
    all.extend([Data(405, 1001), Ack(405, 5001)]);
    let (kinds, report) = run(&all);
    assert_eq!(kinds, [Fast]);
    assert_eq!((report.spurious_retransmits, report.spurious.early_ack), (0, 0));
}

/// A paced sender, an RTT of 20 ms: the last segment outstanding at the RTO goes 22 ms after the one before it.
#[test]
fn last_segment_is_go_back_n_when_the_repair_after_an_rto_is_paced() {
    let mut all = vec![Syn(0), SynAck(0), Ack(20, 1)];
    all.extend((0..4).map(|i| Data(20, 1 + i * 1000)));
    all.extend([Data(320, 1), Ack(340, 1001), Data(340, 1001), Data(340, 2001), Data(362, 3001)]);
    assert_eq!(run(&all).0, [Timeout, GoBackN, GoBackN, GoBackN]);
}
