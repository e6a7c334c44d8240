//! Roaming: when stations change cells, the speed in each cell, and the fate of packets queued for
//! them.
//!
//! A station leaves its cell, is not served during a gap, and is served again in the next cell at
//! that cell's speed. The channel model is that of one cell; the load of other cells is part of the
//! speed.

use crate::config_check::{Checked, check_span, ensure};
use crate::event_heap::EventHeap;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// When and to which cells stations roam, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RoamingConfig {
    #[serde(rename = "every_ps")]
    pub every: Span,
    /// Time of the first change, of station 0.
    #[serde(rename = "first_ps")]
    pub first: Span,
    /// Offset between the changes of consecutive stations.
    #[serde(rename = "spread_ps")]
    pub spread: Span,
    /// Time without service at a change.
    #[serde(rename = "gap_ps")]
    pub gap: Span,
    /// Packets queued in the network for a leaving station are forwarded to its next cell;
    /// otherwise they are dropped.
    pub forwards: bool,
    /// Cells of a station in sequence; the first follows the last.
    pub cells: Vec<CellConfig>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CellConfig {
    /// Share of the channel's speed.
    pub speed: f64,
    /// Additional delay in each direction, for the elements after the medium.
    #[serde(rename = "delay_ps")]
    pub delay: Span,
}

impl RoamingConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        ensure(self.every >= MIN_INTERVAL, || "cells are changed at most once in a millisecond".into())?;
        for (key, span) in [("every_ps", self.every), ("first_ps", self.first), ("spread_ps", self.spread), ("gap_ps", self.gap)]
        {
            check_span(key, span)?;
        }
        self.cells.iter().try_for_each(|cell| check_span("delay_ps", cell.delay))?;
        ensure(self.gap < self.every, || "the gap is not shorter than the time between changes".into())?;
        ensure(!self.cells.is_empty(), || "no cell is listed".into())?;
        self.cells.iter().try_for_each(|&CellConfig { speed, .. }| {
            ensure((MIN_SPEED..=1.0).contains(&speed), || format!("the speed {speed} of a cell is outside {MIN_SPEED} to 1"))
        })
    }

    /// Minimum speed over all cells.
    pub fn slowest(&self) -> f64 {
        self.cells.iter().map(|cell| cell.speed).fold(1.0, f64::min)
    }

    /// Time of a station's first change.
    pub fn first_change(&self, station: u32) -> Span {
        self.first + self.spread.saturating_mul(u64::from(station))
    }

    /// Time of change `n` of a station, counted from 0.
    fn at(&self, station: u32, n: u64) -> Time {
        Time::ZERO + self.first_change(station) + self.every.saturating_mul(n)
    }
}

/// Each change is an event for each station; a shorter interval would dominate the run time.
const MIN_INTERVAL: Span = Span::from_ms(1);
/// Below this speed a header does not fit into a frame.
const MIN_SPEED: f64 = 0.01;

/// A roaming event of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamingEvent {
    Leaves,
    Arrives,
}

/// Roaming state of all stations.
pub struct Roaming {
    config: RoamingConfig,
    stations: Vec<StationState>,
    events: EventHeap<(u32, RoamingEvent)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct StationState {
    /// Number of changes so far.
    changes: u64,
    away: bool,
}

impl Roaming {
    pub fn new(config: RoamingConfig, stations: u32) -> Roaming {
        let mut events = EventHeap::default();
        for station in 0..stations {
            events.push(config.at(station, 0), (station, RoamingEvent::Leaves));
        }
        Roaming { config, stations: vec![StationState::default(); stations as usize], events }
    }

    /// Time of the next event.
    pub fn due(&self) -> Time {
        self.events.due()
    }

    /// Removes the next event if it is due by `now`.
    pub fn pop(&mut self, now: Time) -> Option<(u32, RoamingEvent)> {
        let at = self.events.due();
        let (station, event) = self.events.pop(now)?;
        let state = &mut self.stations[station as usize];
        state.away = event == RoamingEvent::Leaves;
        if state.away {
            state.changes += 1;
            self.events.push(at + self.config.gap, (station, RoamingEvent::Arrives));
            self.events.push(self.config.at(station, state.changes), (station, RoamingEvent::Leaves));
        }
        Some((station, event))
    }

    pub fn is_away(&self, station: u32) -> bool {
        self.stations[station as usize].away
    }

    pub fn forwards(&self) -> bool {
        self.config.forwards
    }

    /// Share of the channel's speed in the station's current cell.
    pub fn speed(&self, station: u32) -> f64 {
        let cell = self.stations[station as usize].changes % self.config.cells.len().max(1) as u64;
        self.config.cells[cell as usize].speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_change_cells_in_sequence_at_the_configured_times() {
        let config = RoamingConfig {
            every: Span::from_secs(10),
            first: Span::from_secs(5),
            spread: Span::from_secs(1),
            gap: Span::from_ms(100),
            forwards: true,
            cells: [1.0, 0.5, 0.25].map(|speed| CellConfig { speed, delay: Span::ZERO }).to_vec(),
        };
        let mut roaming = Roaming::new(config, 2);
        let mut events_seen = Vec::new();
        while roaming.due() < Time::ZERO + Span::from_secs(27) {
            let at = (roaming.due() - Time::ZERO).as_millis();
            let (station, event) = roaming.pop(roaming.due()).unwrap();
            events_seen.push((at, station, event, roaming.speed(station), roaming.is_away(station)));
        }
        let twice = |ms: f64, station, speed| {
            [(ms, station, RoamingEvent::Leaves, speed, true), (ms + 100.0, station, RoamingEvent::Arrives, speed, false)]
        };
        let expected = [
            twice(5000.0, 0, 0.5),
            twice(6000.0, 1, 0.5),
            twice(15_000.0, 0, 0.25),
            twice(16_000.0, 1, 0.25),
            twice(25_000.0, 0, 1.0),
            twice(26_000.0, 1, 1.0),
        ];
        assert_eq!(events_seen, expected.concat());
    }
}
