//! One segment for each segment's worth of ACK (RFC 5681, equation (2)).

use super::{Ack, CongestionWindow, SlowStartRule, grow};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classic;

impl SlowStartRule for Classic {
    fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
        grow(ack.growth_credit, 1.0, window)
    }
}
