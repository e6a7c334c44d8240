//! COBALT (Palmei et al. 2019): CoDel for flows that answer its signals, BLUE (Feng et al. 2002) for those that do not, side by side.

use super::codel::{CoDelParameters, CoDelState};
use super::{Fifo, QueuedPacket};
use crate::element::{DropReason, Output};
use crate::rng::Rng;
use crate::units::Time;

/// How much BLUE's probability grows when there is no room, and how much it shrinks when the fifo is empty (Palmei et al., section III).
const MORE: f64 = 1.0 / 256.0;
const LESS: f64 = 1.0 / 4096.0;

/// State of one fifo.
#[derive(Clone, Debug, Default)]
pub struct Cobalt {
    law: CoDelState,
    /// BLUE's probability, and when it last changed: no more than once in a target.
    probability: f64,
    changed: Option<Time>,
}

impl Cobalt {
    /// The next packet of the fifo. BLUE drops those that understand marks, too: its flows have been told and did not answer.
    pub fn take(
        &mut self,
        now: Time,
        fifo: &mut Fifo,
        control: &CoDelParameters,
        rng: &mut Rng,
        out: &mut Output<'_>,
    ) -> Option<QueuedPacket> {
        loop {
            let Some(first) = self.law.take(now, fifo, control, out) else {
                self.change(now, control, -LESS);
                return None;
            };
            if self.probability <= 0.0 || !rng.chance(self.probability) {
                return Some(first);
            }
            out.drop(first.packet, DropReason::Early);
        }
    }

    /// There was no room, and this fifo was the longest.
    pub fn overflow(&mut self, now: Time, control: &CoDelParameters) {
        self.change(now, control, MORE);
    }

    fn change(&mut self, now: Time, control: &CoDelParameters, by: f64) {
        if self.changed.is_none_or(|last| now.since(last) >= control.target) {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed = Some(now);
        }
    }
}
