//! The headers before a segment or a datagram, as the decoder finds them: which tunnels a packet is in and
//! what they cost, and the protocol at which decoding ended.

use super::Skip;
use super::protocol::Protocol;

/// Maximum number of headers that are kept of one packet; more are decoded and not kept.
const MAX_LAYERS: usize = 20;

/// A header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Destination, source, EtherType or length.
    Ethernet,
    /// IEEE 802.11 data, with this number of addresses (3 or 4).
    Wifi(u8),
    Ipv4,
    Ipv6,
    Tcp,
    Udp,
    Tunnel(Tunnel),
}

/// What carries packets of another network, and adds its header to each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tunnel {
    /// RFC 2516.
    Pppoe,
    /// IPv4 or IPv6 in IPv4 or IPv6 (RFC 2003, 2473, 4213).
    IpInIp,
    /// RFC 2784, with an IP packet or an Ethernet frame.
    Gre,
    /// RFC 8086.
    GreInUdp,
    /// 3GPP TS 29.281.
    GtpU,
    /// RFC 7348.
    Vxlan,
    /// RFC 8926.
    Geneve,
    /// RFC 2661, with PPP.
    L2tp,
    /// draft-foschiano-erspan: types I, II, III.
    Erspan(u8),
}

impl Tunnel {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Tunnel::Pppoe => "PPPoE",
            Tunnel::IpInIp => "IP in IP",
            Tunnel::Gre => "GRE",
            Tunnel::GreInUdp => "GRE in UDP",
            Tunnel::GtpU => "GTP-U",
            Tunnel::Vxlan => "VXLAN",
            Tunnel::Geneve => "Geneve",
            Tunnel::L2tp => "L2TPv2",
            Tunnel::Erspan(1) => "ERSPAN I",
            Tunnel::Erspan(2) => "ERSPAN II",
            Tunnel::Erspan(_) => "ERSPAN III",
        }
    }
}

/// The headers of one packet, outermost first, with their offsets in the record.
#[derive(Debug, Clone, Copy)]
pub struct Layers {
    list: [(Layer, u32); MAX_LAYERS],
    count: u8,
    has_tunnel: bool,
    /// The packet around a tunnel is a fragment, the first one.
    pub is_fragmented: bool,
    /// The protocol that is not decoded.
    pub ended_at: Option<Protocol>,
    /// Offset of the first byte that no header before it needs, where decoding ended.
    pub end: u32,
}

impl Default for Layers {
    #[inline]
    fn default() -> Layers {
        Layers { list: [(Layer::Udp, 0); MAX_LAYERS], count: 0, has_tunnel: false, is_fragmented: false, ended_at: None, end: 0 }
    }
}

impl Layers {
    #[inline]
    pub fn add(&mut self, layer: Layer, at: usize) {
        if let Some(free) = self.list.get_mut(usize::from(self.count)) {
            *free = (layer, at as u32);
            self.count += 1;
            self.has_tunnel |= matches!(layer, Layer::Tunnel(_));
        }
    }

    /// Ends decoding at a protocol that is not decoded, for this reason; `at` is its offset.
    pub fn end(&mut self, protocol: Protocol, at: usize, skip: Skip) -> Skip {
        self.ended_at = Some(protocol);
        self.end = at as u32;
        skip
    }

    /// All headers that are kept.
    pub fn list(&self) -> &[(Layer, u32)] {
        &self.list[..usize::from(self.count)]
    }

    /// Forgets the headers from this number on: what looked like a tunnel was none.
    pub fn truncate(&mut self, count: usize) {
        self.count = count as u8;
        let has_tunnel = self.tunnels().next().is_some();
        self.has_tunnel = has_tunnel;
        self.ended_at = None;
    }

    /// The tunnels, outermost first.
    pub fn tunnels(&self) -> impl Iterator<Item = Tunnel> + '_ {
        self.list().iter().filter_map(|(layer, _)| if let Layer::Tunnel(tunnel) = layer { Some(*tunnel) } else { None })
    }

    #[inline]
    pub fn has_tunnel(&self) -> bool {
        self.has_tunnel
    }

    /// Bytes of headers that the tunnels add to the innermost IP packet: from the outermost IP header, or
    /// from PPPoE's if that is outside of all IP. None without an IP packet in a tunnel.
    pub fn overhead(&self) -> Option<u32> {
        let is_ip = |layer: &Layer| matches!(layer, Layer::Ipv4 | Layer::Ipv6);
        let is_outer = |layer: &Layer| is_ip(layer) || matches!(layer, Layer::Tunnel(Tunnel::Pppoe));
        let outer = self.list().iter().find(|(layer, _)| is_outer(layer))?.1;
        let inner = self.list().iter().rfind(|(layer, _)| is_ip(layer))?.1;
        (self.has_tunnel && inner > outer).then_some(inner - outer)
    }
}
