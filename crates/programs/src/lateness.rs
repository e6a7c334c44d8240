//! How late a program did what was due: the part of its figures that is the machine's.

use ackclock_contract::Document;
use ackclock_core::Span;
use ackclock_core::statistics::Histogram;
use serde::{Deserialize, Serialize};

/// Later than this counts as late.
const LATE: Span = Span::from_ms(1);
/// A program with a larger share of actions beyond that has measured the machine, unless it is a single one: a
/// page has a few dozen.
const MAX_LATE_SHARE: f64 = 0.01;

/// Of datagrams: from when one was due, or from the arrival of what it answers, until it was sent; their times
/// of arrival are the kernel's, and have no part in it. Of what is sent over TCP: how long the program waited for
/// a CPU before, by the kernel's count, as a stream's timestamps may be of segments that waited for another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct Lateness {
    /// What was due.
    pub count: u64,
    /// Share of it that was done later than 1 ms.
    pub late_share: f64,
    /// Null if nothing was due, as is the next.
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
}

impl Lateness {
    /// Of both ends of a program: the counts of both, and the larger times.
    pub fn with(self, other: Lateness) -> Lateness {
        let count = self.count + other.count;
        let late = self.late_share * self.count as f64 + other.late_share * other.count as f64;
        let larger = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).max_by(f64::total_cmp);
        Lateness {
            count,
            late_share: if count > 0 { late / count as f64 } else { 0.0 },
            p99_ms: larger(self.p99_ms, other.p99_ms),
            max_ms: larger(self.max_ms, other.max_ms),
        }
    }

    /// Whether the program's figures are the network's.
    pub fn is_valid(&self) -> bool {
        let late = self.late_share * self.count as f64;
        late <= (MAX_LATE_SHARE * self.count as f64).max(1.0) + 1e-6
    }
}

/// How long the calling thread has waited for a CPU since it was last asked (the kernel's
/// Documentation/scheduler/sched-stats.rst).
#[derive(Debug, Default)]
pub struct CpuDelay {
    total_ns: u64,
}

impl CpuDelay {
    /// For the calling thread, from now on.
    pub fn start() -> CpuDelay {
        let mut delay = CpuDelay::default();
        delay.read();
        delay
    }

    /// Zero where the kernel does not count.
    pub fn read(&mut self) -> Span {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let total_ns = text.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(self.total_ns);
        let delay = Span::from_ns(total_ns.saturating_sub(self.total_ns));
        self.total_ns = total_ns;
        delay
    }
}

/// Collects the lateness of a program's end.
#[derive(Debug, Default)]
pub struct LatenessMeter {
    spans: Histogram,
    late: u64,
}

impl LatenessMeter {
    pub fn add(&mut self, span: Span) {
        self.spans.add(span);
        self.late += u64::from(span > LATE);
    }

    pub fn read(&self) -> Lateness {
        let count = self.spans.count();
        Lateness {
            count,
            late_share: if count > 0 { self.late as f64 / count as f64 } else { 0.0 },
            p99_ms: self.spans.quantile(0.99).map(|seconds| 1e3 * seconds),
            max_ms: self.spans.max().map(Span::as_millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(spans: impl IntoIterator<Item = Span>) -> Lateness {
        let mut meter = LatenessMeter::default();
        spans.into_iter().for_each(|span| meter.add(span));
        meter.read()
    }

    #[test]
    fn program_is_valid_when_at_most_a_hundredth_is_late() {
        let punctual = |count: usize| std::iter::repeat_n(Span::from_us(1000), count);
        assert!(of([]).is_valid());
        assert!(of(punctual(99).chain([Span::from_ms(80)])).is_valid());
        assert!(!of(punctual(98).chain([Span::from_ms(2), Span::from_ms(80)])).is_valid());
        assert!(of(punctual(20).chain([Span::from_ms(2)])).is_valid(), "one");
        assert!(!of(punctual(20).chain([Span::from_ms(2); 2])).is_valid());
    }

    #[test]
    fn lateness_of_both_ends_has_both_counts_and_the_larger_times() {
        let both = of([Span::from_us(10); 3]).with(of([Span::from_ms(5)]));
        assert_eq!((both.count, both.late_share, both.max_ms), (4, 0.25, Some(5.0)));
    }
}
