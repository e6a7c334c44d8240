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
    /// The packets arrive in bursts, each of which counts as one arrival: the spacing may be that of
    /// the sender's windows.
    pub in_bursts: bool,
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

/// Spacings below this share of the most common one are within a burst that left the link at once: a
/// super-segment, the burst of a token bucket, or packets that an interface delivers together.
const WITHIN_BURST: f64 = 0.25;
/// Minimum share of the arrivals with the most common spacing that begin such a burst, for bursts to
/// count as one arrival.
const MIN_BURSTS: f64 = 0.2;

/// The rate of the most common spacing; none if no spacing is common or the rate was not sustained.
pub fn estimate_rate(arrivals: &[Arrival]) -> Option<RateEstimate> {
    let spacing = modal_spacing(arrivals)?;
    let in_bursts = begins_bursts(arrivals, spacing.ns_per_byte);
    let spacing = match in_bursts {
        true => modal_spacing(&merged(arrivals, WITHIN_BURST * spacing.ns_per_byte))?,
        false => spacing,
    };
    (spacing.share >= MIN_SHARE && min_ns_per_byte(arrivals)? <= spacing.ns_per_byte / SUSTAINED).then_some(RateEstimate {
        rate_bps: 8e9 / spacing.ns_per_byte,
        share: spacing.share,
        in_bursts,
    })
}

/// A spacing, and the share of the packets that have it.
#[derive(Debug, Clone, Copy)]
struct Spacing {
    ns_per_byte: f64,
    share: f64,
}

fn ns_per_byte(w: &[Arrival]) -> f64 {
    w[1].0.saturating_sub(w[0].0) as f64 / f64::from(w[1].1.max(1))
}

/// The most common spacing of packets of full length; none if there are few.
fn modal_spacing(arrivals: &[Arrival]) -> Option<Spacing> {
    let max_len = arrivals.iter().map(|a| a.1).max()?;
    let mut spacings: Vec<f64> = arrivals
        .windows(2)
        .filter(|w| {
            f64::from(w[1].1) >= MIN_LENGTH * f64::from(max_len.min(MAX_PACKET))
                && w[1].0 > w[0].0
                && w[1].0 - w[0].0 < MAX_SPACING_NS
        })
        .map(ns_per_byte)
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
    Some(Spacing { ns_per_byte: common, share: (best.1 - best.0) as f64 / spacings.len() as f64 })
}

/// True if many arrivals with this spacing are followed at once by others: the spacing is that of
/// bursts, not of packets.
fn begins_bursts(arrivals: &[Arrival], common: f64) -> bool {
    let (mut all, mut followed) = (0u32, 0u32);
    for w in arrivals.windows(3) {
        let spacing = ns_per_byte(&w[..2]);
        if spacing <= common * EQUAL && spacing * EQUAL >= common {
            all += 1;
            followed += u32::from(ns_per_byte(&w[1..]) < WITHIN_BURST * common);
        }
    }
    all > 0 && f64::from(followed) >= MIN_BURSTS * f64::from(all)
}

/// The arrivals with bursts, of which the spacings are below this, as one at the time of their last.
fn merged(arrivals: &[Arrival], below: f64) -> Vec<Arrival> {
    let mut bursts: Vec<Arrival> = Vec::new();
    for (i, arrival) in arrivals.iter().enumerate() {
        match bursts.last_mut() {
            Some(burst) if ns_per_byte(&arrivals[i - 1..=i]) < below => *burst = (arrival.0, burst.1.saturating_add(arrival.1)),
            _ => bursts.push(*arrival),
        }
    }
    bursts
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

    // finding("C12")
    #[test]
    fn estimate_is_the_link_rate_when_packets_leave_in_pairs() {
        // 10 Mb/s: two packets of 1500 B every 2.4 ms.
        let estimate = estimate_rate(&every(|i| if i % 2 == 1 { 2_390_000 } else { 10_000 }, 1000)).unwrap();
        assert!((estimate.rate_bps / 1e7 - 1.0).abs() < 0.02, "{estimate:?}");
    }

    #[test]
    fn estimate_is_none_when_arrivals_are_bursts_or_irregular() {
        assert_eq!(estimate_rate(&every(|i| if i % 5 == 0 { 5_000_000 } else { 10_000 }, 1000)), None);
        assert_eq!(estimate_rate(&every(|i| 500_000 + (i * i * 7919 % 4_000_037) as i64, 1000)), None);
        assert_eq!(estimate_rate(&every(|_| 1_000_000, 50)), None);
    }
}
