//! Senders that hear what becomes of their packets in the first hop's queue.

use super::Network;
use crate::element::{Move, Port};
use crate::endpoint::AnyEndpoint;
use crate::packet::Packet;
use crate::probe::Probe;

impl Network {
    /// A packet leaves first hop `number`.
    #[inline(never)]
    pub(super) fn leave<P: Probe>(&mut self, number: u32, packet: Packet, probe: &mut P) {
        self.moves.push(Move { to: self.first_hops[number as usize].next, port: Port(0), packet });
        self.tell(number, packet, probe);
    }

    /// First hop `number` has dropped a packet.
    #[inline(never)]
    pub(super) fn lose<P: Probe>(&mut self, number: u32, packet: Packet, probe: &mut P) {
        self.tell(number, packet, probe);
        self.arena.release(packet.body);
    }

    fn tell<P: Probe>(&mut self, number: u32, packet: Packet, probe: &mut P) {
        let senders = &self.first_hops[number as usize].senders;
        let Some(&Some(sender)) = senders.get(packet.flow as usize) else { return };
        let host = sender.0 as usize;
        if let AnyEndpoint::Tcp(end) = &mut self.hosts[host].endpoint {
            end.on_left(self.arena.get(packet.body));
            self.drain(host, false, probe);
        }
    }
}
