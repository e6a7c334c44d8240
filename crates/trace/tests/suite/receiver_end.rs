//! Captures at the client, 100 ms from the server: what the server retransmitted is known by the
//! identifications and timestamps of its packets.

use crate::packet_builder::Tcp;
use crate::packet_script::Packet::{self, Ack, LateData, Request, RequestAck, Sack};
use crate::packet_script::{FIRST_ID, classify, run};
use ackclock_trace::flow::SegmentKind::{self, Fast, GoBackN, Rack, Timeout};

/// An RTT of 100 ms to the server, and `segments` of its segments, each acknowledged at once. The
/// next identification is the number of segments plus two.
pub fn in_order(segments: u32) -> Vec<Packet> {
    let mut all = vec![Request(0), RequestAck(100)];
    all.extend((0..segments).flat_map(|i| [LateData(200, 1 + i * 1000, id(i + 2)), Ack(200, 1001 + i * 1000)]));
    all
}

/// The identification of the server's packet with this number, from 1; its ACK of the request is the
/// first.
fn id(number: u32) -> u16 {
    FIRST_ID + number as u16
}

/// Ten segments arrive. The three after them are lost, and the first one comes again after `pause`.
fn lost_tail(pause: u64) -> Vec<Packet> {
    let (mut all, at) = (in_order(10), 200 + pause);
    all.extend([LateData(at, 10_001, id(15)), Ack(at, 11_001)]);
    all.extend([LateData(at + 100, 11_001, id(16)), LateData(at + 100, 12_001, id(17)), Ack(at + 100, 13_001)]);
    all.extend([LateData(at + 200, 13_001, id(18)), Ack(at + 200, 14_001)]);
    all
}

#[test]
fn lost_tail_is_retransmitted_by_rto_when_identifications_are_missing_after_a_pause() {
    let (kinds, report) = run(&lost_tail(400));
    assert_eq!(kinds, [Timeout, GoBackN, GoBackN]);
    assert_eq!((report.rto_retransmits, report.go_back_n_retransmits), (1, 2));
}

/// Few packets do not show whether the counter is the connection's own.
#[test]
fn data_is_new_when_the_server_paused_for_less_than_an_rto_or_for_a_request() {
    assert_eq!(run(&lost_tail(100)).0, []);
    let mut all = lost_tail(400);
    all.insert(22, Request(590));
    assert_eq!(run(&all).0, []);
}

// finding("C16")
#[test]
fn data_is_new_when_a_counter_of_all_connections_skips_numbers_while_nothing_is_missing() {
    let mut all = vec![Request(0), RequestAck(100)];
    for i in 0..60 {
        // Of another connection, five packets at once or more than a window.
        let others = 5 * (i / 15) + if i >= 50 { 300 } else { 0 };
        all.extend([LateData(200, 1 + i * 1000, id(i + 2 + others)), Ack(200, 1001 + i * 1000)]);
    }
    let (kinds, report) = run(&all);
    assert_eq!((kinds, report.retransmitted_segments), (vec![], 0));
}

/// Of five segments the first and the last are lost.
#[test]
fn lost_tail_of_a_flight_is_retransmitted_in_the_recovery_of_its_head() {
    let mut all = in_order(20);
    all.extend(
        (0..3).flat_map(|i| [LateData(300, 21_001 + i * 1000, id(23 + i)), Sack(300, 20_001, (21_001, 22_001 + i * 1000))]),
    );
    all.extend([LateData(400, 20_001, id(27)), Ack(400, 24_001), LateData(500, 24_001, id(28)), Ack(500, 25_001)]);
    all.extend([LateData(500, 25_001, id(29)), Ack(500, 26_001)]);
    assert_eq!(run(&all).0, [Fast, Fast]);
}

/// Of seven segments the first, the second and the fourth are lost, and the retransmission of the first.
/// The third arrived, but no SACK block reports it before the retransmission of the second fills the gap
/// below it: the sender retransmits it as well, without an RTO.
// finding("C2")
#[test]
fn segment_is_retransmitted_by_recovery_when_its_sack_is_still_in_transit() {
    let mut all = in_order(20);
    all.push(LateData(300, 22_001, id(24)));
    all.extend(
        (0..3).flat_map(|i| [LateData(300, 24_001 + i * 1000, id(26 + i)), Sack(300, 20_001, (24_001, 25_001 + i * 1000))]),
    );
    all.extend([LateData(620, 21_001, id(30)), Sack(620, 20_001, (21_001, 23_001)), LateData(620, 22_001, id(31))]);
    all.extend([LateData(620, 23_001, id(32)), Sack(620, 20_001, (21_001, 27_001))]);
    assert_eq!(run(&all).0, [Fast, Fast, Fast]);
}

