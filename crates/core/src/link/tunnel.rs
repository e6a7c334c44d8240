//! Tunnels: packets of all flows travel in packets of one. Queues see one flow and no TCP, each packet is
//! longer by the headers, and its ECN field is copied in and combined on the way out (RFC 6040).

use crate::config_check::{Checked, ensure};
use crate::element::{Element, Output, Port};
use crate::host::Reassembler;
use crate::link::MIN_MTU;
use crate::packet::{Body, Ecn, Encapsulated, Kind, Packet};
use crate::units::Time;
use crate::view::TcpEdit;
use serde::{Deserialize, Serialize};

macro_rules! tunnel_kinds {
    ($($kind:ident => $name:literal, $summary:literal, $source:literal;)*) => {
        /// What adds the headers.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
        pub enum TunnelKind { $(#[serde(rename = $name)] $kind),* }

        impl TunnelKind {
            pub const ALL: &'static [TunnelKind] = &[$(TunnelKind::$kind),*];

            pub fn name(self) -> &'static str { match self { $(TunnelKind::$kind => $name),* } }
            pub fn summary(self) -> &'static str { match self { $(TunnelKind::$kind => $summary),* } }
            pub fn source(self) -> &'static str { match self { $(TunnelKind::$kind => $source),* } }
        }
    };
}

tunnel_kinds! {
    Wireguard => "wireguard", "60 B, and padding to 16 B up to the MTU",
        "Donenfeld 2017, section 5.4.6: IPv4 20, UDP 8, type and receiver 8, counter 8, tag 16";
    OpenvpnUdp => "openvpn-udp", "52 B over UDP with AES-256-GCM; ECN is not copied",
        "OpenVPN's protocol, P_DATA_V2: IPv4 20, UDP 8, opcode and peer 4, packet number 4, tag 16";
    IpsecEsp => "ipsec-esp", "54 B and padding to 4 B: ESP in tunnel mode with AES-GCM",
        "RFC 4303, section 2; RFC 4106: IPv4 20, SPI and sequence number 8, IV 8, trailer 2, ICV 16";
    Gre => "gre", "24 B, without key and checksum", "RFC 2784: IPv4 20, GRE 4";
    Vxlan => "vxlan", "50 B", "RFC 7348, section 5: IPv4 20, UDP 8, VXLAN 8, inner Ethernet 14";
}

/// The MTU of a path of Ethernet.
const ETHERNET: u16 = 1500;

impl TunnelKind {
    /// Length of the packet around one of `inner` bytes, in a tunnel with this MTU.
    pub fn outer_len(self, inner: u16, mtu: u16) -> u16 {
        match self {
            TunnelKind::Wireguard => inner.next_multiple_of(16).min(mtu.max(inner)).saturating_add(60),
            TunnelKind::OpenvpnUdp => inner.saturating_add(52),
            TunnelKind::IpsecEsp => (inner.saturating_add(2)).next_multiple_of(4).saturating_add(52),
            TunnelKind::Gre => inner.saturating_add(24),
            TunnelKind::Vxlan => inner.saturating_add(50),
        }
    }

    /// The longest packet that fits one of 1500 bytes; of WireGuard also over IPv6 (wg-quick(8)).
    pub fn default_mtu(self) -> u16 {
        match self {
            TunnelKind::Wireguard => ETHERNET - 80,
            TunnelKind::OpenvpnUdp => ETHERNET - 52,
            TunnelKind::IpsecEsp => 1446,
            TunnelKind::Gre => ETHERNET - 24,
            TunnelKind::Vxlan => ETHERNET - 50,
        }
    }

    /// Packets of the tunnel have "don't fragment", as Linux's do by default (ip-link(8), ip-tunnel(8)).
    pub fn default_df(self) -> bool {
        matches!(self, TunnelKind::Gre | TunnelKind::IpsecEsp)
    }

    /// The ends follow RFC 6040; a program in user space does not see the field.
    fn copies_ecn(self) -> bool {
        self != TunnelKind::OpenvpnUdp
    }
}

/// With the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct TunnelConfig {
    pub kind: TunnelKind,
    /// IP length of the longest packet inside.
    pub mtu: u16,
    /// Packets of the tunnel must not be fragmented.
    pub df: bool,
}

impl TunnelConfig {
    pub fn check(&self) -> Checked {
        ensure(self.mtu >= MIN_MTU, || format!("mtu is {} bytes: at least {MIN_MTU} (RFC 791)", self.mtu))
    }

    fn outer_len(&self, inner: u16) -> u16 {
        self.kind.outer_len(inner, self.mtu)
    }

    /// The longest packet inside where one of the tunnel has at most `outer` bytes.
    pub fn inner_mtu(&self, outer: u16) -> u16 {
        (0..=outer.min(self.mtu)).rev().find(|&inner| self.outer_len(inner) <= outer).unwrap_or(0)
    }
}

/// The end of a tunnel where packets enter.
pub struct TunnelEntry {
    config: TunnelConfig,
    number: u32,
}

impl TunnelEntry {
    /// `number`: that of the tunnel.
    pub fn new(config: TunnelConfig, number: u32) -> TunnelEntry {
        TunnelEntry { config, number }
    }
}

impl Element for TunnelEntry {
    fn push(&mut self, _now: Time, _port: Port, mut packet: Packet, out: &mut Output<'_>) {
        let Packet { len, kind, ecn, .. } = packet;
        let (config, tunnel) = (self.config, self.number);
        packet.body = out
            .arena
            .wrap(packet.body, |inner| Body::Encapsulated(Box::new(Encapsulated { tunnel, config, inner, len, kind, ecn })));
        packet.len = config.outer_len(len);
        packet.wire_len = packet.len;
        packet.kind = Kind::DATA;
        packet.ecn = if config.kind.copies_ecn() { ecn } else { Ecn::NotEct };
        out.forward(Port(0), packet);
    }

    fn wake(&mut self, _now: Time, _out: &mut Output<'_>) {}

    fn due(&self) -> Time {
        Time::NEVER
    }

    fn occupancy(&self) -> u64 {
        0
    }
}

/// The end of a tunnel where packets leave. It puts fragments of the tunnel's packets together.
pub struct TunnelExit {
    number: u32,
    fragments: Reassembler,
}

impl TunnelExit {
    pub fn new(number: u32) -> TunnelExit {
        TunnelExit { number, fragments: Reassembler::default() }
    }

    /// What a packet carries; none if it is not of this tunnel.
    fn open(&self, packet: &Packet, out: &mut Output<'_>) -> Option<Packet> {
        if !matches!(out.arena.get(packet.body), Body::Encapsulated(outer) if outer.tunnel == self.number) {
            return None;
        }
        let mut inner = out.arena.take_inner(packet)?;
        let combined = combined_ecn(inner.ecn, packet.ecn);
        if combined != inner.ecn {
            out.edit(&mut inner, &TcpEdit::ecn(combined));
        }
        Some(inner)
    }
}

/// RFC 6040, figure 4. The outer field of packets that are not ECN-capable is never marked.
fn combined_ecn(inner: Ecn, outer: Ecn) -> Ecn {
    match (inner, outer) {
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => Ecn::Ce,
        (Ecn::Ect0, Ecn::Ect1) => Ecn::Ect1,
        _ => inner,
    }
}

impl Element for TunnelExit {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        let own = matches!(out.arena.get(packet.body), Body::Fragment(fragment)
            if matches!(&fragment.body, Body::Encapsulated(outer) if outer.tunnel == self.number));
        let whole = if own { self.fragments.take(now, packet, out) } else { Some(packet) };
        let Some(whole) = whole else { return };
        let inner = self.open(&whole, out).unwrap_or(whole);
        out.forward(Port(0), inner);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.fragments.expire(now, out);
    }

    fn due(&self) -> Time {
        self.fragments.due()
    }

    fn occupancy(&self) -> u64 {
        self.fragments.occupancy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnel_adds_the_bytes_of_its_standard() {
        let lens = |kind: TunnelKind| [40, 52, 1000, 1420].map(|inner| kind.outer_len(inner, 1420) - inner);
        // To 48, 64, 1008 B; 1420 B is the MTU, and not padded.
        assert_eq!(lens(TunnelKind::Wireguard), [68, 72, 68, 60]);
        assert_eq!(lens(TunnelKind::OpenvpnUdp), [52; 4]);
        // With 2 B of trailer: 42 to 44, 54 to 56, 1002 to 1004, 1422 to 1424.
        assert_eq!(lens(TunnelKind::IpsecEsp), [56; 4]);
        assert_eq!(TunnelKind::IpsecEsp.outer_len(42, 1420) - 42, 54);
        assert_eq!(lens(TunnelKind::Gre), [24; 4]);
        assert_eq!(lens(TunnelKind::Vxlan), [50; 4]);
        assert_eq!(TunnelKind::IpsecEsp.outer_len(1446, 1446), 1500);
    }

    #[test]
    fn longest_packet_inside_fits_the_path() {
        for &kind in TunnelKind::ALL {
            let config = TunnelConfig { kind, mtu: 1500, df: true };
            for outer in 128..1500 {
                let inner = config.inner_mtu(outer);
                assert!(config.outer_len(inner) <= outer && config.outer_len(inner + 1) > outer, "{kind:?} {outer}");
            }
            let default = TunnelConfig { mtu: kind.default_mtu(), ..config };
            assert!(default.outer_len(default.mtu) <= 1500);
        }
    }

    #[test]
    fn marks_of_the_tunnel_reach_the_packet_that_it_carries() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        let rows = [
            // RFC 6040 drops a packet with CE around it; no queue marks what is not ECN-capable.
            (NotEct, [NotEct, NotEct, NotEct]),
            (Ect0, [Ect0, Ect1, Ce]),
            (Ect1, [Ect1, Ect1, Ce]),
            (Ce, [Ce, Ce, Ce]),
        ];
        for (inner, expected) in rows {
            assert_eq!([NotEct, Ect1, Ce].map(|outer| combined_ecn(inner, outer)), expected, "{inner:?}");
        }
    }
}
