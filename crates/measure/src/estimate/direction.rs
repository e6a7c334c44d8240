//! Statistics of a train in one direction.

use super::clocks::ClockModel;
use super::train_times::TrainTimes;
use super::wilson::{Proportion, wilson_interval};
use crate::Nanos;
use crate::test_spec::Direction;
use ackclock_contract::Document;
use ackclock_core::statistics::SummaryStats;
use ackclock_trace::join::{Fate, attribute_probe_losses};
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize, Document)]
pub struct DirectionStats {
    pub direction: Direction,
    pub payload_bytes: u32,
    pub ip_bytes: u32,
    pub asked_gap_us: f64,
    /// Datagrams that were sent, their intervals, and their rate of IP in b/s.
    pub sent: usize,
    pub sent_gap_us: Option<SummaryStats>,
    pub sent_bps: Option<f64>,
    pub received: usize,
    /// Rate from the first arrival to the last.
    pub received_bps: Option<f64>,
    pub duplicated: u64,
    pub reordered: u64,
    pub loss: Option<Proportion>,
    /// Runs of 100 ms bins with a loss rate above one half.
    pub loss_bursts: usize,
    /// Delay above the minimum of this train.
    pub delay_variation_ms: Option<SummaryStats>,
    /// Under the assumption of equal minimum delays in both directions.
    pub one_way_delay_ms: Option<SummaryStats>,
    /// Bounds of the minimum delay, under all possible clock offsets.
    pub min_delay_interval_ms: Option<[f64; 2]>,
    pub bottleneck: Bottleneck,
}

/// The bottleneck's rate and buffer, if its queue grew.
#[derive(Debug, Clone, PartialEq, Serialize, Document)]
pub struct Bottleneck {
    /// Rate of IP in b/s while the queue was not empty.
    pub rate_bps: Option<f64>,
    /// Buffer in bytes by the minimum delay next to an overflow, and by the maximum delay.
    pub min_based_bytes: Option<f64>,
    pub max_based_bytes: Option<f64>,
    /// The queue overflowed: the estimates are of the buffer and not of the used part only.
    pub filled: bool,
    /// congestion, radio, both or unclear.
    pub losses_are: &'static str,
}

fn rate(bytes: u64, times: &[Nanos]) -> Option<f64> {
    let (first, last) = (times.iter().min()?, times.iter().max()?);
    (last > first).then(|| bytes as f64 * 8e9 / (last - first) as f64)
}

/// Rate of datagrams of one size: those after the first, over the time since the first.
fn rate_of(times: &[Nanos], ip_len: u32) -> Option<f64> {
    rate((times.len() as u64).saturating_sub(1) * u64::from(ip_len), times)
}

/// Without a clock comparison there are no absolute delays, and the clock rates are assumed equal.
pub fn direction_stats(train_times: &TrainTimes, clocks: Option<&ClockModel>) -> DirectionStats {
    let raw = |sent: Nanos, received: Nanos| received.saturating_sub(sent);
    let delay = |sent: Nanos, received: Nanos| {
        clocks.map_or_else(|| raw(sent, received), |c| c.delay(train_times.direction, sent, received))
    };
    let delays: Vec<f64> = train_times.pairs().map(|(s, g)| delay(s, g) as f64 * 1e-6).collect();
    let min = delays.iter().copied().fold(f64::INFINITY, f64::min);
    let arrivals: Vec<Nanos> = train_times.received.iter().copied().flatten().collect();
    let lost: Vec<bool> = train_times.received.iter().map(Option::is_none).collect();
    let fates: Vec<(Nanos, Fate)> = train_times
        .sent
        .iter()
        .zip(&train_times.received)
        .map(|(sent, received)| (*sent, received.map_or(Fate::Lost, |received| Fate::Arrived(delay(*sent, received)))))
        .collect();
    let loss_report = attribute_probe_losses(&fates, train_times.ip_len());
    DirectionStats {
        direction: train_times.direction,
        payload_bytes: train_times.train.payload,
        ip_bytes: train_times.ip_len(),
        asked_gap_us: train_times.train.gap_ns as f64 * 1e-3,
        sent: train_times.sent.len(),
        sent_gap_us: SummaryStats::of(train_times.sent.windows(2).map(|w| (w[1] - w[0]) as f64 * 1e-3)).non_empty(),
        sent_bps: rate_of(&train_times.sent, train_times.ip_len()),
        received: arrivals.len(),
        received_bps: rate_of(&arrivals, train_times.ip_len()),
        duplicated: train_times.duplicated,
        reordered: train_times.reordered,
        loss: wilson_interval(&lost),
        loss_bursts: loss_report.bursts.all.len(),
        delay_variation_ms: SummaryStats::of(delays.iter().map(|d| d - min)).non_empty(),
        one_way_delay_ms: clocks.and_then(|_| SummaryStats::of(delays.iter().copied()).non_empty()),
        min_delay_interval_ms: clocks.filter(|_| !delays.is_empty()).map(|c| c.bounds(train_times.direction, min)),
        bottleneck: Bottleneck {
            rate_bps: loss_report.buffer.rate_bps,
            min_based_bytes: loss_report.buffer.min_based,
            max_based_bytes: loss_report.buffer.max_based,
            filled: loss_report.buffer.filled,
            losses_are: loss_report.attribution.origin.name(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MS;
    use crate::control::table::IntTable;
    use crate::test_spec::Train;

    /// Datagrams of 1250 bytes every ms (10 Mb/s) into a link of 8 Mb/s. The queue holds `room`
    /// datagrams besides the one in transmission.
    fn overflow(room: i64) -> TrainTimes {
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
        TrainTimes::join(train, Direction::Down, &sent, &received)
    }

    #[test]
    fn bottleneck_has_the_links_rate_and_buffer_when_the_queue_overflows() {
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
    fn train_has_losses_and_no_delays_when_no_datagram_arrives() {
        let train = Train { payload: 20, gap_ns: MS, count: 3 };
        let mut sent = IntTable::new(2);
        (0..3).for_each(|n| sent.push(&[n, n * MS]));
        let f = direction_stats(&TrainTimes::join(train, Direction::Up, &sent, &IntTable::new(2)), None);
        assert_eq!((f.sent, f.received, f.delay_variation_ms, f.received_bps), (3, 0, None, None));
        assert_eq!(f.loss.unwrap().rate, 1.0);
    }
}
