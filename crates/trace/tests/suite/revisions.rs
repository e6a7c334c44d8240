//! Revisions of past classifications, each in a short conversation in which it is made and one in which it
//! must not be.

use crate::packet_script::Packet::{self, Ack, Data, LateData, Request, RequestAck, Sack, Syn, SynAck};
use crate::packet_script::{FIRST_ID, run};
use ackclock_trace::flow::SegmentKind::{Fast, GoBackN, Handshake, Rack, Reordered, Timeout};

/// A capture at the server, with an RTT of 100 ms and without SACK: segments 4001 to 12,001, of which
/// the first is lost, and three duplicate ACKs.
fn loss_without_sack() -> Vec<Packet> {
    let mut all = vec![Syn(0), SynAck(0), Ack(100, 1)];
    all.extend((0..4).map(|i| Data(100, 1 + i * 1000)));
    all.push(Ack(200, 4001));
    all.extend((4..12).map(|i| Data(200, 1 + i * 1000)));
    all.extend([Ack(300, 4001), Ack(301, 4001), Ack(302, 4001)]);
    all
}

/// The same, with the retransmission, and that of the next segment within the RTT, by a partial ACK or not.
pub fn second_within_rtt(is_triggered: bool) -> Vec<Packet> {
    let mut all = loss_without_sack();
    all.push(Data(302, 4001));
    all.extend(is_triggered.then_some(Ack(330, 5001)));
    all.extend([Data(330, 5001)]);
    all.extend((!is_triggered).then_some(Data(331, 6001)));
    all
}

/// slow_start.rs: a recovery without SACK retransmits one segment in an RTT.
#[test]
fn fast_retransmission_becomes_an_rto_when_the_next_one_follows_within_the_rtt() {
    let mut all = loss_without_sack();
    all.push(Data(302, 4001));
    assert_eq!(run(&all).0, [Fast]);
    let (kinds, report) = run(&second_within_rtt(false));
    assert_eq!(kinds, [Timeout, GoBackN, GoBackN]);
    assert_eq!((report.rto_retransmits, report.go_back_n_retransmits, report.fast_retransmits), (1, 2, 0));
    assert_eq!(report.repairs.timeouts, 1);
}

#[test]
fn fast_retransmission_stays_one_when_a_partial_ack_triggers_the_next() {
    assert_eq!(run(&second_within_rtt(true)).0, [Fast, Fast]);
}

// finding("C6")
#[test]
fn fast_retransmission_stays_one_when_the_partial_ack_is_captured_directly_after_the_next() {
    let next = |ack_at| {
        let mut all = loss_without_sack();
        all.extend([Data(302, 4001), Data(330, 5001), Ack(ack_at, 5001), Data(340, 12_001)]);
        run(&all).0
    };
    assert_eq!(next(330), [Fast, Fast]);
    assert_eq!(next(331), [Timeout, GoBackN]);
}

/// The next segment is retransmitted after a silence, and the partial ACK for it captured later.
pub fn silence_before_partial_ack(ack_at: u64) -> Vec<Packet> {
    let mut all = loss_without_sack();
    all.extend([Data(302, 4001), Data(400, 5001), Ack(ack_at, 5001), Data(410, 12_001)]);
    all
}

// finding("C6")
#[test]
fn go_back_n_after_a_silence_becomes_fast_when_the_partial_ack_is_captured_directly_after_it() {
    assert_eq!(run(&silence_before_partial_ack(400)).0, [Fast, Fast]);
    assert_eq!(run(&silence_before_partial_ack(401)).0, [Timeout, GoBackN]);
}

/// missed_rto.rs. A capture at the server, with an RTT of 100 ms: of 30 segments from 4001 on the first is
/// lost, and its retransmission too. SACKs arrive all the time, one of them just before the next
/// retransmission at `second_at`, which that of a segment above the highest one follows.
pub fn clocked_by_sacks(second_at: u64) -> Vec<Packet> {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..34).map(|i| Data(100, 1 + i * 1000)));
    all.extend((0..3).map(|i| Sack(200 + 15 * i, 4001, (5001, 6001 + i as u32 * 1000))));
    all.push(Data(230, 4001));
    all.extend((3..=(second_at - 200) / 15).map(|i| Sack(200 + 15 * i, 4001, (5001, 6001 + i as u32 * 1000))));
    all.extend([Data(second_at, 4001), Data(second_at + 1, 32_001)]);
    all
}

// finding("C14")
#[test]
fn retransmission_becomes_an_rto_when_data_above_the_highest_sack_follows_it() {
    assert_eq!(run(&clocked_by_sacks(560)).0, [Fast, Timeout, GoBackN]);
    // The RTO was not due.
    assert_ne!(run(&clocked_by_sacks(350)).0[1], Timeout);
}

