//! Variable ACK rates: ACK congestion control, which thins ACKs while their path is congested
//! (`asymmetry`, section 4.3.1), and a rate per RTT (TACK: Li et al. 2020, draft-li-tcpm-tack).

use super::config::DelayedAck;
use crate::packet::{Flags, RareOption, Segment};
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Configuration of ACK congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AckCongestionControlConfig {
    /// Maximum delayed-ACK factor (the authors' scripts: 25).
    pub max: u32,
    /// Maximum delay of an ACK.
    #[serde(rename = "timer_ps")]
    pub timer: Span,
    /// Bytes of the sender's option in a header: 0 in ns-2.
    pub option_bytes: u16,
}

/// State of ACK congestion control: the delayed-ACK factor doubles in an RTT with a marked ACK, and
/// falls by one in others.
#[derive(Clone, Copy, Debug)]
pub struct AckCongestionControl {
    config: AckCongestionControlConfig,
    factor: u32,
    /// When the factor was doubled and lowered, on our timestamp clock, and the newest TSecr.
    doubled: u32,
    lowered: u32,
    echoed: u32,
}

impl AckCongestionControl {
    pub fn new(config: AckCongestionControlConfig) -> AckCongestionControl {
        AckCongestionControl { config, factor: 1, doubled: 0, lowered: 0, echoed: 0 }
    }

    /// The delayed-ACK rule for a data segment. `clock` is our timestamp clock.
    pub fn on_data(&mut self, segment: &Segment, clock: u32) -> DelayedAck {
        if let Some(option) = segment.timestamps
            && !earlier(option.echo, self.echoed)
        {
            self.echoed = option.echo;
        }
        // Feedback within an RTT of a change precedes its effect.
        if !earlier(self.echoed, self.doubled) {
            if segment.flags.has(Flags::ECE) {
                self.factor = (2 * self.factor).min(self.config.max);
                self.doubled = clock;
            } else if !earlier(self.echoed, self.lowered) {
                self.factor = (self.factor - 1).max(1);
                self.lowered = clock;
            }
        }
        let segments = match segment.rare_option {
            RareOption::SendRoom(room) => self.factor.min(u32::from(room.window.min(room.left)) / 2),
            _ => self.factor,
        };
        DelayedAck::new(segments.max(1), self.config.timer)
    }
}

/// Comparison on a clock that wraps.
fn earlier(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// TACK: a maximum of ACKs per RTT.
#[derive(Clone, Copy, Debug)]
pub struct Tack {
    per_rtt: f64,
    /// Minimum RTT at the receiver.
    rtt: Option<Span>,
    last: Time,
}

impl Tack {
    pub fn new(per_rtt: f64) -> Tack {
        Tack { per_rtt, rtt: None, last: Time::ZERO }
    }

    pub fn note_rtt(&mut self, rtt: Span) {
        self.rtt = Some(self.rtt.map_or(rtt, |min| min.min(rtt)));
    }

    pub fn on_ack(&mut self, now: Time) {
        self.last = now;
    }

    /// The earliest time of the next ACK.
    pub fn next(&self) -> Time {
        self.rtt.map_or(Time::ZERO, |rtt| self.last + Span::from_secs_f64(rtt.as_secs() / self.per_rtt))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{SendRoom, Timestamps};

    const CONFIG: AckCongestionControlConfig = AckCongestionControlConfig { max: 25, timer: Span::from_ms(100), option_bytes: 8 };

    /// Data with TSecr `echo`, at `now` on the same clock.
    fn factor(control: &mut AckCongestionControl, now: u32, echo: u32, marked: bool) -> u32 {
        let flags = if marked { Flags::ECE } else { Flags::NONE };
        let segment = Segment { payload: 1000, flags, timestamps: Some(Timestamps { value: 1, echo }), ..Segment::default() };
        control.on_data(&segment, now).segments
    }

    /// RTT 100 ms.
    #[test]
    fn factor_doubles_once_per_marked_rtt_and_falls_by_one_per_unmarked_rtt() {
        let mut control = AckCongestionControl::new(CONFIG);
        for (now, echo, marked, expected) in [
            (1000, 900, true, 2),
            // No change before the ACKs of 1000 have had their effect.
            (1050, 950, true, 2),
            (1090, 990, false, 2),
            (1100, 1000, true, 4),
            (1200, 1100, true, 8),
            (1300, 1200, true, 16),
            (1400, 1300, true, 25),
            (1450, 1350, false, 25),
            (1500, 1400, false, 24),
            (1550, 1450, false, 24),
            (1600, 1500, false, 23),
        ] {
            assert_eq!(factor(&mut control, now, echo, marked), expected, "at {now}");
        }
    }

    #[test]
    fn acks_are_at_least_two_per_window_and_one_at_the_end() {
        let mut control = AckCongestionControl { factor: 16, ..AckCongestionControl::new(CONFIG) };
        for (window, left, expected) in [(100, 100, 16), (20, 100, 10), (100, 6, 3), (100, 0, 1), (1, 50, 1)] {
            let segment =
                Segment { payload: 1000, rare_option: RareOption::SendRoom(SendRoom { window, left }), ..Segment::default() };
            control = AckCongestionControl { factor: 16, ..control };
            control.lowered = 1;
            assert_eq!(control.on_data(&segment, 5).segments, expected, "{window} {left}");
        }
    }

    #[test]
    fn tack_spaces_acks_by_a_share_of_the_minimum_rtt() {
        let mut pace = Tack::new(4.0);
        assert_eq!(pace.next(), Time::ZERO);
        pace.note_rtt(Span::from_ms(40));
        pace.note_rtt(Span::from_ms(60));
        pace.on_ack(Time::ZERO + Span::from_secs(1));
        assert_eq!(pace.next(), Time::ZERO + Span::from_secs(1) + Span::from_ms(10));
    }
}
