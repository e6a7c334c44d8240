//! Service time per byte of a path on which no queue stood, from packets of different lengths: a longer
//! packet takes longer to send, so that the minimum delay grows with the length by the sum of the service
//! times per byte of all links (Jacobson's pathchar, 1997). The slowest link is at least as fast as one
//! link with the sum: a lower bound of its rate.

use crate::arrivals::max_carried;
use crate::delay::{IsolatedDelays, edge_count, floor_draws};
use crate::estimate::{Fitted, Status, central_95};
use crate::facts::DirectionFacts;
use crate::rate::{RateMethod, ServiceRate};
use crate::thresholds::LIMITS;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;

/// The floor of the delays of packets of one length.
struct LengthClass {
    len: u32,
    draws: Vec<f64>,
    variance: f64,
    /// Range of the smallest delays, nanoseconds.
    jitter: f64,
}

/// A lower bound of the rate in bit/s by the delays of lengths, whatever their jitter: no link of the path takes
/// longer for a byte than the largest slope that the delays allow.
pub fn at_least(isolated: &IsolatedDelays, draws: usize, rng: &mut Rng) -> Option<f64> {
    let classes = classes(isolated, draws, rng);
    let (first, last) = (classes.first()?, classes.last()?);
    let span = f64::from(last.len.checked_sub(first.len).filter(|span| *span >= LIMITS.min_len_difference)?);
    let slopes: Vec<f64> = (0..draws).map(|i| slope(&classes, |class| class.draws[i])).collect();
    let jitter = classes.iter().map(|class| class.jitter).fold(0.0, f64::max);
    let largest = central_95(&slopes)?[1] + (jitter + off_line(&classes)) / span;
    (largest > 0.0).then(|| 8e9 / largest)
}

/// The rate in bit/s of one link with the service times of the path, which [`lower_bound`] reports as a bound;
/// `bounded` if the delays of the lengths differ by no more than their jitter.
pub fn estimate(
    bounded: Fitted<ServiceRate>,
    runs: &[DirectionFacts],
    isolated: &IsolatedDelays,
    draws: usize,
    rng: &mut Rng,
) -> Fitted<ServiceRate> {
    let classes = classes(isolated, draws, rng);
    let (Some(first), Some(last)) = (classes.first(), classes.last()) else { return bounded };
    if last.len - first.len < LIMITS.min_len_difference {
        return bounded;
    }
    let lens: Vec<u32> = classes.iter().map(|class| class.len).collect();
    let slopes: Vec<f64> = (0..draws).map(|i| slope(&classes, |class| class.draws[i])).collect();
    let Some([lo, hi]) = central_95(&slopes) else { return bounded };
    // Minima of few packets are further above the floor than those of many: their draws are not.
    let mut sorted = slopes.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(best) = quantile_of_sorted(&sorted, 0.5) else { return bounded };
    let span = f64::from(last.len - first.len);
    let jitter = classes.iter().map(|class| class.jitter).fold(0.0, f64::max);
    if best * span < LIMITS.min_slope_over_jitter * jitter.max(off_line(&classes)) {
        return bounded;
    }
    let hi = hi + jitter / span;
    let seen = max_carried(runs).unwrap_or(0.0);
    let evidence = ServiceRate::without_queue(RateMethod::Size, lens);
    // Bits per second of nanoseconds per byte.
    let rate = |slope: f64| 8e9 / slope;
    // Frames and grants delay packets by more than their lengths: more was seen to pass.
    let is_possible = hi > 0.0 && rate(lo.max(f64::MIN_POSITIVE)) >= seen;
    if is_possible && lo > 0.0 && (hi - lo) / 2.0 <= LIMITS.max_slope_error * best {
        let draws = slopes.iter().map(|&slope| rate(slope.clamp(lo, hi))).collect();
        let fit = Fitted::identified(rate(best), draws, evidence);
        return fit.at_least(rate(hi).min(rate(best) * (1.0 - LIMITS.clock_error)), rate(best) * (1.0 + LIMITS.clock_error));
    }
    match bounded.status {
        Status::Bounded if hi > 0.0 && rate(hi) > seen => Fitted::bounded(Some(rate(hi)), None, evidence),
        _ => bounded,
    }
}

