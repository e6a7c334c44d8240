//! Roaming of a medium's clients between its cells.

use super::check::{Checked, ensure, span};
use ackclock_core::Span;
use ackclock_core::medium::RoamingConfig;
use serde::Deserialize;

/// Client `n` changes its cell at `first_ps + n*spread_ps`, then every `every_ps`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roaming {
    pub every_ps: u64,
    pub first_ps: u64,
    pub spread_ps: u64,
    /// Time without service at a change.
    pub gap_ps: u64,
    /// Queued downlink packets are forwarded to the next cell; otherwise they are lost.
    pub forwards: bool,
    /// Visited in this order; a client begins in the first.
    pub cells: Vec<CellPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellPlan {
    /// Share of the channel's rate.
    pub speed: f64,
    /// Additional delay in each direction.
    pub delay_ps: u64,
}

impl Roaming {
    /// The core's configuration, or the error in the plan.
    pub fn config(&self) -> Result<RoamingConfig, String> {
        self.check()?;
        let config = RoamingConfig {
            every: Span(self.every_ps),
            first: Span(self.first_ps),
            spread: Span(self.spread_ps),
            gap: Span(self.gap_ps),
            forwards: self.forwards,
            speeds: self.cells.iter().map(|cell| cell.speed).collect(),
        };
        config.check().map(|()| config)
    }

    fn check(&self) -> Checked {
        ensure(self.every_ps >= MIN_INTERVAL_PS, || "cells are changed at most once in a millisecond".into())?;
        for (key, ps) in
            [("every_ps", self.every_ps), ("first_ps", self.first_ps), ("spread_ps", self.spread_ps), ("gap_ps", self.gap_ps)]
        {
            span(key, ps)?;
        }
        self.cells.iter().try_for_each(|cell| span("delay_ps", cell.delay_ps))
    }
}

const MIN_INTERVAL_PS: u64 = 1_000_000_000;
