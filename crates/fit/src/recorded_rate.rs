//! A rate that varies, as a recording: the times at which the link could send 1500 bytes (mahimahi's
//! format). While packets wait, what arrives is what the link can send. While none waits, the rate is
//! assumed to be that of the second around it. Short packets, such as ACKs, do not fill an opportunity:
//! each time at which some arrive is one.

use crate::facts::{DirectionFacts, Outcome};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use serde::Serialize;

/// Bytes of an opportunity.
const OPPORTUNITY: f64 = 1500.0;
const NS_PER_MS: f64 = 1e6;

/// Opportunities of a link over one run.
#[derive(Debug, Clone, PartialEq, Serialize, Document)]
pub struct RecordedRate {
    /// Times of the opportunities since the first arrival, ms, ascending; the last one is the period.
    pub times_ms: Vec<u64>,
    /// Share of the time in which packets waited.
    pub seen: f64,
    /// Bit/s.
    pub mean_bps: f64,
}

/// What arrived over a time in which packets waited, or a time in which none did.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: i64,
    to: i64,
    /// Bytes at its end; none if no packet waited.
    bytes: Option<f64>,
}

/// Bytes and nanoseconds in which packets waited, for each window.
struct LocalRates {
    start: i64,
    windows: Vec<(f64, f64)>,
    mean: f64,
    is_short: bool,
}

impl LocalRates {
    /// `is_short`: packets do not fill what the link sends at a time. What it sends while none waits is
    /// then taken to be what arrives on average, idle times included.
    fn of(stretches: &[Stretch], is_short: bool, start: i64, end: i64) -> Option<LocalRates> {
        let count = ((end - start) / LIMITS.local_rate_ns + 1) as usize;
        let mut windows = vec![(0.0, 0.0); count];
        for stretch in stretches {
            let Some(bytes) = stretch.bytes.or(is_short.then_some(0.0)) else { continue };
            let window = &mut windows[((stretch.to - start) / LIMITS.local_rate_ns) as usize];
            window.0 += bytes;
            window.1 += (stretch.to - stretch.from) as f64;
        }
        let (bytes, ns) = windows.iter().fold((0.0, 0.0), |sum, w| (sum.0 + w.0, sum.1 + w.1));
        (ns > 0.0 && bytes > 0.0).then(|| LocalRates { start, windows, mean: bytes / ns, is_short })
    }

    /// Bytes per nanosecond around a time: of its window and both neighbours.
    fn at(&self, time: i64) -> f64 {
        let window = ((time - self.start) / LIMITS.local_rate_ns) as usize;
        let around = &self.windows[window.saturating_sub(1)..(window + 2).min(self.windows.len())];
        let (bytes, ns) = around.iter().fold((0.0, 0.0), |sum, w| (sum.0 + w.0, sum.1 + w.1));
        let is_known = ns >= LIMITS.min_local_share * LIMITS.local_rate_ns as f64;
        let rate = if is_known { bytes / ns } else { self.mean };
        // A second in which few packets were sent does not show that few could be.
        if self.is_short { rate.max(self.mean) } else { rate }
    }
}

/// The recording of the run with the most time in which packets waited; none if they hardly did.
pub fn estimate(runs: &[DirectionFacts]) -> Option<RecordedRate> {
    let recordings = runs.iter().filter_map(of_run);
    recordings.max_by(|a, b| seen_ms(a).total_cmp(&seen_ms(b)))
}

fn seen_ms(recording: &RecordedRate) -> f64 {
    recording.times_ms.last().map_or(0.0, |last| *last as f64 * recording.seen)
}

fn of_run(facts: &DirectionFacts) -> Option<RecordedRate> {
    let is_short = facts.common_len()? < LIMITS.max_short_len;
    let stretches = stretches(facts, is_short)?;
    let (start, end) = (stretches.first()?.from, stretches.last()?.to);
    let busy: i64 = stretches.iter().filter(|s| s.bytes.is_some()).map(|s| s.to - s.from).sum();
    let seen = busy as f64 / (end - start).max(1) as f64;
    let rates = LocalRates::of(&stretches, is_short, start, end)?;
    if seen < LIMITS.min_recorded_share || ((end - start) as f64) < LIMITS.min_recorded_ns as f64 {
        return None;
    }
    let mut times_ms = Vec::new();
    let mut credit = 0.0;
    let ms_of = |time: f64| libm::round((time - start as f64) / NS_PER_MS).max(0.0) as u64;
    for stretch in &stretches {
        match stretch.bytes {
            Some(bytes) => {
                credit += bytes;
                while credit >= OPPORTUNITY {
                    times_ms.push(ms_of(stretch.to as f64));
                    credit -= OPPORTUNITY;
                }
            }
            None => {
                let rate = rates.at(stretch.from);
                let mut time = stretch.from as f64 + (OPPORTUNITY - credit) / rate;
                while time <= stretch.to as f64 {
                    times_ms.push(ms_of(time));
                    time += OPPORTUNITY / rate;
                }
                credit = (OPPORTUNITY - (time - stretch.to as f64) * rate).max(0.0);
            }
        }
    }
    let period = *times_ms.last().filter(|last| **last > 0)?;
    let mean_bps = times_ms.len() as f64 * OPPORTUNITY * 8e3 / period as f64;
    Some(RecordedRate { times_ms, seen, mean_bps })
}

