//! A direction's log as a script for replays: its rounds, its window reductions, and the windows that
//! a congestion control must have had, whatever it is.
//!
//! The flight is taken for the window where the sender is not recovering: at the end of each round the
//! maximum since its start. A replay begins again with the window seen after each reduction, and where it
//! is far from the window seen, so that an error does not last.

use super::flight_log::{FlightEntry, FlightEvent, FlightLog};
use ackclock_core::tcp::cc::CongestionSignal;

/// What a replay does before the entry of this number.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub entry: usize,
    pub action: Action,
}

/// Windows in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// A loss or a mark; the flight before it.
    Reduce { signal: CongestionSignal, before: f64 },
    /// The recovery is over.
    Recovered,
    /// The window was `window`, by what the sender does in slow start; it is not compared.
    Follow { window: f64 },
    /// Slow start has ended without a loss.
    LeaveSlowStart { window: f64 },
    /// One round after a recovery: the window is compared with `window`, and set to it. `from_slow_start`:
    /// the flight grew until the loss was seen, so that the one before need not be the window reduced.
    CompareReduction { before: f64, window: f64, from_slow_start: bool },
    /// A round of congestion avoidance has ended; `since` is the window from which it grew. `is_last`:
    /// of those that are weighed together; if the replay's window is far away, it becomes `window`.
    CompareGrowth { since: f64, window: f64, is_last: bool },
}

/// A round: from a segment's transmission to its ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct Round {
    /// Maximum flight in segments.
    pub max_flight: f64,
    /// Bytes acknowledged, and those of them whose ACKs echo a mark.
    pub acked: u64,
    pub marked: u64,
    /// Minimum RTT sample, microseconds; zero without one.
    pub min_rtt_us: u32,
    pub recovering: bool,
    /// Part of the entries at which the advertised window was full.
    pub window_full: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Script {
    pub steps: Vec<Step>,
    pub rounds: Vec<Round>,
    /// Reductions by a loss or a mark, without timeouts; timeouts.
    pub reductions: u32,
    pub timeouts: u32,
    /// Rounds at the end of which something else limits the flight.
    pub limited_rounds: u32,
    /// Share of the acknowledged bytes whose ACKs echo a mark.
    pub marked_share: f64,
    pub min_rtt_us: u32,
    /// RTTs are those of timestamps.
    has_coarse_rtts: bool,
    pub median_flight: f64,
    /// Times that the flight was two segments or three for a round, without a loss.
    pub slowdowns: u32,
    /// Maximum flight in each `BIN` of the time since the first entry.
    pub bins: Vec<f64>,
    /// The bins of recoveries and timeouts; of timeouts.
    pub recovering_at: Vec<usize>,
    pub timed_out_at: Vec<usize>,
}

/// Nanoseconds.
pub const BIN: i64 = 50_000_000;
/// Of an hour and more.
const MAX_BINS: usize = 1 << 17;
/// Rounds that are weighed together where nothing is lost.
const MAX_GROWTH_ROUNDS: u32 = 12;
/// A flight of this share of the highest is at it, and so are flights less than a segment below it.
const AT_LIMIT: f64 = 0.98;
/// Rounds there that show a limit, or else a tenth of all.
const MIN_AT_LIMIT: usize = 8;
/// Segments queued, by the RTT, from which a queue stands.
const QUEUED: f64 = 0.8;
/// Error of RTTs by timestamps of a millisecond, in microseconds, and at most so many parts of the RTT.
const TIMESTAMP_ERROR_US: f64 = 2500.0;
const SHORT_RTT: f64 = 16.0;
/// Flight of a slowdown of LEDBAT++, and a segment.
const SLOWDOWN_FLIGHT: f64 = 3.0;
/// Slow start is over when the flight has grown by less than this in two rounds.
const SLOW_START_GROWTH: f64 = 1.2;
/// Share of the flight before below which no reduction leaves the window, and growth per RTT with which
/// it goes on growing to it.
const FAR_BELOW: f64 = 0.45;
const SETTLING_GROWTH: f64 = 1.25;
/// Flights below this, in segments, show no growth.
const MIN_FLIGHT: f64 = 4.0;
/// Share of a round's packets with a full advertised window above which it limits the round.
const WINDOW_FULL: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart,
    Recovery {
        until: u64,
        before: f64,
        from_slow_start: bool,
    },
    /// The first round after a recovery, and more while the window grows as in slow start.
    Settling {
        before: f64,
        last: Option<f64>,
        from_slow_start: bool,
    },
    Avoidance {
        since: f64,
        rounds: u32,
    },
}

struct Builder<'a> {
    log: &'a FlightLog,
    /// ECE and CWR are RFC 3168's flags, and no counter (RFC 9768).
    has_flags: bool,
    limit: f64,
    script: Script,
    phase: Phase,
    sent: u64,
    acked: u64,
    round_until: u64,
    round: Round,
    full: u32,
    entries: u32,
    has_sent: bool,
    /// Maximum flights of the last rounds, the newest first.
    last: [f64; 3],
    /// The flight before a recovery after which nothing new has been sent, unless the capture is at the sender.
    unextended: Option<f64>,
}