/// The first of two segments is lost, its retransmission by SACK too, and that of an RTO. Each RTO is twice
/// as long as the one before it.
#[test]
fn data_is_new_after_an_rto_when_the_missing_packets_are_earlier_retransmissions() {
    let mut all = in_order(20);
    all.extend([LateData(300, 21_001, id(23)), Sack(300, 20_001, (21_001, 22_001))]);
    all.extend([LateData(1300, 20_001, id(26)), Ack(1300, 22_001), LateData(1400, 22_001, id(27)), Ack(1400, 23_001)]);
    all.extend([LateData(1400, 23_001, id(28)), Ack(1400, 24_001)]);
    assert_eq!(run(&all).0, [Timeout]);
    // The RTO before it was lost: one of the two missing packets.
    let mut alone = in_order(20);
    alone.extend([LateData(300, 21_001, id(23)), Sack(300, 20_001, (21_001, 22_001))]);
    alone.extend([LateData(1300, 20_001, id(25)), Ack(1300, 22_001), LateData(1400, 22_001, id(26)), Ack(1400, 23_001)]);
    assert_eq!(run(&alone).0, [Timeout]);
}

/// A retransmission overtakes new data.
#[test]
fn new_data_is_not_missing_when_a_retransmission_with_a_later_identification_overtook_it() {
    let mut all = in_order(20);
    all.extend(
        (0..3).flat_map(|i| [LateData(300, 21_001 + i * 1000, id(23 + i)), Sack(300, 20_001, (21_001, 22_001 + i * 1000))]),
    );
    all.extend([LateData(400, 20_001, id(27)), Ack(400, 24_001), LateData(401, 24_001, id(26)), Ack(401, 25_001)]);
    all.extend([LateData(402, 25_001, id(28)), Ack(402, 26_001)]);
    let (kinds, report) = run(&all);
    assert_eq!((kinds, report.retransmitted_segments, report.repairs.unseen_transmissions), (vec![Fast], 1, 0));
}

/// A packet of the server: milliseconds, its number, sequence number, bytes and acknowledgment number.
fn numbered(at: u64, number: u32, seq: u32, payload: usize, ack: u32) -> (u64, Vec<u8>) {
    let tcp = Tcp { from_server: true, seq, ack, payload, id: id(number), window: 0xffff, ..Tcp::default() };
    (at * 1_000_000, tcp.datagram())
}

/// The client's ACK, with `payload` bytes from 7 on, or after `sacked` arrived out of order.
fn answer(at: u64, seq: u32, payload: usize, ack: u32, sacked: Option<(u32, u32)>) -> (u64, Vec<u8>) {
    let options = sacked.map_or_else(Vec::new, |(left, right)| {
        [[1, 1, 5, 10].to_vec(), left.to_be_bytes().to_vec(), right.to_be_bytes().to_vec()].concat()
    });
    (at * 1_000_000, Tcp { seq, ack, payload, options: &options, window: 0xffff, ..Tcp::default() }.datagram())
}

/// A request, and the first 20 segments of the answer, which the client acknowledges one by one.
fn answered() -> Vec<(u64, Vec<u8>)> {
    let mut all = vec![answer(0, 7, 100, 1, None), numbered(100, 1, 1, 0, 107)];
    all.extend((0..20).flat_map(|i| [numbered(200, i + 2, 1 + i * 1000, 1000, 107), answer(200, 107, 0, 1001 + i * 1000, None)]));
    all
}

/// The server acknowledges the second request before it answers, in a packet that is lost.
#[test]
fn missing_packet_is_an_ack_when_the_next_one_acknowledges_a_request() {
    let mut all = answered();
    all.extend([answer(300, 107, 100, 20_001, None), numbered(550, 23, 20_001, 1000, 207), answer(550, 207, 0, 21_001, None)]);
    all.extend([numbered(550, 24, 21_001, 1000, 207), answer(550, 207, 0, 22_001, None)]);
    let (kinds, report) = classify(&all);
    assert_eq!((kinds, report.retransmitted_segments), (vec![], 0));
    // The server had acknowledged the request.
    all.insert(43, numbered(450, 22, 20_001, 0, 207));
    all[44] = numbered(950, 24, 20_001, 1000, 207);
    all[46] = numbered(1050, 25, 21_001, 1000, 207);
    assert_eq!(classify(&all).1.retransmitted_segments, 1);
}

