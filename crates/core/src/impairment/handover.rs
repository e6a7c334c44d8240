//! Handover at fixed times: a satellite constellation assigns another satellite to each terminal,
//! or a mobile moves to another cell.

use crate::config_check::{Checked, check_fraction, check_span, ensure};
use crate::element::{DropReason, Element, Output, Port};
use crate::in_flight::InFlightFifo;
use crate::link::{SlotsConfig, of_quantiles};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Times and effects of handovers, with the keys of a plan (docs/inside/plan.md). Probabilities are
/// shares of packets. Both directions of a hop with equal settings have the same paths.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverConfig {
    #[serde(rename = "every_ps")]
    pub every: Span,
    /// Time of the first handover.
    #[serde(rename = "first_ps")]
    pub first: Span,
    /// Outage after a handover: a share `loss` of the arriving packets is lost, the others are
    /// delayed until its end.
    #[serde(rename = "gap_ps")]
    pub gap: Span,
    pub loss: f64,
    /// Bounds of the additional delay of a path, drawn uniformly at each handover.
    #[serde(rename = "low_ps")]
    pub low: Span,
    #[serde(rename = "high_ps")]
    pub high: Span,
}

impl HandoverConfig {
    /// Returns the error in the configuration, if any. A path that lasts no longer than the gap
    /// carries no packet.
    pub fn check(&self) -> Checked {
        check_span("handover.every_ps", self.every)?;
        check_span("handover.first_ps", self.first)?;
        check_span("handover.high_ps", self.high)?;
        ensure(self.gap < self.every, || "handover.gap_ps is not shorter than handover.every_ps".into())?;
        ensure(self.low <= self.high, || "handover.low_ps is above handover.high_ps".into())?;
        check_fraction("handover.loss", self.loss)
    }
}

/// Adds the delay of the current path. Packets stay in order: a packet on a shorter path waits for
/// those sent before the handover.
pub struct Handover {
    config: HandoverConfig,
    paths: Paths,
    losses: Rng,
    /// Index of the current path, 0 before the first handover, and its delay.
    path: Option<(u64, Span)>,
    last: Time,
    in_flight: InFlightFifo,
}

/// Additional delay of each path.
enum Paths {
    /// Drawn with this seed: two directions with the same salt have the same paths.
    Drawn { salt: u64 },
    /// Drawn with this seed from equally spaced quantiles, in picoseconds.
    Quantiles { salt: u64, delays: Arc<[f64]> },
    /// A cyclic list; the first entry applies before the first handover.
    Listed(Arc<[Span]>),
}

impl Handover {
    pub fn new(config: HandoverConfig, salt: u64, losses: Rng) -> Handover {
        Handover::with_paths(config, Paths::Drawn { salt }, losses)
    }

    /// Paths with these delays in turn, changed without loss; the first applies before the first
    /// handover.
    pub fn with_delays(every: Span, first: Span, delays: Arc<[Span]>) -> Handover {
        let config = HandoverConfig { every, first, gap: Span::ZERO, loss: 0.0, low: Span::ZERO, high: Span::ZERO };
        Handover::with_paths(config, Paths::Listed(delays), Rng::for_element(0, "handover"))
    }

    /// The paths of slots: delays from their distribution, and everything lost for a time after a
    /// change.
    pub fn of_slots(slots: &SlotsConfig, salt: u64) -> Handover {
        let SlotsConfig { every, first, lost, .. } = *slots;
        let config = HandoverConfig { every, first, gap: lost, loss: 1.0, low: Span::ZERO, high: Span::ZERO };
        let delays = slots.delay.iter().map(|delay| delay.0 as f64).collect();
        Handover::with_paths(config, Paths::Quantiles { salt, delays }, Rng::for_element(0, "handover"))
    }

    fn with_paths(config: HandoverConfig, paths: Paths, losses: Rng) -> Handover {
        Handover { config, paths, losses, path: None, last: Time::ZERO, in_flight: InFlightFifo::default() }
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
                let added = match &self.paths {
                    Paths::Drawn { salt } => {
                        Rng::for_element(salt.wrapping_add(path), "path").uniform_span(self.config.low, self.config.high)
                    }
                    Paths::Quantiles { salt, delays } => {
                        let u = Rng::for_element(salt.wrapping_add(path), "path").uniform();
                        Span(of_quantiles(delays, u) as u64)
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
