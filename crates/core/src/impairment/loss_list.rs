//! Loss by list: drops exactly the listed packets, for tests and for the traces of papers.

use crate::packet::{Kind, Packet};
use serde::{Deserialize, Serialize};

/// Which packets count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListedPackets {
    /// Packets with payload. SYNs and pure ACKs do not count.
    #[default]
    Data,
    /// Every packet, the SYN first.
    All,
}

/// Packets counted from 1 as they arrive, retransmissions included.
#[derive(Clone, Debug)]
pub struct LossList {
    /// Packets still to be dropped, in descending order.
    remaining: Vec<u64>,
    count: u64,
    of: ListedPackets,
}

impl LossList {
    /// In any order; a repeated number is one loss.
    pub fn new(mut packets: Vec<u64>, of: ListedPackets) -> LossList {
        packets.sort_unstable_by(|a, b| b.cmp(a));
        packets.dedup();
        // Packet number 0 does not exist, and would block the others.
        packets.retain(|&number| number > 0);
        LossList { remaining: packets, count: 0, of }
    }

    pub fn loses(&mut self, packet: &Packet) -> bool {
        if self.of == ListedPackets::Data && !packet.kind.has(Kind::DATA) {
            return false;
        }
        self.count += 1;
        self.remaining.pop_if(|&mut next| next == self.count).is_some()
    }
}
