//! Detection of a token bucket: packets pass at the line rate until the burst is used up, then at
//! the token rate. The arrival curve (maximum bytes in any interval of a given length; Cruz 1991)
//! then has two slopes. The curve of a window-limited sender has two slopes as well, but its bursts
//! repeat, while shaped packets arrive at the token rate as long as there are no tokens. Both
//! conditions are required.

/// Parameters of a token bucket: token rate, burst size, and the rate at which a burst passes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenBucketEstimate {
    pub rate_bps: f64,
    pub burst_bytes: f64,
    pub peak_bps: f64,
}

/// Time in nanoseconds, and IP bytes that arrived or were acknowledged then.
pub type Arrival = (i64, u32);

/// Minimum number of packets.
const MIN_PACKETS: usize = 300;
/// Minimum duration.
const MIN_SPAN_NS: i64 = 2_000_000_000;
/// Ratio of consecutive interval lengths of the curve, the fourth root of two, from 1 ms on.
const STEP: f64 = 1.189_207_115;
/// Maximum relative deviation of the curve's upper part from a line.
const STRAIGHT: f64 = 0.02;
/// Minimum ratio of the slopes of the lower and the upper part.
const STEEPER: f64 = 1.2;
/// Minimum burst in packets; queues of any link allow smaller ones.
const MIN_BURST: f64 = 8.0;
/// Minimum share of the bytes that arrive while the bucket is nearly empty.
const MIN_SHAPED_SHARE: f64 = 0.3;
/// Minimum share of the burst that is used at some time; else the bucket was never seen full.
const MIN_USED_SHARE: f64 = 0.5;

/// The token bucket that shaped these arrivals (in order of time); none if there is no evidence of
/// one.
pub fn find(arrivals: &[Arrival]) -> Option<TokenBucketEstimate> {
    let (first, last) = (arrivals.first()?.0, arrivals.last()?.0);
    let span = last.saturating_sub(first);
    if arrivals.len() < MIN_PACKETS || span < MIN_SPAN_NS {
        return None;
    }
    let packet = f64::from(arrivals.iter().map(|a| a.1).max()?);
    let mut curve = Curve::new(arrivals, span / 2);
    // The upper part may be straight for shorter intervals only, as a sender pauses after losses.
    [2, 4, 8, 16].into_iter().filter(|part| span / part >= MIN_SPAN_NS / 2).find_map(|part| {
        let end = curve.end(span / part);
        let (rate, burst) = upper(&mut curve, end, packet).filter(|(_, burst)| *burst >= MIN_BURST * packet)?;
        let peak = lower(&mut curve, end, burst, packet)?;
        let is_shaped = peak >= STEEPER * rate && is_shaping(arrivals, rate, burst, packet);
        is_shaped.then_some(TokenBucketEstimate { rate_bps: rate * 8.0, burst_bytes: burst, peak_bps: peak * 8.0 })
    })
}

/// Arrival curve: maximum bytes in any interval of a length, without the packet at its beginning. A
/// point takes a pass over all arrivals, so it is found when it is read.
struct Curve<'a> {
    arrivals: &'a [Arrival],
    /// Lengths of the intervals, nanoseconds, and the bytes of those that were read.
    points: Vec<(f64, Option<f64>)>,
}

impl Curve<'_> {
    /// With intervals of up to `max_interval` nanoseconds.
    fn new(arrivals: &[Arrival], max_interval: i64) -> Curve<'_> {
        let lengths = std::iter::successors(Some(1e6), |time| Some(time * STEP));
        let points = lengths.take_while(|time| *time <= max_interval as f64).map(|time| (time, None)).collect();
        Curve { arrivals, points }
    }

    /// Number of points with intervals of up to `max_interval` nanoseconds.
    fn end(&self, max_interval: i64) -> usize {
        self.points.partition_point(|point| point.0 <= max_interval as f64)
    }

    /// Seconds.
    fn length(&self, index: usize) -> f64 {
        self.points[index].0 * 1e-9
    }

    fn bytes(&mut self, index: usize) -> f64 {
        let (time, known) = self.points[index];
        let bytes = known.unwrap_or_else(|| max_bytes(self.arrivals, time as i64));
        self.points[index].1 = Some(bytes);
        bytes
    }
}

/// Maximum bytes in any interval of this length in nanoseconds, without the packet at its beginning.
fn max_bytes(arrivals: &[Arrival], time: i64) -> f64 {
    let (mut from, mut sum, mut max) = (0, 0u64, 0u64);
    for (i, arrival) in arrivals.iter().enumerate() {
        sum += u64::from(arrival.1);
        while arrival.0 - arrivals[from].0 > time {
            sum -= u64::from(arrivals[from].1);
            from += 1;
        }
        if from < i || arrivals.len() == 1 {
            max = max.max(sum - u64::from(arrivals[from].1));
        }
    }
    max as f64
}

/// Rate in bytes/s and burst in bytes, from the line through the last three quarters of the time of the
/// curve's first `len` points.
fn upper(curve: &mut Curve<'_>, len: usize, packet: f64) -> Option<(f64, f64)> {
    let last = len.checked_sub(1)?;
    let end = curve.length(last);
    let first = (0..len).find(|i| curve.length(*i) >= end / 4.0)?;
    let part: Vec<(f64, f64)> = (first..len).map(|i| (curve.length(i), curve.bytes(i))).collect();
    let (&(start, bottom), &(_, top)) = (part.first()?, part.last()?);
    let rate = (top - bottom) / (end - start);
    let burst = top - rate * end;
    let straight = part.iter().all(|&(x, y)| (y - burst - rate * x).abs() <= (STRAIGHT * y).max(2.0 * packet));
    (rate > 0.0 && straight).then_some((rate, burst))
}

