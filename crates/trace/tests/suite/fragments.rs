//! Datagrams in pieces: what they hold counts once, when it is whole.

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

/// A piece of it in an IPv4 datagram of this number.
fn piece(id: u16, tcp: &[u8], from: usize, to: usize) -> Vec<u8> {
    let more = u16::from(to < tcp.len()) << 13;
    let mut ip = vec![0x45, 0];
    ip.extend(((20 + to - from) as u16).to_be_bytes());
    ip.extend(id.to_be_bytes());
    ip.extend((more | (from / 8) as u16).to_be_bytes());
    ip.extend([64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    ip.extend(&tcp[from..to]);
    ip
}

/// The same in IPv6, with a fragment header.
fn piece_v6(id: u32, tcp: &[u8], from: usize, to: usize) -> Vec<u8> {
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

/// Read after one another, a millisecond apart: payload, segments and retransmissions of the one direction, and what became of the pieces.
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
    let half = flow.as_ref().map(|flow| flow.half(flow.client()));
    let amounts = half.and_then(|h| h.sending()).map(|s| s.amounts).unwrap_or_default();
    (amounts.payload, amounts.segments, half.map_or(0, |h| h.counts.retransmitted), analysis.fragment_counts())
}

fn counts(fragments: u64, reassembled: u64, incomplete: u64, unused: u64) -> FragmentCounts {
    FragmentCounts { fragments, reassembled, incomplete, unused }
}

#[test]
fn a_segment_in_three_pieces_counts_once_and_whole_in_any_order() {
    let (a, b) = (segment(1, 1400), segment(1401, 1400));
    let whole = piece(1, &a, 0, a.len());
    let cut = |id: u16| [piece(id, &b, 0, 480), piece(id, &b, 480, 960), piece(id, &b, 960, b.len())];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
        let all: Vec<Vec<u8>> = [whole.clone()].into_iter().chain(order.map(|i| cut(2)[i].clone())).collect();
        let (payload, _, again, what) = read(&all);
        assert_eq!((payload, again, what), (2800, 0, counts(3, 1, 0, 0)), "{order:?}");
    }
}

#[test]
fn ipv6_pieces_are_put_together_too_and_an_atomic_fragment_is_whole() {
    let tcp = segment(1, 1000);
    let all = [piece_v6(7, &tcp, 504, tcp.len()), piece_v6(7, &tcp, 0, 504), piece_v6(8, &segment(1001, 100), 0, 120)];
    assert_eq!(read(&all), (1100, 2, 0, counts(2, 1, 0, 0)));
}

#[test]
fn a_datagram_of_which_a_piece_is_missing_does_not_count_as_it_does_not_for_its_receiver() {
    let (a, b) = (segment(1, 1000), segment(1001, 1000));
    // The second piece of the second datagram was lost; all of it comes again in another one.
    let all =
        [piece(1, &a, 0, 520), piece(1, &a, 520, 1020), piece(2, &b, 0, 520), piece(3, &b, 0, 520), piece(3, &b, 520, 1020)];
    let (payload, _, again, what) = read(&all);
    assert_eq!((payload, again, what), (2000, 0, counts(5, 2, 1, 1)));
}

#[test]
fn where_a_filter_took_first_pieces_only_they_count_as_they_are() {
    let all: Vec<Vec<u8>> = (0..5u32).map(|i| piece(i as u16, &segment(1 + i * 1400, 1400), 0, 520)).collect();
    let (payload, segments, _, what) = read(&all);
    assert_eq!((payload, segments, what.reassembled), (2500, 5, 0));
}

#[test]
fn a_flood_of_pieces_that_never_end_costs_no_memory() {
    let tcp = segment(1, 1000);
    let all: Vec<Vec<u8>> = (0..5000u16).map(|i| piece(i, &tcp, 480, 960)).collect();
    let (payload, _, _, what) = read(&all);
    assert_eq!((payload, what), (0, counts(5000, 0, 5000, 5000)));
}
