//! One conversation in every link-layer framing, tunnel and IP header: payload, RTTs and endpoints
//! of the analysis are always the same.

use ackclock_pcap::read::Capture;
use ackclock_trace::analyze::{Analysis, PacketFilter};
use ackclock_trace::report::Report;
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

/// A data frame of 802.11: subtype and type, flags, and what follows the three addresses; then SNAP.
fn wifi(control: u8, flags: u8, after: &[u8]) -> Vec<u8> {
    [&[control, flags, 0, 0][..], &[2; 18], &[0x10, 0], after, &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()
}

/// A datagram to this port, in IPv4.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len() as u16).to_be_bytes();
    ipv4(true, 17, &[], &[&[0xc0, 1][..], &port.to_be_bytes(), &len, &[0, 0], payload].concat(), None)
}

/// GTP-U with these flags, a length field for `inner` and the optional fields.
fn gtp_u(flags: u8, optional: &[u8], inner: &[u8]) -> Vec<u8> {
    let len = ((optional.len() + inner.len()) as u16).to_be_bytes();
    udp(2152, &[&[flags, 255][..], &len, &[0, 0, 0, 7], optional, inner].concat())
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
        ("a backbone's frame (802.1ah)", 1, [ethernet(&[0x88, 0xa8, 0, 5, 0x88, 0xe7, 0, 0, 1, 2]), ethernet(&[8, 0])].concat()),
        ("802.3 with LLC of IP", 1, ethernet(&[1, 0, 6, 6, 3])),
        ("802.3 with LLC of routed protocols", 1, ethernet(&[1, 0, 0xfe, 0xfe, 3, 0xcc])),
        ("802.3 with the bridges' SNAP", 1, ethernet(&[1, 0, 0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0])),
        ("cooked, with LLC", 113, [sll([0, 4]), vec![0xaa, 0xaa, 3, 0, 0, 0, 8, 0]].concat()),
        ("ATM", 100, vec![0xaa, 0xaa, 3, 0, 0, 0, 8, 0]),
        ("ATM, bridged", 100, [&[0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 7, 0, 0], &ethernet(&[8, 0])[..]].concat()),
        ("ATM, PPP", 100, vec![0xfe, 0xfe, 3, 0xcf, 0, 0x21]),
        ("802.11", 105, wifi(0x08, 0x01, &[])),
        ("802.11 with QoS", 105, wifi(0x88, 0x02, &[0, 0])),
        ("802.11 with four addresses", 105, wifi(0x08, 0x03, &[9; 6])),
        ("802.11 with four addresses, QoS and HT", 105, wifi(0x88, 0x83, &[9, 9, 9, 9, 9, 9, 0, 0, 1, 2, 3, 4])),
        ("802.11 decrypted by the driver", 105, wifi(0x08, 0x41, &[1, 2, 0, 0x20, 3, 4, 5, 6])),
        ("radiotap", 127, [&[0, 0, 8, 0, 0, 0, 0, 0][..], &wifi(0x88, 0x01, &[0, 0])].concat()),
        (
            "radiotap with a time, two words of fields, and a padded header",
            127,
            [
                &[0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7, 0x20][..],
                &wifi(0x88, 0x01, &[0, 0, 0, 0]),
            ]
            .concat(),
        ),
        ("PPI", 192, [&[0, 0, 8, 0, 105, 0, 0, 0][..], &wifi(0x08, 0x01, &[])].concat()),
        ("AVS, big endian", 163, [&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64][..], &[0; 56], &wifi(0x08, 0x01, &[])].concat()),
        ("NFLOG, little endian", 239, vec![2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 3, 0, 5, 0, 10, 0, 0, 0, 0, 0, 4, 4, 9, 0]),
        ("NFLOG, big endian", 239, vec![2, 0, 0, 0, 0, 8, 0, 1, 8, 0, 3, 0, 4, 4, 0, 9]),
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
        ("AH", Box::new(|p| ipv4(p.from_server, 51, &[], &[&[6, 4, 0, 0][..], &[0; 20], &p.tcp(4)].concat(), None))),
        ("AH around a tunnel", Box::new(move |p| outer(51, &[&[4, 4, 0, 0][..], &[0; 20], &p.v4()].concat()))),
        ("ERSPAN I", Box::new(move |p| gre(&[0, 0, 0x88, 0xbe], &[ethernet(&[8, 0]), p.v4()].concat()))),
        (
            "ERSPAN II",
            Box::new(move |p| {
                let header = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 2, 0, 0, 0, 0];
                gre(&header, &[ethernet(&[0x81, 0, 0, 5, 8, 0]), p.v4()].concat())
            }),
        ),
        (
            "ERSPAN III",
            Box::new(move |p| {
                let header = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 2, 9, 9, 9, 9, 0, 0, 0, 0];
                gre(&header, &[ethernet(&[8, 0]), p.v4()].concat())
            }),
        ),
        (
            "ERSPAN III with a subheader",
            Box::new(move |p| {
                let header = [0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 2, 9, 9, 9, 9, 0, 0, 0, 1, 8, 7, 6, 5, 4, 3, 2, 1];
                gre(&header, &[ethernet(&[8, 0]), p.v4()].concat())
            }),
        ),
        ("GTP-U", Box::new(|p| gtp_u(0x30, &[], &p.v4()))),
        ("GTP-U with IPv6", Box::new(|p| gtp_u(0x30, &[], &p.v6()))),
        ("GTP-U with a sequence number", Box::new(|p| gtp_u(0x32, &[0, 9, 0, 0], &p.v4()))),
        (
            "GTP-U with two extension headers",
            Box::new(|p| gtp_u(0x34, &[0, 0, 0, 0x85, 1, 0x10, 5, 0x40, 2, 1, 2, 3, 4, 5, 6, 0], &p.v4())),
        ),
        ("VXLAN", Box::new(|p| udp(4789, &[&[8, 0, 0, 0, 0, 0, 5, 0][..], &ethernet(&[8, 0]), &p.v4()].concat()))),
        (
            "VXLAN at Linux's port, with a group policy, a VLAN and IPv6",
            Box::new(|p| {
                udp(8472, &[&[0x88, 8, 0, 3, 0, 0, 5, 0][..], &ethernet(&[0x81, 0, 0, 5, 0x86, 0xdd]), &p.v6()].concat())
            }),
        ),
        (
            "Geneve with options",
            Box::new(|p| {
                let header = [2, 0x40, 0x65, 0x58, 0, 0, 9, 0, 1, 2, 0x81, 1, 7, 7, 7, 7];
                udp(6081, &[&header[..], &ethernet(&[8, 0]), &p.v4()].concat())
            }),
        ),
        ("Geneve with IP", Box::new(|p| udp(6081, &[&[0, 0, 8, 0, 0, 0, 9, 0][..], &p.v4()].concat()))),
        ("GRE in UDP", Box::new(|p| udp(4754, &[&[0x20, 0, 8, 0, 0, 0, 0, 9][..], &p.v4()].concat()))),
        ("GRE in UDP with Ethernet", Box::new(|p| udp(4754, &[&[0, 0, 0x65, 0x58][..], &ethernet(&[8, 0]), &p.v4()].concat()))),
        ("L2TP", Box::new(|p| udp(1701, &[&[0, 2, 0, 1, 0, 2, 0xff, 3, 0, 0x21][..], &p.v4()].concat()))),
        (
            "L2TP with length, numbers and offset",
            Box::new(|p| {
                let rest = [&[0, 1, 0, 2, 0, 3, 0, 4, 0, 2, 9, 9, 0, 0x21][..], &p.v4()].concat();
                let len = (rest.len() as u16 + 4).to_be_bytes();
                udp(1701, &[&[0x4a, 2][..], &len, &rest].concat())
            }),
        ),
        (
            "GTP-U in VXLAN",
            Box::new(|p| udp(4789, &[&[8, 0, 0, 0, 0, 0, 5, 0][..], &ethernet(&[8, 0]), &gtp_u(0x30, &[], &p.v4())].concat())),
        ),
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

