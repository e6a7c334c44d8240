//! UDP flows: packets, bytes, and the RTT of QUIC's spin bit.

use crate::packet_builder::{self, Tcp, pcap, read};
use ackclock_trace::report::{Report, UdpFlowReport};

const MS: u64 = 1_000_000;

/// An IPv4 datagram with UDP from the client's port `port`, or to it.
fn udp(port: u16, from_client: bool, payload: &[u8]) -> Vec<u8> {
    let (client, server) = (([10, 0, 0, 2], port), ([10, 0, 0, 1], 443));
    let (source, destination) = if from_client { (client, server) } else { (server, client) };
    packet_builder::udp(source, destination, 1, payload)
}

fn report(packets: &[(u64, Vec<u8>)]) -> Report {
    let (capture, analysis) = read(pcap(packets, 65_535));
    assert_eq!(analysis.counts().skipped.iter().sum::<u64>(), packets.len() as u64);
    Report::of(&analysis, &capture)
}

/// An Initial of version 1, then packets of the server each 2 ms for 1 s whose spin bit is that of
/// `spin` at its time in ms.
fn quic(spin: impl Fn(u64) -> bool) -> UdpFlowReport {
    let mut initial = vec![0xc3, 0, 0, 0, 1];
    initial.resize(1200, 0);
    let mut packets = vec![(0, udp(5000, true, &initial)), (MS, udp(5000, false, &initial))];
    for at in (10..1010).step_by(2) {
        packets.push((at * MS, udp(5000, false, &[if spin(at) { 0x60 } else { 0x40 }; 1000])));
    }
    report(&packets).udp_flows.unwrap().remove(0)
}

#[test]
fn udp_flows_have_packets_bytes_and_frames_of_each_direction() {
    let packets = [
        (0, udp(5000, true, &[7; 20])),
        (MS, udp(5001, true, &[7; 30])),
        (2 * MS, udp(5000, false, &[7; 200])),
        (3 * MS, udp(5000, true, &[7; 20])),
    ];
    let report = report(&packets);
    assert_eq!((report.udp.flows, report.udp.packets, report.udp.bytes, report.udp.left_out), (2, 4, 48 + 58 + 228 + 48, 0));
    let flow = &report.udp_flows.as_ref().unwrap()[0];
    assert_eq!((flow.client.as_str(), flow.server.as_str(), flow.protocol), ("10.0.0.2:5000", "10.0.0.1:443", "udp"));
    assert_eq!((flow.a2b.packets, flow.a2b.bytes, flow.b2a.packets, flow.b2a.bytes), (2, 96, 1, 228));
    assert_eq!((flow.frames.first, flow.frames.last), (1, 4));
    assert!(flow.a2b.spin_rtt_ms.is_none());
    assert!(report.flows.is_empty());
}

#[test]
fn spin_bit_rtt_is_the_time_between_its_changes_when_the_server_spins() {
    let flow = quic(|at| at / 50 % 2 == 1);
    assert_eq!((flow.protocol, flow.quic_version.as_deref()), ("quic", Some("0x00000001")));
    let rtt = flow.b2a.spin_rtt_ms.unwrap();
    assert_eq!(rtt.count, 19);
    assert!((rtt.p50.unwrap() - 50.0).abs() < 2.0, "{rtt:?}");
    assert!(flow.a2b.spin_rtt_ms.is_none());
}

#[test]
fn spin_bit_has_no_rtt_when_it_is_constant_or_random() {
    assert!(quic(|_| true).b2a.spin_rtt_ms.is_none());
    let random = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1;
    assert!(quic(random).b2a.spin_rtt_ms.is_none());
}

// finding("C37")
#[test]
fn spin_bit_rtt_counts_all_short_headers_when_the_fixed_bit_is_greased() {
    let mut initial = vec![0xc3, 0, 0, 0, 1];
    initial.resize(1200, 0);
    let mut packets = vec![(0, udp(5000, true, &initial)), (MS, udp(5000, false, &initial))];
    // Four packets in an RTT of 40 ms, of which a greased bit hides half.
    for i in 0..200u64 {
        let fixed = if i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 1 { 0x40 } else { 0 };
        let spin = if i / 4 % 2 == 1 { 0x20 } else { 0 };
        packets.push(((10 + i * 10) * MS, udp(5000, false, &[fixed | spin; 1000])));
    }
    let rtt = report(&packets).udp_flows.unwrap().remove(0).b2a.spin_rtt_ms.unwrap();
    assert_eq!((rtt.count, rtt.min, rtt.max), (48, Some(40.0), Some(40.0)));
}

#[test]
fn udp_flow_is_no_quic_when_its_first_bytes_only_look_like_it() {
    let packets = [(0, udp(53, true, &[0xc3, 0x12, 0x34, 0, 1])), (MS, udp(53, false, &[0x43; 100]))];
    assert_eq!(report(&packets).udp_flows.unwrap()[0].protocol, "udp");
}

