//! UDP between two captures, joined by its payloads.

use crate::packet_builder::{self, pcap};
use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::PacketFilter;
use ackclock_trace::join::{CaptureSide, join};
use ackclock_trace::report::{JoinedDirectionReport, Report};
use std::io::Cursor;

const MS: u64 = 1_000_000;

/// An IPv4 datagram between the server (port 443) and the client; behind a NAT the client has another
/// address and port.
fn udp(from_server: bool, id: u16, payload: &[u8], translated: bool) -> Vec<u8> {
    let server = ([192, 0, 2, 1], 443);
    let client = if translated { ([198, 51, 100, 7], 61_000) } else { ([10, 0, 0, 2], 5000) };
    let (source, destination) = if from_server { (server, client) } else { (client, server) };
    packet_builder::udp(source, destination, id, payload)
}

/// Bytes that no other packet has.
fn payload(number: u64, len: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8 & 0x7f
    };
    (0..len).map(|_| next()).collect()
}

fn read(packets: &[(u64, Vec<u8>)], snap: usize) -> CaptureSide {
    let mut sorted = packets.to_vec();
    sorted.sort_by_key(|packet| packet.0);
    let capture = Capture::from_reader(Box::new(Cursor::new(pcap(&sorted, snap)))).unwrap();
    let mut side = CaptureSide::new(capture, PacketFilter::default());
    side.read(u64::MAX).unwrap();
    side
}

/// Captures at the server and at the client of a download over a link of 10 Mb/s with a buffer of 30
/// packets and 20 ms in each direction, which loses `radio` of 1024 packets after the queue, and the number of packets
/// that queue and radio lose. With `rush` the queue overflows. The payload of packet `i` is `payload_of(i)`.
fn download(rush: bool, radio: u64, payload_of: impl Fn(u64) -> Vec<u8>, snap: usize) -> (Report, [u64; 2]) {
    let (mut at_server, mut at_client) = (Vec::new(), Vec::new());
    let (mut free_at, mut lost, mut burst_at) = (0u64, [0, 0], 0);
    for i in 0..3000u64 {
        // A burst of ten packets each 12 ms; for 80 ms in each second, each 4 ms.
        if i % 10 == 0 {
            burst_at += if rush && i / 10 % 80 >= 60 { 4 * MS } else { 12 * MS };
        }
        let sent = burst_at + i % 10 * 10_000;
        let bytes = payload_of(i);
        let service = (bytes.len() as u64 + 28) * 8 * 100;
        at_server.push((sent, udp(true, i as u16, &bytes, true)));
        let waits = free_at.saturating_sub(sent);
        if waits > 30 * service {
            lost[0] += 1;
            continue;
        }
        free_at = free_at.max(sent) + service;
        // Of the first and the last packets nothing shows that the other capture would have them.
        if (20..2980).contains(&i) && i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 1023 < radio {
            lost[1] += 1;
            continue;
        }
        let arrives = free_at + 20 * MS;
        at_client.push((arrives, udp(true, i as u16, &bytes, false)));
        if i % 4 == 0 {
            let ack = payload(1 << 40 | i, 40);
            at_client.push((arrives + 1000, udp(false, i as u16, &ack, false)));
            at_server.push((arrives + 1000 + 20 * MS, udp(false, i as u16, &ack, true)));
        }
    }
    let (server, client) = (read(&at_server, snap), read(&at_client, snap));
    let joined = join(&server, &client, None);
    (Report::joined(&server, &client, &joined), lost)
}

fn down(report: &Report) -> Option<&JoinedDirectionReport> {
    let flow = &report.udp_flows.as_ref()?[0];
    if flow.server == "192.0.2.1:443" { flow.b2a.joined.as_ref() } else { flow.a2b.joined.as_ref() }
}

// finding("C38")
#[test]
fn datagrams_are_joined_by_their_payloads_behind_a_nat() {
    let (report, lost) = download(true, 0, |i| payload(i, 1200), usize::MAX);
    assert!(lost[0] > 10 && lost[1] == 0, "{lost:?}");
    let joined = report.joined.as_ref().unwrap();
    assert_eq!((joined.joined_flows, joined.joined_udp_flows), (0, 1));
    assert!(joined.clock.is_some());
    let down = down(&report).expect("a joined direction");
    assert_eq!((down.lost.between_captures, down.lost.sent), (lost[0], 3000));
    let delay = &down.one_way_delay_ms;
    assert!((delay.min.unwrap() - 21.0).abs() < 1.0 && delay.max.unwrap() > 45.0, "{delay:?}");
    assert_eq!(down.loss_cause.verdict, "congestion", "{:?}", down.loss_cause);
    let buffer = &down.bottleneck_buffer_bytes;
    let bytes = buffer.max_based.unwrap();
    assert!(buffer.filled && (28_000.0..46_000.0).contains(&bytes), "{buffer:?}");
    assert!((buffer.rate_bps.unwrap() / 10e6 - 1.0).abs() < 0.05, "{buffer:?}");
}

// finding("C38")
#[test]
fn losses_of_datagrams_are_radio_when_no_queue_explains_them() {
    let (report, lost) = download(false, 20, |i| payload(i, 600), 64);
    let down = down(&report).expect("a joined direction");
    assert_eq!((lost[0], down.lost.between_captures), (0, lost[1]));
    assert_eq!(down.loss_cause.verdict, "radio", "{:?}", down.loss_cause);
}

// finding("C38")
#[test]
fn datagrams_are_not_joined_when_a_program_sends_the_same_payload_again_and_again() {
    let (report, _) = download(false, 20, |i| payload(i % 3, 600), usize::MAX);
    assert_eq!(report.joined.as_ref().unwrap().joined_udp_flows, 0);
    assert!(down(&report).is_none());
}
