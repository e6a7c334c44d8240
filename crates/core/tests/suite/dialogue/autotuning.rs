//! Autotuning of socket buffers: the receiver's advertised window, and the sender's buffer.

use crate::dialogue::script::*;
use ackclock_core::packet::Timestamps;
use ackclock_core::tcp::RecoveryKind::NewReno;
use ackclock_core::tcp::{DelayedAck, ReceiveTuning, SendTuning, TcpConfig, WindowGrowth};
use ackclock_core::units::Span;

/// A window of 8000 at the start, opening from 4000, growing to 60,000: representable without
/// scaling.
fn growing() -> TcpConfig {
    let tuning =
        ReceiveTuning { start: 8000, limit: 60_000, share: 1.0, opening: 4000, growth: WindowGrowth::Double, overhead: None };
    TcpConfig { receive_buffer: 60_000, receive_tuning: Some(tuning), ..tcp(NewReno) }
}

/// Whole windows arrive, one per RTT of 100 ms; returns the window of the last ACK of each. The
/// window's edge must not move left.
fn windows(d: &mut Dialogue, rounds: u64) -> Vec<u32> {
    let (mut next, mut edge) = (1, 4001);
    (0..rounds)
        .map(|round| {
            let at = 0.1 * (round + 2) as f64;
            let mut window = 0;
            for _ in 0..(edge - next) / SEGMENT {
                d.at(at).data(next..next + SEGMENT);
                next += SEGMENT;
                let ack = d.expects(at).0;
                assert_eq!(ack.ack, next);
                assert!(next + u64::from(ack.window) >= edge, "left of {edge}");
                edge = next + u64::from(ack.window);
                window = ack.window;
            }
            window
        })
        .collect()
}

#[test]
fn receive_window_doubles_every_second_rtt_up_to_the_limit() {
    let mut d = Dialogue::receiver(growing(), None);
    // Growth in one RTT lets data arrive in the next, and shows in the one after.
    let windows = windows(&mut d, 8);
    assert_eq!(windows.iter().step_by(2).copied().collect::<Vec<_>>(), [8000, 16_000, 32_000, 60_000], "{windows:?}");
    assert!(windows.is_sorted(), "{windows:?}");
}

/// From 4000 by 2000 per segment to 8000: two segments open it, and then every second one is
/// acknowledged.
#[test]
fn segment_that_opens_the_window_is_acknowledged_at_once() {
    let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(100)));
    let mut d = Dialogue::receiver(TcpConfig { delayed_ack, ..growing() }, None);
    for n in 0..6 {
        let at = 0.2 + 0.001 * n as f64;
        d.at(at).data(1 + n * SEGMENT..1 + (n + 1) * SEGMENT);
        if [0, 1, 3, 5].contains(&n) {
            assert_eq!(d.expects(at).0.ack, 1 + (n + 1) * SEGMENT);
        } else {
            d.sends_nothing_until(at);
        }
    }
}

#[test]
fn syn_advertises_the_initial_window() {
    let mut d = Dialogue::server(growing(), None);
    d.at(0.0).syn();
    assert_eq!(d.expects(0.0).syn().0.window, 4000);
}

/// Data that echoes an ACK 100 ms old, a segment every `gap` seconds, read at once; returns the
/// last window.
fn evenly(gap: f64) -> u32 {
    let mut d = Dialogue::server(TcpConfig { timestamps: true, ..growing() }, None);
    let timestamps = |at: f64| Some(Timestamps { value: (at * 1e3) as u32 + 1, echo: ((at - 0.1) * 1e3) as u32 });
    d.at(0.0).syn_with(false, Some(OPTIONS), Some(Timestamps { value: 1, echo: 0 }));
    d.expects(0.0);
    d.at(0.1).ack(1);
    let mut window = 0;
    for n in 0..100 {
        let at = 0.2 + gap * n as f64;
        d.at(at).data_with_timestamps(n * SEGMENT + 1..(n + 1) * SEGMENT + 1, timestamps(at));
        window = d.expects(at).0.window;
    }
    window
}

/// Data arrives all the time, so no window shows the RTT; timestamps do.
#[test]
fn receive_window_is_twice_the_bytes_read_per_rtt() {
    // Ten segments per RTT, or eleven if a measurement includes one more.
    assert!((20_000..=22_000).contains(&evenly(0.01)), "{}", evenly(0.01));
}

