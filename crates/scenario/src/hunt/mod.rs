//! The [hunt] of a scenario: what may vary, what is bad, what must hold, and how long to search.
//!
//! It is no part of a run: `ackclock hunt` reads it, other commands leave it out.

pub mod constraint;
pub mod objective;
pub mod vary;

use crate::Keys;
use crate::invalid::{Invalid, Read};
use crate::keys::{Bounds, KeySet, KeyValue, entries};
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::Count;
use constraint::HuntConstraint;
use objective::Objective;
use vary::Vary;

/// One of a few names.
macro_rules! names {
    ($(#[$doc:meta])* $type:ident [$($name:literal),+]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type(pub &'static str);

        impl $type {
            pub const NAMES: &[&str] = &[$($name),+];
        }

        impl KeyValue for $type {
            fn read(value: &Value, _: &Bounds) -> Read<$type> {
                $crate::values::name_of(value, $type::NAMES).map($type)
            }

            fn write(&self, _: Option<&Value>) -> Value {
                self.0.into()
            }

            fn unit() -> &'static str {
                "choice"
            }

            fn limits(_: &Bounds) -> String {
                $type::NAMES.join(", ")
            }

            fn schema(_: &Bounds, _: &mut Definitions) -> Value {
                schema::words($type::NAMES)
            }
        }
    };
}
pub(crate) use names;

names!(
    /// How cases are chosen: CMA-ES with margin, or drawn.
    Search["cmaes", "random"]
);

/// What `ackclock hunt` searches; no part of the runs of other commands.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = Hunt::check_form, check = Hunt::check)]
pub struct Hunt {
    /// What is bad: an objective by its name, a table with the flow that it is about or the two values that it
    /// compares, or a function in Python.
    #[key(example = "goodput", unit = "name or table")]
    pub objective: Objective,
    /// The figure from which on a case breaks. A function in Python requires it.
    #[key(example = 0.3, absent = "the objective's")]
    pub breaks: Option<f64>,
    /// What may vary: a range, a list of choices or losses for each dotted path, as in [sweep].
    #[key(example = Vary::example())]
    pub vary: Vary,
    /// What a case must hold.
    #[key(default = Vec::new(), example = HuntConstraint::examples(), absent = "nothing",
        allowed = "a list of tables such as { metric = \"drops\", max = 0 }")]
    pub constraints: Vec<HuntConstraint>,
    /// Maximum distance of a case to the nearest packaged link.
    #[key(example = 1.0, above = 0, allowed = "a number above 0", absent = "any", unit = "decades")]
    pub plausible: Option<f64>,
    /// Cases to search.
    #[key(
        example = 600,
        max = 1_000_000,
        allowed = "a whole number from 1 to 1000000",
        absent = "400 without minutes",
        unit = "cases"
    )]
    pub runs: Option<Count>,
    /// Time of the search, in place of `runs`.
    #[key(example = 20, above = 0, allowed = "a number above 0", unit = "min")]
    pub minutes: Option<f64>,
    /// Maximum of cases that are kept.
    #[key(default = 3, max = 100, allowed = "a whole number from 1 to 100", unit = "cases")]
    pub cases: Count,
    /// How cases are chosen: CMA-ES with margin, or drawn.
    #[key(default = "cmaes", example = "random")]
    pub search: Search,
    /// Seed of the search. Equal seeds and `runs` give equal cases.
    #[key(default = 1, min = 0, max = 2_147_483_647, allowed = "a whole number from 0 to 2147483647")]
    pub seed: Count,
}

impl Hunt {
    fn check_form(value: &Value) -> Read<Option<Value>> {
        if !matches!(value, Value::Table(_)) {
            return Err(Invalid::value(value, "a table with `objective` and `vary`"));
        }
        entries(value, &Hunt::names())?;
        for (key, allowed) in [
            ("objective", "what is bad, such as objective = \"goodput\""),
            ("vary", "[hunt.vary] with ranges, such as \"hop.dsl.delay\" = { from = \"5 ms\", to = \"100 ms\" }"),
        ] {
            let is_empty = |value: &Value| matches!(value, Value::Absent) || *value == Value::Table(Vec::new());
            if value.get(key).is_none_or(is_empty) {
                return Err(Invalid::new(format!("no `{key}`"), allowed));
            }
        }
        Ok(None)
    }

    fn check(&self) -> Read<()> {
        if self.runs.is_some() && self.minutes.is_some() {
            return Err(Invalid::problem("both runs and minutes", "one budget").at("minutes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn hunt(key: &str, value: Value) -> Read<Hunt> {
        let mut tables = table!("objective" => "goodput", "vary" => Vary::example());
        tables.put(&[key.into()], Some(value));
        Hunt::read(&tables, &Bounds::NONE)
    }

    #[test]
    fn hunt_has_its_defaults_when_it_has_what_is_required() {
        let hunt = hunt("seed", 0.into()).expect("a hunt");
        assert_eq!((hunt.seed.0, hunt.cases.0, hunt.search.0, hunt.runs, hunt.breaks), (0, 3, "cmaes", None, None));
        assert_eq!(Hunt::read(&hunt.write(None), &Bounds::NONE), Ok(hunt));
    }

    #[test]
    fn hunt_is_refused_when_a_key_is_missing_empty_or_beside_its_bounds() {
        let refused = |key: &str, value: Value| hunt(key, value).expect_err("an error").found;
        assert_eq!(refused("objective", Value::Absent), "no `objective`");
        assert_eq!(refused("vary", Value::Table(Vec::new())), "no `vary`");
        assert_eq!(refused("plausible", 0.into()), "0");
        assert_eq!(refused("runs", 1_000_001.into()), "1000001");
        assert_eq!(refused("minutes", 0.0.into()), "0.0");
        assert_eq!(refused("search", "cma".into()), "\"cma\"");
        assert_eq!(Hunt::read(&3.into(), &Bounds::NONE).expect_err("no table").found, "3");
        let both = table!("objective" => "delay", "vary" => Vary::example(), "runs" => 9, "minutes" => 1);
        assert_eq!(Hunt::read(&both, &Bounds::NONE).expect_err("two budgets").found, "both runs and minutes");
    }
}
