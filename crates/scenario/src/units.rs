//! Quantities with units as exact integers: "10 Mb/s" is 10000000 bit/s; sizes are in bytes, times
//! in picoseconds.
//!
//! `b` is a bit and `B` a byte; `k` (or `K`) is 1000 and `Ki` 1024. A value that is no whole number
//! of picoseconds, bits per second or bytes is an error; nothing is rounded.

use crate::invalid::{Code, Invalid, Read, choices};
use crate::value::Value;

/// The kinds of quantities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// In picoseconds.
    Time,
    /// In bits per second.
    Rate,
    /// In bytes.
    Size,
}

/// What one of it is of what is counted: `factor`, or an eighth of it.
#[derive(Clone, Copy)]
struct Unit {
    factor: u64,
    is_bit: bool,
}

const TIMES: [(&str, u64); 8] = [
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
    ("day", 86_400_000_000_000_000),
];

const PREFIXES: [(&str, u64); 10] = [
    ("", 1),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
];

/// Above 100 Tb/s a small packet takes about a picosecond.
const MAX_RATE_BPS: i64 = 100_000_000_000_000;
/// What a rate has to be.
pub const RATE: &str = "a rate above zero (leave the key out for an unlimited rate)";

impl Quantity {
    fn unit(self, name: &str) -> Option<Unit> {
        if self == Quantity::Time {
            let (_, factor) = TIMES.iter().find(|(unit, _)| *unit == name)?;
            return Some(Unit { factor: *factor, is_bit: false });
        }
        let of_size = if self == Quantity::Rate { name.strip_suffix("/s")? } else { name };
        let is_bit = of_size.ends_with('b');
        let prefix = of_size.strip_suffix(['b', 'B'])?;
        let (_, factor) = PREFIXES.iter().find(|(text, _)| *text == prefix)?;
        // A rate counts bits, a size bytes.
        Some(match self {
            Quantity::Rate => Unit { factor: factor * if is_bit { 1 } else { 8 }, is_bit: false },
            _ => Unit { factor: *factor, is_bit },
        })
    }

    /// All units, the longest first: for patterns.
    pub fn units(self) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Quantity::Time => TIMES.iter().map(|(unit, _)| (*unit).to_owned()).collect(),
            _ => {
                let per = if self == Quantity::Rate { "/s" } else { "" };
                PREFIXES.iter().flat_map(|(prefix, _)| [format!("{prefix}B{per}"), format!("{prefix}b{per}")]).collect()
            }
        };
        sort_units(&mut names);
        names
    }

    pub fn has_unit(self, name: &str) -> bool {
        self.unit(name).is_some()
    }

    /// The units that a message lists: all times, common rates, byte sizes.
    fn advertised(self) -> Vec<&'static str> {
        match self {
            Quantity::Time => TIMES.iter().map(|(unit, _)| *unit).collect(),
            Quantity::Rate => vec!["b/s", "kb/s", "Mb/s", "Gb/s", "Kib/s", "Mib/s", "kB/s", "MB/s"],
            Quantity::Size => vec!["B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB", "b"],
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Quantity::Time => "time",
            Quantity::Rate => "rate",
            Quantity::Size => "size",
        }
    }

    /// The quantity whose unit a text has, and its number.
    pub fn of(value: &Value) -> Option<(Quantity, i64)> {
        [Quantity::Rate, Quantity::Time, Quantity::Size].into_iter().find_map(|of| Some((of, of.read(value).ok()?)))
    }

    /// The form, in the words of the error message.
    pub fn allowed(self) -> &'static str {
        match self {
            Quantity::Time => "a time with a unit, such as \"45 ms\"",
            Quantity::Rate => "a rate with a unit, such as \"10 Mb/s\"",
            Quantity::Size => "a size with a unit, such as \"64 KiB\" or \"1500 B\"",
        }
    }

    fn counted_in(self) -> &'static str {
        match self {
            Quantity::Time => "picoseconds",
            Quantity::Rate => "bits per second",
            Quantity::Size => "bytes",
        }
    }

    /// The whole number of picoseconds, bits per second or bytes; a rate is above zero, a size zero
    /// or more, a time may be negative.
    pub fn read(self, value: &Value) -> Read<i64> {
        let number = self.whole(value)?;
        match self {
            Quantity::Time => Ok(number),
            Quantity::Rate if number <= 0 => Err(Invalid::value(value, RATE)),
            Quantity::Rate if number > MAX_RATE_BPS => {
                Err(Invalid::value(value, format!("a rate of at most {}", show_rate(MAX_RATE_BPS))))
            }
            Quantity::Size if number < 0 => Err(Invalid::value(value, "a size of zero or more")),
            _ => Ok(number),
        }
    }

    fn whole(self, value: &Value) -> Read<i64> {
        let wrong_form = || Invalid::value(value, self.allowed()).with_code(Code::Unit);
        let Value::Text(text) = value else { return Err(wrong_form()) };
        let (number, unit_name) = split(text).ok_or_else(wrong_form)?;
        let Some(unit) = self.unit(unit_name) else {
            let advertised = choices(&self.advertised(), Some(&common_spelling(unit_name)));
            let mut invalid = Invalid::value(value, format!("{}; units: {advertised}", self.allowed())).with_code(Code::Unit);
            if unit_name.is_empty() {
                invalid.found.push_str(" without a unit");
            }
            return Err(invalid);
        };
        match number.times(unit) {
            Product::Whole(whole) => Ok(whole),
            Product::Fraction => Err(Invalid::value(value, format!("a whole number of {}", self.counted_in()))),
            Product::TooLarge => Err(Invalid::value(value, format!("at most {} {}", i64::MAX, self.counted_in()))),
        }
    }
}

