//! What one capture alone shows of the bottleneck, inferred and not measured: at the receiver's end how far apart packets arrive, at the sender's end how
//! far apart the ACKs for them do.

mod dispersion;

pub use dispersion::{RateEstimate, estimate_rate};

pub use crate::join::token_bucket::find as token_bucket;

use crate::analyze::PacketObserver;
use crate::decode::{Flags, Segment};
use crate::flow::{Flow, Passed};

/// Time, and IP bytes that arrived then or were acknowledged then.
pub type Arrival = (i64, u32);

/// One end's data as they passed, and as the other end acknowledged them.
#[derive(Debug, Clone, Default)]
pub struct FlowArrivals {
    pub data: Vec<Arrival>,
    pub acked: Vec<Arrival>,
    last_ack: Option<u32>,
    /// Payload of the largest segment.
    largest: u32,
}

/// The courses of the first flows, in a room that does not grow with the capture.
#[derive(Debug)]
pub struct ArrivalRecorder {
    flows: Vec<[FlowArrivals; 2]>,
    left: u32,
}

/// Flows that are looked at, by order of appearance, and arrivals kept of all of them: 16 bytes each.
const FLOWS: usize = 64;
const ARRIVALS: u32 = 1 << 20;

impl Default for ArrivalRecorder {
    fn default() -> ArrivalRecorder {
        ArrivalRecorder { flows: Vec::new(), left: ARRIVALS }
    }
}

impl ArrivalRecorder {
    /// By flow number, by the side that sends the data; none of a flow that was not looked at.
    pub fn courses(&self, number: usize) -> Option<&[FlowArrivals; 2]> {
        self.flows.get(number)
    }
}

impl PacketObserver for ArrivalRecorder {
    #[inline]
    fn on_packet(&mut self, at: i64, number: u32, _: &Flow, s: &Segment<'_>, passed: &Passed) {
        if (number as usize) < FLOWS && self.left > 0 {
            self.keep(at, number as usize, s, passed.from as usize);
        }
    }
}

impl ArrivalRecorder {
    fn keep(&mut self, at: i64, number: usize, s: &Segment<'_>, from: usize) {
        if self.flows.len() <= number {
            self.flows.resize_with(number + 1, Default::default);
        }
        let courses = &mut self.flows[number];
        if s.payload > 0 {
            courses[from].data.push((at, s.ip_len));
            courses[from].largest = courses[from].largest.max(s.payload.min(FULL));
            self.left -= 1;
        }
        if s.flags.has(Flags::ACK) && courses[1 - from].answered(at, s.ack) {
            self.left = self.left.saturating_sub(1);
        }
    }
}

impl FlowArrivals {
    /// An ACK for these data; whether it said anything new.
    fn answered(&mut self, at: i64, ack: u32) -> bool {
        let newly = self.last_ack.map_or(0, |last| ack.wrapping_sub(last));
        if self.last_ack.is_some() && (newly == 0 || newly >= 1 << 31) {
            return false;
        }
        self.last_ack = Some(ack);
        if newly == 0 || self.largest == 0 {
            return false;
        }
        self.acked.push((at, newly.saturating_add(newly.div_ceil(self.largest).saturating_mul(HEADERS))));
        true
    }
}

/// IPv4 and TCP with time stamps; and a segment of an Ethernet, where hosts and cards join several.
const HEADERS: u32 = 52;
const FULL: u32 = 1448;
