//! One conversation in every link-layer framing, tunnel and IP header: payload, RTTs and endpoints
//! of the analysis are always the same.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use std::io::Cursor;

/// A TCP segment with a valid checksum, from the server (port 80) or to it.
fn tcp(from_server: bool, seq: u32, ack: u32, payload: usize, pseudo: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(if from_server { [0, 80, 0x80, 0] } else { [0x80, 0, 0, 80] });
    out.extend(seq.to_be_bytes());
    out.extend(ack.to_be_bytes());
    out.extend([5 << 4, 16, 0xff, 0xff, 0, 0, 0, 0]);
    out.resize(20 + payload, 1);
    let sum = checksum(&[pseudo, &[0, 6], &(out.len() as u32).to_be_bytes(), &out].concat());
    out[16..18].copy_from_slice(&sum.to_be_bytes());
    out
}

fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u64 = bytes.chunks(2).map(|c| u64::from(u16::from_be_bytes([c[0], *c.get(1).unwrap_or(&0)]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// An IPv4 datagram; `length_field` overrides the total length.
fn ipv4(from_server: bool, protocol: u8, options: &[u8], inner: &[u8], length_field: Option<u16>) -> Vec<u8> {
    let header = 20 + options.len();
    let mut out = vec![0x40 | (header / 4) as u8, 0];
    out.extend(length_field.unwrap_or((header + inner.len()) as u16).to_be_bytes());
    out.extend([0, 9, 0x40, 0, 64, protocol, 0, 0]);
    out.extend(addresses(from_server, 4));
    out.extend(options);
    let sum = checksum(&out);
    out[10..12].copy_from_slice(&sum.to_be_bytes());
    out.extend(inner);
    out
}

fn addresses(from_server: bool, len: usize) -> Vec<u8> {
    let end = |last: u8| [vec![10; len - 1], vec![last]].concat();
    let (source, destination) = if from_server { (end(1), end(2)) } else { (end(2), end(1)) };
    [source, destination].concat()
}

/// An IPv6 datagram with the next header `next`; `length_field` overrides the payload length.
fn ipv6(from_server: bool, next: u8, inner: &[u8], length_field: Option<u16>) -> Vec<u8> {
    let mut out = vec![0x60, 0, 0, 0];
    out.extend(length_field.unwrap_or(inner.len() as u16).to_be_bytes());
    out.extend([next, 64]);
    out.extend(addresses(from_server, 16));
    out.extend(inner);
    out
}

#[derive(Clone, Copy)]
struct Packet {
    from_server: bool,
    seq: u32,
    ack: u32,
    payload: usize,
}

impl Packet {
    fn tcp(self, address_len: usize) -> Vec<u8> {
        tcp(self.from_server, self.seq, self.ack, self.payload, &addresses(self.from_server, address_len))
    }

    fn v4(self) -> Vec<u8> {
        ipv4(self.from_server, 6, &[], &self.tcp(4), None)
    }

    fn v6(self) -> Vec<u8> {
        ipv6(self.from_server, 6, &self.tcp(16), None)
    }
}

/// Forty segments of 1000 bytes, each acknowledged 10 ms later.
fn conversation() -> Vec<(u64, Packet)> {
    (0..40u32)
        .flat_map(|i| {
            let (seq, at) = (1 + i * 1000, u64::from(i) * 20_000);
            let data = Packet { from_server: true, seq, ack: 7, payload: 1000 };
            [(at, data), (at + 10_000, Packet { from_server: false, seq: 7, ack: seq + 1000, payload: 0 })]
        })
        .collect()
}

/// Variant of the pcap format: magic number, version, byte order, timestamp units per microsecond,
/// record header.
struct PcapVariant {
    magic: u32,
    version: [u16; 2],
    big: bool,
    per_us: u64,
    header: usize,
}

const STANDARD: PcapVariant = PcapVariant { magic: 0xa1b2_c3d4, version: [2, 4], big: false, per_us: 1, header: 16 };

fn pcap(d: &PcapVariant, link: u32, packets: &[(u64, Vec<u8>)], snap: usize) -> Vec<u8> {
    let word = |v: u32| if d.big { v.to_be_bytes() } else { v.to_le_bytes() };
    let half = |v: u16| if d.big { v.to_be_bytes() } else { v.to_le_bytes() };
    let mut out: Vec<u8> = word(d.magic).to_vec();
    out.extend(d.version.into_iter().flat_map(half));
    out.extend([0, 0, 65_536, link].into_iter().flat_map(word));
    for (us, bytes) in packets {
        let kept = bytes.len().min(snap);
        let mut lengths = [kept as u32, bytes.len() as u32];
        if d.version[1] < 3 {
            lengths.reverse();
        }
        let parts = (us % 1_000_000 * d.per_us) as u32;
        out.extend([(us / 1_000_000) as u32 + 1000, parts, lengths[0], lengths[1]].into_iter().flat_map(word));
        out.resize(out.len() + d.header - 16, 0);
        out.extend(&bytes[..kept]);
    }
    out
}

/// Unique payload, segments, retransmissions, RTTs (count, minimum and maximum in microseconds),
/// packets, bad checksums, damage.
type Figures = (u64, u32, u32, (u64, [i64; 2]), u64, u64, usize);

fn figures(bytes: Vec<u8>) -> Figures {
    let mut capture = Capture::from_reader(Box::new(Cursor::new(bytes))).unwrap();
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
    capture.finish();
    let counts = analysis.counts();
    let flows = analysis.flows();
    assert_eq!(flows.len(), 1, "skipped {:?}, {:?}", counts.skipped, capture.damage());
    let flow = flows.get(0);
    let server = flow.client().other();
    assert_eq!(flow.endpoint(server).port, 80);
    let direction = flow.direction(server);
    let us = |ns: Option<i64>| (ns.unwrap() + 500) / 1000;
    let samples = direction.rtt().from_acks();
    let rtt = (samples.statistics().count(), [us(samples.min()), us(samples.max())]);
    let bytes = direction.stats().unwrap().bytes();
    (bytes.unique, bytes.segments, direction.retransmitted(), rtt, counts.tcp, counts.bad_checksums, capture.damage().len())
}

const EXPECTED: Figures = (40_000, 40, 0, (40, [10_000, 10_000]), 80, 0, 0);

fn encapsulated(link: u32, wrap: impl Fn(Packet) -> Vec<u8>) -> Figures {
    let packets: Vec<_> = conversation().into_iter().map(|(at, p)| (at, wrap(p))).collect();
    figures(pcap(&STANDARD, link, &packets, usize::MAX))
}

fn after_header(header: &[u8]) -> impl Fn(Packet) -> Vec<u8> {
    let header = header.to_vec();
    move |p: Packet| [header.clone(), p.v4()].concat()
}

fn ethernet(kind: &[u8]) -> Vec<u8> {
    [&[2; 12], kind].concat()
}

#[test]
fn analysis_is_equal_with_every_link_header() {
    let sll = |kind: [u8; 2]| [&[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0][..], &kind].concat();
    let cases: Vec<(&str, u32, Vec<u8>)> = vec![
        ("Ethernet", 1, ethernet(&[8, 0])),
        ("VLAN", 1, ethernet(&[0x81, 0, 0, 5, 8, 0])),
        ("QinQ", 1, ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0])),
        ("old QinQ", 1, ethernet(&[0x91, 0, 0, 5, 0x81, 0, 0, 6, 8, 0])),
        ("802.3 with SNAP", 1, ethernet(&[1, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0])),
        ("PPPoE", 1, ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 44, 0, 0x21])),
        ("PPPoE in a VLAN", 1, ethernet(&[0x81, 0, 0, 5, 0x88, 0x64, 0x11, 0, 0, 1, 0, 44, 0, 0x21])),
        ("MPLS, two labels", 1, ethernet(&[0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64])),
        ("an Ethernet pseudowire", 1, [ethernet(&[0x88, 0x47, 0, 2, 1, 64, 0, 0, 0, 9]), ethernet(&[8, 0])].concat()),
        ("cooked", 113, sll([8, 0])),
        ("cooked, with a VLAN", 113, [sll([0x81, 0]), vec![0, 5, 8, 0]].concat()),
        ("cooked, version 2", 276, [&[8, 0, 0, 0, 0, 0, 0, 3, 0, 1, 0, 6][..], &[1; 8]].concat()),
        ("RAW", 101, vec![]),
        ("RAW of OpenBSD", 14, vec![]),
        ("RAW as old libpcap had it", 12, vec![]),
        ("IPv4", 228, vec![]),
        ("NULL, little endian", 0, vec![2, 0, 0, 0]),
        ("NULL, big endian", 0, vec![0, 0, 0, 2]),
        ("LOOP", 108, vec![0, 0, 0, 2]),
        ("PPP", 9, vec![0xff, 3, 0, 0x21]),
        ("PPP without address and control", 9, vec![0, 0x21]),
        ("PPP with a short protocol", 9, vec![0x21]),
        ("PPP with its direction", 204, vec![1, 0xff, 3, 0, 0x21]),
        ("PPP in HDLC framing", 50, vec![0xff, 3, 0, 0x21]),
        ("Cisco HDLC", 104, vec![0x0f, 0, 8, 0]),
        ("MPLS over PPP", 9, vec![0xff, 3, 2, 0x81, 0, 2, 1, 64]),
        ("MPLS alone", 219, vec![0, 2, 1, 64]),
    ];
    for (name, link, header) in cases {
        assert_eq!(encapsulated(link, after_header(&header)), EXPECTED, "{name}");
    }
    assert_eq!(encapsulated(229, Packet::v6), EXPECTED);
    for family in [10, 24, 28, 30] {
        assert_eq!(encapsulated(0, |p| [vec![family, 0, 0, 0], p.v6()].concat()), EXPECTED, "NULL with IPv6 as {family}");
    }
}

