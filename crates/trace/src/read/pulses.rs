//! A counter's time stamps made into UTC by the pulses of a second, as `wibro` did (papers/README.md, 7.1): a GPS receiver pulses at each whole
//! second, the host notes its counter at each pulse, and what the receiver says over a serial line only names the second.

use ackclock_core::Problem;

/// Counter and UTC at each pulse, both in nanoseconds; a counter's tick may be any time, as long as it is much the same from pulse to pulse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulses {
    all: Vec<(i64, i64)>,
    /// The pulse before the last time asked for.
    at: usize,
    /// Seconds without a pulse between the first and the last, and pulses that came within a second.
    pub missing: u64,
    pub extra: u64,
}

const SECOND: i64 = 1_000_000_000;
/// A pulse is this far from a whole number of seconds after the one before at most; between is something else.
const TOLERANCE: f64 = 0.2;
const LINE: &str = "the counter at a pulse, then the time of day it was labelled with (Unix seconds), or nothing";
const ENOUGH: &str = "two pulses or more, a label on one of them";

impl Pulses {
    /// One pulse a line: the counter as the capture's time stamps have it, in nanoseconds (a whole number) or seconds (with a decimal point); then,
    /// where it is known, the Unix time in seconds that labelled the pulse, which may be up to half a second off. `#` begins a remark.
    pub fn parse(text: &str) -> Result<Pulses, Problem> {
        let mut read = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let bad = || Problem::found(format!("{line:?}"), LINE).at_line(number + 1);
            let words: Vec<&str> = line.split([' ', '\t', ',', ';']).filter(|w| !w.is_empty()).collect();
            let (counter, label) = match words[..] {
                [counter] => (counter, None),
                [counter, label] => (counter, Some(label.parse::<f64>().ok().filter(|l| l.abs() < 4e9).ok_or_else(bad)?)),
                _ => return Err(bad()),
            };
            let counter = counter_of(counter).ok_or_else(bad)?;
            if read.last().is_some_and(|&(before, _)| counter <= before) {
                return Err(Problem { allowed: "counters that rise from line to line".into(), ..bad() });
            }
            read.push((counter, label));
        }
        Pulses::of(&read)
    }

    fn of(read: &[(i64, Option<f64>)]) -> Result<Pulses, Problem> {
        let bad = |found: &str| Problem::found(found, ENOUGH);
        let mut gaps: Vec<i64> = read.windows(2).map(|w| w[1].0 - w[0].0).collect();
        if gaps.is_empty() {
            return Err(bad("fewer than two pulses"));
        }
        let middle = gaps.len() / 2;
        let mut second = *gaps.select_nth_unstable(middle).1 as f64;
        // Seconds since the first pulse, by the counter alone: its rate cannot change by half in a second, labels can be wrong.
        let (mut kept, mut elapsed, mut extra): (Vec<(i64, i64)>, i64, u64) = (vec![(read[0].0, 0)], 0, 0);
        let mut votes: Vec<i64> = read[0].1.map(|label| label.round() as i64).into_iter().collect();
        for pair in read[1..].iter() {
            let &(counter, label) = pair;
            let last = kept[kept.len() - 1].0;
            let seconds = (counter - last) as f64 / second;
            let whole = seconds.round();
            if whole < 1.0 || (seconds - whole).abs() > TOLERANCE {
                extra += 1;
                continue;
            }
            elapsed += whole as i64;
            second = (counter - last) as f64 / whole;
            kept.push((counter, elapsed));
            votes.extend(label.map(|label| label.round() as i64 - elapsed));
        }
        if kept.len() < 2 {
            return Err(bad("pulses that are not seconds apart"));
        }
        if votes.is_empty() {
            return Err(bad("no label"));
        }
        let middle = votes.len() / 2;
        let first = *votes.select_nth_unstable(middle).1;
        let missing = (elapsed + 1) as u64 - kept.len() as u64;
        let all = kept.into_iter().map(|(counter, since)| (counter, (first + since) * SECOND)).collect();
        Ok(Pulses { all, at: 0, missing, extra })
    }

    /// UTC of a counter, nanoseconds: between two pulses by their distance; before the first and after the last by the nearest rate measured.
    #[inline]
    pub fn utc(&mut self, counter: i64) -> i64 {
        let last = self.all.len() - 2;
        let inside = |i: usize| (i == 0 || self.all[i].0 <= counter) && (i == last || counter < self.all[i + 1].0);
        if !inside(self.at) {
            self.at = self.all.partition_point(|p| p.0 <= counter).saturating_sub(1).min(last);
        }
        let ((c, u), (next_c, next_u)) = (self.all[self.at], self.all[self.at + 1]);
        let since = i128::from(counter) - i128::from(c);
        let utc = i128::from(u) + since * i128::from(next_u - u) / i128::from(next_c - c);
        utc.clamp(i128::from(i64::MIN / 4), i128::from(i64::MAX / 4)) as i64
    }
}

