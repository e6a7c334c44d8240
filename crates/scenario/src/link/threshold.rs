//! Thresholds of a queue: in packets, bytes or time.

use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions, units_of};
use crate::units::Quantity;
use crate::value::Value;
use ackclock_core::config_check::MAX_SPAN;
use ackclock_core::queue::{QueueUnit, Threshold};
use ackclock_core::units::Span;

const THRESHOLD: &str = "a threshold such as \"20 packets\", \"30 kB\" or \"1 ms\"";
const AMOUNT: &str = "a number of packets or bytes above zero, such as \"5 packets\" or \"30 kB\"";
/// Digits of a number of packets.
const MAX_DIGITS: usize = 9;

/// A marking threshold, and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkThreshold {
    pub written: String,
    pub threshold: Threshold,
}

/// A mean queue length, which may be a fraction of a packet, and how it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    pub written: String,
    pub unit: QueueUnit,
    pub number: f64,
}

/// Number and unit of a text; empty for another form.
fn two_words(value: &Value) -> (&str, &str) {
    let Value::Text(text) = value else { return ("", "") };
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [number, unit] = words[..] { (number, unit) } else { ("", "") }
}

fn written(value: &Value) -> String {
    if let Value::Text(text) = value { text.clone() } else { String::new() }
}

fn packet_units() -> Vec<String> {
    ["packet", "packets"].map(str::to_owned).into()
}

fn is_packets(unit: &str) -> bool {
    matches!(unit, "packet" | "packets")
}

impl KeyValue for MarkThreshold {
    fn read(value: &Value, _: &Bounds) -> Read<MarkThreshold> {
        let (number, unit) = two_words(value);
        let is_count = is_packets(unit) && number.len() <= MAX_DIGITS && number.bytes().all(|digit| digit.is_ascii_digit());
        let threshold = if is_count {
            number.parse().ok().map(|packets| Threshold::Packets { packets })
        } else if Quantity::Size.has_unit(unit) {
            Some(Threshold::Bytes { bytes: Quantity::Size.read(value)?.unsigned_abs() })
        } else if Quantity::Time.has_unit(unit) {
            let ps = Quantity::Time.read(value)?;
            u64::try_from(ps).ok().map(Span).filter(|time| *time <= MAX_SPAN).map(|time| Threshold::Time { time })
        } else {
            None
        };
        let threshold = threshold.ok_or_else(|| Invalid::value(value, THRESHOLD))?;
        Ok(MarkThreshold { written: written(value), threshold })
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.written.as_str().into()
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(self.write(None))
    }

    fn unit() -> &'static str {
        "packets, size or time"
    }

    fn limits(_: &Bounds) -> String {
        THRESHOLD.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::quantity([packet_units(), units_of(&[Quantity::Size, Quantity::Time])].concat())
    }
}

impl KeyValue for Amount {
    fn read(value: &Value, _: &Bounds) -> Read<Amount> {
        let (number, unit) = two_words(value);
        if Quantity::Size.has_unit(unit) {
            let size = Quantity::Size.read(value)?;
            if size > 0 {
                return Ok(Amount { written: written(value), unit: QueueUnit::Bytes, number: size as f64 });
            }
        }
        let packets = if is_packets(unit) { number.parse().unwrap_or(0.0) } else { 0.0 };
        if !(0.0 < packets && packets < 1e9) {
            return Err(Invalid::value(value, AMOUNT));
        }
        Ok(Amount { written: written(value), unit: QueueUnit::Packets, number: packets })
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.written.as_str().into()
    }

    fn unit() -> &'static str {
        "packets or size"
    }

    fn limits(_: &Bounds) -> String {
        AMOUNT.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::quantity([packet_units(), Quantity::Size.units()].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threshold_has_the_unit_that_is_written() {
        let read = |text: &str| MarkThreshold::read(&text.into(), &Bounds::NONE).map(|mark| mark.threshold);
        assert_eq!(read("20 packets"), Ok(Threshold::Packets { packets: 20 }));
        assert_eq!(read("30 kB"), Ok(Threshold::Bytes { bytes: 30_000 }));
        assert_eq!(read("1 ms"), Ok(Threshold::Time { time: Span::from_ms(1) }));
        for wrong in ["20", "20packets", "-1 packets", "1000000000 packets", "-1 s", "101 day", "2 b/s"] {
            assert_eq!(read(wrong).expect_err(wrong).allowed, THRESHOLD);
        }
        assert!(read("x kB").expect_err("no number").allowed.starts_with("a size with a unit"));
    }

    #[test]
    fn amount_is_a_fraction_of_packets_or_whole_bytes() {
        let read = |text: &str| Amount::read(&text.into(), &Bounds::NONE).map(|amount| (amount.unit, amount.number));
        assert_eq!(read("1.5 packets"), Ok((QueueUnit::Packets, 1.5)));
        assert_eq!(read("30 kB"), Ok((QueueUnit::Bytes, 30_000.0)));
        for wrong in ["0 packets", "0 B", "inf packets", "nan packets", "1 ms", "5"] {
            assert_eq!(read(wrong).expect_err(wrong).allowed, AMOUNT);
        }
    }
}
