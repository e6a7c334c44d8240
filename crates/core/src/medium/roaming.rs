//! Roaming: when stations change cells, the speed in each cell, and the fate of packets queued for
//! them.
//!
//! A station leaves its cell, is not served during a gap, and is served again in the next cell at
//! that cell's speed. The channel model is that of one cell; the load of other cells is part of the
//! speed.

use crate::event_heap::EventHeap;
use crate::units::{Span, Time};

/// Cells of a station in sequence; the first follows the last.
#[derive(Clone, Debug, PartialEq)]
pub struct RoamingConfig {
    pub every: Span,
    /// Time of the first change, of station 0.
    pub first: Span,
    /// Offset between the changes of consecutive stations.
    pub spread: Span,
    pub gap: Span,
    /// Packets queued in the network for a leaving station are forwarded to its next cell;
    /// otherwise they are dropped.
    pub forwards: bool,
    /// Share of the channel's speed in each cell.
    pub speeds: Vec<f64>,
}

impl RoamingConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Result<(), String> {
        if self.gap >= self.every {
            return Err("the gap is not shorter than the time between changes".into());
        }
        if self.speeds.is_empty() {
            return Err("no cell is listed".into());
        }
        match self.speeds.iter().find(|&&speed| !(MIN_SPEED..=1.0).contains(&speed)) {
            Some(speed) => Err(format!("the speed {speed} of a cell is outside {MIN_SPEED} to 1")),
            None => Ok(()),
        }
    }

    /// Minimum speed over all cells.
    pub fn slowest(&self) -> f64 {
        self.speeds.iter().copied().fold(1.0, f64::min)
    }

    /// Time of change `n` of a station, counted from 0.
    fn at(&self, station: u32, n: u64) -> Time {
        Time::ZERO + self.first + self.spread.saturating_mul(u64::from(station)) + self.every.saturating_mul(n)
    }
}

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
        let cell = self.stations[station as usize].changes % self.config.speeds.len().max(1) as u64;
        self.config.speeds[cell as usize]
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
            speeds: vec![1.0, 0.5, 0.25],
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
