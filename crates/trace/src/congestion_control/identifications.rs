//! The congestion controls of a capture's large directions, by a second reading of these alone.

use super::flight_log::{FlightRecorder, LoggedDirection};
use super::identify::{CcIdentification, identify};
use crate::analyze::{Analysis, FlowSet, PacketFilter};
use crate::flow::{Flow, LARGE_PAYLOAD, Side};
use crate::report::{VantageReport, limits_of, shows_sender};
use ackclock_pcap::read::{Capture, ReadError};

/// What was found of the directions that were examined.
#[derive(Debug, Default)]
pub struct Identifications(Vec<(usize, Side, CcIdentification)>);

/// Which directions are examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examined {
    /// The largest ones, from a size on at which the replays are a small part of the analysis.
    Largest,
    /// All that may show it.
    All,
}

/// Number of directions that are examined.
const MAX_DIRECTIONS: usize = 20;
/// Reductions of the window from which it may show, or else the time with data in flight, nanoseconds.
pub(super) const MIN_REDUCTIONS: u32 = 5;
pub(super) const MIN_BUSY: i64 = 30_000_000_000;
/// Share of the time in which something else than the congestion window limits the sender, from which
/// the flight shows nothing.
const MAX_OTHER_LIMITS: f64 = 0.5;

/// Packets that are read again at least: more than show whether a capture has each packet twice.
const MIN_PACKETS: u64 = 1 << 16;

impl Identifications {
    /// Examines directions of a capture that `analysis` has read; `open` opens it again, and is not
    /// called if there is none to examine.
    pub fn of(
        analysis: &Analysis,
        examined: Examined,
        open: impl FnOnce() -> Result<Capture, ReadError>,
    ) -> Result<Identifications, ReadError> {
        let directions = directions(analysis, examined);
        if directions.is_empty() {
            return Ok(Identifications::default());
        }
        let mut capture = open()?;
        let (mut recorder, mut again) = (FlightRecorder::new(&directions), Analysis::new(filter(analysis, &directions)));
        let last = directions.iter().map(|of| analysis.flows().frames(of.flow).last).max().unwrap_or(0);
        again.read_observed(&mut capture, &mut recorder, last.max(MIN_PACKETS))?;
        let found = recorder.into_logs().into_iter().map(|log| (log.of.flow, log.of.side, identify(&log)));
        Ok(Identifications(found.collect()))
    }

    /// None for a direction that was not examined.
    pub fn of_direction(&self, number: usize, side: Side) -> Option<&CcIdentification> {
        self.0.iter().find(|found| (found.0, found.1) == (number, side)).map(|found| &found.2)
    }
}

fn directions(analysis: &Analysis, examined: Examined) -> Vec<LoggedDirection> {
    let flows = analysis.flows();
    let mut found: Vec<(u64, LoggedDirection)> = Vec::new();
    let mut add = |number: usize, flow: &Flow| {
        for side in [Side::Low, Side::High] {
            let payload = flow.direction(side).payload();
            let is_large = examined == Examined::All || payload >= LARGE_PAYLOAD;
            if is_large && may_show(flow, side) {
                found.push((payload, logged(flow, number, side, flows.frames(number).first)));
            }
        }
    };
    match examined {
        Examined::Largest => flows.large().for_each(|(number, flow)| add(number, &flow)),
        Examined::All => flows.iter().enumerate().for_each(|(number, flow)| add(number, &flow)),
    }
    found.sort_by_key(|(payload, of)| (std::cmp::Reverse(*payload), of.flow));
    if examined == Examined::Largest {
        found.truncate(MAX_DIRECTIONS);
    }
    found.into_iter().map(|(_, of)| of).collect()
}

/// The window was reduced often enough, or the transfer was long enough, and nothing else limits the
/// sender for most of the time.
fn may_show(flow: &Flow, side: Side) -> bool {
    let direction = flow.direction(side);
    let Some(stats) = direction.stats() else { return false };
    let place = VantageReport::of(flow).place;
    let times = stats.times();
    // Elsewhere hardly anything is in flight behind the capture.
    let busy = match (shows_sender(place, flow, side), times.first_data.get()) {
        (false, Some(first)) => times.last_data - first,
        _ => times.busy,
    };
    let of_losses = direction.ledger().map_or(0, |ledger| ledger.recoveries() + ledger.rtos());
    let reductions = of_losses.max(direction.counts().cwr);
    if reductions < MIN_REDUCTIONS && busy < MIN_BUSY {
        return false;
    }
    limits_of(flow, side, place).is_some_and(|limits| {
        let others = [limits.receive_window, limits.send_buffer, limits.application];
        others.into_iter().flatten().sum::<f64>() <= MAX_OTHER_LIMITS
    })
}

fn logged(flow: &Flow, number: usize, side: Side, first_frame: u64) -> LoggedDirection {
    LoggedDirection {
        flow: number,
        first_frame,
        ends: [flow.endpoint(Side::Low), flow.endpoint(Side::High)],
        side,
        mss: flow.direction(side).stats().map_or(1, |stats| stats.bytes().largest_segment.max(1)),
        is_at_sender: shows_sender(VantageReport::of(flow).place, flow, side),
    }
}

/// The filter of the analysis, and the flows of the directions.
fn filter(analysis: &Analysis, directions: &[LoggedDirection]) -> PacketFilter {
    let mut flows = FlowSet::default();
    directions.iter().for_each(|of| flows.add(&of.ends));
    PacketFilter { flows: Some(flows), ..analysis.filter().clone() }
}
