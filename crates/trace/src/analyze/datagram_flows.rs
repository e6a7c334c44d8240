//! Flows of UDP datagrams: packets, bytes, times, and of QUIC the RTT that its spin bit shows. The
//! number of flows is bounded.

use super::flow_index::FlowIndex;
use super::shard::FrameRange;
use crate::decode::{BoxedKey, Datagram, EndpointAddress, Side};
use crate::metrics::RttSampleSet;

/// Maximum number of flows of one capture.
const MAX_FLOWS: usize = 1 << 16;

/// The UDP flows of a capture.
#[derive(Debug, Default)]
pub struct DatagramFlows {
    index: FlowIndex,
    flows: Vec<DatagramFlow>,
    /// Datagrams of flows beyond the maximum number.
    pub left_out: u64,
}

/// Datagrams between two ends. Arrays have the client's figures first: of the end that sent the first
/// datagram.
#[derive(Debug)]
pub struct DatagramFlow {
    key: BoxedKey,
    client: Side,
    pub first_at: i64,
    pub last_at: i64,
    pub frames: FrameRange,
    pub packets: [u64; 2],
    /// IP bytes.
    pub ip_bytes: [u64; 2],
    quic: Option<Box<QuicFlow>>,
}

/// A QUIC connection, recognized by a long header of a known version.
#[derive(Debug)]
pub struct QuicFlow {
    pub version: u32,
    /// Of the short headers of each end.
    pub spin: [SpinBit; 2],
}

/// The latency spin bit of one end's packets (RFC 9000, section 17.4): it changes once in an RTT.
#[derive(Debug, Default)]
pub struct SpinBit {
    last: Option<bool>,
    edge_at: Option<i64>,
    packets: u64,
    edges: u64,
    samples: RttSampleSet,
}

/// Versions 1 (RFC 9000) and 2 (RFC 9369); drafts of the first.
const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;
const DRAFTS: u32 = 0x00ff_0000;
/// Header form, fixed bit and spin bit (RFC 9000, section 17.3.1).
const LONG: u8 = 0x80;
const FIXED: u8 = 0x40;
const SPIN: u8 = 0x20;
/// Samples from which there is an RTT. An endpoint that does not spin may set a random bit in each packet
/// (RFC 9000, section 17.4): every second packet is then an edge. A sender of few packets in an RTT is not
/// distinguishable from it.
const MIN_SAMPLES: u64 = 3;
const MIN_PACKETS_PER_EDGE: u64 = 3;

impl DatagramFlows {
    /// Processes a datagram of the capture's packet with number `frame`; returns the number of its flow,
    /// from 0, or none if there is no room for it.
    pub fn add(&mut self, at: i64, frame: u64, datagram: &Datagram<'_>) -> Option<u32> {
        let (key, hash) = (&datagram.key, datagram.key.hash(self.index.seed()));
        let number = match self.index.find(hash, |n| self.flows[n as usize].key.is(key)) {
            Some(number) => number,
            None if self.flows.len() >= MAX_FLOWS => {
                self.left_out += 1;
                return None;
            }
            None => {
                let number = self.flows.len() as u32;
                self.flows.push(DatagramFlow {
                    key: BoxedKey::of(*key),
                    client: datagram.from,
                    first_at: at,
                    last_at: at,
                    frames: FrameRange { first: frame, last: frame },
                    packets: [0; 2],
                    ip_bytes: [0; 2],
                    quic: None,
                });
                self.index.insert(hash, number);
                number
            }
        };
        self.flows[number as usize].add(at, frame, datagram);
        Some(number)
    }

    /// In the order of their first datagrams.
    pub fn flows(&self) -> &[DatagramFlow] {
        &self.flows
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        let heap: usize = self.flows.iter().map(DatagramFlow::memory).sum();
        self.index.memory() + self.flows.capacity() * size_of::<DatagramFlow>() + heap
    }
}

impl DatagramFlow {
    /// The client's end, then the server's.
    pub fn ends(&self) -> [EndpointAddress; 2] {
        [self.client, self.client.other()].map(|side| self.key.key().endpoint(side))
    }

    /// The client's side in the key.
    pub fn client(&self) -> Side {
        self.client
    }

    pub fn quic(&self) -> Option<&QuicFlow> {
        self.quic.as_deref()
    }

    fn add(&mut self, at: i64, frame: u64, datagram: &Datagram<'_>) {
        let end = usize::from(datagram.from != self.client);
        self.last_at = self.last_at.max(at);
        self.frames.last = frame;
        self.packets[end] += 1;
        self.ip_bytes[end] += u64::from(datagram.ip_len);
        match *datagram.captured {
            [form, a, b, c, d, ..] if form & (LONG | FIXED) == LONG | FIXED && self.quic.is_none() => {
                let version = u32::from_be_bytes([a, b, c, d]);
                if version == VERSION_1 || version == VERSION_2 || version >> 8 == DRAFTS {
                    self.quic = Some(Box::new(QuicFlow { version, spin: Default::default() }));
                }
            }
            // The fixed bit may be greased once both ends know that (RFC 9287).
            [form, ..] if form & LONG == 0 => {
                if let Some(quic) = &mut self.quic {
                    quic.spin[end].add(at, form & SPIN != 0);
                }
            }
            _ => {}
        }
    }

    fn memory(&self) -> usize {
        let quic = self
            .quic
            .as_ref()
            .map_or(0, |quic| size_of::<QuicFlow>() + quic.spin.iter().map(|spin| spin.samples.memory()).sum::<usize>());
        self.key.memory() + quic
    }
}

impl SpinBit {
    fn add(&mut self, at: i64, bit: bool) {
        self.packets += 1;
        if self.last.replace(bit).is_none_or(|last| last == bit) {
            return;
        }
        self.edges += 1;
        if let Some(before) = self.edge_at.replace(at) {
            self.samples.add(at.saturating_sub(before).max(0));
        }
    }

    /// Times between changes of the bit, if the end spins.
    pub fn samples(&self) -> Option<&RttSampleSet> {
        let spins = self.edges > MIN_SAMPLES && self.packets >= MIN_PACKETS_PER_EDGE * self.edges;
        spins.then_some(&self.samples)
    }
}
