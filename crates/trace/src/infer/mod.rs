//! Estimation of the bottleneck from one capture: at the receiver from the spacing of data packets,
//! at the sender from the spacing of ACKs.

mod dispersion;
mod sent_segments;

pub use dispersion::{RateEstimate, estimate_rate};
pub use sent_segments::SentSegments;

pub use crate::join::token_bucket::find as token_bucket;

use crate::analyze::PacketObserver;
use crate::decode::{Flags, Segment};
use crate::flow::{Flow, PacketEvent};

pub use crate::join::token_bucket::Arrival;

/// A data packet or an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedArrival {
    /// Nanoseconds.
    pub at: i64,
    /// IP bytes that arrived or were acknowledged.
    pub bytes: u32,
    /// Sequence number of the data, or number of the ACK.
    pub number: u32,
}

/// Data packets of one direction, and the ACKs for them.
#[derive(Debug, Clone, Default)]
pub struct FlowArrivals {
    data: Vec<NumberedArrival>,
    acks: Vec<NumberedArrival>,
    last_ack: Option<u32>,
    /// Payload of the largest segment, at most one MTU.
    max_payload: u32,
    /// Headers of the first packet, bytes.
    header: u32,
    /// Time of the peer's last packet that is no reset, nanoseconds.
    peer_at: Option<i64>,
}

fn unnumbered(arrivals: &[NumberedArrival]) -> Vec<Arrival> {
    arrivals.iter().map(|arrival| (arrival.at, arrival.bytes)).collect()
}

/// Arrivals of the first flows, in bounded memory.
#[derive(Debug)]
pub struct ArrivalRecorder {
    flows: Vec<[FlowArrivals; 2]>,
    left: u32,
}

/// Maximum number of flows.
const MAX_FLOWS: usize = 64;
/// Maximum number of arrivals of all flows, 16 bytes each.
const MAX_ARRIVALS: u32 = 1 << 20;

impl Default for ArrivalRecorder {
    fn default() -> ArrivalRecorder {
        ArrivalRecorder { flows: Vec::new(), left: MAX_ARRIVALS }
    }
}

impl ArrivalRecorder {
    /// The arrivals of a flow by the side that sends the data; none for a flow that was not
    /// recorded.
    pub fn arrivals(&self, number: usize) -> Option<&[FlowArrivals; 2]> {
        self.flows.get(number)
    }
}

impl PacketObserver for ArrivalRecorder {
    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, _: &Flow, s: &Segment<'_>, event: &PacketEvent) {
        if (number as usize) < MAX_FLOWS && self.left > 0 {
            self.record(at, number as usize, s, event.from as usize);
        }
    }
}

impl ArrivalRecorder {
    fn record(&mut self, at: i64, number: usize, s: &Segment<'_>, from: usize) {
        if self.flows.len() <= number {
            self.flows.resize_with(number + 1, Default::default);
        }
        let flow = &mut self.flows[number];
        if !s.flags.has(Flags::RST) {
            flow[1 - from].peer_at = Some(at);
        }
        if s.payload > 0 {
            flow[from].data.push(NumberedArrival { at, bytes: s.ip_len, number: s.seq });
            if flow[from].header == 0 {
                flow[from].header = s.ip_len.saturating_sub(s.payload);
            }
            flow[from].max_payload = flow[from].max_payload.max(s.payload.min(MAX_PAYLOAD));
            self.left -= 1;
        }
        if s.flags.has(Flags::ACK) && flow[1 - from].add_ack(at, s.ack) {
            self.left = self.left.saturating_sub(1);
        }
    }
}

impl FlowArrivals {
    pub fn data(&self) -> Vec<Arrival> {
        unnumbered(&self.data)
    }

    pub fn acks(&self) -> Vec<Arrival> {
        unnumbered(&self.acks)
    }

    /// Records an ACK for this data; false if it does not advance.
    fn add_ack(&mut self, at: i64, ack: u32) -> bool {
        let acked = self.last_ack.map_or(0, |last| ack.wrapping_sub(last));
        if self.last_ack.is_some() && (acked == 0 || acked >= 1 << 31) {
            return false;
        }
        self.last_ack = Some(ack);
        if acked == 0 || self.max_payload == 0 {
            return false;
        }
        let bytes = acked.saturating_add(acked.div_ceil(self.max_payload).saturating_mul(HEADERS));
        self.acks.push(NumberedArrival { at, bytes, number: ack });
        true
    }
}

/// Length of IPv4 and TCP headers with timestamps.
const HEADERS: u32 = 52;
/// Payload of a full Ethernet segment; TSO segments are longer.
const MAX_PAYLOAD: u32 = 1448;