/// The report of one packet of Ethernet.
fn report_of(link: u32, packets: &[Vec<u8>]) -> Report {
    let packets: Vec<_> = packets.iter().enumerate().map(|(i, bytes)| (i as u64 * 1000, bytes.clone())).collect();
    let mut capture = Capture::from_reader(Box::new(Cursor::new(pcap(&STANDARD, link, &packets, usize::MAX)))).unwrap();
    let mut analysis = Analysis::new(PacketFilter::default());
    analysis.read(&mut capture, &mut (), u64::MAX).unwrap();
    Report::of(&analysis, &capture)
}

// finding("C41")
#[test]
fn datagrams_at_a_tunnels_port_are_flows_of_their_own_when_they_are_no_tunnels_packets() {
    let inner = Packet { from_server: true, seq: 1, ack: 7, payload: 100 }.v4();
    let vxlan = |header: [u8; 8]| [&header[..], &ethernet(&[8, 0]), &inner].concat();
    let gtp_len = (inner.len() as u16).to_be_bytes();
    let gtp = |flags: u8, kind: u8, len: [u8; 2]| [&[flags, kind][..], &len, &[0, 0, 0, 7], &inner].concat();
    let mut long = inner.clone();
    long[2..4].copy_from_slice(&9000u16.to_be_bytes());
    let game: Vec<u8> = (0..60u8).map(|byte| byte.wrapping_mul(37)).collect();
    let dns = [&[0x08, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3][..], b"www\x07example\x03org\0\0\x01\0\x01"].concat();
    let cases: Vec<(&str, u16, Vec<u8>)> = vec![
        ("DNS at VXLAN's port", 4789, dns.clone()),
        ("DNS whose identification and flags are VXLAN's", 4789, [&[8, 0, 0, 0][..], &dns[4..]].concat()),
        ("a game at VXLAN's port", 8472, game.clone()),
        ("VXLAN without its flag", 4789, vxlan([0, 0, 0, 0, 0, 0, 5, 0])),
        ("VXLAN with a reserved byte", 4789, vxlan([8, 0, 0, 0, 0, 0, 5, 1])),
        ("GTP-U of version 2", 2152, gtp(0x50, 255, gtp_len)),
        ("GTP' at GTP-U's port", 2152, gtp(0x20, 255, gtp_len)),
        ("GTP-U's echo", 2152, gtp(0x30, 1, gtp_len)),
        ("GTP-U longer than its datagram", 2152, gtp(0x30, 255, 9000u16.to_be_bytes())),
        ("GTP-U whose packet is longer", 2152, [&[0x30, 255][..], &gtp_len, &[0, 0, 0, 7], &long].concat()),
        ("GTP-U with Ethernet", 2152, [&[0x30, 255][..], &60u16.to_be_bytes(), &[0, 0, 0, 7], &[2; 60]].concat()),
        ("Geneve of version 1", 6081, [&[0x40, 0, 8, 0, 0, 0, 9, 0][..], &inner].concat()),
        ("a game at Geneve's port", 6081, game.clone()),
        ("QUIC at the port of GRE in UDP", 4754, [&[0x43][..], &game].concat()),
        ("QUIC with a greased bit at the port of GRE in UDP", 4754, [&[0x20, 0, 0x86, 0xdd][..], &game].concat()),
        ("L2TP's control", 1701, [&[0xc8, 2, 0, 20][..], &[0; 16]].concat()),
        ("L2TP of version 3", 1701, [&[0, 3, 0, 1, 0, 2, 0, 0x21][..], &inner].concat()),
        ("L2TP with another length", 1701, [&[0x40, 2, 0, 99, 0, 1, 0, 2, 0, 0x21][..], &inner].concat()),
        ("a tunnel's packet at another port", 4790, vxlan([8, 0, 0, 0, 0, 0, 5, 0])),
        ("an empty datagram", 2152, Vec::new()),
    ];
    for (name, port, payload) in cases {
        let datagram = udp(port, &payload);
        let report = report_of(101, std::slice::from_ref(&datagram));
        assert_eq!((report.flows.len(), report.udp.packets, report.udp.bytes), (0, 1, datagram.len() as u64), "{name}");
        assert!(report.tunnels.is_empty() && report.not_decoded.is_empty(), "{name}");
    }
}

