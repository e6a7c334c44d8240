//! Tunnels over hops of a link.

use crate::flow::HopNames;
use crate::values::Bytes;
use crate::{Keys, words};
use ackclock_core::link::{TunnelConfig, TunnelKind};

words!(TunnelKind {
    "wireguard" => TunnelKind::Wireguard,
    "openvpn-udp" => TunnelKind::OpenvpnUdp,
    "ipsec-esp" => TunnelKind::IpsecEsp,
    "gre" => TunnelKind::Gre,
    "vxlan" => TunnelKind::Vxlan,
});

/// A tunnel over consecutive hops: everything that crosses them travels in packets of one flow, which are
/// longer by the headers of its kind. Queues on its hops see one flow and no ACKs.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Tunnel {
    /// What adds the headers: `wireguard` 60 B and padding, `openvpn-udp` 52 B, `ipsec-esp` 54 B and padding,
    /// `gre` 24 B, `vxlan` 50 B.
    #[key(example = "wireguard")]
    pub kind: TunnelKind,
    /// Names of consecutive hops that the tunnel crosses; no other tunnel crosses them.
    #[key(example = vec![crate::value::Value::from("dsl")], unit = "names")]
    pub over: HopNames,
    /// Maximum length of an IP packet inside, to which the entry holds its senders.
    #[key(
        example = "1380 B",
        min = "68 B",
        max = "65535 B",
        allowed = "a size from \"68 B\" to \"65535 B\"",
        absent = "1500 B without the headers; of wireguard 1420 B"
    )]
    pub mtu: Option<Bytes>,
    /// Packets of the tunnel must not be divided on its hops.
    #[key(example = true, absent = "true for gre and ipsec-esp, false for the others")]
    pub df: Option<bool>,
}

impl Tunnel {
    pub fn config(&self) -> TunnelConfig {
        let kind = self.kind;
        TunnelConfig {
            kind,
            mtu: self.mtu.map_or(kind.default_mtu(), |mtu| mtu.0 as u16),
            df: self.df.unwrap_or(kind.default_df()),
        }
    }
}
