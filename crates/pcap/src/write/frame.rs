//! Ethernet frames of simulated packets: IP, TCP and UDP headers with valid checksums over a
//! payload of zeros.

use super::tcp_options::TcpOptions;
use crate::checksum::Checksum;
use ackclock_core::link::TunnelKind;
use ackclock_core::packet::{Body, Datagram, Flags, Fragment, Packet, Segment, TooBig};

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
const ICMP: usize = 8;
const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const TTL: u8 = 64;
const DONT_FRAGMENT: u8 = 0x40;
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowEnd {
    Server,
    Client,
}

/// IPv4 address and port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub ip: [u8; 4],
    pub port: u16,
}

/// The captured bytes of a frame and its length on the wire.
#[derive(Debug, Clone, Copy)]
pub struct CapturedFrame<'a> {
    pub bytes: &'a [u8],
    pub original_len: u32,
}

/// Builds the frames of one flow. Holds the state that headers depend on: addresses, initial
/// sequence numbers, window scales.
#[derive(Debug, Clone)]
pub struct FlowFrames {
    address: [Address; 2],
    initial_sequence: [u32; 2],
    /// Window scale in each end's SYN, once sent.
    window_scale: [Option<u8>; 2],
    snap_len: usize,
    /// IP identification of the frame under construction.
    ip_id: u16,
    buffer: Vec<u8>,
}

impl FlowFrames {
    /// Addresses and ports are unique to the pair of flow and client number.
    pub fn new(flow: u32, client: u32, snap_len: u32) -> FlowFrames {
        // 192.0.2.0/24 (TEST-NET-1, RFC 5737) for the server, private 10.0.0.0/8 for its clients.
        let [_, a, b, c] = (client + 1).to_be_bytes();
        // Ports that readers do not map to a known protocol.
        let server = Address { ip: [192, 0, 2, 1], port: 40_000 + (flow / 16_384) as u16 };
        let client = Address { ip: [10, a, b, c], port: 49_152 + (flow % 16_384) as u16 };
        let initial_sequence = [0x2000_0000u32.wrapping_add(flow << 12), 0x1000_0000u32.wrapping_add(flow << 12)];
        FlowFrames {
            address: [server, client],
            initial_sequence,
            window_scale: [None; 2],
            snap_len: snap_len as usize,
            ip_id: 0,
            buffer: Vec::new(),
        }
    }

    pub fn address(&self, end: FlowEnd) -> Address {
        self.address[end as usize]
    }