// finding("C41")
#[test]
fn tunnels_are_reported_with_overhead_and_mtu() {
    let packets: Vec<Packet> = conversation().into_iter().map(|(_, packet)| packet).collect();
    let of = |wrap: &dyn Fn(Packet) -> Vec<u8>| {
        let report = report_of(1, &packets.iter().map(|&p| [ethernet(&[8, 0]), wrap(p)].concat()).collect::<Vec<_>>());
        let [tunnel] = &report.tunnels[..] else { panic!("{:?}", report.tunnels) };
        let overhead = (tunnel.min_overhead_bytes, tunnel.max_overhead_bytes, tunnel.inner_mtu_bytes);
        assert_eq!((tunnel.packets, tunnel.largest_inner_bytes), (80, 1040), "{}", tunnel.kind);
        (tunnel.kind.clone(), overhead)
    };
    let named = |kind: &str, overhead: (u32, u32, u32)| (kind.to_owned(), overhead);
    assert_eq!(of(&|p| gtp_u(0x30, &[], &p.v4())), named("GTP-U", (36, 36, 1464)));
    let extended =
        |p: Packet| if p.payload > 0 { gtp_u(0x34, &[0, 0, 0, 0x85, 1, 0, 5, 0], &p.v4()) } else { gtp_u(0x30, &[], &p.v4()) };
    assert_eq!(of(&extended), named("GTP-U", (36, 44, 1456)));
    let vxlan = |inner: Vec<u8>| udp(4789, &[&[8, 0, 0, 0, 0, 0, 5, 0][..], &ethernet(&[8, 0]), &inner].concat());
    assert_eq!(of(&|p| vxlan(p.v4())), named("VXLAN", (50, 50, 1450)));
    assert_eq!(of(&|p| vxlan(ipv4(true, 4, &[], &p.v4(), None))), named("VXLAN / IP in IP", (70, 70, 1430)));
    let pppoe = |p: Packet| [ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 44, 0, 0x21]), p.v4()].concat();
    let report = report_of(1, &packets.iter().map(|&p| pppoe(p)).collect::<Vec<_>>());
    assert_eq!(
        (report.tunnels[0].kind.as_str(), report.tunnels[0].max_overhead_bytes, report.tunnels[0].inner_mtu_bytes),
        ("PPPoE", 8, 1492)
    );
    let report = report_of(101, &packets.iter().map(|p| ipv6(true, 4, &p.v4(), None)).collect::<Vec<_>>());
    assert_eq!((report.tunnels[0].kind.as_str(), report.tunnels[0].max_overhead_bytes), ("IP in IP", 40));
    assert!(report_of(101, &packets.iter().map(|p| p.v4()).collect::<Vec<_>>()).tunnels.is_empty());
}

