//! Classic slow start: one segment per segment acknowledged (RFC 5681, equation (2)).

use super::{Ack, CongestionWindow, SlowStartRule, grow};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassicSlowStart;

impl SlowStartRule for ClassicSlowStart {
    fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
        grow(ack.growth_credit, 1.0, window)
    }
}
