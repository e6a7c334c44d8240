//! What the packets of a capture are wrapped in: tunnels with their overhead, and the protocols that are not
//! decoded, so that a capture without a flow says why.

use crate::decode::{Decoded, Layers, Protocol, Skip, Tunnel};
use std::collections::BTreeMap;

/// Maximum number of tunnels within each other that are distinguished.
const MAX_DEPTH: usize = 4;
/// Maximum number of kinds that are counted one by one: a damaged capture has any number.
const MAX_KINDS: usize = 4096;

/// Counts of a capture.
#[derive(Debug, Default)]
pub struct Encapsulation {
    /// By the tunnels of a packet, outermost first.
    tunnels: Vec<TunnelUse>,
    not_decoded: BTreeMap<Protocol, u64>,
    /// Packets of further kinds.
    other_kinds: u64,
}

/// The packets in one tunnel, or in tunnels within each other. Lengths are in bytes.
#[derive(Debug, Clone, Copy)]
pub struct TunnelUse {
    stack: [Option<Tunnel>; MAX_DEPTH],
    /// With TCP or UDP in them.
    pub packets: u64,
    /// Headers before the innermost IP packet, from the outermost IP header (or PPPoE's) on.
    pub min_overhead: u32,
    pub max_overhead: u32,
    /// The largest innermost IP packet.
    pub largest_inner: u32,
    /// Packets that the tunnel's sender divided: the outer MTU is smaller than tunnel and packet.
    pub fragmented: u64,
}

impl TunnelUse {
    /// Outermost first.
    pub fn tunnels(&self) -> impl Iterator<Item = Tunnel> + '_ {
        self.stack.iter().flatten().copied()
    }
}

impl Encapsulation {
    #[inline]
    pub(super) fn add(&mut self, decoded: &Result<Decoded<'_>, Skip>, layers: &Layers) {
        if let (Err(_), Some(protocol)) = (decoded, layers.ended_at) {
            self.add_not_decoded(protocol);
        } else if layers.has_tunnel() {
            self.add_tunnel(decoded, layers);
        }
    }

    #[inline(never)]
    fn add_not_decoded(&mut self, protocol: Protocol) {
        if let Some(count) = self.not_decoded.get_mut(&protocol) {
            *count += 1;
        } else if self.not_decoded.len() < MAX_KINDS {
            self.not_decoded.insert(protocol, 1);
        } else {
            self.other_kinds += 1;
        }
    }

    #[inline(never)]
    fn add_tunnel(&mut self, decoded: &Result<Decoded<'_>, Skip>, layers: &Layers) {
        let inner = match decoded {
            Ok(Decoded::Segment(segment)) => segment.ip_len,
            Ok(Decoded::Datagram(datagram)) => datagram.ip_len,
            Ok(Decoded::Fragment(ip, _)) => ip.total_len,
            Err(_) => return,
        };
        let Some(overhead) = layers.overhead() else { return };
        let mut stack = [None; MAX_DEPTH];
        stack.iter_mut().zip(layers.tunnels()).for_each(|(place, tunnel)| *place = Some(tunnel));
        if let Some(known) = self.tunnels.iter_mut().find(|known| known.stack == stack) {
            known.packets += 1;
            known.min_overhead = known.min_overhead.min(overhead);
            known.max_overhead = known.max_overhead.max(overhead);
            known.largest_inner = known.largest_inner.max(inner);
            known.fragmented += u64::from(layers.is_fragmented);
        } else if self.tunnels.len() < MAX_KINDS {
            self.tunnels.push(TunnelUse {
                stack,
                packets: 1,
                min_overhead: overhead,
                max_overhead: overhead,
                largest_inner: inner,
                fragmented: u64::from(layers.is_fragmented),
            });
        }
    }

    /// The tunnels, those with most packets first.
    pub fn tunnels(&self) -> Vec<TunnelUse> {
        let mut all = self.tunnels.clone();
        all.sort_by(|a, b| b.packets.cmp(&a.packets).then(a.stack.cmp(&b.stack)));
        all
    }

    /// The protocols that were not decoded with their packets, those with most first.
    pub fn not_decoded(&self) -> Vec<(Protocol, u64)> {
        let mut all: Vec<(Protocol, u64)> = self.not_decoded.iter().map(|(&protocol, &packets)| (protocol, packets)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        all
    }

    /// Packets of kinds beyond the maximum number that is counted one by one.
    pub fn other_kinds(&self) -> u64 {
        self.other_kinds
    }

    /// Heap memory in bytes, roughly.
    pub(super) fn memory(&self) -> usize {
        self.tunnels.capacity() * size_of::<TunnelUse>() + self.not_decoded.len() * 2 * size_of::<(Protocol, u64)>()
    }
}