// finding("C41")
#[test]
fn tunnels_packets_in_fragments_are_counted() {
    let whole = gtp_u(0x30, &[], &Packet { from_server: true, seq: 1, ack: 7, payload: 1460 }.v4());
    let fragment = |from: usize, to: usize, more: u16| {
        let mut out = [&whole[..20], &whole[20 + from..20 + to]].concat();
        out[2..4].copy_from_slice(&((20 + to - from) as u16).to_be_bytes());
        out[6..8].copy_from_slice(&(more | (from / 8) as u16).to_be_bytes());
        out
    };
    let divided = [fragment(0, 1480, 0x2000), fragment(1480, whole.len() - 20, 0)];
    let short = gtp_u(0x30, &[], &Packet { from_server: false, seq: 7, ack: 1461, payload: 0 }.v4());
    let report = report_of(101, &[&divided[..], &[short]].concat());
    let tunnel = &report.tunnels[0];
    assert_eq!((tunnel.packets, tunnel.fragmented_packets, tunnel.largest_inner_bytes), (2, 1, 1500));
    assert_eq!((report.flows[0].b2a.payload_bytes, report.skipped["fragment"]), (1460, 1));
}

// finding("C41")
#[test]
fn what_is_not_decoded_is_counted_by_protocol() {
    let beacon = [&[0x80, 0, 0, 0][..], &[2; 20], &[0; 30]].concat();
    let protected = |flags: u8| [&[0x08, flags, 0, 0][..], &[2; 18], &[0x10, 0], &[7; 40]].concat();
    let packet = Packet { from_server: true, seq: 1, ack: 7, payload: 10 };
    let fragment = [&[0x08, 0x05, 0, 0][..], &[2; 18], &[0x11, 0], &[7; 40]].concat();
    let kinds = |link: u32, packets: &[Vec<u8>]| {
        let report = report_of(link, packets);
        assert_eq!(report.malformed, 0, "{:?}", report.malformed_kinds);
        report.not_decoded.into_iter().map(|kind| (kind.kind, kind.packets, kind.carries_data)).collect::<Vec<_>>()
    };
    let named = |kinds: &[(&str, u64, bool)]| {
        kinds.iter().map(|&(kind, packets, data)| (kind.to_owned(), packets, data)).collect::<Vec<_>>()
    };
    let frames = [
        beacon.clone(),
        beacon,
        vec![0xd4, 0, 0, 0, 2, 2, 2, 2, 2, 2],
        protected(0x41),
        protected(0x42),
        protected(0x41),
        [&[0xc8, 1, 0, 0][..], &[2; 22]].concat(),
        fragment,
        [wifi(0x08, 1, &[]), packet.v4()].concat(),
    ];
    let expected = [
        ("802.11 protected data", 3, true),
        ("802.11 management", 2, false),
        ("802.11 control", 1, false),
        ("802.11 without data", 1, false),
        ("802.11 fragment", 1, true),
    ];
    assert_eq!(kinds(105, &frames), named(&expected));
    let frames = [
        ethernet(&[8, 6, 0, 1]),
        [ethernet(&[8, 0]), ipv4(true, 50, &[], &[9; 40], None)].concat(),
        [ethernet(&[8, 0]), ipv4(true, 1, &[], &[9; 40], None)].concat(),
        [ethernet(&[8, 0]), ipv4(true, 253, &[], &[9; 40], None)].concat(),
        ethernet(&[0x12, 0x34, 0, 0]),
        ethernet(&[0, 38, 0x42, 0x42, 3]),
        [ethernet(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 9]), vec![0xc0, 0x21, 1]].concat(),
        [ethernet(&[8, 0]), packet.v4()].concat(),
    ];
    let expected = [
        ("ARP", 1, false),
        ("EtherType 0x1234", 1, true),
        ("STP", 1, false),
        ("PPP LCP", 1, false),
        ("ICMP", 1, false),
        ("ESP", 1, true),
        ("IP protocol 253", 1, true),
    ];
    assert_eq!(kinds(1, &frames), named(&expected));
    assert_eq!(kinds(147, &[vec![1; 30]]), named(&[("link type 147", 1, true)]));
    // ARP in a tunnel is no flow of the tunnel's port.
    let arp = [&[8, 0, 0, 0, 0, 0, 5, 0][..], &ethernet(&[8, 6]), &[0, 1, 8, 0, 6, 4]].concat();
    assert_eq!(kinds(101, &[udp(4789, &arp)]), named(&[("ARP", 1, false)]));
}
