//! Estimation of the bottleneck from one capture: at the receiver from the spacing of data packets,
//! at the sender from the spacing of ACKs.

mod dispersion;

pub use dispersion::{RateEstimate, estimate_rate};

pub use crate::join::token_bucket::find as token_bucket;

use crate::analyze::PacketObserver;
use crate::decode::{Flags, Segment};
use crate::flow::{Flow, PacketEvent};

pub use crate::join::token_bucket::Arrival;

/// Data packets of one direction, and the ACKs for them.
#[derive(Debug, Clone, Default)]
pub struct FlowArrivals {
    pub data: Vec<Arrival>,
    pub acks: Vec<Arrival>,
    last_ack: Option<u32>,
    /// Payload of the max_payload segment, at most one MTU.
    max_payload: u32,
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
        if s.payload > 0 {
            flow[from].data.push((at, s.ip_len));
            flow[from].max_payload = flow[from].max_payload.max(s.payload.min(MAX_PAYLOAD));
            self.left -= 1;
        }
        if s.flags.has(Flags::ACK) && flow[1 - from].add_ack(at, s.ack) {
            self.left = self.left.saturating_sub(1);
        }
    }
}

impl FlowArrivals {
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
        self.acks.push((at, acked.saturating_add(acked.div_ceil(self.max_payload).saturating_mul(HEADERS))));
        true
    }
}

/// Length of IPv4 and TCP headers with timestamps.
const HEADERS: u32 = 52;
/// Payload of a full Ethernet segment; TSO segments are longer.
const MAX_PAYLOAD: u32 = 1448;
