//! Tunnels, and what was not decoded.

use crate::analyze::{Encapsulation, TunnelUse};
use ackclock_contract::Document;
use serde::Serialize;

/// MTU of Ethernet, in bytes of IP.
const ETHERNET_MTU: u32 = 1500;
/// Maximum number of kinds that are listed; the last line sums up the others.
const MAX_LISTED: usize = 32;

/// Packets of one protocol in which no TCP and no UDP was reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Document)]
pub struct NotDecodedReport {
    /// As Wireshark names it: `ESP`, `802.11 protected data`, `link type 147`.
    pub kind: String,
    pub packets: u64,
    /// False for what hosts and switches send for themselves: ARP, ICMP, spanning tree, beacons.
    pub carries_data: bool,
}

/// Packets with TCP or UDP in a tunnel, or in tunnels within each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Document)]
pub struct TunnelReport {
    /// Outermost first: `GTP-U`, `IP in IP / VXLAN`.
    pub kind: String,
    pub packets: u64,
    /// Headers before the inner IP packet, from the outer IP header (or PPPoE's) on.
    pub min_overhead_bytes: u32,
    pub max_overhead_bytes: u32,
    /// Largest inner IP packet; with offloads it may be a super-segment.
    pub largest_inner_bytes: u32,
    /// Largest inner IP packet that an outer MTU of 1500 bytes carries, at the largest overhead.
    pub inner_mtu_bytes: u32,
    /// Packets in fragments of the outer packet: the inner MTU is too large for the path.
    pub fragmented_packets: u64,
}

impl NotDecodedReport {
    /// Those with most packets first.
    pub(super) fn all(encapsulation: &Encapsulation) -> Vec<NotDecodedReport> {
        let all = encapsulation.not_decoded();
        let mut listed: Vec<NotDecodedReport> = all
            .iter()
            .take(MAX_LISTED)
            .map(|(protocol, packets)| NotDecodedReport {
                kind: protocol.to_string(),
                packets: *packets,
                carries_data: !protocol.is_control(),
            })
            .collect();
        let others = all.iter().skip(MAX_LISTED).map(|(_, packets)| packets).sum::<u64>() + encapsulation.other_kinds();
        if others > 0 {
            listed.push(NotDecodedReport { kind: "other".into(), packets: others, carries_data: true });
        }
        listed
    }
}

impl TunnelReport {
    /// Those with most packets first.
    pub(super) fn all(encapsulation: &Encapsulation) -> Vec<TunnelReport> {
        encapsulation.tunnels().iter().take(MAX_LISTED).map(TunnelReport::of).collect()
    }

    fn of(tunnel: &TunnelUse) -> TunnelReport {
        TunnelReport {
            kind: tunnel.tunnels().map(|tunnel| tunnel.name()).collect::<Vec<_>>().join(" / "),
            packets: tunnel.packets,
            min_overhead_bytes: tunnel.min_overhead,
            max_overhead_bytes: tunnel.max_overhead,
            largest_inner_bytes: tunnel.largest_inner,
            inner_mtu_bytes: ETHERNET_MTU.saturating_sub(tunnel.max_overhead),
            fragmented_packets: tunnel.fragmented,
        }
    }
}
