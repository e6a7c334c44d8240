//! A token bucket on the path: packets pass at the line's rate until the burst is used up, then at the bucket's. Its arrival curve (the most bytes that
//! arrive within any time of one length; Cruz 1991) has two slopes. A window-limited sender's curve has two slopes as well, but it refills and
//! bursts again and again; what a bucket holds back comes evenly, whenever its tokens are used up. So both are asked for.

/// What passes: `rate` bits a second, and `burst` bytes more after a silence, at up to `peak` bits a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenBucketEstimate {
    pub rate_bps: f64,
    pub burst_bytes: f64,
    pub peak_bps: f64,
}

/// Time and bytes of an arrival.
type Arrival = (i64, u32);

/// Fewer packets, or less time, say nothing.
const ENOUGH: usize = 300;
const ENOUGH_NS: i64 = 2_000_000_000;
/// The curve is drawn at times that grow by the fourth root of two, from a millisecond.
const STEP: f64 = 1.189_207_115;
/// How straight the curve's upper part has to be, and how much steeper its lower part.
const STRAIGHT: f64 = 0.02;
const STEEPER: f64 = 1.2;
/// A burst below so many packets is what any link does.
const LEAST_BURST: f64 = 8.0;
/// Share of the bytes that arrive while the tokens are as good as used up.
const HELD_BACK: f64 = 0.3;
/// Half of the tokens were there at some time, or what is used up was never seen full.
const USED: f64 = 0.5;

/// The bucket that held these arrivals back, in order of time; none where they do not show one.
pub fn find(arrivals: &[Arrival]) -> Option<TokenBucketEstimate> {
    let (first, last) = (arrivals.first()?.0, arrivals.last()?.0);
    let span = last.saturating_sub(first);
    if arrivals.len() < ENOUGH || span < ENOUGH_NS {
        return None;
    }
    let packet = f64::from(arrivals.iter().map(|a| a.1).max()?);
    // A sender that lost a part of its window leaves a gap, so the longest times may be too long for the straight part.
    [2, 4, 8, 16].into_iter().filter(|part| span / part >= ENOUGH_NS / 2).find_map(|part| {
        let curve = curve(arrivals, span / part);
        let (rate, burst) = upper(&curve, packet)?;
        let peak = lower(&curve, burst, packet)?;
        let shaped = burst >= LEAST_BURST * packet && peak >= STEEPER * rate && holds_back(arrivals, rate, burst, packet);
        shaped.then_some(TokenBucketEstimate { rate_bps: rate * 8.0, burst_bytes: burst, peak_bps: peak * 8.0 })
    })
}

/// Seconds, and the most bytes that arrived within them, the packet at their beginning left out.
fn curve(arrivals: &[Arrival], longest: i64) -> Vec<(f64, f64)> {
    let mut all = Vec::new();
    let mut time = 1e6;
    while time <= longest as f64 {
        let (mut from, mut sum, mut most) = (0, 0u64, 0u64);
        for (i, arrival) in arrivals.iter().enumerate() {
            sum += u64::from(arrival.1);
            while (arrival.0 - arrivals[from].0) as f64 > time {
                sum -= u64::from(arrivals[from].1);
                from += 1;
            }
            if from < i || arrivals.len() == 1 {
                most = most.max(sum - u64::from(arrivals[from].1));
            }
        }
        all.push((time * 1e-9, most as f64));
        time *= STEP;
    }
    all
}

/// Rate and burst of the straight line that the curve's last quarter of time lies on, bytes and seconds.
fn upper(curve: &[(f64, f64)], packet: f64) -> Option<(f64, f64)> {
    let &(end, top) = curve.last()?;
    let part: Vec<(f64, f64)> = curve.iter().copied().filter(|p| p.0 >= end / 4.0).collect();
    let &(start, bottom) = part.first()?;
    let rate = (top - bottom) / (end - start);
    let burst = top - rate * end;
    let straight = part.iter().all(|&(x, y)| (y - burst - rate * x).abs() <= (STRAIGHT * y).max(2.0 * packet));
    (rate > 0.0 && straight).then_some((rate, burst))
}

/// The slope of the curve's lower part: up to half of the burst, four packets at least.
fn lower(curve: &[(f64, f64)], burst: f64, packet: f64) -> Option<f64> {
    let within = curve.iter().filter(|p| p.1 >= 4.0 * packet && p.1 <= (burst / 2.0).max(4.0 * packet) + packet);
    within.map(|p| p.1 / p.0).max_by(f64::total_cmp)
}

/// Counts tokens: most bytes come while they are used up, and they were not always.
fn holds_back(arrivals: &[Arrival], rate: f64, burst: f64, packet: f64) -> bool {
    // As many tokens as make no arrival come too early.
    let (mut tokens, mut least, mut last) = (0.0f64, 0.0f64, arrivals[0].0);
    let mut levels = Vec::with_capacity(arrivals.len());
    for &(at, bytes) in arrivals {
        tokens = (tokens + (at - last) as f64 * 1e-9 * rate).min(0.0) - f64::from(bytes);
        least = least.min(tokens);
        levels.push((tokens, f64::from(bytes)));
        last = at;
    }
    let near = 2.0 * packet + 0.05 * burst;
    let all: f64 = levels.iter().map(|l| l.1).sum();
    let pinned: f64 = levels.iter().filter(|l| l.0 - least <= near).map(|l| l.1).sum();
    pinned >= HELD_BACK * all && -least >= USED * burst
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between 0 and 1 that look drawn.
    fn noise(i: u64) -> f64 {
        let x = i.wrapping_add(3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What a shaper lets through of packets that come at these times: at the line's rate while there are tokens.
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

    /// Bytes a second in windows that double from ten packets to four hundred, then stay: a sender behind a queue.
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
    fn rate_and_burst_of_a_shaper_are_found_to_a_few_percent() {
        for (rate, burst, line) in [(1.25e6, 200e3, 12.5e6), (2.5e6, 60e3, 12.5e6), (0.5e6, 500e3, 2.5e6)] {
            let arrivals = shaped(greedy(20.0), rate, burst, line);
            let found = find(&arrivals).unwrap_or_else(|| panic!("{rate} {burst}"));
            assert!((found.rate_bps / 8.0 / rate - 1.0).abs() < 0.02, "{found:?}");
            assert!((found.burst_bytes / burst - 1.0).abs() < 0.1, "{found:?} for {burst}");
            assert!(found.peak_bps / 8.0 > 0.5 * line && found.peak_bps / 8.0 < 1.1 * line, "{found:?} for {line}");
        }
    }

    #[test]
    fn a_plain_link_has_no_bucket_however_it_is_loaded() {
        assert_eq!(find(&shaped(greedy(20.0), 1.25e6, 1500.0, 1.25e6)), None);
        // A window of 40 packets every 40 ms over a wide link: bursts, but again and again.
        let windows = (0..500u64).flat_map(|round| (0..40u64).map(move |i| round as f64 * 0.04 + i as f64 * 1e-5));
        assert_eq!(find(&shaped(windows, 12.5e6, 1500.0, 12.5e6)), None);
        // A window that is cut and grows again.
        let sawtooth = (0..500u64).flat_map(|round| (0..20 + round % 60).map(move |i| round as f64 * 0.04 + i as f64 * 1e-5));
        assert_eq!(find(&shaped(sawtooth, 12.5e6, 1500.0, 12.5e6)), None);
        // A radio whose rate wanders.
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
