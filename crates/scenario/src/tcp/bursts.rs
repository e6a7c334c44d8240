//! Tables of a sender's bursts, and of a host's time for a packet.

use super::switch::{Switch, SwitchRule};
use super::values::Timer;
use crate::Keys;
use crate::invalid::{Invalid, Read, format_value};
use crate::keys::KeyValue;
use crate::units::show_time;
use crate::values::{Bytes, Count, Duration};
use ackclock_core::host::ProcessingJitter as ProcessingJitterConfig;
use ackclock_core::tcp::TsoAutosize;
use ackclock_core::units::Span;

/// The data of `time` at the pacing rate, from `segments` to `max`: the size of a TSO burst
/// (`tso`), or the limit of the host's queue (`tsq`).
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Tso {
    /// Minimum size.
    #[key(example = 2, unit = "segments", min = 1, allowed = "a whole number of segments, 1 or more")]
    pub segments: Count,
    /// The data of this time at the pacing rate.
    #[key(example = "1 ms")]
    pub time: Timer,
    /// Maximum size.
    #[key(example = "64 KiB", former = "most")]
    pub max: Bytes,
}

/// Median and 99th percentile of the time from a packet's arrival at the host until TCP processes
/// it: log-normal, in order.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = ProcessingJitter::check)]
pub struct ProcessingJitter {
    /// Median.
    #[key(example = "20 us")]
    pub p50: Duration,
    /// 99th percentile of a log-normal distribution.
    #[key(example = "80 us")]
    pub p99: Duration,
}

impl SwitchRule for Tso {
    type Table = Tso;
    const ALLOWED: &'static str = "false, or { segments = 2, time = \"1 ms\", max = \"64 KiB\" }";
}

/// The key `tsq`, whose table is that of `tso`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tsq;

impl SwitchRule for Tsq {
    type Table = Tso;
    const ALLOWED: &'static str = "false, true, or { segments = 2, time = \"1 ms\", max = \"4 MiB\" }";

    fn of_true() -> Option<Switch<Tsq>> {
        Some(Switch::On(Tso { segments: Count(2), time: Timer(Span::from_ms(1)), max: Bytes(4 << 20) }))
    }
}

impl SwitchRule for ProcessingJitter {
    type Table = ProcessingJitter;
    const ALLOWED: &'static str = "false, or { p50 = \"20 us\", p99 = \"80 us\" }";
}

impl Tso {
    pub fn config(&self) -> TsoAutosize {
        let max_bytes = u32::try_from(self.max.0).unwrap_or(u32::MAX);
        TsoAutosize { min_segments: self.segments.0, time: self.time.0, max_bytes }
    }
}

impl ProcessingJitter {
    fn check(&self) -> Read<()> {
        if self.p50.0 <= self.p99.0 {
            return Ok(());
        }
        let found = format!("p50 = {}", format_value(&self.p50.write(None)));
        let p99 = show_time(i64::try_from(self.p99.0.0).unwrap_or(i64::MAX));
        Err(Invalid::new(found, format!("at most p99, {p99}")).at("p50"))
    }

    pub fn config(&self) -> ProcessingJitterConfig {
        ProcessingJitterConfig { p50: self.p50.0, p99: self.p99.0 }
    }
}