/// A rate by lengths as the bound that it is; any other rate as it is.
pub fn lower_bound(rate: Fitted<ServiceRate>) -> Fitted<ServiceRate> {
    match (rate.evidence.method, rate.value) {
        (RateMethod::Size, Some(value)) => {
            Fitted::bounded(rate.lo, None, ServiceRate { all_links: Some(value), ..rate.evidence })
        }
        _ => rate,
    }
}

/// The lengths with enough packets, in ascending order.
fn classes(isolated: &IsolatedDelays, draws: usize, rng: &mut Rng) -> Vec<LengthClass> {
    let mut delays = isolated.delays.clone();
    delays.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    delays
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|class| class.len() >= LIMITS.min_class)
        .map(|class| {
            let sorted: Vec<f64> = class.iter().map(|delay| delay.1).collect();
            let edge = sorted[edge_count(sorted.len()) - 1];
            let draws = floor_draws(&sorted, draws, rng);
            let mean = draws.iter().sum::<f64>() / draws.len().max(1) as f64;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len().max(1) as f64;
            LengthClass { len: class[0].0, draws, variance, jitter: edge - sorted[0] }
        })
        .collect()
}

/// The largest distance of a class's floor from the line through all of them that its draws do not explain,
/// nanoseconds: service times are in proportion to the lengths.
fn off_line(classes: &[LengthClass]) -> f64 {
    let floor = |class: &LengthClass| class.draws.iter().sum::<f64>() / class.draws.len().max(1) as f64;
    let slope = slope(classes, floor);
    let weight = |class: &LengthClass| 1.0 / (class.variance + 1.0);
    let rest = |class: &LengthClass| floor(class) - slope * f64::from(class.len);
    let total: f64 = classes.iter().map(weight).sum();
    let level = classes.iter().map(|class| weight(class) * rest(class)).sum::<f64>() / total;
    let unexplained = |class: &LengthClass| (rest(class) - level).abs() - LIMITS.normal_95 * libm::sqrt(class.variance);
    classes.iter().map(unexplained).fold(0.0, f64::max)
}