#[test]
fn analysis_is_equal_with_every_tunnel_and_ip_header() {
    let gre = |front: &[u8], inner: &[u8]| ipv4(true, 47, &[], &[front, inner].concat(), None);
    let outer = |protocol: u8, inner: &[u8]| ipv4(true, protocol, &[], inner, None);
    let extension = |next: u8, rest: &[u8]| [&[next, 0][..], rest].concat();
    type Wrap = Box<dyn Fn(Packet) -> Vec<u8>>;
    let cases: Vec<(&str, Wrap)> = vec![
        ("GRE", Box::new(move |p| gre(&[0, 0, 8, 0], &p.v4()))),
        (
            "GRE with checksum, key and number",
            Box::new(move |p| gre(&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1], &p.v4())),
        ),
        ("GRE with Ethernet in it", Box::new(move |p| gre(&[0, 0, 0x65, 0x58], &[ethernet(&[8, 0]), p.v4()].concat()))),
        ("IP in IP", Box::new(move |p| outer(4, &p.v4()))),
        ("6in4", Box::new(move |p| outer(41, &p.v6()))),
        ("IPv4 in IPv6", Box::new(|p| ipv6(true, 4, &p.v4(), None))),
        ("IPv4 with options", Box::new(|p| ipv4(p.from_server, 6, &[7, 7, 4, 0, 0, 0, 0, 0], &p.tcp(4), None))),
        ("IPv4 with all the options there is room for", Box::new(|p| ipv4(p.from_server, 6, &[1; 40], &p.tcp(4), None))),
        ("IPv6", Box::new(Packet::v6)),
        (
            "IPv6 with hop-by-hop, destination and routing headers",
            Box::new(move |p| {
                let (pad, route) = ([1, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]);
                let inner = [extension(60, &pad), extension(43, &pad), extension(6, &route), p.tcp(16)].concat();
                ipv6(p.from_server, 0, &inner, None)
            }),
        ),
        (
            "IPv6 with an authentication header and an atomic fragment",
            Box::new(|p| {
                let auth = [&[44, 4, 0, 0][..], &[0; 20]].concat();
                ipv6(p.from_server, 51, &[&auth[..], &[6, 0, 0, 0, 0, 0, 0, 5], &p.tcp(16)].concat(), None)
            }),
        ),
        ("IPv4 with total length 0 (TSO)", Box::new(|p| ipv4(p.from_server, 6, &[], &p.tcp(4), Some(0)))),
        ("IPv6 with payload length 0", Box::new(|p| ipv6(p.from_server, 6, &p.tcp(16), Some(0)))),
        (
            "a jumbogram",
            Box::new(|p| {
                let tcp = p.tcp(16);
                let jumbo = [&[6, 0, 0xc2, 4][..], &(8 + tcp.len() as u32).to_be_bytes()].concat();
                ipv6(p.from_server, 0, &[jumbo, tcp].concat(), Some(0))
            }),
        ),
    ];
    for (name, wrap) in cases {
        assert_eq!(encapsulated(101, wrap), EXPECTED, "{name}");
    }
}

