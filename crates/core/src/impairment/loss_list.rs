//! Losses by list: exactly these packets, so that a test or a paper's trace can say which.

use crate::packet::{Kind, Packet};

/// Numbers of data packets, counted from 1 at the first one that comes by; retransmissions count, SYNs and pure ACKs do not.
#[derive(Clone, Debug)]
pub struct LossList {
    /// What is still to be lost, the next one last.
    ahead: Vec<u64>,
    seen: u64,
}

impl LossList {
    /// In any order; a number given twice is one loss.
    pub fn new(mut packets: Vec<u64>) -> LossList {
        packets.sort_unstable_by(|a, b| b.cmp(a));
        packets.dedup();
        // No packet has the number 0, and waiting for it would hide the others.
        packets.retain(|&number| number > 0);
        LossList { ahead: packets, seen: 0 }
    }

    pub fn loses(&mut self, packet: &Packet) -> bool {
        if !packet.kind.has(Kind::DATA) {
            return false;
        }
        self.seen += 1;
        self.ahead.pop_if(|&mut next| next == self.seen).is_some()
    }
}