/// Nanoseconds per byte, by least squares weighted with the variances of the minima.
fn slope(classes: &[LengthClass], floor: impl Fn(&LengthClass) -> f64) -> f64 {
    // Equal delays have no variance, and timestamps a resolution of a nanosecond.
    let weight = |class: &LengthClass| 1.0 / (class.variance + 1.0);
    let total: f64 = classes.iter().map(weight).sum();
    let mean = |of: &dyn Fn(&LengthClass) -> f64| classes.iter().map(|class| weight(class) * of(class)).sum::<f64>() / total;
    let (x, y) = (mean(&|class| f64::from(class.len)), mean(&|class| floor(class)));
    let covariance: f64 = classes.iter().map(|class| weight(class) * (f64::from(class.len) - x) * (floor(class) - y)).sum();
    let variance: f64 = classes.iter().map(|class| weight(class) * (f64::from(class.len) - x).powi(2)).sum();
    covariance / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 400 ACKs with and without SACK blocks, and the delay of each by its length, nanoseconds, beside what was
    /// seen to pass.
    fn by_delays(
        lens: [u32; 5],
        mut delay: impl FnMut(u32) -> f64,
        seen: &[DirectionFacts],
        lo: Option<f64>,
    ) -> Fitted<ServiceRate> {
        let delays = (0..400).map(|i| (lens[i % 5], delay(lens[i % 5]))).collect();
        let isolated = IsolatedDelays { delays, common_len: 52, ..IsolatedDelays::default() };
        let bounded = Fitted::bounded(lo, None, ServiceRate::without_queue(RateMethod::Throughput, vec![]));
        estimate(bounded, seen, &isolated, 200, &mut Rng::for_element(1, "size"))
    }

    /// Over a link of 1 Mb/s; `noise` in nanoseconds.
    fn fitted(mut noise: impl FnMut() -> f64) -> Fitted<ServiceRate> {
        by_delays([52, 52, 52, 64, 72], |len| 20e6 + 8000.0 * f64::from(len) + noise(), &[], Some(1e5))
    }

    #[test]
    fn rate_follows_from_the_delays_of_different_lengths() {
        let fit = fitted(|| 0.0);
        assert!((fit.value.unwrap() / 1e6 - 1.0).abs() < 1e-6, "{fit:?}");
        let mut rng = Rng::for_element(2, "noise");
        let fit = fitted(|| rng.exponential(50e3));
        assert!(fit.lo.unwrap() <= 1e6 && 1e6 <= fit.hi.unwrap(), "{fit:?}");
    }

    #[test]
    fn rate_is_bounded_from_below_when_noise_hides_the_service_times() {
        let mut rng = Rng::for_element(2, "noise");
        let fit = fitted(|| rng.exponential(20e6));
        assert_eq!((fit.status, fit.evidence.method, fit.lo), (Status::Bounded, RateMethod::Throughput, Some(1e5)), "{fit:?}");
    }

    #[test]
    fn rate_is_a_lower_bound_when_several_links_send_the_packet() {
        // The fit of one link of 1 Mb/s is that of two of 2 Mb/s.
        let fit = lower_bound(fitted(|| 0.0));
        assert_eq!((fit.status, fit.value, fit.hi), (Status::Bounded, None, None));
        assert!(fit.lo.unwrap() <= 1e6 && fit.lo.unwrap() > 0.999e6, "{:?}", fit.lo);
        assert!((fit.evidence.all_links.unwrap() / 1e6 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn delays_of_lengths_show_nothing_when_they_are_not_in_proportion() {
        // A host sends ACKs with SACK blocks 40 us later, however long they are.
        let mut rng = Rng::for_element(4, "host");
        let delay = |len| 20e6 + if len > 52 { 40e3 } else { 0.0 } + rng.exponential(5e3);
        let fit = by_delays([52, 52, 52, 64, 80], delay, &[], Some(1e5));
        assert_eq!(fit.evidence.method, RateMethod::Throughput, "{fit:?}");
    }

    #[test]
    fn delays_of_lengths_show_nothing_when_they_differ_by_the_jitter_of_hosts() {
        // 28 bytes take 4.5 us at 50 Mb/s; the host adds up to 40 us to each packet.
        let mut rng = Rng::for_element(4, "host");
        let delay = |len| 20e6 + 160.0 * f64::from(len) + 40e3 * libm::sqrt(rng.uniform());
        let fit = by_delays([52, 52, 52, 64, 80], delay, &[], Some(1e5));
        assert_eq!(fit.evidence.method, RateMethod::Throughput, "{fit:?}");
    }

    #[test]
    fn rate_is_not_identified_when_more_was_seen_to_pass() {
        use crate::facts::{LinkPacket, Outcome};
        let packet = |i: i64| LinkPacket { sent: i * 100_000, len: 1500, outcome: Outcome::Arrived(i * 100_000 + 20_000_000) };
        let seen = [DirectionFacts { packets: (0..4000).map(packet).collect(), ..DirectionFacts::default() }];
        let fit = by_delays([52, 52, 52, 64, 72], |len| 20e6 + 8000.0 * f64::from(len), &seen, max_carried(&seen));
        assert_eq!((fit.status, fit.hi), (Status::Bounded, None), "{fit:?}");
        assert!(fit.lo.unwrap() > 100e6);
    }
}
