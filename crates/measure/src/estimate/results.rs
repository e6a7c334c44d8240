//! Results of a session: one document and two tables.

use super::clocks::{ClockEstimate, ClockModel};
use super::direction::{DirectionStats, direction_stats};
use super::train_times::TrainTimes;
use crate::Nanos;
use crate::control::message::{ClockState, FlowOutcome, TableId};
use crate::record::{SAMPLE_COLUMNS, TestRecord};
use crate::test_spec::{Direction, TestSpec};
use ackclock_contract::Document;
use serde::Serialize;

/// Results of one test.
#[derive(Debug, Clone, Serialize, Document)]
pub struct TestResult {
    pub test: usize,
    pub spec: TestSpec,
    /// Seconds since the session's first test.
    pub began_s: f64,
    /// Datagrams, by direction.
    pub directions: Vec<DirectionStats>,
    /// Connections, as each end reports them.
    pub near_flows: Vec<FlowOutcome>,
    pub far_flows: Vec<FlowOutcome>,
    /// Transfers: connected, first byte and last byte, in seconds since the start of each.
    pub transfers_s: Vec<[Option<f64>; 3]>,
    /// Datagrams that a kernel rejected, or that an end could not send in time.
    pub unsent: u64,
    /// Datagrams delayed by the far end's shared rate.
    pub held: u64,
    /// Datagrams that an end's kernel dropped, as the buffer of the socket was full: this host did
    /// not read them in time. No loss of the path.
    pub near_overrun: u64,
    pub far_overrun: u64,
    pub cut_short: Option<String>,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct SessionResults {
    pub clock: Option<ClockEstimate>,
    pub tests: Vec<TestResult>,
}

/// Row of a datagram: test, direction, sequence number, sending time in seconds since the session's
/// first test, and delay (none: lost).
#[derive(Debug, Clone, Copy)]
pub struct DelayRow {
    pub test: usize,
    pub direction: Direction,
    pub number: u32,
    pub sent_s: f64,
    pub delay_ms: Option<f64>,
    /// Receiver's timestamp minus sender's timestamp: the delay, if both clocks are true.
    pub difference_ms: Option<f64>,
}

/// Row of a sample: test, whether the far end took it, seconds since the session's first test, and
/// the further `SAMPLE_COLUMNS`.
#[derive(Debug, Clone)]
pub struct SampleRow {
    pub test: usize,
    pub far: bool,
    pub time_s: f64,
    pub rest: Vec<i64>,
}

/// Joins the records of a session, in the order of its tests.
pub struct SessionAnalysis<'a> {
    records: &'a [TestRecord],
    trains: Vec<(usize, TrainTimes)>,
    clocks: Option<ClockModel>,
    origin: Nanos,
}

impl<'a> SessionAnalysis<'a> {
    pub fn new(records: &'a [TestRecord], near: ClockState, far: ClockState) -> SessionAnalysis<'a> {
        let numbered =
            |(i, r): (usize, &TestRecord)| TrainTimes::from_record(r).into_iter().map(move |c| (i, c)).collect::<Vec<_>>();
        let trains: Vec<(usize, TrainTimes)> = records.iter().enumerate().flat_map(numbered).collect();
        let all: Vec<TrainTimes> = trains.iter().map(|c| c.1.clone()).collect();
        let origin = records.iter().map(|r| r.began).min().unwrap_or(0);
        SessionAnalysis { records, trains, clocks: ClockModel::of(&all, [near, far]), origin }
    }

    /// Without a comparison of the clocks: delays are differences of timestamps.
    pub fn without_clocks(records: &'a [TestRecord]) -> SessionAnalysis<'a> {
        let unknown = ClockState { synchronised: false, pps: false, max_error_ns: 0 };
        SessionAnalysis { clocks: None, ..SessionAnalysis::new(records, unknown, unknown) }
    }

    fn seconds(&self, at: Nanos) -> f64 {
        at.saturating_sub(self.origin) as f64 * 1e-9
    }

    /// Converts a time of the far end to the near clock. Without a clock comparison, `first` is
    /// taken as the start of the test.
    fn to_near_clock(&self, far: Nanos, first: Nanos, began: Nanos) -> Nanos {
        match &self.clocks {
            Some(clocks) => clocks.near(far),
            None => began.saturating_add(far.saturating_sub(first)),
        }
    }

    pub fn results(&self) -> SessionResults {
        let tests = self.records.iter().enumerate().map(|(i, r)| self.test_result(i, r)).collect();
        SessionResults { clock: self.clocks.as_ref().map(|c| c.estimate.clone()), tests }
    }

    fn test_result(&self, test: usize, record: &TestRecord) -> TestResult {
        let trains = self.trains.iter().filter(|c| c.0 == test);
        let since = |times: &[Option<Nanos>; 4]| {
            let began = times[0].unwrap_or(0);
            [times[1], times[2], times[3]].map(|t| t.map(|t| (t - began) as f64 * 1e-9))
        };
        let transfers = matches!(record.spec, TestSpec::Transfers(_));
        TestResult {
            test,
            spec: record.spec.clone(),
            began_s: self.seconds(record.began),
            directions: trains.map(|c| direction_stats(&c.1, self.clocks.as_ref())).collect(),
            near_flows: record.flows.clone(),
            far_flows: record.outcome.flows.clone(),
            transfers_s: record.times.iter().filter(|_| transfers).map(since).collect(),
            unsent: record.unsent + record.outcome.unsent,
            held: record.outcome.held,
            near_overrun: record.overrun,
            far_overrun: record.outcome.overrun,
            cut_short: record.outcome.cut_short.clone().or_else(|| record.cut_short.clone()),
        }
    }

    pub fn delays(&self) -> Vec<DelayRow> {
        let of = |(test, c): &(usize, TrainTimes)| -> Vec<DelayRow> {
            let first = c.sent.first().copied().unwrap_or(0);
            let began = self.records[*test].began;
            let row = |(number, (&sent, &received)): (usize, (&Nanos, &Option<Nanos>))| DelayRow {
                test: *test,
                direction: c.direction,
                number: number as u32,
                sent_s: self.seconds(if c.direction == Direction::Up { sent } else { self.to_near_clock(sent, first, began) }),
                delay_ms: received
                    .and_then(|received| Some(self.clocks.as_ref()?.delay(c.direction, sent, received) as f64 * 1e-6)),
                difference_ms: received.map(|received| received.saturating_sub(sent) as f64 * 1e-6),
            };
            c.sent.iter().zip(&c.received).enumerate().map(row).collect()
        };
        self.trains.iter().flat_map(of).collect()
    }

    pub fn samples(&self) -> Vec<SampleRow> {
        let mut rows = Vec::new();
        for (test, record) in self.records.iter().enumerate() {
            for (far, tables) in [(false, &record.near), (true, &record.far)] {
                let Some(table) = tables.get(&TableId::Samples).filter(|t| t.columns == SAMPLE_COLUMNS.len()) else { continue };
                let first = table.values.first().copied().unwrap_or(0);
                let time = |at| self.seconds(if far { self.to_near_clock(at, first, record.began) } else { at });
                rows.extend(table.rows().map(|r| SampleRow { test, far, time_s: time(r[0]), rest: r[1..].to_vec() }));
            }
        }
        rows
    }
}
