//! ACK congestion control and sender adaptation (`asymmetry`, section 4.3), and TACK's rate.

use crate::dialogue::script::*;
use ackclock_core::packet::{Ecn, Flags, RareOption, Segment, SendRoom, Timestamps};
use ackclock_core::tcp::RecoveryKind::{Classic, NewReno};
use ackclock_core::tcp::{AckCongestionControlConfig, DelayedAck, EcnMode, TcpConfig};
use ackclock_core::units::Span;

fn controlled() -> TcpConfig {
    let control = AckCongestionControlConfig { max: 25, timer: Span::from_ms(100), option_bytes: 8 };
    TcpConfig { ack_control: Some(control), ecn: EcnMode::Classic, timestamps: true, ..tcp(NewReno) }
}

const ECE_CWR: Flags = Flags::ECE.with(Flags::CWR);

/// A data segment to a receiver: `echo` (ms) is the newest ACK that the sender has received,
/// `marked` whether an ACK was marked, `window` what may still be sent.
struct Data {
    n: u64,
    echo: u32,
    marked: bool,
    window: u16,
}

fn send_data(d: &mut Dialogue, at: f64, data: &Data) {
    let flags = if data.marked { Flags::ACK.with(Flags::ECE) } else { Flags::ACK };
    d.at(at).segment(Segment {
        seq: data.n * 1000 + 1,
        ack: 1,
        payload: 1000,
        flags,
        len: 1040,
        window: 60_000,
        timestamps: Some(Timestamps { value: 1, echo: data.echo }),
        rare_option: RareOption::SendRoom(SendRoom { window: data.window, left: 1000 }),
        ..Segment::default()
    });
}

fn receiver() -> Dialogue {
    let mut d = Dialogue::server(controlled(), None);
    let timestamps = Some(Timestamps { value: 1, echo: 0 });
    d.at(0.0).segment(Segment {
        flags: Flags::SYN.with(ECE_CWR),
        window: 60_000,
        syn: Some(OPTIONS),
        timestamps,
        ..Segment::default()
    });
    d.expects(0.0).syn();
    d.at(0.1).segment(Segment { seq: 1, ack: 1, flags: Flags::ACK, window: 60_000, timestamps, ..Segment::default() });
    d
}

/// An echo of 1000 ms is of an ACK sent at 1 s; the RTT is 100 ms.
#[test]
fn receiver_halves_its_ack_rate_per_marked_rtt() {
    let mut d = receiver();
    send_data(&mut d, 1.0, &Data { n: 0, echo: 900, marked: false, window: 100 });
    d.expects(1.0).ack(1001).with_codepoint(Ecn::Ect0);
    // From here an ACK covers two segments, and four two RTTs later.
    send_data(&mut d, 1.01, &Data { n: 1, echo: 910, marked: true, window: 100 });
    send_data(&mut d, 1.02, &Data { n: 2, echo: 920, marked: true, window: 100 });
    d.expects(1.02).ack(3001);
    for n in 3..6 {
        send_data(&mut d, 1.12, &Data { n, echo: 1010, marked: true, window: 100 });
    }
    d.sends_nothing_until(1.12);
    send_data(&mut d, 1.12, &Data { n: 6, echo: 1015, marked: false, window: 100 });
    d.expects(1.12).ack(7001);
    // No ACK waits longer than the timer.
    send_data(&mut d, 1.13, &Data { n: 7, echo: 1016, marked: false, window: 100 });
    d.expects(1.23).ack(8001);
    // An RTT without a mark: one less.
    for n in 8..11 {
        send_data(&mut d, 1.30, &Data { n, echo: 1200, marked: false, window: 100 });
    }
    d.expects(1.30).ack(11_001);
}

/// The authors' rule, which the paper leaves open: at least two ACKs per window.
#[test]
fn small_window_is_acknowledged_at_least_twice() {
    let mut d = receiver();
    for (at, n, echo) in [(1.0, 0, 900), (1.09, 1, 1000), (1.18, 2, 1090), (1.19, 3, 1095)] {
        send_data(&mut d, at, &Data { n, echo, marked: true, window: 4 });
    }
    // The factor is eight, half of the window two.
    d.expects(1.09).ack(2001);
    d.expects(1.19).ack(4001);
    let mut d = receiver();
    send_data(&mut d, 1.0, &Data { n: 0, echo: 900, marked: true, window: 3 });
    d.expects(1.0).ack(1001);
}