/// Longest first, then by name: the first one of a pattern that matches is the whole unit.
pub fn sort_units(names: &mut Vec<String>) {
    names.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    names.dedup();
}

/// A number as written: digits and a power of ten.
struct Decimal {
    is_negative: bool,
    /// Without a point.
    digits: String,
    exponent: i32,
}

enum Product {
    Whole(i64),
    Fraction,
    TooLarge,
}

/// Digits before and after the point, and of the exponent, that a number may have: an exact value
/// of 1e999999999 would use all memory.
const MAX_DIGITS: usize = 40;
const MAX_EXPONENT_DIGITS: usize = 2;

/// Number and unit of a quantity; None for a text of another form. Between them may be spaces.
fn split(text: &str) -> Option<(Decimal, &str)> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
    let text = text.trim_matches(is_space);
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, mut rest) = digits(unsigned, MAX_DIGITS);
    let mut fraction = "";
    if let Some(after_point) = rest.strip_prefix('.') {
        let (decimals, after) = digits(after_point, MAX_DIGITS);
        if !whole.is_empty() || !decimals.is_empty() {
            (fraction, rest) = (decimals, after);
        }
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut exponent = 0;
    if let Some(power) = rest.strip_prefix(['e', 'E']) {
        let (sign, unsigned) = match power.strip_prefix('-') {
            Some(unsigned) => (-1, unsigned),
            None => (1, power.strip_prefix('+').unwrap_or(power)),
        };
        let (of_power, after) = digits(unsigned, MAX_EXPONENT_DIGITS);
        if let Ok(power) = of_power.parse::<i32>() {
            (exponent, rest) = (sign * power, after);
        }
    }
    let unit = rest.trim_start_matches(is_space);
    if unit.contains(is_space) {
        return None;
    }
    let exponent = exponent - i32::try_from(fraction.len()).ok()?;
    Some((Decimal { is_negative, digits: format!("{whole}{fraction}"), exponent }, unit))
}

/// The digits at the beginning, at most `max`, and what follows.
fn digits(text: &str, max: usize) -> (&str, &str) {
    let count = text.bytes().take(max).take_while(u8::is_ascii_digit).count();
    text.split_at(count)
}

impl Decimal {
    fn times(&self, unit: Unit) -> Product {
        let mut product = Natural::of(&self.digits);
        product.multiply(unit.factor);
        for _ in 0..self.exponent {
            product.multiply(10);
        }
        let divisors = std::iter::repeat_n(10, usize::try_from(-self.exponent).unwrap_or(0));
        for divisor in divisors.chain(unit.is_bit.then_some(8)) {
            if product.divide(divisor) != 0 {
                return Product::Fraction;
            }
        }
        match product.value() {
            Some(value) => Product::Whole(if self.is_negative { -value } else { value }),
            None => Product::TooLarge,
        }
    }
}

