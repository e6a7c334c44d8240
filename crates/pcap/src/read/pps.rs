//! Conversion of a counter's timestamps to UTC by pulses per second (PPS), as in `wibro`
//! (papers/README.md, 7.1): a GPS receiver emits a pulse at each whole second, the host records its
//! counter at each pulse, and the receiver's serial messages only label the seconds.

use ackclock_core::Problem;

/// Counter value and UTC at each pulse, both in nanoseconds. The counter's tick may have any length
/// that changes little from one pulse to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PpsClock {
    pulses: Vec<(i64, i64)>,
    /// Index of the pulse before the last converted counter value.
    current: usize,
    /// Seconds without a pulse between the first and the last pulse.
    pub missing: u64,
    /// Pulses that are not a whole number of seconds after the previous one.
    pub extra: u64,
}

const SECOND: i64 = 1_000_000_000;
/// Maximum distance of a pulse from a whole number of seconds after the previous one, in seconds.
/// Others are ignored.
const TOLERANCE: f64 = 0.2;
const LINE_FORMAT: &str = "the counter at a pulse, then the Unix time in seconds that labels the pulse, or nothing";
const MINIMUM: &str = "at least two pulses, one of them with a label";

impl PpsClock {
    /// Parses one pulse per line: the counter as in the capture's timestamps, in nanoseconds (an
    /// integer) or seconds (with a decimal point), then optionally the label, the Unix time of the
    /// pulse in seconds, with an error of up to 0.5 s. `#` begins a comment.
    pub fn parse(text: &str) -> Result<PpsClock, Problem> {
        let mut pulses = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let invalid = || Problem::found(format!("{line:?}"), LINE_FORMAT).at_line(number + 1);
            let words: Vec<&str> = line.split([' ', '\t', ',', ';']).filter(|w| !w.is_empty()).collect();
            let (counter, label) = match words[..] {
                [counter] => (counter, None),
                [counter, label] => (counter, Some(label.parse::<f64>().ok().filter(|l| l.abs() < 4e9).ok_or_else(invalid)?)),
                _ => return Err(invalid()),
            };
            let counter = parse_counter(counter).ok_or_else(invalid)?;
            if pulses.last().is_some_and(|&(previous, _)| counter <= previous) {
                return Err(Problem { allowed: "counters that increase from line to line".into(), ..invalid() });
            }
            pulses.push((counter, label));
        }
        PpsClock::from_pulses(&pulses)
    }

    fn from_pulses(pulses: &[(i64, Option<f64>)]) -> Result<PpsClock, Problem> {
        let invalid = |found: &str| Problem::found(found, MINIMUM);
        let mut gaps: Vec<i64> = pulses.windows(2).map(|w| w[1].0 - w[0].0).collect();
        if gaps.is_empty() {
            return Err(invalid("fewer than two pulses"));
        }
        let middle = gaps.len() / 2;
        let mut second = *gaps.select_nth_unstable(middle).1 as f64;
        // Seconds since the first pulse are counted by the counter alone: its rate cannot change by
        // half within a second, labels can be wrong.
        let (mut valid, mut elapsed, mut extra): (Vec<(i64, i64)>, i64, u64) = (vec![(pulses[0].0, 0)], 0, 0);
        let mut first_seconds: Vec<i64> = pulses[0].1.map(|label| label.round() as i64).into_iter().collect();
        for &(counter, label) in &pulses[1..] {
            let last = valid[valid.len() - 1].0;
            let distance = (counter - last) as f64 / second;
            let seconds = distance.round();
            if seconds < 1.0 || (distance - seconds).abs() > TOLERANCE {
                extra += 1;
                continue;
            }
            elapsed += seconds as i64;
            second = (counter - last) as f64 / seconds;
            valid.push((counter, elapsed));
            first_seconds.extend(label.map(|label| label.round() as i64 - elapsed));
        }
        if valid.len() < 2 {
            return Err(invalid("pulses that are not seconds apart"));
        }
        if first_seconds.is_empty() {
            return Err(invalid("no label"));
        }
        let middle = first_seconds.len() / 2;
        let first = *first_seconds.select_nth_unstable(middle).1;
        let missing = (elapsed + 1) as u64 - valid.len() as u64;
        let pulses = valid.into_iter().map(|(counter, since)| (counter, (first + since) * SECOND)).collect();
        Ok(PpsClock { pulses, current: 0, missing, extra })
    }

    /// UTC of a counter value, nanoseconds: interpolated between two pulses; extrapolated before
    /// the first and after the last.
    #[inline]
    pub fn utc(&mut self, counter: i64) -> i64 {
        let last = self.pulses.len() - 2;
        let is_within = |i: usize| (i == 0 || self.pulses[i].0 <= counter) && (i == last || counter < self.pulses[i + 1].0);
        if !is_within(self.current) {
            self.current = self.pulses.partition_point(|p| p.0 <= counter).saturating_sub(1).min(last);
        }
        let ((start, start_utc), (end, end_utc)) = (self.pulses[self.current], self.pulses[self.current + 1]);
        let since = i128::from(counter) - i128::from(start);
        let utc = i128::from(start_utc) + since * i128::from(end_utc - start_utc) / i128::from(end - start);
        utc.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }
}

