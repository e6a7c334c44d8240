//! Slow start rules. Any window-based algorithm can use any of them.

mod classic;
mod hystart;
mod hystart_pp;
mod inclusive;
mod limited_slow_start;

pub use classic::ClassicSlowStart;
pub use hystart::Hystart;
pub use hystart_pp::HystartPp;
pub use inclusive::Inclusive;
pub use limited_slow_start::Limited;

use super::{Ack, CongestionWindow, RoundCounter};
use crate::config_form::named;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A slow start rule. `open` returns the part of the ACK's credit above ssthresh, which belongs to
/// congestion avoidance.
pub trait SlowStartRule {
    /// Slow start is in progress.
    fn applies(&self, window: &CongestionWindow) -> bool {
        window.cwnd < window.ssthresh
    }
    fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64;
    /// An ACK in slow start at which the window does not grow.
    fn observe(&mut self, _ack: &Ack, _window: &mut CongestionWindow) {}
}

macro_rules! slow_starts {
    ($($kind:ident($rule:ident) => $name:literal, $build:expr, $summary:literal, $source:literal;)*) => {
        /// All slow start rules.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum SlowStart { $($kind($rule)),* }

        /// By its name.
impl Serialize for SlowStart {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        let is_this = |name: &&str| SlowStart::from_name(name).as_ref() == Some(self);
        let name = SlowStart::TABLE.iter().map(|(name, _, _)| *name).find(is_this);
        into.serialize_str(name.unwrap_or_default())
    }
}

        /// By its name.
impl<'de> Deserialize<'de> for SlowStart {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<SlowStart, D::Error> {
        named(from, "slow start", SlowStart::from_name)
    }
}

impl SlowStart {
            /// Name, summary and source.
            pub const TABLE: &'static [(&'static str, &'static str, &'static str)] = &[$(($name, $summary, $source)),*];

            pub fn from_name(name: &str) -> Option<SlowStart> {
                match name {
                    $($name => Some(SlowStart::$kind($build)),)*
                    _ => None,
                }
            }
        }

        impl SlowStartRule for SlowStart {
            fn applies(&self, window: &CongestionWindow) -> bool {
                match self { $(SlowStart::$kind(s) => s.applies(window)),* }
            }
            fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
                match self { $(SlowStart::$kind(s) => s.open(ack, window)),* }
            }
            fn observe(&mut self, ack: &Ack, window: &mut CongestionWindow) {
                match self { $(SlowStart::$kind(s) => s.observe(ack, window)),* }
            }
        }
    };
}

impl SlowStart {
    /// The credit left for congestion avoidance after slow start: none if cwnd did not limit the
    /// sender (RFC 7661), otherwise what lies above ssthresh.
    #[inline]
    pub fn credit_left(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
        if !ack.cwnd_limited {
            if self.applies(window) {
                self.observe(ack, window);
            }
            return 0.0;
        }
        if self.applies(window) { self.open(ack, window) } else { ack.growth_credit }
    }
}

slow_starts! {
    Classic(ClassicSlowStart) => "classic", ClassicSlowStart,
        "one segment of growth per segment acknowledged, up to ssthresh", "RFC 5681, section 3.1";
    Inclusive(Inclusive) => "inclusive", Inclusive,
        "classic, and once more when the window equals ssthresh", "RFC 5681, section 3.1, as in Linux before 4.3";
    Limited(Limited) => "limited", Limited::RFC3742,
        "at most 50 segments of growth per RTT above a window of 100", "RFC 3742";
    Hystart(Hystart) => "hystart", Hystart::LINUX,
        "ends when ACK trains or rising delay show that the path is full", "Ha and Rhee 2011, as in Linux";
    HystartPp(HystartPp) => "hystart++", HystartPp::RFC9406,
        "on rising delay continues at a quarter of the growth, and ends after five such rounds", "RFC 9406";
}

/// Grows by a share of the ACK's credit up to ssthresh; returns the remaining credit.
fn grow(credit: f64, share: f64, window: &mut CongestionWindow) -> f64 {
    let opened = (window.cwnd + credit * share).min(window.ssthresh.max(window.cwnd));
    let used = (opened - window.cwnd) / share;
    window.cwnd = opened;
    (credit - used).max(0.0)
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::units::{Span, Time};

    /// Rounds of the ACKs of a window; `rtt` maps a round's number to its RTT. Returns the window
    /// after each.
    pub fn rounds(
        opening: &mut impl SlowStartRule,
        cwnd: f64,
        n: u64,
        rtt: impl Fn(u64) -> Span,
    ) -> (Vec<f64>, CongestionWindow) {
        let mut window = CongestionWindow { cwnd, ssthresh: f64::INFINITY };
        let (mut sent, mut acked_total, mut now) = (cwnd as u64, 0, Time::ZERO);
        let mut windows = Vec::new();
        for round in 0..n {
            let base = (0..=round).map(&rtt).min();
            for i in 0..(sent - acked_total) {
                acked_total += 1;
                // ACKs are too far apart for a train.
                let at = now + Span::from_ms(3 * i);
                let ack = Ack {
                    now: at,
                    growth_credit: 1.0,
                    acked: 1,
                    rtt: Some(rtt(round)),
                    min_rtt: base,
                    cwnd_limited: true,
                    ..Ack::default()
                };
                opening.open(&Ack { acked_total, sent, ..ack }, &mut window);
                sent = sent.max(acked_total + window.cwnd as u64);
            }
            now += Span::from_secs(10);
            windows.push(window.cwnd);
            if window.cwnd >= window.ssthresh {
                break;
            }
        }
        (windows, window)
    }
}
