//! The three-way handshake.

use crate::dialogue::script::*;
use ackclock_core::packet::{SynOptions, Timestamps};
use ackclock_core::tcp::RecoveryKind::NewReno;
use ackclock_core::tcp::TcpConfig;

/// RFC 6298, (2.1) and (5.5).
#[test]
fn unanswered_syn_is_retransmitted_after_one_two_and_four_seconds() {
    let mut d = Dialogue::client(tcp(NewReno));
    for at in [0.0, 1.0, 3.0, 7.0] {
        d.expects(at).syn();
    }
    d.sends_nothing_until(14.9);
}

/// RFC 5681, section 3.1, and RFC 6298, (5.7).
#[test]
fn lost_syn_leaves_one_segment_and_an_rto_of_three_seconds() {
    let mut d = Dialogue::client(tcp(NewReno));
    d.expects(0.0).syn();
    d.expects(1.0).syn();
    d.at(1.1).syn_ack();
    d.expects(1.1).data(1..1001).acknowledging(1);
    d.sends_nothing_until(4.0);
    d.expects(4.1).retransmitted(1..1001);
}

/// RFC 9293, section 3.5.
#[test]
fn syn_ack_is_retransmitted_until_acknowledged() {
    let mut d = Dialogue::server(tcp(NewReno), None);
    d.at(0.0).syn();
    d.expects(0.0).syn().acknowledging(1);
    d.expects(1.0).syn().acknowledging(1);
    d.at(1.1).ack(1);
    d.sends_nothing_until(10.0);
}

/// RFC 9293, section 3.10.7.4: the SYN-ACK was lost, or the network duplicates.
#[test]
fn retransmitted_syn_is_answered_at_once() {
    let mut d = Dialogue::server(tcp(NewReno), None);
    d.at(0.0).syn();
    d.expects(0.0).syn();
    d.at(0.4).syn();
    d.expects(0.4).syn().acknowledging(1);
}

/// RFC 9293, section 3.5: any ACK of the SYN establishes the connection.
#[test]
fn data_establishes_a_connection_when_the_handshake_ack_is_lost() {
    let mut d = Dialogue::server(tcp(NewReno), None);
    d.at(0.0).syn();
    d.expects(0.0).syn();
    d.at(0.2).data(1..1001);
    d.expects(0.2).ack(1001);
}

/// RFC 9293, section 3.10.7.4.
#[test]
fn retransmitted_syn_ack_is_acknowledged() {
    let mut config = tcp(NewReno);
    config.initial_window = 1.0;
    let mut d = Dialogue::sender(config);
    d.expects(0.1).data(1..1001);
    d.at(0.2).syn_ack();
    d.expects(0.2).ack(1);
}

/// RFC 9293, section 3.10.7.4: SND.UNA < SEG.ACK =< SND.NXT, or the ACK is of another connection.
#[test]
fn ack_of_unsent_data_does_not_establish_a_connection() {
    let mut d = Dialogue::server(tcp(NewReno), None);
    d.at(0.0).syn();
    d.expects(0.0).syn();
    d.at(0.1).ack(77);
    d.expects(1.0).syn();
    let mut d = Dialogue::client(tcp(NewReno));
    d.expects(0.0).syn();
    d.at(0.1).segment(ackclock_core::Segment {
        ack: 77,
        flags: ackclock_core::packet::Flags::SYN.with(ackclock_core::packet::Flags::ACK),
        ..Default::default()
    });
    d.sends_nothing_until(0.9);
}

/// RFC 9293, section 3.7.1, and RFC 6691: the sender subtracts the bytes of timestamps from the
/// MSS.
#[test]
fn segments_are_at_most_the_peers_mss() {
    for (mss, timestamps, payload) in [(536, false, 536), (536, true, 524), (9000, false, SEGMENT)] {
        let mut d = Dialogue::client(TcpConfig { timestamps, timestamp_bytes: 12, ..tcp(NewReno) });
        d.expects(0.0).syn();
        let timestamps = timestamps.then_some(Timestamps { value: 1, echo: 0 });
        d.at(0.1).syn_with(true, Some(SynOptions { mss, ..OPTIONS }), timestamps);
        d.expects(0.1).data(1..1 + payload);
    }
}

/// RFC 9293, section 3.7.1.
#[test]
fn segments_are_536_bytes_without_an_mss_option() {
    let mut d = Dialogue::client(tcp(NewReno));
    d.expects(0.0).syn();
    d.at(0.1).syn_with(true, None, None);
    d.expects(0.1).data(1..537);
}

/// RFC 2018, section 2; RFC 7323, sections 2.2 and 3.2.
#[test]
fn syn_ack_accepts_only_offered_options() {
    let config = TcpConfig { sack: true, timestamps: true, ..tcp(NewReno) };
    let mut d = Dialogue::server(config.clone(), None);
    let bare = SynOptions { mss: 1460, window_scale: None, sack_permitted: false };
    d.at(0.0).syn_with(false, Some(bare), None);
    let answer = d.expects(0.0).0;
    assert_eq!((answer.timestamps, answer.syn.map(|s| (s.window_scale, s.sack_permitted))), (None, Some((None, false))));
    let mut d = Dialogue::server(config, None);
    d.at(0.0).syn_with(false, Some(OPTIONS), Some(Timestamps { value: 7, echo: 0 }));
    let answer = d.expects(0.0).echoes(7).0;
    assert_eq!(answer.syn.map(|s| (s.window_scale, s.sack_permitted)), Some((Some(5), true)));
}

/// RFC 7323, section 2.2: the window of a SYN is not scaled; later windows are, in units of the
/// scale.
#[test]
fn window_above_64_kib_needs_scaling_at_both_ends() {
    // 199,999 rounded up to a multiple of four.
    for (offered, window) in [(Some(0), 200_000), (None, 65_535)] {
        let mut d = Dialogue::server(TcpConfig { receive_buffer: 199_999, ..tcp(NewReno) }, None);
        d.at(0.0).syn_with(false, Some(SynOptions { window_scale: offered, ..OPTIONS }), None);
        d.expects(0.0).syn().window(65_535);
        d.at(0.1).data(1..1001);
        d.expects(0.1).ack(1001).window(window);
    }
}

/// RFC 7323, section 4.3: the echo is of the segment that advanced rcv.nxt, so that the delay by a
/// gap is measured.
#[test]
fn timestamp_above_a_gap_or_older_is_not_echoed() {
    let mut d = Dialogue::server(TcpConfig { timestamps: true, ..tcp(NewReno) }, None);
    let timestamp = |value| Some(Timestamps { value, echo: 0 });
    d.at(0.0).syn_with(false, Some(OPTIONS), timestamp(10));
    d.expects(0.0).echoes(10);
    d.at(0.1).data_with_timestamps(1..1001, timestamp(20));
    d.expects(0.1).ack(1001).echoes(20);
    d.at(0.2).data_with_timestamps(2001..3001, timestamp(30));
    d.expects(0.2).ack(1001).echoes(20);
    d.at(0.3).data_with_timestamps(1001..2001, timestamp(40));
    d.expects(0.3).ack(3001).echoes(40);
    d.at(0.4).data_with_timestamps(1..1001, timestamp(15));
    d.expects(0.4).ack(3001).echoes(40);
}
