//! IP reassembly: a fragmented segment is analyzed once, when its last fragment passes.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, FragmentCounts, PacketFilter};
use std::io::Cursor;

const HEADER: [u8; 24] = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0];

/// A TCP segment from one end to the other, without IP.
fn segment(seq: u32, payload: usize) -> Vec<u8> {
    let mut tcp = vec![0x80, 0, 0, 80];
    tcp.extend(seq.to_be_bytes());
    tcp.extend([0, 0, 0, 1, 0x50, 16, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.resize(20 + payload, 7);
    tcp
}

/// A fragment of the segment in IPv4, with identification `id`.
fn fragment(id: u16, tcp: &[u8], from: usize, to: usize) -> Vec<u8> {
    let more = u16::from(to < tcp.len()) << 13;
    let mut ip = vec![0x45, 0];
    ip.extend(((20 + to - from) as u16).to_be_bytes());
    ip.extend(id.to_be_bytes());
    ip.extend((more | (from / 8) as u16).to_be_bytes());
    ip.extend([64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    ip.extend(&tcp[from..to]);
    ip
}

/// A fragment of the segment in IPv6.
fn fragment_v6(id: u32, tcp: &[u8], from: usize, to: usize) -> Vec<u8> {
    let mut ip = vec![0x60, 0, 0, 0];
    ip.extend(((8 + to - from) as u16).to_be_bytes());
    ip.extend([44, 64]);
    ip.extend([0x20; 16]);
    ip.extend([0x21; 16]);
    ip.extend([6, 0]);
    ip.extend((from as u16 | u16::from(to < tcp.len())).to_be_bytes());
    ip.extend(id.to_be_bytes());
    ip.extend(&tcp[from..to]);
    ip
}

/// Analyzes packets 1 ms apart: payload, segments and retransmissions of the only direction, and
/// fragment counts.
fn read(packets: &[Vec<u8>]) -> (u64, u32, u32, FragmentCounts) {
    let mut bytes = HEADER.to_vec();
    for (i, packet) in packets.iter().enumerate() {
        for field in [1000, i as u32 * 1000, packet.len() as u32, packet.len() as u32] {
            bytes.extend(field.to_le_bytes());
        }
        bytes.extend(packet);
    }
    let mut capture = Capture::from_reader(Box::new(Cursor::new(bytes))).unwrap();
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
    let flows = analysis.flows();
    let flow = flows.iter().next();
    let direction = flow.as_ref().map(|flow| flow.direction(flow.client()));
    let bytes = direction.and_then(|d| d.stats()).map(|s| *s.bytes()).unwrap_or_default();
    (bytes.payload, bytes.segments, direction.map_or(0, |d| d.retransmitted()), analysis.fragment_counts())
}

fn counts(fragments: u64, reassembled: u64, incomplete: u64, unused: u64) -> FragmentCounts {
    FragmentCounts { fragments, reassembled, incomplete, unused }
}

#[test]
fn segment_is_analyzed_once_when_its_fragments_pass_in_any_order() {
    let (a, b) = (segment(1, 1400), segment(1401, 1400));
    let unfragmented = fragment(1, &a, 0, a.len());
    let fragments = |id: u16| [fragment(id, &b, 0, 480), fragment(id, &b, 480, 960), fragment(id, &b, 960, b.len())];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let all: Vec<Vec<u8>> = [unfragmented.clone()].into_iter().chain(order.map(|i| fragments(2)[i].clone())).collect();
        let (payload, _, retransmitted, counted) = read(&all);
        assert_eq!((payload, retransmitted, counted), (2800, 0, counts(3, 1, 0, 0)), "{order:?}");
    }
}

#[test]
fn ipv6_fragments_are_reassembled_and_atomic_fragments_are_not_counted() {
    let tcp = segment(1, 1000);
    let all = [fragment_v6(7, &tcp, 504, tcp.len()), fragment_v6(7, &tcp, 0, 504), fragment_v6(8, &segment(1001, 100), 0, 120)];
    assert_eq!(read(&all), (1100, 2, 0, counts(2, 1, 0, 0)));
}

#[test]
fn datagram_is_ignored_when_a_fragment_is_missing() {
    let (a, b) = (segment(1, 1000), segment(1001, 1000));
    // The second fragment of the second datagram is lost; a third datagram retransmits its segment.
    let all = [
        fragment(1, &a, 0, 520),
        fragment(1, &a, 520, 1020),
        fragment(2, &b, 0, 520),
        fragment(3, &b, 0, 520),
        fragment(3, &b, 520, 1020),
    ];
    let (payload, _, retransmitted, counted) = read(&all);
    assert_eq!((payload, retransmitted, counted), (2000, 0, counts(5, 2, 1, 1)));
}

#[test]
fn first_fragments_are_analyzed_alone_when_the_capture_has_no_others() {
    let all: Vec<Vec<u8>> = (0..5u32).map(|i| fragment(i as u16, &segment(1 + i * 1400, 1400), 0, 520)).collect();
    let (payload, segments, _, counted) = read(&all);
    assert_eq!((payload, segments, counted.reassembled), (2500, 5, 0));
}

#[test]
fn incomplete_datagrams_are_dropped_when_fragments_flood() {
    let tcp = segment(1, 1000);
    let all: Vec<Vec<u8>> = (0..5000u16).map(|i| fragment(i, &tcp, 480, 960)).collect();
    let (payload, _, _, counted) = read(&all);
    assert_eq!((payload, counted), (0, counts(5000, 0, 5000, 5000)));
}
