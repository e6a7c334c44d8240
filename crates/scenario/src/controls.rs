//! Keys whose value is one number, for a page that changes them: the number, its text in a file, and
//! the ends of a slider.
//!
//! A key says by its type and bounds what its number counts; nothing is listed by hand.

use crate::invalid::{Invalid, Read};
use crate::keys::{Bounds, KeyValue, is_per_direction};
use crate::number_text::general;
use crate::units::{Quantity, show_rate, show_size, show_time};
use crate::value::Value;
use serde::Serialize;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Bits per second.
    Rate,
    /// Picoseconds.
    Time,
    /// Bytes.
    Size,
    Count,
    /// From 0 to 1.
    Share,
    /// Without a unit of its own.
    Plain,
}

/// The largest integer up to which a double holds every integer: a page's numbers are doubles.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

impl Number {
    const NAMES: [(&str, Number); 6] = [
        ("rate", Number::Rate),
        ("time", Number::Time),
        ("size", Number::Size),
        ("count", Number::Count),
        ("share", Number::Share),
        ("number", Number::Plain),
    ];

    pub fn name(self) -> &'static str {
        Number::NAMES[self as usize].0
    }

    pub fn from_name(name: &str) -> Option<Number> {
        Number::NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
    }

    fn quantity(self) -> Option<Quantity> {
        match self {
            Number::Rate => Some(Quantity::Rate),
            Number::Time => Some(Quantity::Time),
            Number::Size => Some(Quantity::Size),
            Number::Count | Number::Share | Number::Plain => None,
        }
    }

    /// The number of a value in a file. None: it is a word or a table, or no double is exactly it.
    pub fn read(self, value: &Value) -> Option<f64> {
        let number = match self.quantity() {
            Some(quantity) => quantity.read(value).ok()? as f64,
            None => value.number()?,
        };
        (number.abs() < MAX_EXACT).then_some(number)
    }

    /// The number as a file has it. Quantities and counts are rounded to whole ones.
    pub fn write(self, number: f64) -> Value {
        let whole = number.round() as i64;
        match self {
            Number::Rate => show_rate(whole).into(),
            Number::Time => show_time(whole).into(),
            Number::Size => show_size(whole).into(),
            Number::Count => whole.into(),
            Number::Share | Number::Plain => number.into(),
        }
    }

    /// As a person reads it: a share in percent.
    pub fn show(self, number: f64) -> String {
        match (self, self.write(number)) {
            (Number::Share, _) => format!("{} %", general(number * 100.0)),
            (Number::Plain, _) => general(number),
            (_, Value::Text(text)) => text,
            (_, value) => value.to_toml(),
        }
    }

    /// The number that a person writes: as in a file, or as it is shown.
    pub fn parse(self, text: &str) -> Read<f64> {
        let given = Value::from(text);
        if let Some(quantity) = self.quantity() {
            return quantity.read(&given).map(|whole| whole as f64);
        }
        let text = text.trim();
        let (text, factor) = match text.strip_suffix('%').filter(|_| self == Number::Share) {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (text, 1.0),
        };
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        match (self, number) {
            (Number::Count, Some(number)) if number.fract() != 0.0 => Err(Invalid::value(&given, "a whole number")),
            (_, Some(number)) => Ok(number / factor),
            (Number::Count, None) => Err(Invalid::value(&given, "a whole number")),
            (Number::Share, None) => Err(Invalid::value(&given, "a share from 0 to 1, or in percent, such as \"1 %\"")),
            (_, None) => Err(Invalid::value(&given, "a number")),
        }
    }

    /// The ends of a slider around a value, and whether it is logarithmic. The key may allow more.
    fn range(self, number: f64, key: &str) -> (f64, f64, bool) {
        match self {
            Number::Rate => (number.min(16e3), number.max(10e9), true),
            Number::Size => (number.min(1500.0), number.max(64.0 * 1_048_576.0), true),
            Number::Count => (number.min(1.0), number.max(10e3), true),
            Number::Time => (0.0, TIME_ENDS_PS.into_iter().find(|end| *end >= 5.0 * number).unwrap_or(TIME_ENDS_PS[6]), false),
            Number::Share => (0.0, if key == "mean" && number <= MAX_LOSS { MAX_LOSS } else { 1.0 }, false),
            Number::Plain => (0.0_f64.min(number * 10.0), 0.0_f64.max(number * 10.0), false),
        }
    }
}

