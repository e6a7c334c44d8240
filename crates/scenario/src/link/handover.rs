//! A path that changes at fixed times, such as that of a satellite constellation or a moving
//! terminal.

use crate::Keys;
use crate::invalid::{Invalid, Read};
use crate::values::{Duration, Share, Time, time_text};
use ackclock_core::impairment::HandoverConfig;
use serde_json::json;

/// The path changes at `first` and then `every` so long. For `gap` after a change no packet is
/// released: arrivals are lost with probability `loss`, else they wait. Each path adds a delay
/// drawn from `low` to `high`; both directions of a hop with the same table share the paths.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Handover::plan_json, check = Handover::check)]
pub struct Handover {
    /// Time between two changes of the path.
    #[key(example = "15 s")]
    pub every: Duration,
    /// Time of the first change.
    #[key(example = "3 s", absent = "after `every`")]
    pub first: Option<Time>,
    /// Time after a change in which no packet is released; shorter than `every`.
    #[key(default = "0 s", example = "40 ms")]
    pub gap: Time,
    /// Share of the arrivals in the gap that are lost; the others wait.
    #[key(default = 0.0, example = 0.3)]
    pub loss: Share,
    /// Minimum of the delay that a path adds.
    #[key(default = "0 s", example = "0 ms")]
    pub low: Time,
    /// Maximum of the delay that a path adds; it is drawn at each change.
    #[key(default = "0 s", example = "20 ms")]
    pub high: Time,
}

impl Handover {
    fn check(&self) -> Read<()> {
        if self.gap.0 >= self.every.0 {
            return Err(Invalid::new(time_text(self.gap.0), "a gap shorter than the time between changes").at("gap"));
        }
        if self.low.0 > self.high.0 {
            return Err(Invalid::new("low above high", "low up to high").at("low"));
        }
        Ok(())
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(HandoverConfig {
            every: self.every.0,
            first: self.first.map_or(self.every.0, |first| first.0),
            gap: self.gap.0,
            loss: self.loss.0,
            low: self.low.0,
            high: self.high.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Bounds, KeyValue};
    use crate::value::Value;

    #[test]
    fn gap_is_shorter_than_the_time_between_changes() {
        let read = |gap: &str| Handover::read(&Value::table([("every", "15 s".into()), ("gap", gap.into())]), &Bounds::NONE);
        assert_eq!(read("15 s").expect_err("as long").found, "15 s");
        assert_eq!(read("40 ms").map(|handover| handover.plan_json()["first_ps"].clone()), Ok(json!(15_000_000_000_000_u64)));
    }
}