/// rto_in_recovery.rs. A capture at the server, with an RTT of 100 ms: 30 segments from 4001 on, of which
/// the first is lost, and its retransmission too.
pub fn second_repair(unanswered: u64, next_at: u64) -> Vec<Packet> {
    let mut all: Vec<_> = (0..4).map(|i| Data(0, 1 + i * 1000)).collect();
    all.push(Ack(100, 4001));
    all.extend((4..34).map(|i| Data(100, 1 + i * 1000)));
    all.extend((0..3).map(|i| Sack(200 + i, 4001, (5001, 6001 + i as u32 * 1000))));
    all.extend([Data(202, 4001), Sack(210, 4001, (5001, 34_001)), Data(210, 34_001)]);
    // What was sent after the retransmission arrives: the retransmission is lost.
    all.extend([Sack(310, 4001, (5001, 35_001)), Data(310, 4001)]);
    all.extend((0..unanswered).map(|i| Sack(320 + i, 4001, (5001, 35_001))));
    all.push(Data(next_at, 4001));
    all
}

#[test]
fn second_repair_becomes_an_rto_when_eight_acks_stay_unanswered() {
    assert_eq!(run(&second_repair(8, 520)).0[1], Timeout);
    assert_eq!(run(&second_repair(7, 520)).0[1], Rack);
    // Packets spaced by a slow link are no silence.
    assert_eq!(run(&second_repair(8, 509)).0[1], Rack);
}

/// provisional_rto.rs. A capture near the client, 100 ms from the server: a segment is lost behind it,
/// and two duplicate ACKs of an end without SACK pass.
pub fn lost_behind(next_at: u64) -> Vec<Packet> {
    let mut all = vec![Syn(0), SynAck(100), Request(101), RequestAck(201)];
    all.extend((0..10).map(|i| Data(201, 1 + i * 1000)));
    all.push(Ack(202, 10_001));
    all.extend((10..20).map(|i| Data(302, 1 + i * 1000)));
    all.extend([Ack(303, 12_001), Ack(303, 12_001), Ack(303, 12_001), Data(603, 12_001), Data(next_at, 20_001)]);
    all
}

#[test]
fn remote_rto_becomes_a_fast_retransmission_when_data_follows_within_the_rtt() {
    let (kinds, report) = run(&lost_behind(604));
    assert_eq!(kinds, [Fast]);
    assert_eq!((report.rto_retransmits, report.fast_retransmits, report.repairs.timeouts), (0, 1, 0));
    assert_eq!(report.repairs.recoveries, 1);
    let (kinds, report) = run(&lost_behind(704));
    assert_eq!(kinds, [Timeout]);
    assert_eq!((report.rto_retransmits, report.repairs.timeouts, report.repairs.recoveries), (1, 1, 0));
}

/// late_original.rs. A capture at the client: a segment is missing and retransmitted, and its first copy
/// arrives after that, or the retransmission again.
pub fn late_original(step: u16) -> Vec<Packet> {
    let mut all: Vec<_> = (0..8).map(|i| Data(100, 1 + i * 1000)).collect();
    all.push(Ack(100, 8001));
    let late_id = FIRST_ID + 9;
    // The missing segment takes an identification.
    all.extend([LateData(200, 9001, late_id + 1), LateData(200, 10_001, late_id + 2), LateData(200, 11_001, late_id + 3)]);
    all.extend((0..3).map(|_| Ack(200, 8001)));
    all.extend([LateData(300, 8001, late_id + 4), LateData(310, 8001, late_id + step)]);
    all
}

#[test]
fn segment_is_not_lost_upstream_when_its_first_copy_arrives_late() {
    let all = late_original(0);
    let (kinds, report) = run(&all[..all.len() - 1]);
    assert_eq!((kinds, report.repairs.lost_upstream), (vec![Fast], 1));
    let (kinds, report) = run(&all);
    assert_eq!((kinds, report.repairs.lost_upstream), (vec![Fast, Reordered], 0));
}

/// syn_ack.rs.
#[test]
fn first_syn_ack_becomes_a_retransmission_when_the_second_follows_within_the_initial_rto() {
    let (kinds, report) = run(&[Syn(0), Syn(1000), SynAck(1010), SynAck(1012)]);
    assert_eq!((kinds, report.retransmitted_segments), (vec![Handshake, Handshake], 2));
    // An RTO later it is the only one.
    let (kinds, report) = run(&[Syn(0), Syn(1000), SynAck(1010), SynAck(2010)]);
    assert_eq!((kinds, report.retransmitted_segments), (vec![Handshake], 1));
}

#[test]
fn first_syn_ack_stays_the_first_when_a_queue_held_its_syn() {
    let (kinds, report) = run(&[Syn(0), SynAck(0), Syn(640), SynAck(640)]);
    assert_eq!((kinds, report.retransmitted_segments), (vec![Handshake], 1));
}