#[test]
fn analysis_is_equal_with_every_pcap_variant() {
    let packets: Vec<_> = conversation().into_iter().map(|(at, p)| (at, p.v4())).collect();
    for big in [false, true] {
        for (magic, version, per_us, header) in [
            (0xa1b2_c3d4, [2, 4], 1, 16),
            (0xa1b2_3c4d, [2, 4], 1000, 16),
            (0xa1b2_cd34, [2, 4], 1, 24),
            (0xa1b2_c3d4, [2, 2], 1, 16),
            (0xa1b2_c3d4, [2, 3], 1, 16),
            (0xa1b2_c3d4, [2, 0], 1, 16),
        ] {
            let variant = PcapVariant { magic, version, big, per_us, header };
            for snap in [usize::MAX, 40] {
                assert_eq!(figures(pcap(&variant, 101, &packets, snap)), EXPECTED, "{magic:x} {version:?} {big} {snap}");
            }
        }
    }
    // The upper half of the link type is the length of the frame check sequence.
    assert_eq!(figures(pcap(&STANDARD, 0x2400_0065, &packets, usize::MAX)), EXPECTED);
}

#[test]
fn padding_is_ignored_and_bad_checksums_only_counted() {
    let padded = encapsulated(1, |p| [ethernet(&[8, 0]), p.v4(), vec![0; if p.payload == 0 { 6 } else { 0 }]].concat());
    assert_eq!(padded, EXPECTED);
    let corrupted = |at: usize| {
        encapsulated(101, move |p| {
            let mut bytes = p.v4();
            if p.from_server {
                bytes[at] ^= 0x55;
            }
            bytes
        })
    };
    // The IP header checksum, the TCP checksum, and a byte of payload, in all 40 packets of the
    // server.
    for at in [10, 36, 60] {
        assert_eq!(corrupted(at), (EXPECTED.0, EXPECTED.1, EXPECTED.2, EXPECTED.3, EXPECTED.4, 40, EXPECTED.6), "{at}");
    }
}