/// A natural number of any size, the lowest 32 bits first.
struct Natural(Vec<u32>);

impl Natural {
    fn of(digits: &str) -> Natural {
        let mut number = Natural(Vec::new());
        for digit in digits.bytes() {
            number.multiply(10);
            number.add(u32::from(digit - b'0'));
        }
        number
    }

    fn add(&mut self, summand: u32) {
        let mut carry = summand;
        for word in &mut self.0 {
            let (sum, overflows) = word.overflowing_add(carry);
            *word = sum;
            carry = u32::from(overflows);
        }
        if carry > 0 {
            self.0.push(carry);
        }
    }

    fn multiply(&mut self, factor: u64) {
        let mut carry: u128 = 0;
        for word in &mut self.0 {
            let product = u128::from(*word) * u128::from(factor) + carry;
            *word = product as u32;
            carry = product >> 32;
        }
        while carry > 0 {
            self.0.push(carry as u32);
            carry >>= 32;
        }
    }

    /// Divides, and returns the remainder.
    fn divide(&mut self, divisor: u32) -> u32 {
        let mut remainder: u64 = 0;
        for word in self.0.iter_mut().rev() {
            let part = remainder << 32 | u64::from(*word);
            *word = (part / u64::from(divisor)) as u32;
            remainder = part % u64::from(divisor);
        }
        remainder as u32
    }

    /// As a signed integer of 64 bits.
    fn value(&self) -> Option<i64> {
        let mut words = self.0.as_slice();
        while let [rest @ .., 0] = words {
            words = rest;
        }
        match words {
            [] => Some(0),
            [low] => Some(i64::from(*low)),
            [low, high] => i64::try_from(u64::from(*high) << 32 | u64::from(*low)).ok(),
            _ => None,
        }
    }
}

/// Common spellings of units, converted to these, for suggestions.
fn common_spelling(unit: &str) -> String {
    let unit = with_letter(unit, "bit", "b");
    let unit = with_letter(&unit, "byte", "B");
    let unit = match unit.strip_suffix("ps") {
        Some(stem) if unit.chars().count() > 2 => format!("{stem}/s"),
        _ => unit,
    };
    match unit.as_str() {
        "sec" | "secs" | "second" | "seconds" => "s",
        "msec" => "ms",
        "usec" | "µs" => "us",
        "minutes" | "minute" | "m" => "min",
        "hour" | "hours" => "h",
        "days" | "d" => "day",
        _ => return unit,
    }
    .into()
}

/// `Mbits/s` as `Mb/s`: the word at the end, singular or plural, as its letter.
fn with_letter(unit: &str, word: &str, letter: &str) -> String {
    let lower = unit.to_ascii_lowercase();
    let end = ["/s", "ps"].into_iter().find(|end| lower.ends_with(end)).map_or(0, str::len);
    let stem = &lower[..lower.len() - end];
    for form in [format!("{word}s"), word.to_owned()] {
        if let Some(before) = stem.strip_suffix(form.as_str()) {
            return format!("{}{letter}{}", &unit[..before.len()], &unit[stem.len()..]);
        }
    }
    unit.to_owned()
}

/// Picoseconds as the shortest exact text that reads back.
pub fn show_time(ps: i64) -> String {
    shortest(ps, &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)])
}