impl Script {
    pub fn of(log: &FlightLog) -> Script {
        let free = Script::below(log, f64::INFINITY);
        match free.other_limit() {
            Some(limit) => Script::below(log, limit),
            None => free,
        }
    }

    /// The flight at which the sender's buffer, or its application, limits it: most often the highest,
    /// without a queue.
    fn other_limit(&self) -> Option<f64> {
        let highest = self.rounds.iter().map(|round| round.max_flight).fold(0.0, f64::max);
        let limit = (highest - 1.0).max(AT_LIMIT * highest);
        let at_limit =
            self.rounds.iter().filter(|round| round.max_flight >= limit && !round.recovering && !self.has_queue(round));
        (at_limit.count() >= MIN_AT_LIMIT.max(self.rounds.len() / 10)).then_some(limit)
    }

    fn has_queue(&self, round: &Round) -> bool {
        let (rtt, min_rtt) = (f64::from(round.min_rtt_us), f64::from(self.min_rtt_us));
        let error = if self.has_coarse_rtts { TIMESTAMP_ERROR_US.min(min_rtt / SHORT_RTT) } else { 0.0 };
        rtt > min_rtt + error && round.max_flight * (rtt - min_rtt) / rtt > QUEUED
    }

    /// With another limit than the congestion window at this flight.
    fn below(log: &FlightLog, limit: f64) -> Script {
        let mut builder = Builder {
            log,
            has_flags: has_flags(log),
            limit,
            script: Script { has_coarse_rtts: !log.of.is_at_sender, ..Script::default() },
            phase: Phase::SlowStart,
            sent: 0,
            acked: 0,
            round_until: 1,
            round: Round::default(),
            full: 0,
            entries: 0,
            has_sent: false,
            last: [0.0; 3],
            unextended: None,
        };
        for (number, entry) in log.entries.iter().enumerate() {
            builder.add(number, entry);
        }
        let mut script = builder.script;
        let mut flights: Vec<f64> = script.rounds.iter().map(|round| round.max_flight).collect();
        flights.sort_by(f64::total_cmp);
        let (marked, acked) = script.rounds.iter().fold((0, 0), |sum, round| (sum.0 + round.marked, sum.1 + round.acked));
        script.marked_share = marked as f64 / acked.max(1) as f64;
        script.slowdowns = slowdowns(&script.rounds);
        script.median_flight = flights.get(flights.len() / 2).copied().unwrap_or(0.0);
        script
    }
}

/// Of LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01, section 4.4).
fn slowdowns(rounds: &[Round]) -> u32 {
    let is_low = |round: &Round| round.max_flight <= SLOWDOWN_FLIGHT && !round.recovering;
    rounds.windows(2).filter(|pair| pair[0].max_flight > 2.0 * SLOWDOWN_FLIGHT && !pair[0].recovering && is_low(&pair[1])).count()
        as u32
}

/// CWR is rare: one segment of a flight has it at most.
fn has_flags(log: &FlightLog) -> bool {
    let sent = log.entries.iter().filter(|entry| entry.event == FlightEvent::Sent);
    let (all, marked) = sent.fold((0u32, 0u32), |(all, marked), entry| (all + 1, marked + u32::from(entry.marked)));
    log.ect1 == 0 && u64::from(marked) * 5 < u64::from(all)
}

