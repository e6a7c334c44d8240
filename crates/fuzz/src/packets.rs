//! Captures as lists of packets: reading and writing in every format, conversations, and mutations of
//! packets and of their order.

use crate::draw::{below, number, one_of};
use ackclock_core::rng::Rng;
use ackclock_pcap::read::{Capture, Record};
use std::io::Cursor;

const ETHERNET: u16 = 1;
const RAW: u16 = 101;
const ETHERNET_HEADER: usize = 14;
/// Headers of Ethernet, IP and TCP with options.
const HEADERS: usize = 80;

#[derive(Debug, Clone)]
pub struct Packet {
    /// Unix time in nanoseconds.
    pub at: u64,
    pub original_len: u32,
    pub bytes: Vec<u8>,
}

/// The packets of a capture file with one link type.
#[derive(Debug, Clone)]
pub struct Packets {
    pub link: u16,
    pub all: Vec<Packet>,
}

impl Packets {
    /// The readable packets of a file; none without any.
    pub fn read(file: &[u8]) -> Option<Packets> {
        let mut capture = Capture::from_reader(Box::new(Cursor::new(file.to_vec()))).ok()?;
        let (mut link, mut all) = (None, Vec::new());
        let read = capture.packets(1 << 16, |record: &Record<'_>| {
            if *link.get_or_insert(record.link.0) == record.link.0 {
                let at = u64::try_from(record.at).unwrap_or(0);
                all.push(Packet { at, original_len: record.original_len, bytes: record.bytes.to_vec() });
            }
        });
        read.ok().and(link).map(|link| Packets { link, all })
    }

    /// A conversation of two ends with losses, retransmissions, SACK and resets, as datagrams.
    pub fn conversation(rng: &mut Rng) -> Packets {
        let origin = *one_of(rng, &[1u32, 0xffff_f000, 0x7fff_f000]);
        let (flows, loss) = (1 + below(rng, 4) as u8, rng.uniform() * 0.2);
        let has_timestamps = rng.chance(0.5);
        let (mut at, mut next, mut una) = (1_000_000_000_000_000_000u64, [0u32; 4], [0u32; 4]);
        let mut all = Vec::new();
        for id in 0..20 + below(rng, 200) as u16 {
            at += [1000, 50_000, 20_000_000, 300_000_000][below(rng, 4)];
            let flow = below(rng, flows.into()) as u8;
            let (nxt, acked) = (&mut next[usize::from(flow)], &mut una[usize::from(flow)]);
            let from_server = rng.chance(0.6);
            let is_old = from_server && rng.chance(0.15);
            let seq = if is_old { *acked } else { *nxt };
            let payload = if from_server { 500 * below(rng, 4) as u32 } else { 0 };
            let mut options = Vec::new();
            if has_timestamps {
                options.extend([1, 1, 8, 10]);
                options.extend(((at / 1_000_000) as u32).to_be_bytes());
                options.extend(((at / 1_000_000) as u32 - 20).to_be_bytes());
            }
            if !from_server && rng.chance(0.3) {
                options.extend([1, 1, 5, 10]);
                options.extend(origin.wrapping_add(*acked + 500).to_be_bytes());
                options.extend(origin.wrapping_add(*nxt).to_be_bytes());
            }
            if !from_server && rng.chance(0.5) {
                *acked = *nxt;
            }
            let flags = *one_of(rng, &[16, 16, 16, 16, 16, 24, 17, 18, 2, 4, 20]);
            let tcp = Tcp { from_server, flow, seq: origin.wrapping_add(seq), ack: origin.wrapping_add(*acked), flags, id };
            let bytes = tcp.datagram(&options, payload);
            if from_server && !is_old {
                *nxt += payload;
            }
            if !rng.chance(loss) {
                all.push(Packet { at, original_len: bytes.len() as u32, bytes });
            }
        }
        let mut packets = Packets { link: RAW, all };
        while rng.chance(0.3) && packets.link == RAW {
            packets.encapsulate(rng);
        }
        packets
    }

    /// Changes packets, their order or their times, `changes` times. `other` lends packets.
    pub fn mutate(&mut self, rng: &mut Rng, changes: usize, other: &Packets) {
        for _ in 0..changes {
            if self.all.is_empty() {
                return;
            }
            let at = below(rng, self.all.len());
            match below(rng, 13) {
                0 => {
                    let to = (at + 1).min(self.all.len() - 1);
                    self.all.swap(at, to);
                }
                1 => {
                    let copy = Packet { at: self.all[at].at + rng.salt() % 1_000_000, ..self.all[at].clone() };
                    self.all.insert((at + 1 + below(rng, 8)).min(self.all.len()), copy);
                }
                2 => drop(self.all.drain(at..(at + 1 + below(rng, 8)).min(self.all.len()))),
                3 if !other.all.is_empty() => {
                    let from = below(rng, other.all.len());
                    let to = (from + 1 + below(rng, 8)).min(other.all.len());
                    self.all.splice(at..at, other.all[from..to].iter().cloned());
                }
                4 => self.all[at].at = number(rng, self.all[at].at),
                5 => self.all[at].original_len = number(rng, u64::from(self.all[at].original_len)) as u32,
                6 => {
                    let len = below(rng, self.all[at].bytes.len() + 1);
                    self.all[at].bytes.truncate(len);
                }
                7 => self.fragment(rng, at),
                8 => self.mirror(rng),
                9 => self.encapsulate(rng),
                _ => self.change_header(rng, at),
            }
        }
    }

    /// Offset of the IPv4 header of a packet, if it has one.
    fn ip_offset(&self, at: usize) -> Option<usize> {
        let offset = if self.link == ETHERNET { ETHERNET_HEADER } else { 0 };
        self.all[at].bytes.get(offset).filter(|&&byte| byte >> 4 == 4).map(|_| offset)
    }

    /// Lies in a header: a field of IP or TCP, an option, or any byte.
    fn change_header(&mut self, rng: &mut Rng, at: usize) {
        let ip = self.ip_offset(at).unwrap_or(0);
        let bytes = &mut self.all[at].bytes;
        let tcp = ip + 20;
        // Offset and length of version and header length, total length, identification, fragment, protocol;
        // sequence number, acknowledgment number, data offset, flags, window, options.
        let fields = [(ip, 1), (ip + 2, 2), (ip + 4, 2), (ip + 6, 2), (ip + 9, 1)];
        let of_tcp = [(tcp + 4, 4), (tcp + 8, 4), (tcp + 12, 1), (tcp + 13, 1), (tcp + 14, 2), (tcp + 20, 1), (tcp + 21, 1)];
        let any = (below(rng, bytes.len().clamp(1, HEADERS)), 1 + below(rng, 4));
        let (start, len) = match below(rng, 3) {
            0 => *one_of(rng, &fields),
            1 => *one_of(rng, &of_tcp),
            _ => any,
        };
        let Some(field) = bytes.get_mut(start..start + len) else { return };
        let old = field.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
        let new = number(rng, old).to_be_bytes();
        field.copy_from_slice(&new[8 - len..]);
    }

    /// Divides a datagram into fragments, which may overlap and change places.
    fn fragment(&mut self, rng: &mut Rng, at: usize) {
        let Some(ip) = self.ip_offset(at) else { return };
        let packet = self.all[at].clone();
        let header = ip + usize::from(packet.bytes[ip] & 15) * 4;
        let Some(payload) = packet.bytes.get(header..).filter(|payload| header >= ip + 20 && payload.len() > 16) else { return };
        let mut cuts = vec![0, payload.len().div_ceil(8)];
        (0..1 + below(rng, 3)).for_each(|_| cuts.push(below(rng, payload.len() / 8)));
        cuts.sort_unstable();
        cuts.dedup();
        let mut fragments: Vec<Packet> = Vec::new();
        for pair in cuts.windows(2) {
            let overlap = if rng.chance(0.2) { below(rng, 3) } else { 0 };
            let (from, to) = (pair[0].saturating_sub(overlap), (pair[1] * 8).min(payload.len()));
            let mut bytes = packet.bytes[..header].to_vec();
            bytes.extend(&payload[from * 8..to]);
            let more = if to < payload.len() { 0x2000 } else { 0 };
            bytes[ip + 6..ip + 8].copy_from_slice(&(from as u16 | more).to_be_bytes());
            let total = (bytes.len() - ip) as u16;
            bytes[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
            fragments.push(Packet { at: packet.at, original_len: bytes.len() as u32, bytes });
        }
        if rng.chance(0.3) {
            fragments.reverse();
        }
        if rng.chance(0.2) {
            fragments.pop();
        }
        self.all.splice(at..=at, fragments);
    }

    /// All packets in a drawn tunnel, or behind a drawn link header.
    fn encapsulate(&mut self, rng: &mut Rng) {
        if self.link != RAW && self.link != ETHERNET {
            return;
        }
        let skipped = if self.link == ETHERNET { ETHERNET_HEADER } else { 0 };
        let wrapper = *one_of(rng, &WRAPPERS);
        let port = 49_152 + below(rng, 4) as u16;
        for packet in &mut self.all {
            let inner = packet.bytes.get(skipped..).unwrap_or_default();
            let bytes = wrapper.wrap(inner, port);
            packet.original_len =
                packet.original_len.saturating_add((bytes.len() - inner.len()) as u32).saturating_sub(skipped as u32);
            packet.bytes = bytes;
        }
        self.link = wrapper.link;
    }

    /// Each packet twice, as a mirror port has them.
    fn mirror(&mut self, rng: &mut Rng) {
        if self.all.len() < 1 << 12 {
            let after = rng.salt() % 50_000;
            let twice = self.all.iter().flat_map(|packet| [packet.clone(), Packet { at: packet.at + after, ..packet.clone() }]);
            self.all = twice.collect();
        }
    }

    /// A file in a drawn format, in which `lies` of the records' captured lengths are wrong.
    pub fn write(&self, rng: &mut Rng, lies: f64) -> Vec<u8> {
        match below(rng, if self.link == ETHERNET || self.link == RAW { 6 } else { 4 }) {
            0 | 1 => self.pcap(rng, lies),
            2 | 3 => self.pcapng(rng, lies),
            4 => self.snoop(rng, lies),
            _ => self.erf(rng, lies),
        }
    }

    /// Nanoseconds or microseconds, in either byte order.
    fn pcap(&self, rng: &mut Rng, lies: f64) -> Vec<u8> {
        let (is_big, is_fine) = (rng.chance(0.3), rng.chance(0.5));
        let word = |value: u32| if is_big { value.to_be_bytes() } else { value.to_le_bytes() };
        let versions = if is_big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
        let mut out = word(if is_fine { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }).to_vec();
        out.extend(versions);
        out.extend([0, 0, 65_535, u32::from(self.link)].iter().flat_map(|&value| word(value)));
        for packet in &self.all {
            let fraction = (packet.at % 1_000_000_000) as u32 / if is_fine { 1 } else { 1000 };
            let len = stated_len(rng, packet, lies);
            let fields = [(packet.at / 1_000_000_000) as u32, fraction, len, packet.original_len];
            out.extend(fields.iter().flat_map(|&value| word(value)));
            out.extend(&packet.bytes);
        }
        out
    }

    /// One interface, with a drawn resolution of time; enhanced and simple packet blocks.
    fn pcapng(&self, rng: &mut Rng, lies: f64) -> Vec<u8> {
        let resolution = *one_of(rng, &[9u8, 9, 6, 3, 0x80 | 20, 0x80 | 63, 0, 19]);
        let mut out = Vec::new();
        let mut block = |kind: u32, body: &[u8]| {
            let len = (12 + body.len().next_multiple_of(4)) as u32;
            out.extend(kind.to_le_bytes());
            out.extend(len.to_le_bytes());
            out.extend(body);
            out.resize(out.len().next_multiple_of(4), 0);
            out.extend(len.to_le_bytes());
        };
        block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
        let mut interface = u32::from(self.link).to_le_bytes().to_vec();
        interface.extend([0, 0, 4, 0, 9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0]);
        block(1, &interface);
        for packet in &self.all {
            let len = stated_len(rng, packet, lies);
            let is_simple = rng.chance(0.1);
            let number = if rng.chance(lies) { below(rng, 3) as u32 } else { 0 };
            let fields = [number, (packet.at >> 32) as u32, packet.at as u32, len, packet.original_len];
            let fields = if is_simple { &fields[4..] } else { &fields[..] };
            let mut body: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
            body.extend(&packet.bytes);
            block(if is_simple { 3 } else { 6 }, &body);
        }
        out
    }

    fn snoop(&self, rng: &mut Rng, lies: f64) -> Vec<u8> {
        let mut out = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
        for packet in &self.all {
            let frame = self.frame(packet);
            let len = stated_len(rng, packet, lies).wrapping_add((frame.len() - packet.bytes.len()) as u32);
            let record = 24 + frame.len().next_multiple_of(4) as u32;
            let time = [(packet.at / 1_000_000_000) as u32, (packet.at % 1_000_000_000 / 1000) as u32];
            out.extend([packet.original_len, len, record, 0, time[0], time[1]].iter().flat_map(|field| field.to_be_bytes()));
            out.extend(frame);
            out.resize(out.len().next_multiple_of(4), 0);
        }
        out
    }

    /// Some records have extension headers.
    fn erf(&self, rng: &mut Rng, lies: f64) -> Vec<u8> {
        let mut out = Vec::new();
        for packet in &self.all {
            let (frame, extensions) = (self.frame(packet), if rng.chance(0.2) { 1 + below(rng, 3) } else { 0 });
            let len = 16 + 8 * extensions + 2 + frame.len();
            let stated = if rng.chance(lies) { number(rng, len as u64) as u16 } else { len as u16 };
            out.extend(((packet.at / 1_000_000_000) << 32 | (packet.at % 1_000_000_000) << 2).to_le_bytes());
            out.extend([if extensions > 0 { 0x82 } else { 2 }, 4]);
            out.extend(stated.to_be_bytes());
            out.extend([0, 0]);
            out.extend((packet.original_len as u16).to_be_bytes());
            for left in (0..extensions).rev() {
                out.extend([if left > 0 { 0x84 } else { 4 }, 0, 0, 0, 0, 0, 0, 0]);
            }
            out.extend([0, 0]);
            out.extend(frame);
        }
        out
    }

    fn frame(&self, packet: &Packet) -> Vec<u8> {
        let header: &[u8] = if self.link == RAW { &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0] } else { &[] };
        [header, &packet.bytes].concat()
    }
}