/// Slope in bytes/s of the lower part of the curve's first `len` points: from four packets to half of the burst.
fn lower(curve: &mut Curve<'_>, len: usize, burst: f64, packet: f64) -> Option<f64> {
    let points: Vec<(f64, f64)> = (0..len).map(|i| (curve.length(i), curve.bytes(i))).collect();
    let within = points.iter().filter(|p| p.1 >= 4.0 * packet && p.1 <= (burst / 2.0).max(4.0 * packet) + packet);
    within.map(|p| p.1 / p.0).max_by(f64::total_cmp)
}

/// Simulates the bucket: true if many bytes arrive while it is nearly empty, and it was nearly full
/// at some time.
fn is_shaping(arrivals: &[Arrival], rate: f64, burst: f64, packet: f64) -> bool {
    // The lowest initial level at which no arrival is early.
    let (mut tokens, mut min_tokens, mut last) = (0.0f64, 0.0f64, arrivals[0].0);
    let mut levels = Vec::with_capacity(arrivals.len());
    for &(at, bytes) in arrivals {
        tokens = (tokens + (at - last) as f64 * 1e-9 * rate).min(0.0) - f64::from(bytes);
        min_tokens = min_tokens.min(tokens);
        levels.push((tokens, f64::from(bytes)));
        last = at;
    }
    let near = 2.0 * packet + 0.05 * burst;
    let all: f64 = levels.iter().map(|l| l.1).sum();
    let shaped_bytes: f64 = levels.iter().filter(|l| l.0 - min_tokens <= near).map(|l| l.1).sum();
    shaped_bytes >= MIN_SHAPED_SHARE * all && -min_tokens >= MIN_USED_SHARE * burst
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pseudo-random numbers in [0, 1).
    fn noise(i: u64) -> f64 {
        let x = i.wrapping_add(3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Departures from a token bucket of packets that arrive at `times`.
    fn shaped(times: impl Iterator<Item = f64>, rate: f64, burst: f64, line: f64) -> Vec<Arrival> {
        let (mut tokens, mut now) = (burst, 0.0f64);
        times
            .map(|sent| {
                let earliest = sent.max(now + 1500.0 / line);
                tokens = (tokens + (earliest - now) * rate).min(burst);
                let wait = ((1500.0 - tokens) / rate).max(0.0);
                tokens += wait * rate - 1500.0;
                now = earliest + wait;
                ((now * 1e9) as i64, 1500)
            })
            .collect()
    }

    /// Departures of a sender with an RTT of 40 ms whose window doubles from 10 to 400 packets.
    fn greedy(seconds: f64) -> impl Iterator<Item = f64> {
        let mut now = 0.0;
        let mut window = 10.0f64;
        let mut left = 10.0;
        std::iter::from_fn(move || {
            if left < 1.0 {
                now += 0.04;
                window = (window * 2.0).min(400.0);
                left = window;
            }
            left -= 1.0;
            (now < seconds).then_some(now)
        })
    }

    #[test]
    fn find_returns_rate_and_burst_within_a_few_percent_when_arrivals_are_shaped() {
        for (rate, burst, line) in [(1.25e6, 200e3, 12.5e6), (2.5e6, 60e3, 12.5e6), (0.5e6, 500e3, 2.5e6)] {
            let arrivals = shaped(greedy(20.0), rate, burst, line);
            let estimate = find(&arrivals).unwrap_or_else(|| panic!("{rate} {burst}"));
            assert!((estimate.rate_bps / 8.0 / rate - 1.0).abs() < 0.02, "{estimate:?}");
            assert!((estimate.burst_bytes / burst - 1.0).abs() < 0.1, "{estimate:?} for {burst}");
            assert!(estimate.peak_bps / 8.0 > 0.5 * line && estimate.peak_bps / 8.0 < 1.1 * line, "{estimate:?} for {line}");
        }
    }

    /// A burst passes at the line rate, which has to be a fifth above the token rate at least.
    #[test]
    fn find_needs_a_line_rate_of_one_fifth_above_the_token_rate() {
        let estimate = |line: f64| find(&shaped(greedy(20.0), 1.25e6, 60e3, line * 1.25e6));
        assert!(estimate(1.24).is_some(), "{:?}", estimate(1.24));
        assert_eq!(estimate(1.17), None);
    }

    #[test]
    fn find_returns_none_when_there_is_no_token_bucket() {
        assert_eq!(find(&shaped(greedy(20.0), 1.25e6, 1500.0, 1.25e6)), None);
        // A window of 40 packets every 40 ms over a fast link: repeated bursts.
        let windows = (0..500u64).flat_map(|round| (0..40u64).map(move |i| round as f64 * 0.04 + i as f64 * 1e-5));
        assert_eq!(find(&shaped(windows, 12.5e6, 1500.0, 12.5e6)), None);
        // A window with a sawtooth.
        let sawtooth = (0..500u64).flat_map(|round| (0..20 + round % 60).map(move |i| round as f64 * 0.04 + i as f64 * 1e-5));
        assert_eq!(find(&shaped(sawtooth, 12.5e6, 1500.0, 12.5e6)), None);
        // A radio link with a varying rate.
        let mut at = 0.0;
        let radio: Vec<Arrival> = (0..20_000u64)
            .map(|i| {
                at += 0.0006 * (1.0 + 0.8 * (i as f64 / 700.0).sin()) * (0.5 + noise(i));
                ((at * 1e9) as i64, 1500)
            })
            .collect();
        assert_eq!(find(&radio), None);
    }
}