impl Builder<'_> {
    fn push(&mut self, entry: usize, action: Action) {
        self.script.steps.push(Step { entry, action });
    }

    fn add(&mut self, number: usize, entry: &FlightEntry) {
        let flight = f64::from(entry.in_flight) / f64::from(self.log.of.mss);
        let bin = self.bin(number);
        if matches!(self.phase, Phase::Recovery { .. }) && self.script.recovering_at.last() != Some(&bin) {
            self.script.recovering_at.push(bin);
        }
        if bin < MAX_BINS {
            if self.script.bins.len() <= bin {
                // No packet: what was in flight stays so.
                self.script.bins.resize(bin + 1, flight);
            }
            self.script.bins[bin] = self.script.bins[bin].max(flight);
        }
        self.entries += 1;
        self.full += u32::from(entry.window_full);
        self.round.max_flight = self.round.max_flight.max(flight);
        match entry.event {
            FlightEvent::Acked => self.on_ack(number, entry),
            FlightEvent::Sent => {
                self.extend_recovery(entry);
                self.sent += u64::from(entry.bytes);
                self.has_sent = true;
                if entry.marked && self.has_flags && !matches!(self.phase, Phase::Recovery { .. }) {
                    self.reduce(number, CongestionSignal::Ecn);
                }
            }
            FlightEvent::Retransmitted if matches!(self.phase, Phase::Recovery { .. }) => {}
            FlightEvent::Retransmitted => self.reduce(number, CongestionSignal::Duplicates),
            FlightEvent::TimedOut => {
                self.script.timeouts += 1;
                let bin = self.bin(number);
                self.script.timed_out_at.push(bin);
                self.script.recovering_at.push(bin);
                let before = self.flight_before();
                self.push(number, Action::Reduce { signal: CongestionSignal::Timeout, before });
                self.phase = Phase::SlowStart;
                self.last = [0.0; 3];
            }
        }
    }

    /// The maximum flight in the last round and the present one.
    fn flight_before(&self) -> f64 {
        self.last[0].max(self.round.max_flight)
    }

    fn bin(&self, number: usize) -> usize {
        ((self.log.entries[number].at - self.log.entries[0].at).max(0) / BIN) as usize
    }

    fn reduce(&mut self, number: usize, signal: CongestionSignal) {
        let before = self.flight_before();
        self.script.reductions += 1;
        self.push(number, Action::Reduce { signal, before });
        let from_slow_start = self.phase == Phase::SlowStart;
        self.phase = Phase::Recovery { until: self.sent, before, from_slow_start };
        self.unextended = (!self.log.of.is_at_sender).then_some(before);
    }

    /// Not at the sender, the last segments before a recovery that were lost are seen only by the gap in front
    /// of the first new segment after it began: their loss is no reduction of its own.
    fn extend_recovery(&mut self, entry: &FlightEntry) {
        let Some(before) = self.unextended.take() else { return };
        let lost = u64::from(entry.bytes.saturating_sub(self.log.of.mss));
        if let Phase::Recovery { from_slow_start, .. } | Phase::Settling { last: None, from_slow_start, .. } = self.phase
            && lost > 0
        {
            self.phase = Phase::Recovery { until: self.sent + lost, before, from_slow_start };
        }
    }

    fn on_ack(&mut self, number: usize, entry: &FlightEntry) {
        self.acked += u64::from(entry.bytes);
        // The capture may lack what was sent.
        self.sent = self.sent.max(self.acked);
        self.round.acked += u64::from(entry.bytes);
        self.round.marked += if entry.marked && self.has_flags { u64::from(entry.bytes) } else { 0 };
        if entry.rtt_us > 0 && self.has_sent {
            let min = |known: u32| if known == 0 { entry.rtt_us } else { known.min(entry.rtt_us) };
            self.round.min_rtt_us = min(self.round.min_rtt_us);
            self.script.min_rtt_us = min(self.script.min_rtt_us);
        }
        if let Phase::Recovery { until, before, from_slow_start } = self.phase {
            self.round.recovering = true;
            if self.acked >= until {
                self.push(number, Action::Recovered);
                self.phase = Phase::Settling { before, last: None, from_slow_start };
                self.begin_round();
                // What was lost counts as in flight before.
                self.last = [0.0; 3];
                return;
            }
        }
        if self.acked >= self.round_until {
            self.end_round(number);
        }
    }

    fn begin_round(&mut self) {
        self.round.window_full = f64::from(self.full) / f64::from(self.entries.max(1));
        self.script.rounds.push(self.round);
        self.last = [self.round.max_flight, self.last[0], self.last[1]];
        self.round = Round::default();
        (self.full, self.entries) = (0, 0);
        self.round_until = self.sent.max(self.acked + 1);
    }

    fn end_round(&mut self, number: usize) {
        self.begin_round();
        let Some(&round) = self.script.rounds.last() else { return };
        let window = round.max_flight;
        let is_limited = window >= self.limit && !self.script.has_queue(&round);
        if round.window_full > WINDOW_FULL || is_limited {
            self.script.limited_rounds += 1;
            // The window is larger than the flight, by how much is not seen.
            if !matches!(self.phase, Phase::Recovery { .. }) {
                self.phase = Phase::SlowStart;
                self.last = [0.0; 3];
                self.push(number, Action::Follow { window });
            }
            return;
        }
        match self.phase {
            Phase::Recovery { .. } => {}
            Phase::SlowStart => {
                let [now, _, earlier] = self.last;
                if earlier >= MIN_FLIGHT && now < SLOW_START_GROWTH * earlier {
                    self.push(number, Action::LeaveSlowStart { window });
                    self.phase = Phase::Avoidance { since: window, rounds: 0 };
                } else {
                    self.push(number, Action::Follow { window });
                }
            }
            // A sender that has sent nothing in the recovery grows to its window in slow start.
            Phase::Settling { before, last, from_slow_start }
                if last.map_or(window < FAR_BELOW * before, |last| window > SETTLING_GROWTH * last) =>
            {
                self.phase = Phase::Settling { before, last: Some(window), from_slow_start };
            }
            Phase::Settling { before, from_slow_start, .. } => {
                self.push(number, Action::CompareReduction { before, window, from_slow_start });
                self.phase = Phase::Avoidance { since: window, rounds: 0 };
            }
            Phase::Avoidance { since, rounds } => {
                let is_last = rounds + 1 >= MAX_GROWTH_ROUNDS;
                self.push(number, Action::CompareGrowth { since, window, is_last });
                self.phase = match is_last {
                    true => Phase::Avoidance { since: window, rounds: 0 },
                    false => Phase::Avoidance { since, rounds: rounds + 1 },
                };
            }
        }
    }
}
