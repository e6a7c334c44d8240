//! Rows of packets and of events.

use crate::packet_builder::{Tcp, pcap};
use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::series::Packets;
use std::io::Cursor;

const SEGMENT: u32 = 60_000;

/// The rows of a capture's packets or events: frame, offset, ACK, kind.
fn rows(file: &[u8], mut packets: Packets) -> Vec<(u64, i64, Option<i64>, &'static str)> {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(file.to_vec()))).unwrap();
    Analysis::new(PacketFilter::default()).read(&mut capture, &mut packets, u64::MAX).unwrap();
    packets.take_rows().rows.iter().map(|row| (row.frame, row.seq, row.ack, row.kind.name())).collect()
}

// finding("C1")
#[test]
fn events_have_the_offsets_of_all_packets_when_gigabytes_pass_without_an_event() {
    let segments = 40_000u32;
    let datagram = |from_server, seq: u32, ack: u32, payload| {
        let mut bytes = Tcp { from_server, seq, ack, window: 0xffff, payload, ..Tcp::default() }.datagram();
        bytes.truncate(40);
        bytes
    };
    let mut packets: Vec<(u64, Vec<u8>)> = Vec::new();
    for i in 0..segments {
        let (at, seq) = (u64::from(i) * 1_000_000, 0xf000_0000u32.wrapping_add(i * SEGMENT));
        packets.push((at, datagram(true, seq, 7, SEGMENT as usize)));
        packets.push((at + 100_000, datagram(false, 7, seq.wrapping_add(SEGMENT), 0)));
    }
    let last = 0xf000_0000u32.wrapping_add((segments - 1) * SEGMENT);
    packets.push((u64::from(segments) * 1_000_000 + 900_000_000, datagram(true, last, 7, SEGMENT as usize)));
    let file = pcap(&packets, 65_535);
    let events = rows(&file, Packets::events());
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].1, i64::from(segments - 1) * i64::from(SEGMENT));
    assert_eq!(rows(&file, Packets::default()).last(), events.last());
}
