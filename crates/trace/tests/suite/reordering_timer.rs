//! Retransmissions by RACK's reordering timer and by ACKs, which an RTO estimate alone takes for RTOs.
//! Captures at the server, with an RTT of 100 ms unless a script says otherwise.

use crate::packet_script::Packet::{self, Ack, Data, Sack};
use crate::packet_script::run;
use ackclock_trace::flow::SegmentKind::{self, Fast, GoBackN, Rack, Timeout};

/// Ten segments of the initial window, ten more of which the first is lost, and a SACK for three.
fn lost_after_ten() -> Vec<Packet> {
    let mut all: Vec<_> = (0..10).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 10_001));
    all.extend((10..20).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Sack(200, 10_001, (11_001, 14_001)), Data(200, 10_001), Data(201, 20_001)]);
    all
}

/// The segment is lost three times. Each time newer data arrives, and the timer waits for a quarter of
/// the RTT. The last copy is sent an RTO after the last advancing ACK, but the transmission of the lowest
/// segment restarts the timer of a sender with RACK.
#[test]
fn third_copy_is_by_rack_when_the_timer_was_restarted_by_the_second() {
    let mut all = lost_after_ten();
    all.extend([Sack(301, 10_001, (11_001, 21_001)), Data(326, 10_001), Data(327, 21_001)]);
    all.extend([Sack(372, 10_001, (11_001, 22_001)), Data(397, 10_001)]);
    assert_eq!(run(&all).0, [Fast, Rack, Rack]);
}

/// Without newer data that arrives it is an RTO: 300 ms after the last copy.
#[test]
fn third_copy_is_by_rto_when_nothing_arrives_for_an_rto() {
    let mut all = lost_after_ten();
    all.extend([Sack(301, 10_001, (11_001, 21_001)), Data(326, 10_001), Data(640, 10_001)]);
    assert_eq!(run(&all).0, [Fast, Rack, Timeout]);
}

/// An RTO leaves a window of one segment until an ACK arrives.
#[test]
fn silence_is_no_rto_when_another_segment_follows_without_an_ack() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..14).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Sack(210, 4001, (13_001, 14_001)), Data(410, 4001)]);
    assert_eq!(run(&all).0, [Timeout]);
    all.push(Data(410, 5001));
    let (kinds, report) = run(&all);
    assert_eq!(kinds, [Fast, Fast]);
    assert_eq!((report.rto_retransmits, report.repairs.timeouts, report.repairs.recoveries), (0, 0, 1));
}

/// The flow began in a full queue, so that all RTTs by ACKs are long. A SACK shows a shorter one.
#[test]
fn retransmission_is_fast_when_feedback_is_sooner_than_any_ack_before() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(300, 4001));
    all.extend((4..14).map(|i| Data(300, 1 + i * 1000)));
    all.extend([Sack(340, 4001, (5001, 8001)), Data(340, 4001), Ack(380, 14_001)]);
    assert_eq!(run(&all).0, [Fast]);
}

/// No timer explains what an ACK explains that arrived within a millisecond: here a SACK for a part of
/// the window, after silence on the path.
// finding("C2")
#[test]
fn retransmission_is_no_rto_when_a_sack_arrives_with_it() {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..14).map(|i| Data(100, 1 + i * 1000)));
    all.extend([Sack(200, 4001, (5001, 6001)), Data(200, 4001), Sack(500, 4001, (5001, 14_001)), Data(500, 4001)]);
    let (kinds, report) = run(&all);
    assert_eq!(kinds, [Fast, Rack]);
    assert_eq!(report.rto_retransmits, 0);
}

/// An RTT of 500 ms; of the second flight the first segment and the eleventh are lost. SACKs arrive until
/// the first is retransmitted at `at`, and `unanswered` more of them follow.
fn head_timer(at: u64, unanswered: u64) -> Vec<SegmentKind> {
    let mut all: Vec<_> = (0..10).map(|i| Data(i * 20, 1 + i as u32 * 1000)).collect();
    for i in 0..10u64 {
        let first = 10_001 + i as u32 * 2000;
        all.extend([Ack(500 + i * 20, 1001 + i as u32 * 1000), Data(500 + i * 20, first), Data(500 + i * 20, first + 1000)]);
    }
    all.extend((0..9).map(|i| Sack(1000 + i * 20, 10_001, (11_001, 12_001 + i as u32 * 1000))));
    all.extend([Sack(1190, 10_001, (21_001, 22_001)), Data(at, 10_001)]);
    all.extend((0..unanswered).map(|i| Sack(at + 10 + i * 20, 10_001, (21_001, 23_001 + i as u32 * 1000))));
    all.push(Data(at + 400, 20_001));
    run(&all).0
}

/// The last ACK advanced half a second before, but the timer runs from the transmission of the lowest
/// segment (Linux, `tcp_rearm_rto`).
#[test]
fn retransmission_becomes_an_rto_when_it_is_one_after_the_lowest_segment_and_sacks_stay_unanswered() {
    assert_eq!(head_timer(1205, 8), [Timeout, GoBackN]);
    assert_eq!(head_timer(1205, 4), [Fast, Fast]);
    // The SACK triggers it.
    assert_eq!(head_timer(1190, 8), [Fast, Fast]);
}

/// A queue grows, and its SACKs raise the sender's RTT after the timer was started by the last advancing ACK,
/// with an RTO of 300 ms. The window is closed meanwhile (BBR's PROBE_RTT), and after the RTO.
// finding("C14")
#[test]
fn late_retransmission_is_by_rto_when_sacks_raised_the_rtt_after_the_timer_was_started() {
    let mut all: Vec<_> = (0..10).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 10_001));
    all.extend((10..40).map(|i| Data(100, 1 + i * 1000)));
    let sack = |i: u32, at: u64| Sack(at + 10 * u64::from(i), 10_001, (11_001, 12_001 + i * 1000));
    all.extend((0..10).map(|i| sack(i, 300)));
    all.push(Data(405, 10_001));
    all.extend((10..20).map(|i| sack(i, 310)));
    all.push(Data(505, 31_001));
    assert_eq!(run(&all).0, [Timeout, GoBackN]);
}
