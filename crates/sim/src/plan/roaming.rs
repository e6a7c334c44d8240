//! Clients of a medium who change between its cells.

use super::check::{Checked, ensure, span};
use ackclock_core::Span;
use ackclock_core::medium::RoamingConfig;
use serde::Deserialize;

/// Client `n` changes at `first_ps + n*spread_ps` and `every_ps` so often from then on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roaming {
    pub every_ps: u64,
    pub first_ps: u64,
    pub spread_ps: u64,
    /// Nobody serves a client for so long.
    pub gap_ps: u64,
    /// What waits in the network goes over to the next cell; else it is lost.
    pub forwards: bool,
    /// In turn; a client begins in the first.
    pub cells: Vec<CellPlan>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellPlan {
    /// A share of the channel's.
    pub speed: f64,
    /// Added in each direction.
    pub delay_ps: u64,
}

impl Roaming {
    /// What the engine is told of the cells' speeds; or what is wrong.
    pub fn terms(&self) -> Result<RoamingConfig, String> {
        self.check()?;
        let terms = RoamingConfig {
            every: Span(self.every_ps),
            first: Span(self.first_ps),
            spread: Span(self.spread_ps),
            gap: Span(self.gap_ps),
            forwards: self.forwards,
            speeds: self.cells.iter().map(|cell| cell.speed).collect(),
        };
        terms.check().map(|()| terms)
    }

    fn check(&self) -> Checked {
        ensure(self.every_ps >= LEAST_EVERY_PS, || "cells are changed at most once in a millisecond".into())?;
        for (key, ps) in
            [("every_ps", self.every_ps), ("first_ps", self.first_ps), ("spread_ps", self.spread_ps), ("gap_ps", self.gap_ps)]
        {
            span(key, ps)?;
        }
        self.cells.iter().try_for_each(|cell| span("delay_ps", cell.delay_ps))
    }
}

const LEAST_EVERY_PS: u64 = 1_000_000_000;
