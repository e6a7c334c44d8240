//! Host queues: the sender is notified when its packets leave the queue of its first hop (TCP small
//! queues).

use super::Network;
use crate::element::{Handoff, Port};
use crate::endpoint::AnyEndpoint;
use crate::packet::Packet;
use crate::probe::Probe;

impl Network {
    /// A packet leaves host queue `number`.
    #[inline(never)]
    pub(super) fn host_dequeue<P: Probe>(&mut self, number: u32, packet: Packet, probe: &mut P) {
        self.handoffs.push(Handoff { to: self.host_queues[number as usize].next, port: Port(0), packet });
        self.notify_sender(number, packet, probe);
    }

    /// Host queue `number` has dropped a packet.
    #[inline(never)]
    pub(super) fn host_drop<P: Probe>(&mut self, number: u32, packet: Packet, probe: &mut P) {
        self.notify_sender(number, packet, probe);
        self.arena.release(packet.body);
    }

    fn notify_sender<P: Probe>(&mut self, number: u32, packet: Packet, probe: &mut P) {
        let senders = &self.host_queues[number as usize].senders;
        let Some(&Some(sender)) = senders.get(packet.flow as usize) else { return };
        let slot = sender.0 as usize;
        if let AnyEndpoint::Tcp(end) = &mut self.endpoints[slot].endpoint {
            end.on_host_dequeue(self.arena.get(packet.body));
            let moves = self.drain(slot, false, probe);
            self.defer(moves);
        }
    }
}
