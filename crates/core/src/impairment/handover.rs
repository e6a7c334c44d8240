//! A path that is changed at fixed times: a satellite constellation gives each terminal another satellite, or a mobile moves to another cell.

use crate::element::{DropReason, Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::sync::Arc;

/// When the path changes and what that does. Probabilities are shares of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoverConfig {
    pub every: Span,
    /// The first change.
    pub first: Span,
    /// Nothing leaves for so long after a change: a share `loss` of what comes is lost, the rest waits.
    pub gap: Span,
    pub loss: f64,
    pub paths: Paths,
}

/// What each path adds to the delay.
#[derive(Clone, Debug, PartialEq)]
pub enum Paths {
    /// Drawn uniformly anew at each change.
    Drawn { low: Span, high: Span },
    /// These in turn; the first is the one before the first change.
    Listed(Arc<[Span]>),
}

/// Delays by what the present path adds. Packets stay in order: one on a shorter path waits for those sent before the change.
pub struct Handover {
    config: HandoverConfig,
    /// Of the paths: two directions that are given the same have the same paths.
    salt: u64,
    losses: Rng,
    /// Which path, counted from 0 before the first change, and what it adds.
    path: Option<(u64, Span)>,
    last: Time,
    in_flight: InFlightFifo,
}

impl Handover {
    pub fn new(config: HandoverConfig, salt: u64, losses: Rng) -> Handover {
        Handover { config, salt, losses, path: None, last: Time::ZERO, in_flight: InFlightFifo::default() }
    }

    /// The path at `now`, counted from 0, and since when.
    fn path_at(&self, now: Time) -> (u64, Time) {
        let HandoverConfig { every, first, .. } = self.config;
        let since = now.0.checked_sub(first.0).map(|since| since / every.0.max(1));
        since.map_or((0, Time::ZERO), |n| (n + 1, Time::ZERO + first + every.saturating_mul(n)))
    }

    fn added(&mut self, path: u64) -> Span {
        match self.path {
            Some((same, added)) if same == path => added,
            _ => {
                let added = match &self.config.paths {
                    Paths::Drawn { low, high } => {
                        Rng::for_element(self.salt.wrapping_add(path), "path").uniform_span(*low, *high)
                    }
                    Paths::Listed(spans) => spans.get((path % spans.len().max(1) as u64) as usize).copied().unwrap_or(Span::ZERO),
                };
                self.path = Some((path, added));
                added
            }
        }
    }
}

impl Element for Handover {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        let (path, since) = self.path_at(now);
        let mut from = now;
        if path > 0 && now - since < self.config.gap {
            if self.losses.chance(self.config.loss) {
                return out.drop(packet, DropReason::Outage);
            }
            from = since + self.config.gap;
        }
        self.last = self.last.max(from + self.added(path));
        self.in_flight.push(self.last, packet);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.in_flight.forward_due(now, out);
    }

    fn due(&self) -> Time {
        self.in_flight.due()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }
}
