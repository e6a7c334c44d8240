//! Bottleneck rate from packet dispersion. Packets that were queued for a link leave it one
//! transmission time apart, and faster links after it preserve that spacing (Jacobson 1988;
//! Dovrolis, Ramanathan and Moore 2001); so do ACKs. The most common spacing is the bottleneck's,
//! if the path sustained that rate over many packets.

use super::Arrival;

/// Rate estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEstimate {
    /// IP bit/s.
    pub rate_bps: f64,
    /// Share of the packets with this spacing, within 10 %.
    pub share: f64,
}

/// Minimum number of spacings.
const MIN_SPACINGS: usize = 100;
/// Minimum share of the most common spacing.
const MIN_SHARE: f64 = 0.25;
/// Maximum ratio of spacings that count as equal.
const EQUAL: f64 = 1.1;
/// Number of consecutive packets that must sustain the rate; else the spacing is that of a burst.
const ROW: usize = 50;
/// Minimum share of the rate that they sustain.
const SUSTAINED: f64 = 0.8;
/// Minimum length of the second packet of a spacing, relative to the max_len.
const MIN_LENGTH: f64 = 0.9;
/// Longer times are pauses.
const MAX_SPACING_NS: i64 = 1_000_000_000;

/// The rate of the most common spacing; none if no spacing is common or the rate was not sustained.
pub fn estimate_rate(arrivals: &[Arrival]) -> Option<RateEstimate> {
    let max_len = arrivals.iter().map(|a| a.1).max()?;
    let mut spacings: Vec<f64> = arrivals
        .windows(2)
        .filter(|w| {
            f64::from(w[1].1) >= MIN_LENGTH * f64::from(max_len.min(MAX_PACKET))
                && w[1].0 > w[0].0
                && w[1].0 - w[0].0 < MAX_SPACING_NS
        })
        .map(|w| (w[1].0 - w[0].0) as f64 / f64::from(w[1].1))
        .collect();
    if spacings.len() < MIN_SPACINGS {
        return None;
    }
    spacings.sort_unstable_by(f64::total_cmp);
    let (mut from, mut best) = (0, (0, 0));
    for to in 0..spacings.len() {
        while spacings[to] > EQUAL * spacings[from] {
            from += 1;
        }
        if to + 1 - from > best.1 - best.0 {
            best = (from, to + 1);
        }
    }
    let common = spacings[(best.0 + best.1) / 2];
    let share = (best.1 - best.0) as f64 / spacings.len() as f64;
    (share >= MIN_SHARE && min_ns_per_byte(arrivals)? <= common / SUSTAINED)
        .then_some(RateEstimate { rate_bps: 8e9 / common, share })
}

/// Maximum length of one packet; TSO and GRO segments and stretch ACKs represent several.
const MAX_PACKET: u32 = 1500;

/// Minimum time per byte of a row, nanoseconds.
fn min_ns_per_byte(arrivals: &[Arrival]) -> Option<f64> {
    let rows = arrivals.windows(ROW + 1).filter(|w| w[ROW].0 > w[0].0);
    let spacing = |w: &[Arrival]| (w[ROW].0 - w[0].0) as f64 / w[1..].iter().map(|a| f64::from(a.1)).sum::<f64>();
    rows.map(spacing).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(ns: impl Fn(u64) -> i64, count: u64) -> Vec<Arrival> {
        (0..count)
            .scan(0, |at, i| {
                *at += ns(i);
                Some((*at, 1500))
            })
            .collect()
    }

    #[test]
    fn estimate_is_the_link_rate_when_few_packets_are_late() {
        let estimate = estimate_rate(&every(|i| if i % 10 == 9 { 7_000_000 } else { 1_200_000 }, 1000));
        assert_eq!(estimate, None, "no row of 50 sustained the rate");
        let estimate =
            estimate_rate(&every(|i| if i % 100 == 99 { 7_000_000 } else { 1_200_000 + (i % 7) as i64 * 5_000 }, 1000)).unwrap();
        assert!((estimate.rate_bps / 1e7 - 1.0).abs() < 0.02 && estimate.share > 0.9, "{estimate:?}");
    }

    #[test]
    fn estimate_is_none_when_arrivals_are_bursts_or_irregular() {
        assert_eq!(estimate_rate(&every(|i| if i % 5 == 0 { 5_000_000 } else { 10_000 }, 1000)), None);
        assert_eq!(estimate_rate(&every(|i| 500_000 + (i * i * 7919 % 4_000_037) as i64, 1000)), None);
        assert_eq!(estimate_rate(&every(|_| 1_000_000, 50)), None);
    }
}