/// Ends of a time's slider: the first one that is five times its value or more.
const TIME_ENDS_PS: [f64; 7] = [1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
/// End of the slider of a mean loss: more than a tenth stops TCP.
const MAX_LOSS: f64 = 0.1;

/// A number in a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slider {
    /// From the table: names of keys, and indices of arrays.
    pub path: Vec<String>,
    #[serde(serialize_with = "name_of")]
    pub unit: Number,
    /// The table's own.
    pub value: f64,
    pub min: f64,
    pub max: f64,
    pub log: bool,
    /// What the key means.
    pub text: &'static str,
}

fn name_of<S: serde::Serializer>(number: &Number, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(number.name())
}

/// What changes the value of a key.
pub struct Control {
    pub key: &'static str,
    /// What the key means.
    pub text: &'static str,
    /// What the value counts, if it is one number or an array of such.
    number: Option<Number>,
    /// A table of both directions may stand for the value.
    is_per_direction: bool,
    inner: fn(&Value) -> Vec<Control>,
    /// The values of a key that has a few ones.
    pub options: fn() -> Vec<Value>,
    /// A value of a key that must be given.
    pub example: Option<fn() -> Value>,
}

impl Control {
    pub fn of<T: KeyValue>(key: &'static str, text: &'static str, bounds: &Bounds, example: Option<fn() -> Value>) -> Control {
        let number = T::number(bounds);
        Control {
            key,
            text,
            number,
            is_per_direction: false,
            inner: T::controls,
            options: T::options,
            example: example.filter(|_| !T::OPTIONAL),
        }
    }

    /// The same of a table that has two directions.
    pub fn per_direction(self) -> Control {
        Control { is_per_direction: true, ..self }
    }
}

/// The numbers of a table that may be changed; `accepts` is asked for the ends.
pub fn sliders(controls: &[Control], table: &Value, accepts: impl Fn(&Value) -> bool) -> Vec<Slider> {
    let mut found = Vec::new();
    of_table(controls, table, &mut Vec::new(), &mut found);
    let ends = |slider: Slider| {
        let is_valid = |end: &f64| {
            let mut changed = table.clone();
            changed.put(&slider.path, Some(slider.unit.write(*end)));
            accepts(&changed)
        };
        let raw = slider.value;
        let is_real = matches!(slider.unit, Number::Share | Number::Plain);
        let part = |by: f64| if is_real { raw / by } else { (raw / by).floor().max(1.0) };
        let min = [slider.min, part(100.0), part(10.0)].into_iter().find(is_valid).unwrap_or(raw);
        let max = [slider.max, 10.0 * raw].into_iter().find(is_valid).unwrap_or(raw);
        (min < max).then_some(Slider { min, max, log: slider.log && min > 0.0, ..slider })
    };
    found.into_iter().filter_map(ends).collect()
}

fn of_table(controls: &[Control], table: &Value, path: &mut Vec<String>, found: &mut Vec<Slider>) {
    for control in controls {
        let Some(value) = table.get(control.key) else { continue };
        path.push(control.key.to_owned());
        match value {
            Value::Table(sides) if control.is_per_direction && is_per_direction(value) => {
                for (side, value) in sides {
                    path.push(side.clone());
                    of_value(control, value, path, found);
                    path.pop();
                }
            }
            _ => of_value(control, value, path, found),
        }
        path.pop();
    }
}

