//! Attribution of time with a zero window: to the receive window if the sender probes it or data
//! follows soon, else to the application.

use crate::packet_builder::{Tcp, pcap, read};
use ackclock_trace::report::{Limits, Report};

const MS: u64 = 1_000_000;

/// One packet: time in nanoseconds, and the server's data or the client's ACK and window.
enum Packet {
    Data { at: u64, seq: u32, payload: usize },
    Ack { at: u64, ack: u32, window: u16 },
}
use Packet::{Ack, Data};

fn datagram(packet: &Packet) -> (u64, Vec<u8>) {
    let (at, tcp) = match *packet {
        Data { at, seq, payload } => (at, Tcp { from_server: true, seq, ack: 7, window: 65_535, payload, ..Tcp::default() }),
        Ack { at, ack, window } => (at, Tcp { seq: 7, ack, window, ..Tcp::default() }),
    };
    (at, tcp.datagram())
}

fn limits(packets: &[Packet]) -> Limits {
    let (capture, analysis) = read(pcap(&packets.iter().map(datagram).collect::<Vec<_>>(), 65_535));
    Report::of(&analysis, &capture).flows[0].b2a.limited.unwrap()
}

/// Four segments, and their ACK 100 ms later with this window.
fn opening(window: u16) -> Vec<Packet> {
    let mut all: Vec<_> = (0..4).map(|i| Data { at: 0, seq: 1 + i * 1000, payload: 1000 }).collect();
    all.push(Ack { at: 100 * MS, ack: 4001, window });
    all
}

fn close(all: &mut Vec<Packet>, at: u64) {
    all.push(Data { at, seq: 4001, payload: 1000 });
    all.push(Ack { at: at + 100 * MS, ack: 5001, window: 8000 });
}

#[track_caller]
fn assert_share(share: Option<f64>, expected: f64) {
    assert!((share.unwrap() - expected).abs() < 1e-9, "{share:?}, not {expected}");
}

#[test]
fn zero_window_is_receive_window_limited_when_it_is_probed() {
    let mut all = opening(0);
    // A probe below SND.UNA, answered with a zero window; after 20 s another one, which opens the
    // window.
    all.push(Data { at: 400 * MS, seq: 4000, payload: 0 });
    all.push(Ack { at: 500 * MS, ack: 4001, window: 0 });
    all.push(Data { at: 20_500 * MS, seq: 4000, payload: 0 });
    all.push(Ack { at: 20_600 * MS, ack: 4001, window: 8000 });
    close(&mut all, 20_600 * MS);
    let limits = limits(&all);
    assert_share(limits.receive_window, 20_500.0 / 20_700.0);
    assert_share(limits.application, 0.0);
}

#[test]
fn zero_window_is_receive_window_limited_when_it_is_shorter_than_an_rto() {
    let mut all = opening(0);
    all.push(Ack { at: 900 * MS, ack: 4001, window: 8000 });
    close(&mut all, 900 * MS);
    let limits = limits(&all);
    assert_share(limits.receive_window, 0.8);
    assert_share(limits.application, 0.0);
}

#[test]
fn window_smaller_than_a_segment_counts_as_zero() {
    let mut all = opening(500);
    all.push(Ack { at: 900 * MS, ack: 4001, window: 8000 });
    close(&mut all, 900 * MS);
    assert_share(limits(&all).receive_window, 0.8);
}

#[test]
fn zero_window_is_application_limited_when_it_is_not_probed() {
    let mut all = opening(0);
    all.push(Ack { at: 30_100 * MS, ack: 4001, window: 8000 });
    close(&mut all, 30_100 * MS);
    let limits = limits(&all);
    assert_share(limits.application, 30_000.0 / 30_200.0);
    assert_share(limits.receive_window, 0.0);
}

#[test]
fn pause_is_application_limited_when_the_window_is_open() {
    let mut all = opening(8000);
    close(&mut all, 900 * MS);
    let limits = limits(&all);
    assert_share(limits.application, 0.8);
    assert_share(limits.receive_window, 0.0);
}