/// Of four segments the first and the last two are lost. The last one is short.
#[test]
fn data_after_a_lost_tail_is_new_when_the_last_segment_of_the_tail_was_short() {
    let mut all = answered();
    all.extend([numbered(300, 23, 21_001, 1000, 107), answer(300, 107, 0, 20_001, Some((21_001, 22_001)))]);
    all.extend([numbered(400, 26, 20_001, 1000, 107), answer(400, 107, 0, 22_001, None)]);
    all.extend([numbered(500, 27, 22_001, 1000, 107), answer(500, 107, 0, 23_001, None)]);
    all.extend([numbered(500, 28, 23_001, 307, 107), answer(500, 107, 0, 23_308, None)]);
    all.extend([numbered(700, 29, 23_308, 1000, 107), answer(700, 107, 0, 24_308, None)]);
    let (kinds, report) = classify(&all);
    assert_eq!((kinds, report.retransmitted_segments), (vec![Fast, Fast, Fast], 3));
}

/// Milliseconds, and the TSval and TSecr of a packet.
type At = (u64, u32, u32);

fn options((_, value, echo): At, sack: Option<(u32, u32)>) -> Vec<u8> {
    let mut out = vec![1, 1, 8, 10];
    out.extend(value.to_be_bytes().into_iter().chain(echo.to_be_bytes()));
    if let Some((left, right)) = sack {
        out.extend([1, 1, 5, 10]);
        out.extend(left.to_be_bytes().into_iter().chain(right.to_be_bytes()));
    }
    out
}

fn data(at: At, seq: u32) -> (u64, Vec<u8>) {
    let options = options(at, None);
    let tcp = Tcp { from_server: true, seq, ack: 107, window: 0xffff, payload: 1000, options: &options, ..Tcp::default() };
    (at.0 * 1_000_000, tcp.datagram())
}

fn ack(at: At, ack: u32, sack: Option<(u32, u32)>) -> (u64, Vec<u8>) {
    let options = options(at, sack);
    (at.0 * 1_000_000, Tcp { seq: 107, ack, window: 0xffff, options: &options, ..Tcp::default() }.datagram())
}

/// The client's clock is its time in milliseconds, the server's clock 50 ms less: the delay of each
/// direction is 50 ms. Two segments arrive, the third is lost, and so is its retransmission by the ACKs for those
/// after it, of which new segments follow.
fn lost_twice(sack: bool) -> Vec<(u64, Vec<u8>)> {
    let mut all = vec![];
    all.extend([ack((0, 0, 0), 1, None), data((100, 50, 0), 1), ack((100, 100, 50), 1001, None)]);
    all.extend([data((200, 150, 100), 1001), ack((200, 200, 150), 2001, None)]);
    let block = |right| sack.then_some((3001, right));
    for i in 0..4 {
        all.extend([data((300 + 3 * u64::from(i), 250, 200), 3001 + i * 1000)]);
        all.push(ack((300 + 3 * u64::from(i), 300 + 3 * i, 150), 2001, block(4001 + i * 1000)));
    }
    for i in 0..3 {
        all.push(data((409 + 3 * u64::from(i), 359, 309), 7001 + i * 1000));
        all.push(ack((409 + 3 * u64::from(i), 409 + 3 * i, 150), 2001, block(8001 + i * 1000)));
    }
    all
}

fn kinds(all: &[(u64, Vec<u8>)]) -> Vec<SegmentKind> {
    classify(all).0
}

/// A retransmission after an RTO is alone for an RTT.
#[test]
fn second_retransmission_is_no_rto_when_the_next_packet_has_the_same_timestamp() {
    let mut all = lost_twice(true);
    all.push(data((1000, 950, 415), 2001));
    assert_eq!(kinds(&all), [Timeout]);
    let mut later = all.clone();
    later.push(data((1080, 1030, 415), 10_001));
    all.push(data((1080, 950, 415), 10_001));
    assert_eq!(kinds(&all), [Fast]);
    assert_eq!(kinds(&later), [Timeout]);
}