fn of_value(control: &Control, value: &Value, path: &mut Vec<String>, found: &mut Vec<Slider>) {
    if let Value::Array(values) = value {
        for (index, value) in values.iter().enumerate() {
            path.push(index.to_string());
            of_value(control, value, path, found);
            path.pop();
        }
    } else if let Some((unit, value)) = control.number.and_then(|unit| Some((unit, unit.read(value)?))) {
        let (min, max, log) = unit.range(value, control.key);
        found.push(Slider { path: path.clone(), unit, value, min, max, log, text: control.text });
    } else {
        of_table(&(control.inner)(value), value, path, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeySet;
    use crate::link::hop::Hop;
    use crate::table;

    fn hop(keys: Value) -> Vec<Slider> {
        sliders(&Hop::key_controls(), &keys, |changed| Hop::read(changed, &Bounds::NONE).is_ok())
    }

    #[test]
    fn key_is_a_slider_at_its_place_when_its_value_is_a_number() {
        let queue =
            table!("kind" => "red", "packets" => 50, "ecn" => true, "min" => "5 packets", "max" => "15 packets", "weight" => 0.5);
        let rate = table!("down" => "8 Mb/s", "up" => "1 Mb/s");
        let outage = table!("start" => "10 s", "end" => "12 s");
        let found = hop(table!("name" => "line", "rate" => rate, "queue" => queue, "delay" => "8 ms", "outage" => vec![outage]));
        let rows: Vec<(String, &str, f64)> =
            found.iter().map(|slider| (slider.path.join("."), slider.unit.name(), slider.value)).collect();
        let expected = [
            ("queue.packets", "count", 50.0),
            ("queue.weight", "share", 0.5),
            ("rate.down", "rate", 8e6),
            ("rate.up", "rate", 1e6),
            ("outage.0.start", "time", 10e12),
            ("outage.0.end", "time", 12e12),
            ("delay", "time", 8e9),
        ];
        assert_eq!(rows, expected.map(|(path, unit, value)| (path.to_owned(), unit, value)));
        assert_eq!(found[2].text, "How fast packets leave the queue: a fixed rate, a recording, or a schedule.");
    }

    #[test]
    fn ends_of_a_slider_are_values_that_the_table_accepts() {
        let loss = || table!("kind" => "gilbert-elliott", "mean" => 1e-3, "bad_sojourn" => "50 ms");
        let line = || table!("name" => "line", "rate" => "8 Mb/s", "loss" => loss());
        let found = hop(line());
        let paths: Vec<String> = found.iter().map(|slider| slider.path.join(".")).collect();
        assert_eq!(paths, ["rate", "loss.bad_sojourn", "loss.mean"]);
        for slider in found {
            for end in [slider.min, slider.max] {
                let mut changed = line();
                changed.put(&slider.path, Some(slider.unit.write(end)));
                assert!(Hop::read(&changed, &Bounds::NONE).is_ok(), "{} = {end}", slider.path.join("."));
            }
        }
        assert_eq!(sliders(&Hop::key_controls(), &line(), |_| false), []);
    }

    #[test]
    fn number_is_written_shown_and_parsed_in_its_unit() {
        let expected = [
            (Number::Rate, 12.5e6, "12.5 Mb/s", "12.5 Mb/s"),
            (Number::Time, 1.5e9, "1.5 ms", "1.5 ms"),
            (Number::Size, 262_144.0, "256 KiB", "256 KiB"),
            (Number::Count, 50.0, "50", "50"),
            (Number::Share, 0.001, "0.001", "0.1 %"),
            (Number::Plain, 3.2, "3.2", "3.2"),
        ];
        for (unit, number, written, shown) in expected {
            let value = unit.write(number);
            let text = if let Value::Text(text) = &value { text.clone() } else { value.to_toml() };
            assert_eq!((text.as_str(), unit.show(number).as_str()), (written, shown));
            assert_eq!((unit.parse(written), unit.parse(shown)), (Ok(number), Ok(number)));
            assert_eq!((unit.read(&value), Number::from_name(unit.name())), (Some(number), Some(unit)));
        }
        assert_eq!(Number::Count.parse("1.5").expect_err("a fraction").allowed, "a whole number");
        assert!(Number::Rate.parse("8 Mbps").expect_err("no unit").allowed.ends_with("(did you mean Mb/s?)"));
        assert_eq!(Number::Time.read(&"10 day".into()), None);
    }
}
