//! Overflow of a droptail queue, from the backlog that each packet met (`backlog`). Such a queue
//! loses nearly all packets above a limit and none below: one step in the loss rate, by maximum
//! likelihood, in bytes or in packets, at the queue's tail or at its head. The step is sharp, which
//! distinguishes it from an AQM, and it is the same for all flows.

use super::backlog::Backlog;
use super::loss_threshold::{LevelCounts, Step, StepSearch};

/// What a queue compares with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BacklogMeasure {
    BytesAtArrival,
    PacketsAtArrival,
    BytesAtService,
    PacketsAtService,
}

impl BacklogMeasure {
    const ALL: [BacklogMeasure; 4] = [
        BacklogMeasure::BytesAtArrival,
        BacklogMeasure::PacketsAtArrival,
        BacklogMeasure::BytesAtService,
        BacklogMeasure::PacketsAtService,
    ];

    pub fn is_in_bytes(self) -> bool {
        matches!(self, BacklogMeasure::BytesAtArrival | BacklogMeasure::BytesAtService)
    }

    /// The queue drops at its head: what it drops need not have met a full queue.
    pub fn is_at_head(self) -> bool {
        matches!(self, BacklogMeasure::BytesAtService | BacklogMeasure::PacketsAtService)
    }

    pub fn of(self, backlog: &Backlog) -> i64 {
        match self {
            BacklogMeasure::BytesAtArrival => backlog.at_arrival.bytes,
            BacklogMeasure::PacketsAtArrival => backlog.at_arrival.packets,
            BacklogMeasure::BytesAtService => backlog.at_service.bytes,
            BacklogMeasure::PacketsAtService => backlog.at_service.packets,
        }
    }
}

/// A limit above which the queue drops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overflow {
    pub measure: BacklogMeasure,
    /// Minimum backlog of the packets above the limit.
    pub limit: i64,
    /// Backlog below which packets are surely below the limit: jitter blurs it.
    pub surely_below: i64,
    /// Share of packets lost at smaller backlogs: not by this queue.
    pub rate_below: f64,
    /// Share of packets lost between `surely_below` and the limit.
    pub rate_near: f64,
    /// Share of packets lost above the limit.
    pub rate_above: f64,
    pub gain: f64,
}

/// A packet of which the fate is known.
#[derive(Debug, Clone, Copy)]
pub struct BacklogSample {
    /// Departure, nanoseconds.
    pub at: i64,
    pub backlog: Backlog,
    pub lost: bool,
    /// Lost in an outage, which says nothing about the loss rate at other times.
    pub in_outage: bool,
}

/// Minimum gain of the step (2 ln of the likelihood ratio), losses of a moment counted once.
const MIN_GAIN: f64 = 6.0;
/// Minimum share of packets lost above the limit of a droptail queue. It is all of them but for the
/// jitter of links and hosts; AQMs drop less.
const MIN_RATE_ABOVE: f64 = 0.3;
/// Minimum ratio of the loss rates above and below.
const MIN_RATIO: f64 = 5.0;
/// Minimum number of packets lost above the limit.
const MIN_LOST_ABOVE: u32 = 2;
/// Position of `surely_below`, relative to the limit,
const SURELY_BELOW: f64 = 0.9;
/// its minimum,
const MIN_SURELY_BELOW: f64 = 0.75;
/// and its minimum distance from the limit, in packets
const BLUR_PACKETS: i64 = 3;
/// of this length in bytes.
const FULL_PACKET: i64 = 1500;

/// The limit of a droptail queue; none if no backlog has a sharp step.
pub fn find(samples: &[BacklogSample]) -> Option<Overflow> {
    let steps = BacklogMeasure::ALL.into_iter().filter_map(|measure| {
        let search = StepSearch::of(samples.iter().map(|sample| (sample.at, measure.of(&sample.backlog), sample.lost)));
        let step = search.best()?;
        let overflow = overflow(measure, samples, &search, step);
        let is_sharp = overflow.rate_above >= MIN_RATE_ABOVE && overflow.rate_above >= MIN_RATIO * overflow.rate_below;
        let lost_above = search.between(step.from, i64::MAX).lost;
        (step.gain >= MIN_GAIN && lost_above >= MIN_LOST_ABOVE && is_sharp).then_some(overflow)
    });
    steps.fold(None, |best: Option<Overflow>, one| match best {
        // The first of equal ones: bytes are the measure of most queues.
        Some(best) if best.gain >= one.gain => Some(best),
        _ => Some(one),
    })
}