/// A counter value in nanoseconds: an integer, or seconds with a decimal point.
fn parse_counter(word: &str) -> Option<i64> {
    let ns = if word.contains('.') {
        let (seconds, fraction) = word.split_once('.')?;
        let digits = fraction.len();
        if digits == 0 || digits > 18 || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let ns = fraction.parse::<i128>().ok()? * i128::from(SECOND) / 10i128.pow(digits as u32);
        i128::from(seconds.parse::<i64>().ok().filter(|&s| s >= 0)?) * i128::from(SECOND) + ns
    } else {
        i128::from(word.parse::<i64>().ok()?)
    };
    (0..i128::from(i64::MAX / 4)).contains(&ns).then_some(ns as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter with an offset that runs 30 ppm fast, with a sinusoidal drift of 20 ppm and a
    /// period of 10 minutes.
    fn counter(utc_s: f64) -> f64 {
        let drift = 20e-6 * 600.0 / std::f64::consts::TAU * (1.0 - (std::f64::consts::TAU * utc_s / 600.0).cos());
        7.3e9 + (utc_s * (1.0 + 30e-6) + drift) * 2.4e9
    }

    /// Pseudo-random numbers in [0, 1).
    fn noise(i: u64) -> f64 {
        let x = (i.wrapping_add(77)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    }

    const START: i64 = 1_200_000_000;

    #[test]
    fn pps_clock_converts_within_100_us_when_counter_drifts_labels_are_late_and_pulses_missing() {
        let mut text = String::from("# counter label\n");
        for s in 0..600i64 {
            // Every tenth pulse is missing, and 30 s of pulses; labels are up to 50 ms late, every
            // fifth is missing.
            if s % 10 == 7 || (300..330).contains(&s) {
                continue;
            }
            let label = (START + s) as f64 + 0.05 * noise(s as u64);
            let tail = if s % 5 == 3 { String::new() } else { format!(" {label:.3}") };
            text.push_str(&format!("{:.0}{tail}\n", counter(s as f64)));
        }
        let mut clock = PpsClock::parse(&text).unwrap();
        assert_eq!((clock.missing, clock.extra), (57 + 30, 0));
        let mut max_error = 0f64;
        for i in 0..60_000u64 {
            let utc_s = 599.0 * noise(i);
            let converted = (clock.utc(counter(utc_s) as i64) - START * SECOND) as f64 * 1e-9;
            max_error = max_error.max((converted - utc_s).abs());
        }
        assert!(max_error < 1e-4, "{max_error}");
        // Two seconds after the last pulse: extrapolated.
        let converted = (clock.utc(counter(601.5) as i64) - START * SECOND) as f64 * 1e-9;
        assert!((converted - 601.5).abs() < 1e-4, "{converted}");
    }

    #[test]
    fn pps_clock_ignores_a_wrong_label_and_a_pulse_between_seconds() {
        let mut clock =
            PpsClock::parse("1000000000 50\n2000000000 51.04\n2400000000 51.4\n3000000000 99\n4000000000 53\n").unwrap();
        assert_eq!((clock.utc(2_500_000_000), clock.extra), (51_500_000_000, 1));
    }

    #[test]
    fn pps_parse_error_names_line_when_list_is_invalid() {
        let error = |text: &str| PpsClock::parse(text).unwrap_err().to_string();
        assert!(error("1 2\nx 3\n").starts_with("line 2: found \"x 3\""));
        assert!(error("5 1\n5 2\n").contains("counters that increase"));
        assert!(error("1000000000 7\n").contains("at least two pulses"));
        assert!(error("1000000000\n2000000000\n").contains("no label"));
    }
}
