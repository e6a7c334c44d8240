//! Access to TCP headers for elements on the path, for simulated and real packets alike.

mod edit;
mod icmp;
mod raw;

pub use edit::TcpEdit;

use crate::packet::{Arena, Body, Ecn, Encapsulated, Flags, Kind, Packet, RareOption, SackBlocks, Segment, Timestamps};

/// Connection and direction of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Connection {
    /// Flow number of a simulated connection.
    Simulated(u32),
    /// IPv4 addresses are IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2).
    Real { from: [u8; 16], to: [u8; 16], ports: (u16, u16) },
}

/// A TCP segment as an element on the path sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpView {
    pub connection: Connection,
    /// The low 32 bits, as on the wire.
    pub seq: u32,
    pub ack: u32,
    /// In bytes.
    pub payload: u32,
    /// The field as carried: unscaled in real packets, bytes in simulated ones. Comparable within a
    /// connection.
    pub window: u32,
    pub flags: Flags,
    pub sack: SackBlocks,
    pub timestamps: Option<Timestamps>,
    /// An option other than those of RFC 9293, RFC 7323 and RFC 2018 is present.
    pub other_options: bool,
    /// The three reserved bits after the data offset.
    pub reserved: u8,
    pub ecn: Ecn,
    /// `None` in IPv6.
    pub ip_id: Option<u16>,
}

impl TcpView {
    /// Parses a real packet, from its IP header on.
    pub fn of_bytes(bytes: &[u8]) -> Option<TcpView> {
        raw::tcp(bytes)
    }

    /// ACK without payload, SYN, FIN, RST and URG.
    pub fn is_pure_ack(&self) -> bool {
        let control = Flags::SYN.with(Flags::FIN).with(Flags::RST).with(URGENT);
        self.payload == 0 && self.flags.has(Flags::ACK) && !self.flags.any(control)
    }

    pub fn ports(&self) -> Option<(u16, u16)> {
        match self.connection {
            Connection::Simulated(_) => None,
            Connection::Real { ports, .. } => Some(ports),
        }
    }

    /// The packet kind of such a body.
    pub fn kind(&self) -> Kind {
        Segment { payload: self.payload, flags: self.flags, ..Segment::default() }.kind()
    }
}

/// The URG flag (RFC 9293, section 3.1).
const URGENT: Flags = Flags(32);

/// True if sequence number `a` is after `b` (RFC 9293, section 3.4).
pub fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl Arena {
    /// A packet's TCP header; `None` without TCP, for fragments and for malformed headers.
    pub fn tcp(&self, packet: &Packet) -> Option<TcpView> {
        match self.get(packet.body) {
            Body::Segment(segment) => Some(view_of(segment, packet)),
            Body::Raw(bytes) => raw::tcp(bytes),
            _ => None,
        }
    }

    /// A real packet of IPv6; simulated packets are IPv4.
    pub fn is_ipv6(&self, packet: &Packet) -> bool {
        matches!(self.get(packet.body), Body::Raw(bytes) if bytes.first().is_some_and(|first| first >> 4 == 6))
    }

    /// A router may divide the packet: TCP sends with "don't fragment" until a report has a tiny MTU,
    /// IPv6 is never divided.
    pub fn may_fragment(&self, packet: &Packet) -> bool {
        match self.get(packet.body) {
            Body::Segment(_) => packet.kind.has(Kind::DIVISIBLE),
            // QUIC sets "don't fragment" (RFC 9000, section 14).
            Body::TooBig(_) | Body::Udp(_) => false,
            Body::Datagram(_) | Body::Fragment(_) => true,
            Body::Encapsulated(outer) => !outer.config.df,
            Body::Raw(bytes) => raw::may_fragment(bytes),
        }
    }

    /// A hash of the packet's flow, keyed by `salt`.
    pub fn flow_hash(&self, packet: &Packet, salt: u64) -> u64 {
        let bytes = match self.get(packet.body) {
            Body::Raw(bytes) => raw::flow(bytes),
            Body::Encapsulated(outer) => return hash(salt, &tunnel_key(outer)),
            Body::Fragment(fragment) => {
                if let Body::Encapsulated(outer) = &fragment.body {
                    return hash(salt, &tunnel_key(outer));
                }
                None
            }
            _ => None,
        };
        bytes.map_or_else(|| hash(salt, &packet.flow.to_le_bytes()), |flow| hash(salt, &flow))
    }

    /// Source and destination host. A real packet has addresses; a simulated one has a server of
    /// its own and its client's host, in this order in both directions, if the arena knows the host.
    pub fn addresses(&self, packet: &Packet) -> Option<([u8; 16], [u8; 16])> {
        match self.get(packet.body) {
            Body::Raw(bytes) => raw::Ip::read(bytes).map(|ip| (ip.from, ip.to)),
            Body::Encapsulated(outer) => Some((simulated_address(b't', outer.tunnel), simulated_address(b'u', outer.tunnel))),
            _ => {
                let client = self.client_host_of(packet.flow)?;
                Some((simulated_address(b's', packet.flow), simulated_address(b'c', client)))
            }
        }
    }
}

/// All packets of a tunnel are of one flow.
fn tunnel_key(outer: &Encapsulated) -> [u8; 5] {
    let [a, b, c, d] = outer.tunnel.to_le_bytes();
    [b't', a, b, c, d]
}

/// An address for a simulated host.
fn simulated_address(kind: u8, number: u32) -> [u8; 16] {
    let mut address = [0; 16];
    address[0] = kind;
    address[12..].copy_from_slice(&number.to_be_bytes());
    address
}

fn view_of(segment: &Segment, packet: &Packet) -> TcpView {
    TcpView {
        connection: Connection::Simulated(packet.flow),
        seq: segment.seq as u32,
        ack: segment.ack as u32,
        payload: segment.payload,
        window: segment.window,
        flags: segment.flags,
        sack: segment.sack,
        timestamps: segment.timestamps,
        other_options: segment.rare_option != RareOption::None,
        reserved: if segment.dupacks_seen { edit::DUPACKS_SEEN } else { 0 },
        ecn: packet.ecn,
        // As in captures of simulated packets.
        ip_id: Some(packet.id as u16),
    }
}

/// FNV-1a over salt and bytes with a final mix, so that similar flows fall into distant buckets.
pub fn hash(salt: u64, bytes: &[u8]) -> u64 {
    let fold = |h: u64, &b: &u8| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3);
    let sum = salt.to_le_bytes().iter().chain(bytes).fold(0xcbf2_9ce4_8422_2325, fold);
    let mixed = (sum ^ sum >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 31
}
