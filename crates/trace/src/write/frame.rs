//! A simulated packet as an Ethernet frame: real headers with real checksums over a payload of zeros.

use super::checksum::Checksum;
use super::options::Options;
use ackclock_core::packet::{Body, Datagram, Flags, Packet, Segment};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const TTL: u8 = 64;
const DONT_FRAGMENT: u8 = 0x40;
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];

/// An end of a flow, or who sent a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Server,
    Client,
}

/// IPv4 address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub ip: [u8; 4],
    pub port: u16,
}

/// What is captured of a packet, and how long it was on the wire.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    pub bytes: &'a [u8],
    pub original_len: u32,
}

/// Makes the frames of one flow. It keeps what a header depends on: addresses, initial sequence numbers, window scales.
#[derive(Debug, Clone)]
pub struct FlowFrames {
    address: [Address; 2],
    initial_sequence: [u32; 2],
    /// What each side's SYN offered, once seen.
    window_scale: [Option<u8>; 2],
    snap_len: usize,
    /// IP identification of the frame that is being made.
    number: u16,
    buffer: Vec<u8>,
}

impl FlowFrames {
    /// Flow and client numbers give addresses and ports that no other flow of the run has.
    pub fn new(flow: u32, client: u32, snap_len: u32) -> FlowFrames {
        // Documentation's 192.0.2.0/24 (RFC 5737) for the server, private 10.0.0.0/8 for its clients.
        let [_, a, b, c] = (client + 1).to_be_bytes();
        // Ports above those that readers take for a known protocol.
        let server = Address { ip: [192, 0, 2, 1], port: 40_000 + (flow / 16_384) as u16 };
        let client = Address { ip: [10, a, b, c], port: 49_152 + (flow % 16_384) as u16 };
        let initial_sequence = [0x2000_0000u32.wrapping_add(flow << 12), 0x1000_0000u32.wrapping_add(flow << 12)];
        FlowFrames {
            address: [server, client],
            initial_sequence,
            window_scale: [None; 2],
            snap_len: snap_len as usize,
            number: 0,
            buffer: Vec::new(),
        }
    }

    pub fn address(&self, side: Side) -> Address {
        self.address[side as usize]
    }