    /// The frame of a packet that `from` sent, with the IP identification `ip_id`.
    pub fn frame(&mut self, from: FlowEnd, ip_id: u16, packet: &Packet, body: &Body) -> CapturedFrame<'_> {
        self.buffer.clear();
        self.ip_id = ip_id;
        let payload = match body {
            Body::Segment(segment) => self.tcp(from, packet, segment),
            Body::Datagram(datagram) => self.udp(from, packet, *datagram),
            Body::Udp(bytes) => self.datagram(from, packet, bytes),
            Body::TooBig(report) => self.icmp(from, packet, report),
            Body::Fragment(fragment) => self.fragment(from, packet, fragment),
            Body::Encapsulated(outer) => self.opaque(from, packet, protocol_of(outer.config.kind)),
            // A raw body is a complete IP packet.
            Body::Raw(bytes) => {
                self.ethernet(from);
                if bytes.first().is_some_and(|first| first >> 4 == 6) {
                    self.buffer[ETHERNET - 2..].copy_from_slice(&ETHERTYPE_IPV6);
                }
                let captured = bytes.len().min(self.snap_len);
                self.buffer.extend_from_slice(&bytes[..captured]);
                bytes.len() - captured
            }
        };
        let original = self.buffer.len() + payload;
        self.buffer.resize(original.min(self.snap_len), 0);
        CapturedFrame { bytes: &self.buffer, original_len: original as u32 }
    }

    fn tcp(&mut self, from: FlowEnd, packet: &Packet, segment: &Segment) -> usize {
        let (own, peer) = (self.initial_sequence[from as usize], self.initial_sequence[1 - from as usize]);
        let options = TcpOptions::of(segment, peer);
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
        // The AE flag (RFC 9768) is the bit below the data offset, above CWR.
        let [ae, flags] = segment.flags.0.to_be_bytes();
        self.buffer.extend([(header_len as u8 / 4) << 4 | ae, flags]);
        self.buffer.extend(self.window_field(from, segment).to_be_bytes());
        self.buffer.extend([0; 4]);
        self.buffer.extend(options.bytes());
        let sum = self.transport_checksum(from, PROTOCOL_TCP, start, payload);
        self.buffer[start + 16..start + 18].copy_from_slice(&sum);
        payload
    }

    /// The window is scaled once both SYNs carried the option, and never in a SYN (RFC 7323,
    /// section 2.2).
    fn window_field(&self, from: FlowEnd, segment: &Segment) -> u16 {
        let scale = match self.window_scale {
            [Some(_), Some(_)] if segment.syn.is_none() => self.window_scale[from as usize].unwrap_or(0).min(14),
            _ => 0,
        };
        u16::try_from(segment.window >> scale).unwrap_or(u16::MAX)
    }

    /// The first eight bytes of payload are the datagram's sequence number, as in measurement
    /// tools.
    fn udp(&mut self, from: FlowEnd, packet: &Packet, datagram: Datagram) -> usize {
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
        // A checksum of zero means that there is none (RFC 768).
        let sum = if sum == [0; 2] { [0xff; 2] } else { sum };
        self.buffer[start + 6..start + 8].copy_from_slice(&sum);
        payload - numbered
    }

    /// A datagram whose payload is known.
    fn datagram(&mut self, from: FlowEnd, packet: &Packet, bytes: &[u8]) -> usize {
        self.ethernet(from);
        self.ipv4(from, packet, PROTOCOL_UDP, UDP + bytes.len());
        let start = self.buffer.len();
        self.ports(from);
        self.buffer.extend(((UDP + bytes.len()) as u16).to_be_bytes());
        self.buffer.extend([0; 2]);
        self.buffer.extend(bytes);
        let sum = self.transport_checksum(from, PROTOCOL_UDP, start, 0);
        let sum = if sum == [0; 2] { [0xff; 2] } else { sum };
        self.buffer[start + 6..start + 8].copy_from_slice(&sum);
        let captured = self.buffer.len().min(self.snap_len);
        let left = self.buffer.len() - captured;
        self.buffer.truncate(captured);
        left
    }

    /// A router's report on a packet of the other end (RFC 1191, section 4). The router has the address of
    /// the end that it sends for, and quotes zeros behind the ports and the sequence number.
    fn icmp(&mut self, from: FlowEnd, packet: &Packet, report: &TooBig) -> usize {
        let payload = usize::from(packet.len).saturating_sub(2 * IPV4 + 2 * ICMP);
        self.ethernet(from);
        self.ipv4(from, packet, PROTOCOL_ICMP, IPV4 + 2 * ICMP + payload);
        let start = self.buffer.len();
        self.buffer.extend([3, 4, 0, 0, 0, 0]);
        self.buffer.extend(report.mtu.to_be_bytes());
        let sender = from.other();
        let protocol = if report.tcp { PROTOCOL_TCP } else { PROTOCOL_UDP };
        self.ipv4(sender, packet, protocol, usize::from(report.len).saturating_sub(IPV4));
        self.ports(sender);
        let number = (report.number as u32).wrapping_add(if report.tcp { self.initial_sequence[sender as usize] } else { 0 });
        self.buffer.extend(number.to_be_bytes());
        let sum = Checksum::default().with(&self.buffer[start..]).finish();
        self.buffer[start + 2..start + 4].copy_from_slice(&sum);
        payload
    }

    /// A fragment, without what it carries.
    fn fragment(&mut self, from: FlowEnd, packet: &Packet, fragment: &Fragment) -> usize {
        const MORE: u16 = 0x2000;
        let start = self.buffer.len() + ETHERNET;
        self.ip_id = fragment.datagram as u16;
        let protocol = match &fragment.body {
            Body::Encapsulated(outer) => protocol_of(outer.config.kind),
            _ => PROTOCOL_UDP,
        };
        let payload = self.opaque(from, packet, protocol);
        let more = if fragment.last { 0 } else { MORE };
        let field = (fragment.offset / 8) | more;
        self.buffer[start + 6..start + 8].copy_from_slice(&field.to_be_bytes());
        self.buffer[start + 10..start + 12].fill(0);
        let sum = Checksum::default().with(&self.buffer[start..]).finish();
        self.buffer[start + 10..start + 12].copy_from_slice(&sum);
        payload
    }

    /// An IP header alone.
    fn opaque(&mut self, from: FlowEnd, packet: &Packet, protocol: u8) -> usize {
        let payload = usize::from(packet.len).saturating_sub(IPV4);
        self.ethernet(from);
        self.ipv4(from, packet, protocol, payload);
        payload
    }

    fn ethernet(&mut self, from: FlowEnd) {
        // Locally administered addresses, one per end.
        let mac = |end: FlowEnd| [2, 0, 0, 0, 0, end as u8 + 1];
        self.buffer.extend(mac(from.other()));
        self.buffer.extend(mac(from));
        self.buffer.extend([0x08, 0x00]);
    }

    fn ipv4(&mut self, from: FlowEnd, packet: &Packet, protocol: u8, payload: usize) {
        let start = self.buffer.len();
        self.buffer.extend([0x45, packet.ecn as u8]);
        self.buffer.extend(((IPV4 + payload) as u16).to_be_bytes());
        self.buffer.extend(self.ip_id.to_be_bytes());
        self.buffer.extend([DONT_FRAGMENT, 0, TTL, protocol, 0, 0]);
        self.buffer.extend(self.address(from).ip);
        self.buffer.extend(self.address(from.other()).ip);
        let sum = Checksum::default().with(&self.buffer[start..]).finish();
        self.buffer[start + 10..start + 12].copy_from_slice(&sum);
    }

    fn ports(&mut self, from: FlowEnd) {
        self.buffer.extend(self.address(from).port.to_be_bytes());
        self.buffer.extend(self.address(from.other()).port.to_be_bytes());
    }

    /// Checksum over the pseudo-header, the header and the payload that is not zero (RFC 9293,
    /// section 3.1). `zeros` is the length of the rest of the payload.
    fn transport_checksum(&self, from: FlowEnd, protocol: u8, start: usize, zeros: usize) -> [u8; 2] {
        let len = (self.buffer.len() - start + zeros) as u16;
        Checksum::default()
            .with(&self.address(from).ip)
            .with(&self.address(from.other()).ip)
            .with(&[0, protocol])
            .with(&len.to_be_bytes())
            .with(&self.buffer[start..])
            .finish()
    }
}

/// The protocol of a tunnel's packets (IANA, Protocol Numbers).
fn protocol_of(kind: TunnelKind) -> u8 {
    match kind {
        TunnelKind::Gre => 47,
        TunnelKind::IpsecEsp => 50,
        TunnelKind::Wireguard | TunnelKind::OpenvpnUdp | TunnelKind::Vxlan => PROTOCOL_UDP,
    }
}

impl FlowEnd {
    pub fn other(self) -> FlowEnd {
        match self {
            FlowEnd::Server => FlowEnd::Client,
            FlowEnd::Client => FlowEnd::Server,
        }
    }
}

const _: () = assert!(ETHERNET + IPV4 + TCP + 40 <= super::HEADERS_SNAP_LEN as usize);
