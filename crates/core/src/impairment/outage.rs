//! Scheduled outages.

use crate::element::{DropReason, Element, Output, Port};
use crate::packet::Packet;
use crate::units::Time;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutageError {
    #[error("outage {number} ends at {end:?}, not after its start at {start:?}")]
    Empty {
        /// Counted from 1.
        number: usize,
        start: Time,
        end: Time,
    },
    #[error("outage {number} starts at {start:?}, before the previous one has ended at {ended:?}")]
    Overlaps { number: usize, start: Time, ended: Time },
}

/// Drops the packets that arrive from an outage's start until just before its end.
pub struct Outage {
    /// Outages that have not ended, earliest first.
    remaining: VecDeque<(Time, Time)>,
}

impl Outage {
    /// `outages` are (start, end) pairs, sorted and disjoint.
    pub fn new(outages: Vec<(Time, Time)>) -> Result<Outage, OutageError> {
        let mut ended = Time::ZERO;
        for (i, &(start, end)) in outages.iter().enumerate() {
            let number = i + 1;
            if end <= start {
                return Err(OutageError::Empty { number, start, end });
            }
            if start < ended {
                return Err(OutageError::Overlaps { number, start, ended });
            }
            ended = end;
        }
        Ok(Outage { remaining: outages.into() })
    }
}

impl Element for Outage {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        while self.remaining.front().is_some_and(|&(_, end)| end <= now) {
            self.remaining.pop_front();
        }
        if self.remaining.front().is_some_and(|&(start, _)| start <= now) {
            out.drop(packet, DropReason::Outage);
        } else {
            out.forward(Port(0), packet);
        }
    }

    fn wake(&mut self, _now: Time, _out: &mut Output<'_>) {}

    fn due(&self) -> Time {
        Time::NEVER
    }

    fn occupancy(&self) -> u64 {
        0
    }
}
