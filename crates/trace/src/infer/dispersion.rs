//! The bottleneck's rate from spacing. Packets that waited for a link leave it one sending time apart, and whatever is faster behind it leaves that alone (Jacobson
//! 1988; packet dispersion, Dovrolis, Ramanathan and Moore 2001). ACKs for them keep the distance. The commonest spacing is the link's, if
//! the path kept up that rate over many packets.

use super::Arrival;

/// What spacing says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateEstimate {
    /// IP bits a second.
    pub rate_bps: f64,
    /// Of the packets that have this spacing, to within a tenth.
    pub share: f64,
}

/// Fewer say nothing.
const ENOUGH: usize = 100;
const LEAST_SHARE: f64 = 0.25;
/// Spacings this far apart are one.
const ALIKE: f64 = 1.1;
/// So many in a row have to keep up this share of the rate: else the spacing is that of a burst.
const ROW: usize = 50;
const KEPT_UP: f64 = 0.8;
/// A packet much shorter than the longest waits no shorter, and a silence is no spacing.
const FULL: f64 = 0.9;
const SILENCE_NS: i64 = 1_000_000_000;

/// The commonest spacing as a rate; none where no spacing is common, or the path did not keep it up.
pub fn estimate_rate(arrivals: &[Arrival]) -> Option<RateEstimate> {
    let longest = arrivals.iter().map(|a| a.1).max()?;
    let mut spacings: Vec<f64> = arrivals
        .windows(2)
        .filter(|w| {
            f64::from(w[1].1) >= FULL * f64::from(longest.min(MOST_ONE)) && w[1].0 > w[0].0 && w[1].0 - w[0].0 < SILENCE_NS
        })
        .map(|w| (w[1].0 - w[0].0) as f64 / f64::from(w[1].1))
        .collect();
    if spacings.len() < ENOUGH {
        return None;
    }
    spacings.sort_unstable_by(f64::total_cmp);
    let (mut from, mut best) = (0, (0, 0));
    for to in 0..spacings.len() {
        while spacings[to] > ALIKE * spacings[from] {
            from += 1;
        }
        if to + 1 - from > best.1 - best.0 {
            best = (from, to + 1);
        }
    }
    let common = spacings[(best.0 + best.1) / 2];
    let share = (best.1 - best.0) as f64 / spacings.len() as f64;
    (share >= LEAST_SHARE && quickest(arrivals)? <= common / KEPT_UP).then_some(RateEstimate { rate_bps: 8e9 / common, share })
}

/// What joined segments (TSO, GRO) and stretch ACKs hold is more than one packet's.
const MOST_ONE: u32 = 1500;

/// Nanoseconds a byte of the quickest row.
fn quickest(arrivals: &[Arrival]) -> Option<f64> {
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
    fn packets_behind_a_link_show_its_rate_though_some_come_late() {
        let found = estimate_rate(&every(|i| if i % 10 == 9 { 7_000_000 } else { 1_200_000 }, 1000));
        assert_eq!(found, None, "fifty in a row never kept it up");
        let found =
            estimate_rate(&every(|i| if i % 100 == 99 { 7_000_000 } else { 1_200_000 + (i % 7) as i64 * 5_000 }, 1000)).unwrap();
        assert!((found.rate_bps / 1e7 - 1.0).abs() < 0.02 && found.share > 0.9, "{found:?}");
    }

    #[test]
    fn bursts_and_uneven_arrivals_show_none() {
        assert_eq!(estimate_rate(&every(|i| if i % 5 == 0 { 5_000_000 } else { 10_000 }, 1000)), None);
        assert_eq!(estimate_rate(&every(|i| 500_000 + (i * i * 7919 % 4_000_037) as i64, 1000)), None);
        assert_eq!(estimate_rate(&every(|_| 1_000_000, 50)), None);
    }
}