/// What packets are put into: an outer IPv4 header of this protocol unless it is 0, a UDP header to this port
/// unless it is 0, a header.
#[derive(Clone, Copy)]
struct Wrapper {
    link: u16,
    protocol: u8,
    port: u16,
    header: &'static [u8],
    /// Offset in the header of a length of what follows it.
    length_at: Option<usize>,
}

const fn tunnel(protocol: u8, port: u16, header: &'static [u8], length_at: Option<usize>) -> Wrapper {
    Wrapper { link: RAW, protocol, port, header, length_at }
}

const fn link(link: u16, header: &'static [u8]) -> Wrapper {
    Wrapper { link, protocol: 0, port: 0, header, length_at: None }
}

/// Tunnels, then link headers: 802.11 with QoS, four addresses and protection, radiotap, NFLOG, ATM, PBB.
const WRAPPERS: [Wrapper; 19] = [
    tunnel(17, 2152, &[0x30, 255, 0, 0, 0, 0, 0, 7], Some(2)),
    tunnel(17, 2152, &[0x34, 255, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0x85, 1, 0x10, 5, 0], None),
    tunnel(17, 4789, &[8, 0, 0, 0, 0, 0, 5, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0], None),
    tunnel(17, 6081, &[1, 0x40, 8, 0, 0, 0, 9, 0, 1, 2, 0x80, 0], None),
    tunnel(17, 4754, &[0x30, 0, 8, 0, 0, 0, 0, 9, 0, 0, 0, 1], None),
    tunnel(17, 1701, &[0x02, 2, 0, 1, 0, 2, 0, 2, 9, 9, 0xff, 3, 0, 0x21], None),
    tunnel(4, 0, &[], None),
    tunnel(47, 0, &[0xb0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1], None),
    tunnel(47, 0, &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 2, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0], None),
    tunnel(47, 0, &[0, 0, 0x22, 0xeb, 0x20, 1, 0, 2, 9, 9, 9, 9, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0], None),
    tunnel(51, 0, &[4, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2], None),
    link(
        105,
        &[0x88, 1, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x10, 0, 0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
    ),
    link(
        105,
        &[
            8, 3, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x10, 0, 3, 3, 3, 3, 3, 3, 0xaa, 0xaa, 3, 0, 0, 0,
            8, 0,
        ],
    ),
    link(105, &[8, 0x41, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x10, 0, 1, 2, 0, 0x20, 3, 4, 5, 6]),
    link(
        127,
        &[
            0, 0, 9, 0, 2, 0, 0, 0, 0x20, 8, 2, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x10, 0, 0xaa, 0xaa,
            3, 0, 0, 0, 8, 0,
        ],
    ),
    link(192, &[0, 0, 8, 0, 105, 0, 0, 0, 8, 1, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x10, 0, 6, 6, 3]),
    link(239, &[2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 3, 0, 5, 0, 10, 0, 0, 0, 0, 0, 4, 4, 9, 0]),
    link(100, &[0xfe, 0xfe, 3, 0xcf, 0, 0x21]),
    link(ETHERNET, &[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0x88, 0xe7, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0]),
];