fn counter_of(word: &str) -> Option<i64> {
    let ns = if word.contains('.') {
        let (whole, part) = word.split_once('.')?;
        let digits = part.len();
        if digits == 0 || digits > 18 || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let ns = part.parse::<i128>().ok()? * i128::from(SECOND) / 10i128.pow(digits as u32);
        i128::from(whole.parse::<i64>().ok().filter(|&w| w >= 0)?) * i128::from(SECOND) + ns
    } else {
        i128::from(word.parse::<i64>().ok()?)
    };
    (0..i128::from(i64::MAX / 4)).contains(&ns).then_some(ns as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter that runs 30 ppm fast and drifts by another 20 ppm in an hour's sine, with an offset.
    fn counter(utc_s: f64) -> f64 {
        let drift = 20e-6 * 600.0 / std::f64::consts::TAU * (1.0 - (std::f64::consts::TAU * utc_s / 600.0).cos());
        7.3e9 + (utc_s * (1.0 + 30e-6) + drift) * 2.4e9
    }

    /// Numbers between 0 and 1 that look drawn.
    fn noise(i: u64) -> f64 {
        let x = (i.wrapping_add(77)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1u64 << 53) as f64
    }

    const START: i64 = 1_200_000_000;

    #[test]
    fn a_drifting_counter_with_late_labels_and_missing_pulses_gives_utc_to_a_tenth_of_a_millisecond() {
        let mut text = String::from("# counter label\n");
        for s in 0..600i64 {
            // Every tenth pulse is missing, and once half a minute of them; labels are up to 50 ms late, every fifth is not there.
            if s % 10 == 7 || (300..330).contains(&s) {
                continue;
            }
            let label = (START + s) as f64 + 0.05 * noise(s as u64);
            let tail = if s % 5 == 3 { String::new() } else { format!(" {label:.3}") };
            text.push_str(&format!("{:.0}{tail}\n", counter(s as f64)));
        }
        let mut pulses = Pulses::parse(&text).unwrap();
        assert_eq!((pulses.missing, pulses.extra), (57 + 30, 0));
        let mut worst = 0f64;
        for i in 0..60_000u64 {
            let utc_s = 599.0 * noise(i);
            let found = (pulses.utc(counter(utc_s) as i64) - START * SECOND) as f64 * 1e-9;
            worst = worst.max((found - utc_s).abs());
        }
        assert!(worst < 1e-4, "{worst}");
        // Three seconds behind the last pulse, by the last rate.
        let found = (pulses.utc(counter(601.5) as i64) - START * SECOND) as f64 * 1e-9;
        assert!((found - 601.5).abs() < 1e-4, "{found}");
    }

    #[test]
    fn a_wrong_label_and_a_pulse_that_is_none_do_no_harm() {
        let mut pulses =
            Pulses::parse("1000000000 50\n2000000000 51.04\n2400000000 51.4\n3000000000 99\n4000000000 53\n").unwrap();
        assert_eq!((pulses.utc(2_500_000_000), pulses.extra), (51_500_000_000, 1));
    }

    #[test]
    fn what_is_no_list_of_pulses_is_refused_with_its_line() {
        let refused = |text: &str| Pulses::parse(text).unwrap_err().to_string();
        assert!(refused("1 2\nx 3\n").starts_with("line 2: found \"x 3\""));
        assert!(refused("5 1\n5 2\n").contains("counters that rise"));
        assert!(refused("1000000000 7\n").contains("two pulses or more"));
        assert!(refused("1000000000\n2000000000\n").contains("no label"));
    }
}
