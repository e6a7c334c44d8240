//! Packets that the network delivers to real hosts: queued per port with their due time until
//! the bridge transmits.

use crate::af_packet::TxBatch;
use crate::port::PacketPort;
use crate::tx_thread::TxThread;
use ackclock_core::Time;
use ackclock_core::network::EndpointId;
use ackclock_core::packet::Body;

/// The real host that an endpoint of the network stands for.
#[derive(Debug, Clone, Copy)]
pub struct RealHost {
    pub port: u32,
    /// The live client whose link the host uses; the server has one endpoint per client.
    pub client: u32,
}

/// A packet that has left the network.
#[derive(Debug, Clone, Copy)]
pub struct DeliveredPacket {
    pub id: u64,
    pub due: Time,
    pub bytes: u32,
    pub host: RealHost,
}

pub struct Egress {
    /// By endpoint; none for simulated endpoints.
    hosts: Vec<Option<RealHost>>,
    /// By port.
    batches: Vec<TxBatch>,
    /// Ports whose batch is not empty.
    pending: Vec<u32>,
    delivered: Vec<DeliveredPacket>,
    pub tx_thread: Option<TxThread>,
    /// Packets of simulated traffic, which have no bytes to send.
    pub without_bytes: u64,
}

impl Egress {
    pub fn new(hosts: Vec<Option<RealHost>>, ports: usize) -> Egress {
        let batches = (0..ports).map(|_| TxBatch::default()).collect();
        Egress { hosts, batches, pending: Vec::new(), delivered: Vec::new(), tx_thread: None, without_bytes: 0 }
    }

    #[inline]
    pub fn host(&self, endpoint: EndpointId) -> Option<RealHost> {
        self.hosts.get(endpoint.0 as usize).copied().flatten()
    }

    /// Number of queued packets.
    pub fn len(&self) -> usize {
        self.delivered.len()
    }

    /// Queues a packet that the network has delivered to a real host at `now`.
    #[inline]
    pub fn push(&mut self, now: Time, host: RealHost, id: u64, body: &Body) {
        let Body::Raw(bytes) = body else {
            self.without_bytes += 1;
            return;
        };
        let batch = &mut self.batches[host.port as usize];
        if batch.is_empty() {
            self.pending.push(host.port);
        }
        batch.push(bytes);
        self.delivered.push(DeliveredPacket { id, due: now, bytes: bytes.len() as u32, host });
    }

    /// Sends all queued packets. Returns the number of packets that could not be sent, and all
    /// packets with their due times.
    pub fn flush<P: PacketPort>(&mut self, ports: &mut [P]) -> (u64, std::vec::Drain<'_, DeliveredPacket>) {
        let (pending, batches) = (&mut self.pending, &mut self.batches);
        let lost = match self.tx_thread.as_ref().filter(|thread| thread.is_worthwhile(pending.len(), self.delivered.len())) {
            Some(thread) => thread.send(pending.drain(..), batches),
            None => pending.drain(..).map(|port| ports[port as usize].send(&mut batches[port as usize])).sum(),
        };
        (lost, self.delivered.drain(..))
    }
}
