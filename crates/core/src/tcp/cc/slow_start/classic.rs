//! One segment for each segment's worth of ACK (RFC 5681, equation (2)).

use super::{Ack, Opening, Window, grow};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classic;

impl Opening for Classic {
    fn open(&mut self, ack: &Ack, window: &mut Window) -> f64 {
        grow(ack.credit, 1.0, window)
    }
}
