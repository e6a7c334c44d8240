//! COBALT (Palmei et al. 2019): CoDel for responsive flows, and BLUE (Feng et al. 2002) for
//! unresponsive ones, in parallel.

use super::codel::{CoDelParameters, CoDelState};
use super::{Fifo, QueuedPacket};
use crate::element::{DropReason, Output};
use crate::rng::Rng;
use crate::units::Time;

/// BLUE's increment on overflow and its decrement on an empty FIFO (Palmei et al., section III).
const INCREMENT: f64 = 1.0 / 256.0;
const DECREMENT: f64 = 1.0 / 4096.0;

/// State of one FIFO.
#[derive(Clone, Debug, Default)]
pub struct Cobalt {
    codel: CoDelState,
    /// BLUE's probability, and the time of its last change: at most one change per target delay.
    probability: f64,
    changed: Option<Time>,
}

impl Cobalt {
    /// The next packet of the FIFO. BLUE drops ECN-capable packets as well: their flows did not
    /// respond to marks.
    pub fn dequeue(
        &mut self,
        now: Time,
        fifo: &mut Fifo,
        control: &CoDelParameters,
        rng: &mut Rng,
        out: &mut Output<'_>,
    ) -> Option<QueuedPacket> {
        loop {
            let Some(first) = self.codel.dequeue(now, fifo, control, out) else {
                self.change(now, control, -DECREMENT);
                return None;
            };
            if self.probability <= 0.0 || !rng.chance(self.probability) {
                return Some(first);
            }
            out.drop(first.packet, DropReason::Early);
        }
    }

    /// The queue overflowed, and this FIFO was the longest.
    pub fn overflow(&mut self, now: Time, control: &CoDelParameters) {
        self.change(now, control, INCREMENT);
    }

    fn change(&mut self, now: Time, control: &CoDelParameters, by: f64) {
        if self.changed.is_none_or(|last| now.since(last) >= control.target) {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed = Some(now);
        }
    }
}