fn overflow(measure: BacklogMeasure, samples: &[BacklogSample], search: &StepSearch, step: Step) -> Overflow {
    let blur = BLUR_PACKETS * if measure.is_in_bytes() { FULL_PACKET } else { 1 };
    let surely_below =
        ((step.from as f64 * SURELY_BELOW) as i64).min(((step.from as f64 * MIN_SURELY_BELOW) as i64).max(step.from - blur));
    let below = search.between(i64::MIN, surely_below);
    let (rate_below, rate_near) = match below.all {
        0 => (search.between(i64::MIN, step.from).rate(), search.between(i64::MIN, step.from).rate()),
        _ => {
            let lost = |s: &&BacklogSample| s.lost && !s.in_outage && measure.of(&s.backlog) < surely_below;
            let lost = samples.iter().filter(lost).count() as u32;
            (LevelCounts { lost, ..below }.rate(), search.between(surely_below, step.from).rate())
        }
    };
    Overflow {
        measure,
        limit: step.from,
        surely_below,
        rate_below,
        rate_near,
        rate_above: search.between(step.from, i64::MAX).rate(),
        gain: step.gain,
    }
}

impl Overflow {
    pub fn is_full(&self, backlog: &Backlog) -> bool {
        self.measure.of(backlog) >= self.limit
    }

    /// Probability that a loss at this backlog is not the queue's; none if it is surely below the
    /// limit, where the queue drops nothing.
    pub fn other_cause(&self, backlog: &Backlog) -> Option<f64> {
        let level = self.measure.of(backlog);
        let rate = if level >= self.limit { self.rate_above } else { self.rate_near };
        (level >= self.surely_below && rate > 0.0).then(|| (self.rate_below / rate).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::backlog::Amount;
    use super::*;

    /// A packet every 10 ms at a backlog between 1 and 100 packets.
    fn samples(lost: impl Fn(usize, i64) -> bool) -> Vec<BacklogSample> {
        let sample = |i: usize| {
            let packets = (i * 37 % 100) as i64 + 1;
            let amount = Amount { bytes: packets * 1500, packets };
            let backlog = Backlog { at_arrival: amount, at_service: amount, in_stall: false };
            BacklogSample { at: i as i64 * 10_000_000, backlog, lost: lost(i, packets), in_outage: false }
        };
        (0..4000).map(sample).collect()
    }

    #[test]
    fn limit_is_found_when_all_packets_above_it_are_lost() {
        let found = find(&samples(|_, packets| packets > 95)).unwrap();
        assert_eq!((found.measure, found.limit), (BacklogMeasure::BytesAtArrival, 96 * 1500));
        assert!(found.rate_below == 0.0 && found.rate_above == 1.0);
    }

    // finding("C3")
    #[test]
    fn random_losses_below_the_limit_are_not_the_queues() {
        let losses = |i: usize, packets: i64| packets > 95 || i.is_multiple_of(29);
        let all = samples(losses);
        let found = find(&all).unwrap();
        let lost = || all.iter().filter(|sample| sample.lost);
        let other: f64 = lost().map(|sample| found.other_cause(&sample.backlog).unwrap_or(1.0)).sum();
        let truth = (0..4000_u32).filter(|i| i.is_multiple_of(29)).count() as f64;
        assert!((other / lost().count() as f64 - truth / lost().count() as f64).abs() < 0.05, "{other} of {truth}");
    }

    #[test]
    fn no_limit_is_found_when_losses_are_random_or_an_aqm_drops() {
        assert_eq!(find(&samples(|i, _| i.is_multiple_of(29))), None);
        assert_eq!(find(&samples(|i, packets| packets > 40 && i.is_multiple_of(17))), None);
    }
}
