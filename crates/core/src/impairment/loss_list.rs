//! Loss by list: drops exactly the listed packets, for tests and for the traces of papers.

use crate::packet::{Kind, Packet};

/// Data packets counted from 1 as they arrive, retransmissions included; SYNs and pure ACKs do not
/// count.
#[derive(Clone, Debug)]
pub struct LossList {
    /// Packets still to be dropped, in descending order.
    remaining: Vec<u64>,
    count: u64,
}

impl LossList {
    /// In any order; a repeated number is one loss.
    pub fn new(mut packets: Vec<u64>) -> LossList {
        packets.sort_unstable_by(|a, b| b.cmp(a));
        packets.dedup();
        // Packet number 0 does not exist, and would block the others.
        packets.retain(|&number| number > 0);
        LossList { remaining: packets, count: 0 }
    }

    pub fn loses(&mut self, packet: &Packet) -> bool {
        if !packet.kind.has(Kind::DATA) {
            return false;
        }
        self.count += 1;
        self.remaining.pop_if(|&mut next| next == self.count).is_some()
    }
}