/// Section 4.3.1: the next data reports a marked ACK, once, and what may still be sent.
#[test]
fn sender_echoes_a_marked_ack_on_data() {
    let mut d = Dialogue::client(TcpConfig { timestamps: false, ..controlled() });
    d.expects(0.0).syn();
    d.at(0.1).syn_ack_with_flags(Flags::ECE);
    d.expects_new(0.1, 1..10_001);
    let marked = Segment { seq: 1, ack: 1001, window: 65_535, flags: Flags::ACK, ..Segment::default() };
    d.at(0.2).segment_as(Ecn::Ce, marked);
    let segment = d.expects(0.2).data(10_001..11_001).has_flags(Flags::ECE).with_codepoint(Ecn::Ect0);
    // Eleven segments of window; header, payload and eight bytes of option.
    let RareOption::SendRoom(room) = segment.0.rare_option else { panic!("no SendRoom: {:?}", segment.0) };
    assert_eq!((room.window, room.left, segment.0.len), (11, u16::MAX, 1048));
    d.expects(0.2).data(11_001..12_001).lacks_flags(Flags::ECE);
    assert_eq!(d.endpoint.sender_stats(time(0.2)).window_cuts, 0, "data did not meet congestion");
}

/// Section 4.3.2: three segments back to back; the next three after 3/cwnd of an RTT.
#[test]
fn max_burst_limits_segments_back_to_back() {
    let mut d = Dialogue::sender(TcpConfig { max_burst: Some(3), ..tcp(NewReno) });
    d.expects_new(0.1, 1..3001);
    d.sends_nothing_until(0.129);
    d.expects_new(0.13, 3001..6001);
    d.expects_new(0.16, 6001..9001);
    d.expects_new(0.19, 9001..10_001);
    // An ACK of one segment releases two, which is no burst.
    d.at(0.2).ack(1001);
    d.expects_new(0.2, 10_001..12_001);
}

/// RTTs of 100 ms are one tick of 200 ms, so the next burst follows after 3/cwnd of 200 ms.
#[test]
fn max_burst_waits_a_share_of_whole_ticks_when_pacing_is_coarse() {
    let pacing_tick = Span::from_ms(200);
    let mut d = Dialogue::sender(TcpConfig { max_burst: Some(3), pacing_tick, ..tcp(NewReno) });
    d.expects_new(0.1, 1..3001);
    d.sends_nothing_until(0.159);
    d.expects_new(0.16, 3001..6001);
    d.expects_new(0.22, 6001..9001);
}

/// TACK: at least two segments per ACK, and at most four ACKs per RTT of 100 ms.
#[test]
fn tack_limits_acks_per_rtt() {
    let delayed_ack = Some(DelayedAck { per_rtt: Some(4.0), ..DelayedAck::new(2, Span::from_ms(40)) });
    let mut d = Dialogue::receiver(TcpConfig { delayed_ack, ..tcp(NewReno) }, None);
    d.at(0.20).data(1..1001);
    d.at(0.20).data(1001..2001);
    d.expects(0.20).ack(2001);
    for n in 2..10 {
        d.at(0.201).data(n * 1000 + 1..n * 1000 + 1001);
    }
    d.sends_nothing_until(0.224);
    d.expects(0.225).ack(10_001);
    // A single segment waits for the timer; out-of-order data is acknowledged at once (an instant
    // ACK, for loss).
    d.at(0.3).data(10_001..11_001);
    d.expects(0.34).ack(11_001);
    d.at(0.341).data(12_001..13_001);
    d.expects(0.341).ack(11_001);
}

/// Section 4.3.3: the filter has removed duplicates; the marked one that is left is enough.
#[test]
fn ack_marked_by_the_filter_starts_a_fast_retransmit() {
    for recovery in [Classic, NewReno] {
        for (marking, ack, retransmitted) in [(true, 1, Some(0)), (true, 1001, Some(1)), (false, 1, None)] {
            let mut d = Dialogue::sender(TcpConfig { dupack_marking: marking, ..tcp(recovery) });
            d.expects_new(0.1, 1..10_001);
            let marked = Segment { seq: 1, ack, window: 65_535, flags: Flags::ACK, dupacks_seen: true, ..Segment::default() };
            d.at(0.2).segment(marked);
            match retransmitted {
                Some(n) => drop(d.expects(0.2).retransmitted(n * 1000 + 1..n * 1000 + 1001)),
                None => d.sends_nothing_until(0.2),
            }
            let cuts = d.endpoint.sender_stats(time(0.2)).window_cuts;
            assert_eq!(cuts, u64::from(retransmitted.is_some()), "{recovery:?} {marking} {ack}");
        }
    }
}

#[test]
fn receiver_marks_acks_from_the_third_duplicate_on() {
    let mut d = Dialogue::receiver(TcpConfig { dupack_marking: true, ..controlled() }, None);
    for (n, marked) in [(1, false), (2, false), (3, true), (4, true)] {
        d.at(0.2).data(n * 1000 + 1..n * 1000 + 1001);
        assert_eq!(d.expects(0.2).ack(1).0.dupacks_seen, marked, "duplicate {n}");
    }
    d.at(0.3).data(1..1001);
    assert!(!d.expects(0.3).ack(5001).0.dupacks_seen);
}