    /// The frame of a packet that `from` sent, with `number` as its IP identification.
    pub fn frame(&mut self, from: Side, number: u16, packet: &Packet, body: &Body) -> Frame<'_> {
        self.buffer.clear();
        self.number = number;
        let payload = match body {
            Body::Segment(segment) => self.tcp(from, packet, segment),
            Body::Datagram(datagram) => self.udp(from, packet, *datagram),
            // Real bytes are a whole IP packet already.
            Body::Raw(bytes) => {
                self.ethernet(from);
                if bytes.first().is_some_and(|first| first >> 4 == 6) {
                    self.buffer[ETHERNET - 2..].copy_from_slice(&ETHERTYPE_IPV6);
                }
                let shown = bytes.len().min(self.snap_len);
                self.buffer.extend_from_slice(&bytes[..shown]);
                bytes.len() - shown
            }
        };
        let original = self.buffer.len() + payload;
        self.buffer.resize(original.min(self.snap_len), 0);
        Frame { bytes: &self.buffer, original_len: original as u32 }
    }

    fn tcp(&mut self, from: Side, packet: &Packet, segment: &Segment) -> usize {
        let (own, peer) = (self.initial_sequence[from as usize], self.initial_sequence[1 - from as usize]);
        let options = Options::of(segment, peer);
        let header_len = TCP + options.bytes().len();
        let payload = (segment.payload as usize).min(usize::from(u16::MAX) - IPV4 - header_len);
        if let Some(syn) = segment.syn {
            self.window_scale[from as usize] = syn.window_scale;
        }
        self.ethernet(from);
        self.ipv4(from, packet, PROTOCOL_TCP, header_len + payload);
        let start = self.buffer.len();
        self.ports(from);
        let acknowledged = if segment.flags.has(Flags::ACK) { (segment.ack as u32).wrapping_add(peer) } else { 0 };
        self.buffer.extend((segment.seq as u32).wrapping_add(own).to_be_bytes());
        self.buffer.extend(acknowledged.to_be_bytes());
        // AE is the last of the bits between the header's length and the old flags.
        let [ae, flags] = segment.flags.0.to_be_bytes();
        self.buffer.extend([(header_len as u8 / 4) << 4 | ae, flags]);
        self.buffer.extend(self.window_field(from, segment).to_be_bytes());
        self.buffer.extend([0; 4]);
        self.buffer.extend(options.bytes());
        let sum = self.transport_checksum(from, PROTOCOL_TCP, start, payload);
        self.buffer[start + 16..start + 18].copy_from_slice(&sum);
        payload
    }

    /// Scaled down once both SYNs have offered scaling; never in a SYN itself (RFC 7323, section 2.2).
    fn window_field(&self, from: Side, segment: &Segment) -> u16 {
        let scale = match self.window_scale {
            [Some(_), Some(_)] if segment.syn.is_none() => self.window_scale[from as usize].unwrap_or(0).min(14),
            _ => 0,
        };
        u16::try_from(segment.window >> scale).unwrap_or(u16::MAX)
    }

    /// The first eight bytes of payload are the datagram's number, as measurement tools do.
    fn udp(&mut self, from: Side, packet: &Packet, datagram: Datagram) -> usize {
        let payload = usize::from(packet.len).saturating_sub(IPV4 + UDP);
        self.ethernet(from);
        self.ipv4(from, packet, PROTOCOL_UDP, UDP + payload);
        let start = self.buffer.len();
        self.ports(from);
        self.buffer.extend(((UDP + payload) as u16).to_be_bytes());
        self.buffer.extend([0; 2]);
        let number = datagram.number.to_be_bytes();
        let numbered = if payload >= number.len() { number.len() } else { 0 };
        self.buffer.extend(&number[..numbered]);
        let sum = self.transport_checksum(from, PROTOCOL_UDP, start, payload - numbered);
        // Zero would say that there is none (RFC 768).
        let sum = if sum == [0; 2] { [0xff; 2] } else { sum };
        self.buffer[start + 6..start + 8].copy_from_slice(&sum);
        payload - numbered
    }

    fn ethernet(&mut self, from: Side) {
        // Locally administered addresses, by side.
        let mac = |side: Side| [2, 0, 0, 0, 0, side as u8 + 1];
        self.buffer.extend(mac(from.other()));
        self.buffer.extend(mac(from));
        self.buffer.extend([0x08, 0x00]);
    }

    fn ipv4(&mut self, from: Side, packet: &Packet, protocol: u8, payload: usize) {
        let start = self.buffer.len();
        self.buffer.extend([0x45, packet.ecn as u8]);
        self.buffer.extend(((IPV4 + payload) as u16).to_be_bytes());
        self.buffer.extend(self.number.to_be_bytes());
        self.buffer.extend([DONT_FRAGMENT, 0, TTL, protocol, 0, 0]);
        self.buffer.extend(self.address(from).ip);
        self.buffer.extend(self.address(from.other()).ip);
        let sum = Checksum::default().add(&self.buffer[start..]).finish();
        self.buffer[start + 10..start + 12].copy_from_slice(&sum);
    }

    fn ports(&mut self, from: Side) {
        self.buffer.extend(self.address(from).port.to_be_bytes());
        self.buffer.extend(self.address(from.other()).port.to_be_bytes());
    }

    /// Over the pseudo-header, the header and what is not zero of the payload (RFC 9293, section 3.1).
    fn transport_checksum(&self, from: Side, protocol: u8, start: usize, zeros: usize) -> [u8; 2] {
        let len = (self.buffer.len() - start + zeros) as u16;
        Checksum::default()
            .add(&self.address(from).ip)
            .add(&self.address(from.other()).ip)
            .add(&[0, protocol])
            .add(&len.to_be_bytes())
            .add(&self.buffer[start..])
            .finish()
    }
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Server => Side::Client,
            Side::Client => Side::Server,
        }
    }
}

const _: () = assert!(ETHERNET + IPV4 + TCP + 40 <= super::HEADERS_ONLY as usize);
