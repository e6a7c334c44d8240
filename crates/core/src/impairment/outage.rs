//! Scheduled outages.

use crate::config_check::{Checked, ensure};
use crate::element::{DropReason, Element, Output, Port};
use crate::packet::Packet;
use crate::units::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One outage, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OutageConfig {
    #[serde(rename = "start_ps")]
    pub start: Time,
    #[serde(rename = "end_ps")]
    pub end: Time,
}

impl OutageConfig {
    /// Returns the error in the outages of one element, if any.
    pub fn check(outages: &[OutageConfig]) -> Checked {
        let mut ended = Time::ZERO;
        for &OutageConfig { start, end } in outages {
            ensure(start >= ended && start < end, || {
                format!(
                    "an outage from {} to {} ps: outages must be in order without overlap, start_ps below end_ps",
                    start.0, end.0
                )
            })?;
            ended = end;
        }
        Ok(())
    }
}

/// Drops the packets that arrive from an outage's start until just before its end.
pub struct Outage {
    /// Outages that have not ended, earliest first.
    remaining: VecDeque<OutageConfig>,
}

impl Outage {
    /// Returns the error in the outages, if any.
    pub fn new(outages: &[OutageConfig]) -> Result<Outage, String> {
        OutageConfig::check(outages)?;
        Ok(Outage { remaining: outages.iter().copied().collect() })
    }
}

impl Element for Outage {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        while self.remaining.front().is_some_and(|outage| outage.end <= now) {
            self.remaining.pop_front();
        }
        if self.remaining.front().is_some_and(|outage| outage.start <= now) {
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
