//! Clients that move between the cells of a medium.

use crate::invalid::{Invalid, Read};
use crate::value::Value;
use crate::values::{Duration, Time, time_text};
use crate::{Keys, word_enum};
use ackclock_core::medium::{CellConfig, RoamingConfig};
use ackclock_core::units::Span;
use serde_json::json;

word_enum! {
    /// What happens to the packets in the network for a client that changes cells.
    pub enum LeftPackets {
        Forwarded = "forwarded",
        Lost = "lost",
    }
}

/// A client changes cells at `first` and then `every` so long; each client does so `spread` after
/// the one before.
///
/// It is not served for `gap`. Its packets in the network are forwarded to the next cell (`queue =
/// "forwarded"`) or lost; packets at the client remain. The `cells` follow in rotation from the
/// first one.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Roaming::plan_json, check = Roaming::check)]
pub struct Roaming {
    /// Time between two changes of a client, a millisecond at least.
    #[key(example = "60 s")]
    pub every: Duration,
    /// Time of the first change.
    #[key(example = "10 s", absent = "after `every`")]
    pub first: Option<Time>,
    /// How much later than the client before it a client changes.
    #[key(default = "0 s", example = "1 s")]
    pub spread: Time,
    /// Time in which a client is not served at a change; shorter than `every`.
    #[key(default = "50 ms")]
    pub gap: Time,
    /// What happens to a client's packets in the network: forwarded to the next cell, or lost.
    #[key(default = "forwarded")]
    pub queue: LeftPackets,
    /// The cells, in rotation from the first one.
    #[key(
        default = Cell::one(),
        absent = "one cell",
        example = Cell::example(),
        allowed = "a list of cells such as [{ speed = 1.0 }, { speed = 0.5, delay = '10 ms' }]"
    )]
    pub cells: Vec<Cell>,
}

/// A cell: a share of the channel's rate, and a delay in each direction in addition to the hop's.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Cell {
    /// Share of the channel's rate in this cell.
    #[key(
        default = 1.0,
        example = 0.5,
        unit = "share",
        min = 0.01,
        max = 1,
        allowed = "a share of the channel's speed from 0.01 to 1"
    )]
    pub speed: f64,
    /// Delay in each direction in addition to the hop's.
    #[key(default = "0 s", example = "10 ms")]
    pub delay: Time,
}

impl Cell {
    fn one() -> Value {
        vec![Value::Table(Vec::new())].into()
    }

    fn example() -> Value {
        let slow = Value::table([("speed", 0.5.into()), ("delay", "10 ms".into())]);
        vec![Value::table([("speed", 1.0.into())]), slow].into()
    }
}

impl Roaming {
    pub(super) fn example() -> Value {
        Value::table([("every", "60 s".into())])
    }

    fn check(&self) -> Read<()> {
        if self.every.0 < Span::from_ms(1) {
            return Err(Invalid::new(time_text(self.every.0), "a millisecond or more between changes").at("every"));
        }
        if self.gap.0 >= self.every.0 {
            return Err(Invalid::new(time_text(self.gap.0), "a gap shorter than the time between changes").at("gap"));
        }
        if self.cells.is_empty() {
            return Err(Invalid::new("[]", "at least one cell").at("cells"));
        }
        Ok(())
    }

    fn plan_json(&self) -> serde_json::Value {
        let cells = self.cells.iter().map(|cell| CellConfig { speed: cell.speed, delay: cell.delay.0 });
        json!(RoamingConfig {
            every: self.every.0,
            first: self.first.map_or(self.every.0, |first| first.0),
            spread: self.spread.0,
            gap: self.gap.0,
            forwards: self.queue == LeftPackets::Forwarded,
            cells: cells.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Bounds, KeyValue};

    #[test]
    fn gap_is_shorter_than_the_time_between_changes() {
        let read = |every: &str| Roaming::read(&Value::table([("every", every.into())]), &Bounds::NONE);
        assert_eq!(read("50 ms").expect_err("as short as the gap").found, "50 ms");
        assert_eq!(read("1 us").expect_err("too often").allowed, "a millisecond or more between changes");
        let plan = read("1 s").expect("longer").plan_json();
        assert_eq!(
            (plan["first_ps"].as_u64(), plan["cells"].clone()),
            (Some(10_u64.pow(12)), json!([{"speed": 1.0, "delay_ps": 0}]))
        );
    }

    #[test]
    fn roaming_has_a_cell() {
        let none = Value::table([("every", "1 s".into()), ("cells", Vec::new().into())]);
        assert_eq!(Roaming::read(&none, &Bounds::NONE).expect_err("no cell").allowed, "at least one cell");
    }
}
