//! The figures of one direction of a train.

use super::clocks::ClockModel;
use super::one_way::OneWayTrain;
use super::wilson::{Proportion, wilson_interval};
use crate::Nanos;
use crate::test_spec::Direction;
use ackclock_core::statistics::SummaryStats;
use ackclock_trace::join::{Fate, judge_probes};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionStats {
    pub direction: Direction,
    pub payload_bytes: u32,
    pub ip_bytes: u32,
    pub asked_gap_us: f64,
    /// What was really sent: datagrams, gaps, IP bits a second.
    pub sent: usize,
    pub sent_gap_us: Option<SummaryStats>,
    pub sent_bps: Option<f64>,
    pub received: usize,
    /// From the first arrival to the last.
    pub received_bps: Option<f64>,
    pub duplicated: u64,
    pub reordered: u64,
    pub loss: Option<Proportion>,
    /// Runs of bins of 100 ms in which more than half was lost.
    pub loss_bursts: usize,
    /// Delay above the least of this train.
    pub delay_variation_ms: Option<SummaryStats>,
    /// With the least delays of both ways taken as equal.
    pub one_way_delay_ms: Option<SummaryStats>,
    /// The least delay, for all that is known of the clocks.
    #[serde(rename = "least_delay_interval_ms")]
    pub min_delay_interval_ms: Option<[f64; 2]>,
    pub bottleneck: Bottleneck,
}

/// What stands between, if a queue stood before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bottleneck {
    /// IP bits a second while a queue stood.
    pub rate_bps: Option<f64>,
    /// The buffer in bytes by the least delay next to an overflow, and by the greatest delay.
    pub min_based_bytes: Option<f64>,
    pub max_based_bytes: Option<f64>,
    /// Something overflowed: the buffer is the buffer, and not what was used of it.
    pub filled: bool,
    /// congestion, radio, both or unclear.
    pub losses_are: &'static str,
}

fn rate(bytes: u64, times: &[Nanos]) -> Option<f64> {
    let (first, last) = (times.iter().min()?, times.iter().max()?);
    (last > first).then(|| bytes as f64 * 8e9 / (last - first) as f64)
}

/// Bits a second of alike datagrams: those after the first, over the time since the first.
fn rate_of(times: &[Nanos], ip_len: u32) -> Option<f64> {
    rate((times.len() as u64).saturating_sub(1) * u64::from(ip_len), times)
}

/// Without a comparison of the clocks there are no absolute delays, and the clocks' rates are taken as equal.
pub fn direction_stats(one_way: &OneWayTrain, clocks: Option<&ClockModel>) -> DirectionStats {
    let raw = |sent: Nanos, received: Nanos| received.saturating_sub(sent);
    let delay =
        |sent: Nanos, received: Nanos| clocks.map_or_else(|| raw(sent, received), |c| c.delay(one_way.direction, sent, received));
    let delays: Vec<f64> = one_way.pairs().map(|(s, g)| delay(s, g) as f64 * 1e-6).collect();
    let min = delays.iter().copied().fold(f64::INFINITY, f64::min);
    let arrivals: Vec<Nanos> = one_way.received.iter().copied().flatten().collect();
    let lost: Vec<bool> = one_way.received.iter().map(Option::is_none).collect();
    let fates: Vec<(Nanos, Fate)> = one_way
        .sent
        .iter()
        .zip(&one_way.received)
        .map(|(sent, received)| (*sent, received.map_or(Fate::Lost, |received| Fate::Arrived(delay(*sent, received)))))
        .collect();
    let judged = judge_probes(&fates, one_way.ip_len());
    DirectionStats {
        direction: one_way.direction,
        payload_bytes: one_way.train.payload,
        ip_bytes: one_way.ip_len(),
        asked_gap_us: one_way.train.gap_ns as f64 * 1e-3,
        sent: one_way.sent.len(),
        sent_gap_us: SummaryStats::of(one_way.sent.windows(2).map(|w| (w[1] - w[0]) as f64 * 1e-3)).non_empty(),
        sent_bps: rate_of(&one_way.sent, one_way.ip_len()),
        received: arrivals.len(),
        received_bps: rate_of(&arrivals, one_way.ip_len()),
        duplicated: one_way.duplicated,
        reordered: one_way.reordered,
        loss: wilson_interval(&lost),
        loss_bursts: judged.bursts.all.len(),
        delay_variation_ms: SummaryStats::of(delays.iter().map(|d| d - min)).non_empty(),
        one_way_delay_ms: clocks.and_then(|_| SummaryStats::of(delays.iter().copied()).non_empty()),
        min_delay_interval_ms: clocks.filter(|_| !delays.is_empty()).map(|c| c.bounds(one_way.direction, min)),
        bottleneck: Bottleneck {
            rate_bps: judged.buffer.rate_bps,
            min_based_bytes: judged.buffer.min_based,
            max_based_bytes: judged.buffer.max_based,
            filled: judged.buffer.filled,
            losses_are: judged.verdict.blame.name(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MS;
    use crate::control::table::IntTable;
    use crate::test_spec::Train;

    /// Datagrams of 1250 bytes every ms (10 Mb/s) into a link of 8 Mb/s whose queue holds `room` of them beside the one being sent.
    fn overflow(room: i64) -> OneWayTrain {
        let train = Train { payload: 1222, gap_ns: MS, count: 2000 };
        let (mut sent, mut received) = (IntTable::new(2), IntTable::new(2));
        let (service, mut free) = (1_250_000i64, 0i64);
        for n in 0..2000 {
            let at = n * MS;
            sent.push(&[n, at]);
            let waiting = (free - at).max(0);
            if waiting <= room * service {
                free = free.max(at) + service;
                received.push(&[n, free + 20 * MS]);
            }
        }
        OneWayTrain::join(train, Direction::Down, &sent, &received)
    }

    #[test]
    fn an_overflowing_queue_shows_its_rate_and_its_size() {
        for room in [10, 50, 100] {
            let f = direction_stats(&overflow(room), None);
            let rate = f.bottleneck.rate_bps.unwrap();
            assert!((rate / 8e6 - 1.0).abs() < 0.005, "{rate}");
            let truth = (room + 1) as f64 * 1250.0;
            let max = f.bottleneck.max_based_bytes.unwrap();
            assert!((max - truth).abs() <= (0.1 * truth).max(1250.0), "{max} for {truth}");
            assert!(f.bottleneck.filled && f.bottleneck.losses_are == "congestion");
            let sent = f.sent_bps.unwrap();
            assert!((sent / 1e7 - 1.0).abs() < 1e-6, "{sent}");
        }
    }

    #[test]
    fn a_train_of_which_nothing_came_has_losses_and_no_delays() {
        let train = Train { payload: 20, gap_ns: MS, count: 3 };
        let mut sent = IntTable::new(2);
        (0..3).for_each(|n| sent.push(&[n, n * MS]));
        let f = direction_stats(&OneWayTrain::join(train, Direction::Up, &sent, &IntTable::new(2)), None);
        assert_eq!((f.sent, f.received, f.delay_variation_ms, f.received_bps), (3, 0, None, None));
        assert_eq!(f.loss.unwrap().rate, 1.0);
    }
}