/// The times between arrivals, divided at the time from which on the later packet waited.
fn stretches(facts: &DirectionFacts, is_short: bool) -> Option<Vec<Stretch>> {
    let floor = facts.floor()?;
    let mut lost = 0.0;
    let mut arrivals: Vec<(i64, i64, f64)> = Vec::new();
    for packet in &facts.packets {
        match packet.outcome {
            Outcome::Arrived(at) => arrivals.push((at, packet.sent, f64::from(packet.len) + std::mem::take(&mut lost))),
            // What the channel lost was sent.
            Outcome::Lost { channel } => lost += channel * f64::from(packet.len),
            Outcome::Uncaptured => lost += f64::from(packet.len),
            Outcome::OutsideCapture => {}
        }
    }
    arrivals.sort_by_key(|arrival| arrival.0);
    if is_short {
        arrivals.dedup_by(|later, first| later.0 - first.0 < LIMITS.same_opportunity_ns);
        arrivals.iter_mut().for_each(|arrival| arrival.2 = OPPORTUNITY);
    }
    let mut stretches = Vec::with_capacity(arrivals.len());
    for pair in arrivals.windows(2) {
        let ((before, ..), (at, sent, bytes)) = (pair[0], pair[1]);
        let waits_from = (sent + floor).clamp(before, at);
        if waits_from > before {
            stretches.push(Stretch { from: before, to: waits_from, bytes: None });
        }
        stretches.push(Stretch { from: waits_from, to: at, bytes: Some(bytes) });
    }
    Some(stretches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::LinkPacket;

    const MS: i64 = 1_000_000;

    /// Packets of 1500 B that leave at these times (ms) over a link with opportunities at `times_ms`
    /// and a delay of 20 ms.
    fn link(sent_ms: impl Iterator<Item = i64>, times_ms: &[u64]) -> DirectionFacts {
        let mut free = times_ms.iter();
        let packets = sent_ms.map_while(|sent| {
            let at = *free.find(|at| **at as i64 > sent)? as i64;
            Some(LinkPacket { sent: sent * MS, len: 1500, outcome: Outcome::Arrived((at + 20) * MS) })
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    /// 40 s: 4 ms between opportunities in even seconds, 1 ms in odd ones.
    fn steps() -> Vec<u64> {
        (0..40_000u64).filter(|ms| ms / 1000 % 2 == 1 || ms % 4 == 0).collect()
    }

    #[test]
    fn recording_has_every_opportunity_when_packets_always_wait() {
        let times = steps();
        let found = of_run(&link((0..20_000).map(|i| i / 8), &times)).unwrap();
        let first = times.iter().position(|at| *at > 0).unwrap();
        let expected: Vec<u64> = times[first + 1..].iter().map(|at| at - times[first]).take(found.times_ms.len()).collect();
        assert_eq!(found.times_ms, expected);
        assert!(found.seen > 0.99 && found.times_ms.len() > 19_000, "{} {}", found.seen, found.times_ms.len());
    }

    #[test]
    fn gaps_have_the_rate_around_them_when_no_packet_waits() {
        // A tenth of each second without packets.
        let sent = (0..40_000i64).filter(|ms| ms % 1000 < 450).flat_map(|ms| [ms; 2]);
        let all: Vec<u64> = (0..40_000u64).collect();
        let found = of_run(&link(sent, &all)).unwrap();
        assert!((found.mean_bps / 12e6 - 1.0).abs() < 0.02, "{} {}", found.mean_bps, found.seen);
        assert!(found.seen > 0.8 && found.seen < 0.95, "{}", found.seen);
    }

    #[test]
    fn recording_of_short_packets_has_the_times_at_which_some_arrive() {
        // Two ACKs every 5 ms over a link that sends every 8 ms.
        let packets = (0..4000i64).map(|i| {
            let sent = i / 2 * 5;
            let outcome = Outcome::Arrived((sent / 8 + 1) * 8 * MS + 10 * MS);
            LinkPacket { sent: sent * MS, len: 52, outcome }
        });
        let found = of_run(&DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }).unwrap();
        let missed = (1..1000u64).filter(|k| found.times_ms.binary_search(&(8 * k)).is_err()).count();
        assert_eq!(missed, 0, "{:?}", &found.times_ms[..20]);
    }

    #[test]
    fn there_is_no_recording_when_packets_hardly_wait() {
        let all: Vec<u64> = (0..40_000u64).collect();
        assert_eq!(of_run(&link((0..4000).map(|i| i * 10), &all)), None);
    }
}
