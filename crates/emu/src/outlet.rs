//! What comes out of the network for real hosts: noted with the time for which it was planned, and sent as soon as the loop is back.

use crate::gate::{Batch, Gate};
use ackclock_core::Time;
use ackclock_core::network::EndpointId;
use ackclock_core::packet::{Body, Packet};
use ackclock_core::probe::Probe;

/// A probe that takes packets out where they reach an end that a real host plays.
pub struct Outlet {
    /// By endpoint: the gate behind it.
    gate_of: Vec<Option<u32>>,
    batches: Vec<Batch>,
    /// Gates with something to send.
    filled: Vec<u32>,
    planned: Vec<Time>,
    /// Packets that no gate could send, as they were none.
    pub unreal: u64,
}

impl Outlet {
    pub fn new(gate_of: Vec<Option<u32>>, gates: usize) -> Outlet {
        let batches = (0..gates).map(|_| Batch::default()).collect();
        Outlet { gate_of, batches, filled: Vec::new(), planned: Vec::new(), unreal: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.filled.is_empty()
    }

    /// Sends all that has come out; gives how many packets were lost, and when each was to leave.
    pub fn flush(&mut self, gates: &[Gate]) -> (u64, std::vec::Drain<'_, Time>) {
        let mut lost = 0;
        for gate in self.filled.drain(..) {
            lost += gates[gate as usize].send(&mut self.batches[gate as usize]);
        }
        (lost, self.planned.drain(..))
    }
}

impl Probe for Outlet {
    fn received(&mut self, now: Time, by: EndpointId, _packet: &Packet, body: &Body) {
        let Some(gate) = self.gate_of.get(by.0 as usize).copied().flatten() else { return };
        let Body::Raw(bytes) = body else {
            self.unreal += 1;
            return;
        };
        let batch = &mut self.batches[gate as usize];
        if batch.is_empty() {
            self.filled.push(gate);
        }
        batch.push(bytes);
        self.planned.push(now);
    }
}