/// Bits per second as the shortest exact text that reads back.
pub fn show_rate(bps: i64) -> String {
    shortest(bps, &[("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000), ("kb/s", 1_000), ("b/s", 1)])
}

/// Bytes as the shortest text that reads back: larger units only where they are whole.
pub fn show_size(size: i64) -> String {
    const UNITS: [(&str, i64); 5] = [("MiB", 1 << 20), ("KiB", 1 << 10), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];
    let texts = UNITS.iter().filter(|(_, factor)| size % factor == 0).map(|(unit, factor)| format!("{} {unit}", size / factor));
    // Of equally short texts the first one.
    let text = texts.reduce(|best, other| if other.len() < best.len() { other } else { best });
    if size == 0 { "0 B".into() } else { text.unwrap_or_default() }
}

/// The first unit in which the value is 1 or more with at most three decimals; the last unit fits
/// always.
fn shortest(value: i64, units: &[(&str, i64)]) -> String {
    let size = u128::from(value.unsigned_abs());
    for (unit, factor) in units {
        let factor = *factor as u128;
        if (size >= factor || value == 0) && size * 1000 % factor == 0 {
            let (whole, thousandths) = (size / factor, size * 1000 / factor % 1000);
            let decimals = format!(".{thousandths:03}");
            let sign = if value < 0 { "-" } else { "" };
            return format!("{sign}{whole}{} {unit}", decimals.trim_end_matches('0').trim_end_matches('.'));
        }
    }
    unreachable!("every number is whole in the last unit")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(quantity: Quantity, text: &str) -> Read<i64> {
        quantity.read(&text.into())
    }

    #[test]
    fn quantity_is_an_exact_integer_when_its_unit_is_known() {
        let expected = [
            (Quantity::Time, "45 ms", 45_000_000_000),
            (Quantity::Time, "-1.5s", -1_500_000_000_000),
            (Quantity::Time, " .5 us ", 500_000),
            (Quantity::Time, "1e-3 s", 1_000_000_000),
            (Quantity::Time, "0e99 day", 0),
            (Quantity::Rate, "1.5 Mb/s", 1_500_000),
            (Quantity::Rate, "1 KiB/s", 8192),
            (Quantity::Size, "12 kb", 1500),
            (Quantity::Size, "0.125 KiB", 128),
            (Quantity::Size, "9223372036854775807 B", i64::MAX),
        ];
        for (quantity, text, number) in expected {
            assert_eq!(read(quantity, text), Ok(number), "{text}");
        }
    }

    #[test]
    fn quantity_is_refused_when_it_is_no_whole_number_or_too_large() {
        let expected = [
            (Quantity::Time, "1.5 ps", "a whole number of picoseconds"),
            (Quantity::Size, "1 b", "a whole number of bytes"),
            (Quantity::Size, "9223372036854775808 B", "at most 9223372036854775807 bytes"),
            (Quantity::Time, "1e99 day", "at most 9223372036854775807 picoseconds"),
            (Quantity::Rate, "0 b/s", "a rate above zero (leave the key out for an unlimited rate)"),
            (Quantity::Rate, "200 Tb/s", "a rate of at most 100000 Gb/s"),
            (Quantity::Size, "-1 B", "a size of zero or more"),
            (Quantity::Time, "1 2 s", "a time with a unit, such as \"45 ms\""),
            (Quantity::Time, ".", "a time with a unit, such as \"45 ms\""),
        ];
        for (quantity, text, allowed) in expected {
            assert_eq!(read(quantity, text).map_err(|invalid| invalid.allowed), Err(allowed.into()), "{text}");
        }
    }

    #[test]
    fn unit_is_suggested_when_another_spelling_is_common() {
        let suggestions = [
            (Quantity::Rate, "10 Mbps", "Mb/s"),
            (Quantity::Rate, "10 Mbit/s", "Mb/s"),
            (Quantity::Time, "10 sec", "s"),
            (Quantity::Time, "10 minutes", "min"),
            (Quantity::Size, "10 kbytes", "kB"),
        ];
        for (quantity, text, unit) in suggestions {
            let invalid = read(quantity, text).expect_err(text);
            assert!(invalid.allowed.ends_with(&format!("(did you mean {unit}?)")), "{text}: {}", invalid.allowed);
            assert_eq!(invalid.code, Code::Unit);
        }
        assert_eq!(read(Quantity::Time, "5").expect_err("no unit").found, "\"5\" without a unit");
    }

    #[test]
    fn shown_quantity_reads_back_when_it_is_any_integer() {
        for number in [0, 1, 999, 1000, 1024, 1500, 65_535, 65_536, 1_000_000, 976_562_500, 1_234_567_891, i64::MAX] {
            assert_eq!(read(Quantity::Time, &show_time(number)), Ok(number));
            assert_eq!(read(Quantity::Size, &show_size(number)), Ok(number));
            if number > 0 && number < MAX_RATE_BPS {
                assert_eq!(read(Quantity::Rate, &show_rate(number)), Ok(number));
            }
        }
        assert_eq!(
            (show_time(1_500_000_000), show_size(262_144), show_rate(28_800)),
            ("1.5 ms".into(), "256 KiB".into(), "28.8 kb/s".into())
        );
    }
}
