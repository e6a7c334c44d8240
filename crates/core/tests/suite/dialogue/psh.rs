//! PSH: which segments carry it, and the ACKs that it triggers.

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::packet::Flags;
use ackclock_core::tcp::RecoveryKind::{NewReno, Sack};
use ackclock_core::tcp::{DelayedAck, Push, TcpConfig, TsoAutosize};
use ackclock_core::units::{Rate, Span, Time};

/// An ACK for every third segment or after 200 ms.
fn hurrying(push: bool) -> TcpConfig {
    let delayed_ack = Some(DelayedAck { push, ..DelayedAck::new(3, Span::from_ms(200)) });
    TcpConfig { delayed_ack, ..tcp(Sack) }
}

/// Linux's bursts: a millisecond at the rate, at least two segments.
fn in_chunks() -> TcpConfig {
    TcpConfig {
        push: Push::Chunks,
        tso: Some(TsoAutosize { min_segments: 2, time: Span::from_ms(1), max_bytes: 65_536 }),
        ..tcp(NewReno)
    }
}

/// Whether each of the next `count` segments, sent at `at`, carries PSH.
fn pushed(d: &mut Dialogue, at: f64, count: usize) -> String {
    (0..count).map(|_| if d.expects(at).0.flags.has(Flags::PSH) { 'P' } else { '.' }).collect()
}

#[test]
fn segment_with_psh_is_acknowledged_at_once() {
    for (push, when) in [(true, 0.2), (false, 0.4)] {
        let mut d = Dialogue::receiver(hurrying(push), None);
        d.at(0.2).data_with_flags(1..1001, Flags::PSH);
        d.expects(when).ack(1001);
        d.at(0.5).data(1001..2001);
        d.sends_nothing_until(0.6);
        d.at(0.6).data_with_flags(2001..3001, Flags::PSH);
        d.expects(if push { 0.6 } else { 0.7 }).ack(3001);
        d.sends_nothing_until(1.0);
    }
}

/// The application reads 1000 B per 100 ms.
#[test]
fn psh_ack_waits_until_all_data_is_read() {
    let mut d = Dialogue::receiver(hurrying(true), Some(Rate::from_bps(80_000)));
    d.at(0.2).data(1..1001);
    d.at(0.21).data_with_flags(1001..2001, Flags::PSH);
    d.sends_nothing_until(0.299);
    d.expects(0.3).ack(2001);
}

/// Data above a gap counts as unread; each of these ACKs has another reason.
#[test]
fn gap_filling_segment_with_psh_gets_one_ack() {
    let mut d = Dialogue::receiver(TcpConfig { immediate_ack_on_fill: false, ..hurrying(true) }, None);
    d.at(0.2).data(2001..3001);
    d.expects(0.2).ack(1).sacks(&[2001..3001]);
    d.at(0.3).data_with_flags(1..1001, Flags::PSH);
    d.sends_nothing_until(0.31);
    d.at(0.31).data(1001..2001);
    d.expects(0.31).ack(3001);
}

/// In slow start at 200 segments per second a burst is two segments, and each ACK has room for one
/// or two. A single segment carries no PSH.
#[test]
fn last_segment_of_each_burst_carries_psh() {
    let mut d = Dialogue::sender_with(in_chunks(), BulkSource::new(u64::MAX, Time::NEVER), 11_000);
    assert_eq!(pushed(&mut d, 0.1, 10), ".P.P.P.P.P");
    d.at(0.2).ack(1001);
    assert_eq!(pushed(&mut d, 0.2, 2), ".P");
    d.at(0.202).ack_with_window(2001, 11_000);
    assert_eq!(pushed(&mut d, 0.202, 1), ".");
    d.at(0.204).ack_with_window(4001, 12_000);
    assert_eq!(pushed(&mut d, 0.204, 2), ".P");
}

/// An ACK of two segments in slow start has room for three: the third waits for the next ACK,
/// unless the last segment is more than a millisecond old, the oldest segment is young, or no data
/// is left.
#[test]
fn burst_below_the_autosize_is_deferred_to_the_next_ack() {
    let mut d = Dialogue::sender_with(in_chunks(), BulkSource::new(19_000, Time::NEVER), 11_000);
    assert_eq!(pushed(&mut d, 0.1, 10), ".P.P.P.P.P");
    d.at(0.2).ack_with_window(2001, 60_000);
    assert_eq!(pushed(&mut d, 0.2, 2), ".P");
    d.at(0.2005).ack_with_window(3001, 60_000);
    assert_eq!(pushed(&mut d, 0.2005, 2), ".P");
    d.at(0.2006).ack_with_window(4001, 60_000);
    assert_eq!(pushed(&mut d, 0.2006, 2), ".P");
    d.at(0.202).ack_with_window(6001, 60_000);
    assert_eq!(pushed(&mut d, 0.202, 3), ".PP");
}

/// 160 segments per 100 ms, twice that rate in slow start: three per millisecond. The peer's window
/// ends it at 65.
#[test]
fn faster_sender_has_longer_bursts() {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 160.0, ..in_chunks() });
    assert_eq!(pushed(&mut d, 0.1, 65), "..P".repeat(21) + ".P");
}

#[test]
fn paced_burst_carries_psh_on_its_last_segment() {
    let mut d = Dialogue::sender(TcpConfig { pacing: true, ..in_chunks() });
    for at in [0.1, 0.1075, 0.1175] {
        assert_eq!(pushed(&mut d, at, 2), ".P");
    }
}

#[test]
fn last_written_segment_carries_psh_on_retransmission_too() {
    let mut d = Dialogue::sender_with(in_chunks(), BulkSource::new(2500, Time::NEVER), 65_535);
    assert_eq!(pushed(&mut d, 0.1, 3), ".PP");
    d.at(0.2).ack(2001);
    let again = d.expects(0.45).0;
    assert!(again.retransmission && again.flags.has(Flags::PSH));
}

#[test]
fn push_every_sets_psh_on_all_data() {
    let mut d = Dialogue::sender(tcp(NewReno));
    assert_eq!(pushed(&mut d, 0.1, 10), "PPPPPPPPPP");
}
