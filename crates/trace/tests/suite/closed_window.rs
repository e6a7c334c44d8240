//! Before a closed window nothing is in flight, as before an application that has nothing to send: whose time it is shows by questions, or by how soon
//! data follows.

use crate::by_hand::{Tcp, pcap, read};
use ackclock_trace::report::{Limits, Report};

const MS: u64 = 1_000_000;

/// One packet of the conversation: when, whose, where in the stream, how much, and the window of the client's.
enum Passes {
    Data { at: u64, seq: u32, payload: usize },
    Ack { at: u64, ack: u32, window: u16 },
}
use Passes::{Ack, Data};

fn datagram(passes: &Passes) -> (u64, Vec<u8>) {
    let (at, tcp) = match *passes {
        Data { at, seq, payload } => (at, Tcp { from_server: true, seq, ack: 7, window: 65_535, payload, ..Tcp::default() }),
        Ack { at, ack, window } => (at, Tcp { seq: 7, ack, window, ..Tcp::default() }),
    };
    (at, tcp.datagram())
}

fn limits(passes: &[Passes]) -> Limits {
    let (capture, analysis) = read(pcap(&passes.iter().map(datagram).collect::<Vec<_>>(), 65_535));
    Report::of(&analysis, &capture).flows[0].b2a.limited.unwrap()
}

/// KeyV4 segments, their ACK 100 ms later, which leaves this window; then what follows.
fn opening(window: u16) -> Vec<Passes> {
    let mut all: Vec<_> = (0..4).map(|i| Data { at: 0, seq: 1 + i * 1000, payload: 1000 }).collect();
    all.push(Ack { at: 100 * MS, ack: 4001, window });
    all
}

fn ends(all: &mut Vec<Passes>, at: u64) {
    all.push(Data { at, seq: 4001, payload: 1000 });
    all.push(Ack { at: at + 100 * MS, ack: 5001, window: 8000 });
}

#[track_caller]
fn is(found: Option<f64>, expected: f64) {
    assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}, not {expected}");
}

#[test]
fn a_closed_window_that_is_probed_is_the_receivers_however_long_it_lasts() {
    let mut all = opening(0);
    // One below what is due: answered, and the window is still closed. Then 20 s until the next, then it opens.
    all.push(Data { at: 400 * MS, seq: 4000, payload: 0 });
    all.push(Ack { at: 500 * MS, ack: 4001, window: 0 });
    all.push(Data { at: 20_500 * MS, seq: 4000, payload: 0 });
    all.push(Ack { at: 20_600 * MS, ack: 4001, window: 8000 });
    ends(&mut all, 20_600 * MS);
    let found = limits(&all);
    is(found.receive_window, 20_500.0 / 20_700.0);
    is(found.application, 0.0);
}

#[test]
fn a_window_that_closes_for_less_than_a_timeout_is_the_receivers_without_a_question() {
    let mut all = opening(0);
    all.push(Ack { at: 900 * MS, ack: 4001, window: 8000 });
    ends(&mut all, 900 * MS);
    let found = limits(&all);
    is(found.receive_window, 0.8);
    is(found.application, 0.0);
}

#[test]
fn a_window_too_small_for_a_segment_is_closed() {
    let mut all = opening(500);
    all.push(Ack { at: 900 * MS, ack: 4001, window: 8000 });
    ends(&mut all, 900 * MS);
    is(limits(&all).receive_window, 0.8);
}

#[test]
fn silence_before_a_closed_window_that_nobody_asks_about_is_the_applications() {
    let mut all = opening(0);
    all.push(Ack { at: 30_100 * MS, ack: 4001, window: 8000 });
    ends(&mut all, 30_100 * MS);
    let found = limits(&all);
    is(found.application, 30_000.0 / 30_200.0);
    is(found.receive_window, 0.0);
}

#[test]
fn an_application_that_pauses_before_an_open_window_pauses() {
    let mut all = opening(8000);
    ends(&mut all, 900 * MS);
    let found = limits(&all);
    is(found.application, 0.8);
    is(found.receive_window, 0.0);
}