#[test]
fn receive_window_stays_when_less_than_half_is_read_per_rtt() {
    // Two segments per RTT, or three, would make it 6000.
    assert_eq!(evenly(0.04), 8000);
}

#[test]
fn send_buffer_grows_with_cwnd_to_its_limit() {
    // Each segment takes 1250 bytes: 5000 are four segments, 20,000 sixteen.
    let tuning = SendTuning { start: 5000, limit: 20_000, overhead: 250 };
    let mut d = Dialogue::sender(TcpConfig { send_tuning: Some(tuning), ..tcp(NewReno) });
    d.expects_new(0.1, 1..4001);
    d.sends_nothing_until(0.15);
    // The first ACK finds a window of ten segments: twice that exceeds the limit.
    d.at(0.2).ack(1001);
    let flight = |d: &Dialogue| d.endpoint.sample().flight_bytes;
    assert!(flight(&d) <= 16_000);
    for round in 3..10 {
        d.round(0.1 * f64::from(round), 1);
    }
    assert_eq!(flight(&d), 16_000);
}

/// Linux 2.6: quick ACKs at the start, and after a duplicate segment.
#[test]
fn quick_acks_are_sent_at_the_start_and_after_a_duplicate() {
    let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(40)));
    let mut d = Dialogue::receiver(TcpConfig { delayed_ack, quick_acks: 2, ..tcp(NewReno) }, None);
    for n in 0..2 {
        d.at(0.2).data(n * 1000 + 1..n * 1000 + 1001);
        d.expects(0.2).ack(n * 1000 + 1001);
    }
    d.at(0.2).data(2001..3001);
    d.sends_nothing_until(0.21);
    d.at(0.21).data(3001..4001);
    d.expects(0.21).ack(4001);
    d.at(0.3).data(1..1001);
    d.expects(0.3).ack(4001);
    for n in 4..6 {
        d.at(0.4).data(n * 1000 + 1..n * 1000 + 1001);
        d.expects(0.4).ack(n * 1000 + 1001);
    }
    d.at(0.5).data(6001..7001);
    d.expects(0.54).ack(7001);
}

/// RFC 7323, section 2.3: 200,000 bytes are advertised in units of four; an opening of one byte
/// would be advertised as zero.
#[test]
fn initial_window_is_at_least_one_scaling_unit() {
    let tuning = ReceiveTuning { start: 1, limit: 200_000, share: 1.0, opening: 1, growth: WindowGrowth::Double, overhead: None };
    let mut d = Dialogue::receiver(TcpConfig { receive_buffer: 200_000, receive_tuning: Some(tuning), ..tcp(NewReno) }, None);
    d.at(0.2).data(1..5);
    d.expects(0.2).ack(5).window(4);
}

/// A batch of four segments with a window of the whole buffer: unread data narrows it, so one ACK
/// covers all four after the read. While the window opens each segment is acknowledged, read or
/// not. Another host's application reads each segment as it arrives.
#[test]
fn ack_waits_for_the_read_of_a_batch_unless_the_window_opens() {
    let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(100)));
    let acked = |growth| {
        let tuning = ReceiveTuning { growth, ..growing().receive_tuning.expect("one") };
        let mut d = Dialogue::receiver(TcpConfig { delayed_ack, receive_tuning: Some(tuning), ..growing() }, None);
        let mut acks = Vec::new();
        for frame in 0..3 {
            let at = 0.2 + 0.005 * frame as f64;
            for n in 4 * frame..4 * frame + 4 {
                let bytes = 1 + n * SEGMENT..1 + (n + 1) * SEGMENT;
                if n % 4 < 3 { d.at(at).data_before_more(bytes) } else { d.at(at).data(bytes) }
            }
            acks.push(d.all_sent().iter().map(|segment| (segment.ack - 1) / SEGMENT).collect::<Vec<_>>());
        }
        acks
    };
    assert_eq!(acked(WindowGrowth::Near), [vec![1, 2, 4], vec![8], vec![12]]);
    assert_eq!(acked(WindowGrowth::Lead)[1], [6, 7, 8], "and its buffer has grown with the sixth");
}
