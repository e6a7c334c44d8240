//! Tables of a receiver's ACKs: delayed ACKs, ACK congestion control, SACK compression.

use super::switch::{Switch, SwitchRule};
use super::values::{OptionSize, Timer};
use crate::Keys;
use crate::values::Count;
use ackclock_core::tcp::config::DelayedAck as DelayedAckConfig;
use ackclock_core::tcp::{AckCongestionControlConfig, SackCompression as SackCompressionConfig};
use ackclock_core::units::Span;

/// One ACK for every `segments` full segments, or `timer` after the first unacknowledged one, at
/// most `per_rtt` ACKs per RTT (TACK). With `push`, also at once when the application has read all
/// data and a segment had PSH (Linux).
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct DelayedAck {
    /// An ACK for this many full segments.
    #[key(example = 2, unit = "segments", min = 1, allowed = "a whole number of segments, 1 or more")]
    pub segments: Count,
    /// Or this long after the first unacknowledged segment.
    #[key(example = "40 ms")]
    pub timer: Timer,
    /// ACKs in an RTT, at most (TACK).
    #[key(example = 4, unit = "ACKs", absent = "no limit", min = 0.1, max = 1000, allowed = "0.1 to 1000 ACKs a round trip")]
    pub per_rtt: Option<f64>,
    /// An ACK at once for a segment with PSH when the application has read all data (Linux).
    #[key(default = false, example = true)]
    pub push: bool,
}

/// ACK congestion control (`asymmetry`, section 4.3.1): maximum segments and time of an ACK's
/// delay, and the size of the sender's option.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct AckControl {
    /// Maximum number of segments for which an ACK waits.
    #[key(default = 25, unit = "segments")]
    pub max: Count,
    /// Maximum delay of an ACK.
    #[key(default = "100 ms")]
    pub timer: Timer,
    /// Size of the sender's option.
    #[key(default = "8 B")]
    pub option_bytes: OptionSize,
}

/// While segments arrive out of order, one SACK for up to `segments` more, after `share` of the RTT
/// and at most `longest`.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct SackCompression {
    /// Further segments for which a SACK waits.
    #[key(example = 44, unit = "segments", min = 1, allowed = "a whole number of segments, 1 or more")]
    pub segments: Count,
    /// Share of the RTT that it waits.
    #[key(example = 0.05, unit = "share", above = 0, max = 1, allowed = "a share of the round trip above 0, at most 1")]
    pub share: f64,
    /// Maximum time that it waits.
    #[key(example = "1 ms")]
    pub longest: Timer,
}

impl SwitchRule for DelayedAck {
    type Table = DelayedAck;
    const ALLOWED: &'static str = "true (the host's rule), false, or { segments = 2, timer = \"40 ms\" }";

    fn of_true() -> Option<Switch<DelayedAck>> {
        Some(Switch::OfHost)
    }
}

impl SwitchRule for AckControl {
    type Table = AckControl;
    const ALLOWED: &'static str = "true, false, or { max = 25, timer = \"100 ms\" }";

    fn of_true() -> Option<Switch<AckControl>> {
        Some(Switch::On(AckControl { max: Count(25), timer: Timer(Span::from_ms(100)), option_bytes: OptionSize(8) }))
    }
}

impl SwitchRule for SackCompression {
    type Table = SackCompression;
    const ALLOWED: &'static str = "false, or { segments = 44, share = 0.05, longest = \"1 ms\" }";
}

impl DelayedAck {
    pub fn config(&self) -> DelayedAckConfig {
        DelayedAckConfig { segments: self.segments.0, timer: self.timer.0, per_rtt: self.per_rtt, push: self.push }
    }
}

impl AckControl {
    pub fn config(&self) -> AckCongestionControlConfig {
        AckCongestionControlConfig { max: self.max.0, timer: self.timer.0, option_bytes: self.option_bytes.0 }
    }
}

impl SackCompression {
    pub fn config(&self) -> SackCompressionConfig {
        SackCompressionConfig { segments: self.segments.0, share: self.share, longest: self.longest.0 }
    }
}
