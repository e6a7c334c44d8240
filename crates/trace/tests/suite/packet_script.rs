//! Packet scripts: packets in, classifications out, as in packetdrill.

use crate::packet_builder::{Tcp, pcap};
use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::flow::{KindRule, SegmentKind};
use ackclock_trace::report::{DirectionReport, Report};
use ackclock_trace::series::{Packets, RowKind};
use std::io::Cursor;

/// One packet: time in milliseconds, and the server's sequence number or the client's acknowledgment
/// number. Segments have 1000 bytes; the server's stream begins at 1, its SYN is 0.
#[derive(Clone, Copy)]
pub enum Packet {
    /// SYN and SYN-ACK, without options: SACK is not permitted.
    Syn(u64),
    SynAck(u64),
    Data(u64, u32),
    /// The same, sent before the packet of the server before it: with a lower IP identification.
    LateData(u64, u32, u16),
    /// The same with another length in bytes, as a host with offloads (TSO) captures it.
    SuperSegment(u64, u32, usize),
    Ack(u64, u32),
    Sack(u64, u32, (u32, u32)),
    /// 100 bytes of the client, and the server's ACK for them.
    Request(u64),
    RequestAck(u64),
}
use Packet::{Ack, Data, LateData, Request, RequestAck, Sack, SuperSegment, Syn, SynAck};

/// First IP identification of the server.
pub const FIRST_ID: u16 = 500;

/// The datagrams of a script, with times in nanoseconds.
pub fn datagrams(script: &[Packet]) -> Vec<(u64, Vec<u8>)> {
    let mut server_id = FIRST_ID;
    let datagram = |packet: &Packet| {
        let mut options = Vec::new();
        if let Sack(_, _, (left, right)) = packet {
            options.extend([1, 1, 5, 10]);
            options.extend(left.to_be_bytes().into_iter().chain(right.to_be_bytes()));
        }
        let server = Tcp { from_server: true, window: 0xffff, ..Tcp::default() };
        let client = Tcp { window: 0xffff, options: &options, ..Tcp::default() };
        let mut next_id = || {
            server_id += 1;
            server_id
        };
        let (at, tcp) = match *packet {
            Syn(at) => (at, Tcp { syn: true, seq: 6, ..client }),
            SynAck(at) => (at, Tcp { syn: true, seq: 0, ack: 7, ..server }),
            Data(at, seq) => (at, Tcp { seq, ack: 7, payload: 1000, id: next_id(), ..server }),
            SuperSegment(at, seq, payload) => (at, Tcp { seq, ack: 7, payload, id: next_id(), ..server }),
            LateData(at, seq, id) => (at, Tcp { seq, ack: 7, payload: 1000, id, ..server }),
            Ack(at, ack) | Sack(at, ack, _) => (at, Tcp { seq: 7, ack, ..client }),
            Request(at) => (at, Tcp { seq: 7, ack: 1, payload: 100, ..client }),
            RequestAck(at) => (at, Tcp { seq: 1, ack: 107, id: next_id(), ..server }),
        };
        (at * 1_000_000, tcp.datagram())
    };
    script.iter().map(datagram).collect()
}

/// The server's classified packets, in order, and the report on its data.
pub fn run(script: &[Packet]) -> (Vec<SegmentKind>, DirectionReport) {
    classify(&datagrams(script))
}

/// The same of datagrams with times in nanoseconds.
pub fn classify(datagrams: &[(u64, Vec<u8>)]) -> (Vec<SegmentKind>, DirectionReport) {
    let (rows, report) = analyze(datagrams);
    (rows.into_iter().map(|row| row.0).collect(), report)
}

/// The rules that gave the server's classified packets their kinds.
pub fn rules(datagrams: &[(u64, Vec<u8>)]) -> Vec<KindRule> {
    analyze(datagrams).0.into_iter().map(|row| row.1).collect()
}

fn analyze(datagrams: &[(u64, Vec<u8>)]) -> (Vec<(SegmentKind, KindRule)>, DirectionReport) {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(pcap(datagrams, 65_535)))).unwrap();
    let mut analysis = Analysis::new(PacketFilter::default());
    let mut packets = Packets::default();
    analysis.read(&mut capture, &mut packets, u64::MAX).unwrap();
    let server = packets.rows.iter().filter(|row| !row.from_client);
    let classified = server.filter_map(|row| match row.kind {
        RowKind::Classified(kind) => Some((kind, row.rule.unwrap())),
        _ => None,
    });
    (classified.collect(), Report::of(&analysis, &capture).flows.remove(0).b2a)
}
