//! The grade of an emulation: how far the lateness of the machine, which is not the link's, can
//! have changed the results.

use ackclock_contract::Document;
use ackclock_core::Span;
use serde::Serialize;

/// Maximum share of packets that are late in an exact run.
const MAX_LATE_SHARE: f64 = 1e-3;
/// Limits of a usable run.
const MAX_GOODPUT_ERROR: f64 = 0.02;
const MAX_RTT_ERROR: f64 = 0.05;
/// Minimum RTO of Linux (TCP_RTO_MIN): a lateness below it makes no retransmission timer expire, and
/// the replay need not foresee what a host does then.
pub const MAX_USABLE_LATENESS: Span = Span::from_ms(200);
/// A tenth of what the link adds to a packet is the lateness that it may have.
const SHARE_OF_LINK: u64 = 10;
/// The timer of a machine that is slower than this does not excuse a late packet.
const MAX_TIMER_EXCUSE: Span = Span::from_us(200);

/// In ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Document)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    Invalid,
    Usable,
    Exact,
}

/// Bounds of the relative errors that the machine's lateness can have caused: 0.01 is 1 %.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Document)]
pub struct Bound {
    /// Goodput of a direction, the largest of all clients and both directions.
    #[document(nullable)]
    pub goodput: f64,
    /// 95th percentile of the RTT; of the one-way delay for clients without answered packets.
    #[document(nullable)]
    pub rtt_p95: f64,
}

/// What the grade follows from.
#[derive(Debug, Clone, Copy)]
pub struct Evidence {
    pub released: u64,
    /// Packets released later than `tolerance` after their due time.
    pub late: u64,
    /// Packets lost between the hosts and the link.
    pub unintended_drops: u64,
    /// Those of them that were longer than the MTU.
    pub oversized: u64,
    pub max_lateness: Span,
    pub bound: Bound,
}

/// The lateness that a packet may have: a tenth of what the link adds to it by serialisation, frame
/// or jitter, or the 99th percentile of the machine's timer error (at most 200 us), if that is more.
#[inline]
pub fn tolerance(added_by_link: Span, timer_p99: Span) -> Span {
    Span(added_by_link.0 / SHARE_OF_LINK).max(timer_p99.min(MAX_TIMER_EXCUSE))
}

impl Bound {
    /// The larger of both in each figure.
    pub fn or_larger(self, other: Bound) -> Bound {
        Bound { goodput: self.goodput.max(other.goodput), rtt_p95: self.rtt_p95.max(other.rtt_p95) }
    }

    fn is_usable(self) -> bool {
        self.goodput <= MAX_GOODPUT_ERROR && self.rtt_p95 <= MAX_RTT_ERROR
    }
}

impl Evidence {
    pub fn grade(&self) -> Grade {
        // The hosts' reaction to a loss that the link did not cause is beyond a replay.
        if self.unintended_drops > 0 {
            return Grade::Invalid;
        }
        if self.late as f64 <= MAX_LATE_SHARE * self.released as f64 {
            return Grade::Exact;
        }
        let is_usable = self.bound.is_usable() && self.max_lateness <= MAX_USABLE_LATENESS;
        if is_usable { Grade::Usable } else { Grade::Invalid }
    }

    /// The reason of the grade, in a sentence.
    pub fn why(&self) -> String {
        let Evidence { released, late, unintended_drops, bound, .. } = self;
        let within = format!("goodput within {}, p95 RTT within {}", percent(bound.goodput), percent(bound.rtt_p95));
        let late_packets = format!("{late} of {released} packets left late");
        match self.grade() {
            Grade::Exact if *late == 0 => "every packet kept its time".into(),
            Grade::Exact => format!("{late_packets}, at most one in a thousand"),
            Grade::Usable => format!("{late_packets}: {within} of the link's"),
            Grade::Invalid if *unintended_drops > 0 => {
                let lost = format!("{unintended_drops} packets were lost between the hosts and the link");
                match self.oversized {
                    0 => lost,
                    long => format!("{lost}; {long} of them were longer than 1500 B: the hosts' offloads are on"),
                }
            }
            Grade::Invalid if self.max_lateness > MAX_USABLE_LATENESS => format!(
                "{late_packets}, one by {:.0} ms: this machine, not the link, set their time",
                self.max_lateness.as_millis()
            ),
            Grade::Invalid => format!("{late_packets}: this machine, not the link, set their time ({within})"),
        }
    }
}

/// A share (0..1) in percent, to two significant digits.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = if percent >= 1e-6 { (1.0 - percent.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: Evidence = Evidence {
        released: 10_000,
        late: 0,
        unintended_drops: 0,
        oversized: 0,
        max_lateness: Span::from_us(50),
        bound: Bound { goodput: 0.0, rtt_p95: 0.0 },
    };

    // finding("L9")
    #[test]
    fn run_is_exact_when_at_most_one_packet_in_a_thousand_is_late() {
        assert_eq!(Evidence { late: 10, ..EVEN }.grade(), Grade::Exact);
        assert_eq!(Evidence { late: 11, ..EVEN }.grade(), Grade::Usable);
        // Whatever the bound is.
        let bound = Bound { goodput: 0.5, rtt_p95: 0.5 };
        assert_eq!(Evidence { late: 10, bound, ..EVEN }.grade(), Grade::Exact);
        assert_eq!(Evidence { released: 0, ..EVEN }.grade(), Grade::Exact);
    }

    // finding("L9")
    #[test]
    fn run_is_usable_when_goodput_is_within_2_percent_and_rtt_within_5() {
        let graded = |goodput, rtt_p95| Evidence { late: 100, bound: Bound { goodput, rtt_p95 }, ..EVEN }.grade();
        assert_eq!(graded(0.02, 0.05), Grade::Usable);
        assert_eq!(graded(0.0201, 0.0), Grade::Invalid);
        assert_eq!(graded(0.0, 0.0501), Grade::Invalid);
    }

    // finding("L9")
    #[test]
    fn run_is_invalid_when_a_packet_is_lost_or_late_enough_for_a_retransmission_timer() {
        assert_eq!(Evidence { unintended_drops: 1, ..EVEN }.grade(), Grade::Invalid);
        let stalled = Evidence { late: 11, max_lateness: Span::from_ms(201), ..EVEN };
        assert_eq!(stalled.grade(), Grade::Invalid);
        assert!(stalled.why().contains("one by 201 ms"));
        assert!(Evidence { unintended_drops: 1, ..EVEN }.why().contains("1 packets were lost"));
    }

    #[test]
    fn bound_has_two_significant_digits() {
        let bound = Bound { goodput: 0.00014, rtt_p95: 0.012 };
        let why = Evidence { late: 100, bound, ..EVEN }.why();
        assert!(why.ends_with("goodput within 0.014 %, p95 RTT within 1.2 % of the link's"), "{why}");
        assert_eq!([0.0, 0.5, 0.086, 3e-10].map(percent), ["0 %", "50 %", "8.6 %", "0 %"]);
    }

    // finding("L9")
    #[test]
    fn tolerance_is_a_tenth_of_the_links_delay_or_the_timers_error_up_to_200_us() {
        let us = Span::from_us;
        assert_eq!(tolerance(us(12_000), us(60)), us(1200));
        assert_eq!(tolerance(us(120), us(60)), us(60));
        assert_eq!(tolerance(us(120), us(900)), us(200));
        assert_eq!(tolerance(Span::ZERO, us(900)), us(200));
    }
}