/// 40 segments and their ACKs; each packet `copies` times, 20 us apart.
fn copied(copies: u64) -> Report {
    let mut packets = Vec::new();
    for i in 0..40u32 {
        let data =
            Tcp { from_server: true, seq: 1 + i * 1000, ack: 7, window: 9000, id: i as u16, payload: 1000, ..Tcp::default() };
        let ack = Tcp { seq: 7, ack: 1001 + i * 1000, window: 9000, id: 500 + i as u16, ..Tcp::default() };
        for (after, tcp) in [(0, data), (10, ack)] {
            let at = (u64::from(i) * 20 + after) * MS;
            packets.extend((0..copies).map(|copy| (at + copy * 20_000, tcp.datagram())));
        }
    }
    let (capture, analysis) = read(pcap(&packets, 65_535));
    Report::of(&analysis, &capture)
}

// finding("C13")
#[test]
fn copies_are_left_out_and_counted_when_each_packet_is_captured_twice() {
    let (once, twice) = (copied(1), copied(2));
    assert_eq!((once.mirrored_packets, twice.mirrored_packets), (0, 80));
    assert_eq!((once.tcp_packets, twice.tcp_packets, twice.packets), (80, 80, 160));
    let (once, twice) = (&once.flows[0].b2a, &twice.flows[0].b2a);
    assert_eq!((twice.network_duplicates, twice.duplicate_acks, twice.retransmitted_segments), (0, 0, 0));
    assert_eq!((twice.segments, twice.pure_acks, twice.payload_bytes), (once.segments, once.pure_acks, once.payload_bytes));
}

// finding("C17")
#[test]
fn copies_are_left_out_when_there_are_three_of_each_packet_or_copies_of_one_direction() {
    let once = copied(1);
    let thrice = copied(3);
    assert_eq!((thrice.mirrored_packets, thrice.tcp_packets), (160, 80));
    assert_eq!(thrice.flows[0].b2a.segments, once.flows[0].b2a.segments);
    // Of the server's packets alone, whose identifications are random.
    let mut packets = Vec::new();
    for i in 0..40u32 {
        let id = (i.wrapping_mul(40_503) >> 3) as u16 | 1;
        let data = Tcp { from_server: true, seq: 1 + i * 1000, ack: 7, window: 9000, id, payload: 1000, ..Tcp::default() };
        let ack = Tcp { seq: 7, ack: 1001 + i * 1000, window: 9000, id: 500 + i as u16, ..Tcp::default() };
        let at = u64::from(i) * 20 * MS;
        packets.extend([(at, data.datagram()), (at + 7_000, data.datagram()), (at + 10 * MS, ack.datagram())]);
    }
    let (capture, analysis) = read(pcap(&packets, 65_535));
    let report = Report::of(&analysis, &capture);
    let server = &report.flows[0].b2a;
    assert_eq!((report.mirrored_packets, report.tcp_packets), (40, 80));
    assert_eq!((server.retransmitted_segments, server.network_duplicates, server.segments), (0, 0, 40));
}

// finding("C17")
#[test]
fn equal_acks_without_identifications_are_no_copies() {
    let mut packets = Vec::new();
    for i in 0..40u32 {
        let data = Tcp { from_server: true, seq: 1001 + i * 1000, ack: 7, window: 9000, payload: 1000, ..Tcp::default() };
        let ack = Tcp { seq: 7, ack: 1, window: 9000, ..Tcp::default() };
        packets.extend([(u64::from(i) * 15_000, data.datagram()), (u64::from(i) * 15_000 + 5_000, ack.datagram())]);
    }
    let (capture, analysis) = read(pcap(&packets, 65_535));
    let report = Report::of(&analysis, &capture);
    assert_eq!((report.mirrored_packets, report.tcp_packets), (0, 80));
}

// finding("C13")
#[test]
fn copies_are_duplicates_of_the_network_when_few_packets_have_one() {
    let packets: Vec<_> = (0..40u32)
        .map(|i| {
            let tcp = Tcp { from_server: true, seq: 1 + i * 1000, ack: 7, id: i as u16, payload: 1000, ..Tcp::default() };
            (u64::from(i) * 20 * MS, tcp.datagram())
        })
        .collect();
    for after in [20_000, 200_000] {
        let mut packets = packets.clone();
        packets.insert(11, (packets[10].0 + after, packets[10].1.clone()));
        let (capture, analysis) = read(pcap(&packets, 65_535));
        let report = Report::of(&analysis, &capture);
        let found = (report.mirrored_packets, report.flows[0].b2a.network_duplicates);
        assert_eq!(found, (0, 1), "after {after} ns");
        assert_eq!(report.flows[0].b2a.retransmitted_segments, 0);
    }
}