/// The retransmission leaves 150 ms after the last advancing ACK arrived: no RTO is that short.
#[test]
fn second_retransmission_is_by_rack_when_no_rto_can_have_expired() {
    let mut all = lost_twice(true);
    all.push(data((455, 405, 415), 2001));
    assert_eq!(kinds(&all), [Rack]);
}

/// One new segment after the third duplicate ACK shows that the first retransmission was sent.
#[test]
fn retransmission_is_a_second_one_when_one_packet_followed_the_third_duplicate_ack() {
    let mut all = lost_twice(true);
    all.truncate(all.len() - 4);
    all.push(data((455, 405, 409), 2001));
    assert_eq!(kinds(&all), [Rack]);
}

#[test]
fn second_retransmission_without_sack_is_no_rto_when_no_rto_can_have_expired() {
    let mut all = lost_twice(false);
    all.push(data((455, 405, 415), 2001));
    assert!(!kinds(&all).contains(&Timeout));
}

/// Without SACK only a timer retransmits the lowest segment twice.
#[test]
fn retransmission_without_sack_is_by_rto_when_the_one_by_duplicate_acks_was_lost() {
    let mut all = lost_twice(false);
    all.push(data((780, 730, 415), 2001));
    assert_eq!(kinds(&all), [Timeout]);
}

/// A SYN of the client or the SYN-ACK, with timestamps and SACK permitted.
fn handshake(at: At, from_server: bool) -> (u64, Vec<u8>) {
    let mut options = options(at, None);
    options[..2].copy_from_slice(&[4, 2]);
    let (seq, ack) = if from_server { (0, 107) } else { (106, 0) };
    let tcp = Tcp { from_server, syn: true, seq, ack, window: 0xffff, options: &options, ..Tcp::default() };
    (at.0 * 1_000_000, tcp.datagram())
}

/// A sender with this initial window. The first and the fourth segment after it are lost, and so is the
/// retransmission of the first, which comes again while the sender receives SACKs.
fn sent_again(initial_window: u32, is_repeated: bool) -> Vec<SegmentKind> {
    let mut all = vec![handshake((0, 0, 0), false)];
    if is_repeated {
        all.push(handshake((1, 1, 0), false));
    }
    all.extend([handshake((100, 50, 0), true), ack((100, 100, 50), 1, None)]);
    for i in 0..initial_window {
        all.extend([data((200, 150, 100), 1 + i * 1000), ack((200, 200, 150), 1001 + i * 1000, None)]);
    }
    let lost = 1 + initial_window * 1000;
    let block = |i: u32| (lost + if i < 3 { 1000 } else { 4000 }, lost + 1000 + i * 1000);
    for i in [1, 2, 4, 5] {
        all.push(data((300 + 3 * u64::from(i), 250, 200), lost + i * 1000));
        all.push(ack((300 + 3 * u64::from(i), 300 + 3 * i, 150), lost, Some(block(i))));
    }
    for i in 6..8u32 {
        all.push(data((400 + 3 * u64::from(i), 365, 315), lost + i * 1000));
        all.push(ack((400 + 3 * u64::from(i), 400 + 3 * i, 150), lost, Some(block(i))));
    }
    all.extend([data((425, 365, 315), lost + 3000), ack((425, 425, 150), lost, Some((lost + 1000, lost + 8000)))]);
    all.push(data((575, 525, 425), lost));
    kinds(&all)
}

/// initial_flight.rs: stacks of RFC 3390 retransmit nothing twice in a recovery.
#[test]
fn second_retransmission_is_by_rto_when_the_initial_window_was_small() {
    assert_eq!(sent_again(3, false), [Fast, Timeout]);
    assert_eq!(sent_again(10, false), [Fast, Rack]);
}

#[test]
fn initial_window_shows_no_stack_when_the_handshake_was_repeated() {
    assert_eq!(sent_again(3, true), [Fast, Rack]);
}

/// Without SACK. The second segment arrives 500 ms before the first, and is acknowledged with it.
#[test]
fn ack_gives_no_rtt_when_its_segment_waited_for_one_that_was_not_captured_before() {
    let all = [Request(0), RequestAck(100), LateData(200, 1, id(2)), Ack(200, 1001), LateData(300, 2001, id(4))];
    let (_, report) = run(&[&all[..], &[Ack(300, 1001), LateData(800, 1001, id(5)), Ack(800, 3001)]].concat());
    assert!(report.rtt_ms.max.is_none_or(|max| max < 1.0), "{:?}", report.rtt_ms);
}
