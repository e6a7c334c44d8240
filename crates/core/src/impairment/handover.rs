//! Handover at fixed times: a satellite constellation assigns another satellite to each terminal,
//! or a mobile moves to another cell.

use crate::element::{DropReason, Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use std::sync::Arc;

/// Times and effects of handovers. Probabilities are shares of packets.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoverConfig {
    pub every: Span,
    /// Time of the first handover.
    pub first: Span,
    /// Outage after a handover: a share `loss` of the arriving packets is lost, the others are
    /// delayed until its end.
    pub gap: Span,
    pub loss: f64,
    pub paths: Paths,
}

/// Additional delay of each path.
#[derive(Clone, Debug, PartialEq)]
pub enum Paths {
    /// Drawn uniformly at each handover.
    Drawn { low: Span, high: Span },
    /// A cyclic list; the first entry applies before the first handover.
    Listed(Arc<[Span]>),
}

/// Adds the delay of the current path. Packets stay in order: a packet on a shorter path waits for
/// those sent before the handover.
pub struct Handover {
    config: HandoverConfig,
    /// Seed of the paths: two directions with the same salt have the same paths.
    salt: u64,
    losses: Rng,
    /// Index of the current path, 0 before the first handover, and its delay.
    path: Option<(u64, Span)>,
    last: Time,
    in_flight: InFlightFifo,
}

impl Handover {
    pub fn new(config: HandoverConfig, salt: u64, losses: Rng) -> Handover {
        Handover { config, salt, losses, path: None, last: Time::ZERO, in_flight: InFlightFifo::default() }
    }

    /// Index of the path at `now`, and the time of its handover.
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