#[test]
fn analysis_is_equal_when_the_clock_steps_back() {
    let mut packets: Vec<_> = conversation().into_iter().map(|(at, p)| (at + 5_000_000, p.v4())).collect();
    for (at, _) in &mut packets[40..] {
        *at -= 3_000_000;
    }
    let (unique, segments, again, (count, _), tcp, bad, damage) = figures(pcap(&STANDARD, 101, &packets, usize::MAX));
    assert_eq!((unique, segments, again, count, tcp, bad, damage), (40_000, 40, 0, 40, 80, 0, 0));
}

#[test]
fn options_are_not_malformed_when_the_snapshot_length_cuts_them() {
    let mut segment = tcp(true, 1, 7, 0, &addresses(true, 4));
    segment[12] = 11 << 4;
    segment.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    let malformed = |segment: &[u8], link: u32, front: &[u8], snap: usize| {
        let bytes = [front, &ipv4(true, 6, &[], segment, None)].concat();
        let file = pcap(&STANDARD, link, &[(0, bytes)], front.len() + snap);
        let mut capture = Capture::from_reader(Box::new(Cursor::new(file))).unwrap();
        let mut analysis = Analysis::new(PacketFilter::default());
        analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
        (analysis.counts().tcp, analysis.counts().malformed_options)
    };
    for snap in 40..=64 {
        assert_eq!(malformed(&segment, 101, &[], snap), (1, 0), "{snap}");
        assert_eq!(malformed(&segment, 1, &ethernet(&[0x81, 0, 0, 5, 8, 0]), snap), (1, 0), "{snap} behind a VLAN tag");
    }
    segment[20 + 15] = 99;
    assert_eq!(malformed(&segment, 101, &[], 64), (1, 1));
}
