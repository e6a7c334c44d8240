//! Checks of a plan beyond its grammar. Each error names the place, the value and what is allowed,
//! in one line.

mod acks;
mod direction;
mod flow;
mod medium;
mod proxy;
mod tunnels;

use super::{Direction, End, Hop, Measure, Plan, PlanError};
use ackclock_core::Span;
use ackclock_core::config_check::{check_span, ensure};
use std::collections::HashSet;

// Limits of a plan. Beyond them integers overflow or memory does not suffice.

/// Elements and endpoints: the core's index has 24 bits.
const MAX_MEMBERS: u64 = 1 << 24;
/// Rows of a time series, of about 100 bytes each.
const MAX_ROWS: u64 = 100_000_000;

impl Plan {
    pub(super) fn check(&self) -> Result<(), PlanError> {
        self.check_frame()
            .and_then(|()| self.check_hops())
            .and_then(|()| self.check_flows())
            .and_then(|()| proxy::check(self))
            .and_then(|()| tunnels::check(self).map_err(PlanError::from))
            .and_then(|()| self.check_captures())
    }

    fn check_frame(&self) -> Result<(), PlanError> {
        check_span("duration_ps", Span(self.duration_ps))?;
        ensure(self.duration_ps > 0, || "duration_ps is 0: it must be above 0".into())?;
        ensure(self.clients > 0, || "clients is 0: it must be at least 1".into())?;
        ensure(!self.hops.is_empty(), || "hops is empty: a path needs at least one hop".into())?;
        ensure(!self.flows.is_empty(), || "flows is empty: a run needs at least one flow".into())?;
        if let Measure::Interval { from_ps, to_ps } = self.measure {
            let message = || {
                format!(
                    "measure covers {from_ps} to {to_ps} ps: from_ps must be below to_ps, and to_ps at most {}",
                    self.duration_ps
                )
            };
            ensure(from_ps < to_ps && to_ps <= self.duration_ps, message)?;
        }
        self.check_size()
    }

    /// Elements, endpoints and recorded rows must fit into memory.
    fn check_size(&self) -> Result<(), PlanError> {
        let (clients, flows) = (u64::from(self.clients), self.flows.len() as u64);
        // A medium has a chain for each station.
        let per_station = |h: &Hop| h.per_client || h.medium.is_some();
        let directions = |per_client: bool| self.hops.iter().filter(|h| per_station(h) == per_client).count() as u64 * 2;
        // One direction of a hop has at most fifteen elements; a flow has two endpoints and an
        // overhead element.
        let members = 15 * (directions(false) + directions(true) * clients) + 3 * flows;
        ensure(members < MAX_MEMBERS, || {
            format!("{clients} clients and {flows} flows need up to {members} elements: at most {MAX_MEMBERS} are possible")
        })?;
        let samples = self.duration_ps.checked_div(self.sample_ps).unwrap_or(0);
        let rows = samples.saturating_mul(flows + directions(false) + directions(true) * clients);
        ensure(rows <= MAX_ROWS, || format!("sample_ps {} gives {rows} rows: at most {MAX_ROWS} are possible", self.sample_ps))?;
        Ok(())
    }

    fn check_hops(&self) -> Result<(), PlanError> {
        let mut names = HashSet::new();
        for hop in &self.hops {
            ensure(names.insert(&hop.name), || format!("two hops have the name '{}'", hop.name))?;
            ensure(hop.down.is_some() || hop.up.is_some(), || format!("hop '{}' has neither down nor up", hop.name))?;
            medium::check(self, hop).map_err(|e| in_part(format!("hop '{}'", hop.name), e))?;
            let controllers =
                Direction::BOTH.map(|direction| hop.autorate(direction).map(|config| (config.pings, config.monitor)));
            ensure(controllers[0].is_none() || controllers[1].is_none() || controllers[0] == controllers[1], || {
                format!("hop '{}': its shapers have one pinger, but other pings or monitor_ps downstream than upstream", hop.name)
            })?;
            for direction in Direction::BOTH {
                if let Some(config) = hop.direction(direction) {
                    direction::check(config).map_err(|e| in_part(format!("hop '{}' {}", hop.name, direction.name()), e))?;
                }
            }
        }
        Ok(())
    }

    fn check_flows(&self) -> Result<(), PlanError> {
        for (number, page) in self.pages.iter().enumerate() {
            flow::check_page_config(page).map_err(|e| in_part(format!("page {number}"), e))?;
        }
        let mut names = HashSet::new();
        for (number, flow) in self.flows.iter().enumerate() {
            ensure(names.insert(&flow.name), || format!("two flows have the name '{}'", flow.name))?;
            flow::check(self, flow)
                .and_then(|()| flow::check_order(self, number))
                .and_then(|()| flow::check_page(self, number))
                .map_err(|e| in_part(format!("flow '{}'", flow.name), e))?;
        }
        Ok(())
    }

    fn check_captures(&self) -> Result<(), PlanError> {
        let mut paths = HashSet::new();
        for capture in &self.captures {
            ensure(paths.insert(&capture.path), || format!("two captures have the path {}", capture.path.display()))?;
            let flow = self.flows.iter().find(|f| f.name == capture.flow);
            let flow = flow.ok_or_else(|| format!("a capture names the unknown flow '{}'", capture.flow))?;
            ensure(capture.offloads.is_none() || capture.end != End::Middle, || {
                format!("a capture of '{}' between hops has offloads, which only hosts have", capture.flow)
            })?;
            let between = |direction| {
                let path = flow.path(&self.hops, direction);
                path.iter().any(|&hop| hop < capture.after as usize) && path.iter().any(|&hop| hop >= capture.after as usize)
            };
            ensure(capture.end != End::Middle || Direction::BOTH.into_iter().all(between), || {
                format!(
                    "a capture after {} hops: '{}' must cross hops on both sides of it, in both directions",
                    capture.after, flow.name
                )
            })?;
        }
        Ok(())
    }
}

/// An error in a part of the plan.
fn in_part(key: String, statement: String) -> PlanError {
    PlanError { key, statement }
}