impl Wrapper {
    fn wrap(&self, inner: &[u8], source_port: u16) -> Vec<u8> {
        let mut header = self.header.to_vec();
        if let Some(at) = self.length_at {
            header[at..at + 2].copy_from_slice(&(inner.len() as u16).to_be_bytes());
        }
        let mut out = Vec::new();
        if self.protocol > 0 {
            let udp = if self.port > 0 { 8 } else { 0 };
            let len = header.len() + inner.len() + udp;
            out.extend([0x45, 0]);
            out.extend(((20 + len) as u16).to_be_bytes());
            out.extend([0, 9, 0x40, 0, 64, self.protocol, 0, 0, 10, 1, 0, 1, 10, 1, 0, 2]);
            if self.port > 0 {
                out.extend([source_port, self.port, len as u16, 0].iter().flat_map(|field| field.to_be_bytes()));
            }
        }
        out.extend(header);
        out.extend(inner);
        out
    }
}

/// The captured length in the record's header.
fn stated_len(rng: &mut Rng, packet: &Packet, lies: f64) -> u32 {
    let len = packet.bytes.len() as u32;
    if rng.chance(lies) { number(rng, u64::from(len)) as u32 } else { len }
}

/// A segment of one of several connections.
struct Tcp {
    from_server: bool,
    flow: u8,
    seq: u32,
    ack: u32,
    flags: u8,
    id: u16,
}

impl Tcp {
    fn datagram(&self, options: &[u8], payload: u32) -> Vec<u8> {
        let (server, client) = ([10, 0, 0, 1], [10, 0, 0, 2 + self.flow]);
        let (source, destination) = if self.from_server { (server, client) } else { (client, server) };
        let len = 40 + options.len() + payload as usize;
        let mut out = vec![0x45, 0];
        out.extend((len as u16).to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
        out.extend(source);
        out.extend(destination);
        out.extend(if self.from_server { [0, 80, 0x80, 0] } else { [0x80, 0, 0, 80] });
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        out.extend([((20 + options.len() as u8) / 4) << 4, self.flags]);
        out.extend([0xff, 0xff, 0, 0, 0, 0]);
        out.extend(options);
        out.resize(len, 0);
        out
    }
}
