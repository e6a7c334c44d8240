//! The types of values that a key may have: each reads, writes, and says its unit, limits and form.

use crate::controls::Number;
use crate::invalid::{Invalid, Read, choices, format_value};
use crate::keys::{Attribute, Bound, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::{Quantity, RATE, show_rate, show_size, show_time};
use crate::value::Value;
use ackclock_core::config_check::MAX_SPAN;
use ackclock_core::units::Span;

const LONGEST: &str = "a time of at most 100 day";
/// The engine's counts have 31 bits.
const MAX_COUNT: i64 = (1 << 31) - 1;

/// A time of zero or more, up to 100 days: the sum of two fits the engine's clock.
///
/// With the bound `min` it has that minimum, and `allowed` says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Span);

/// A time above zero, up to 100 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration(pub Span);

/// Bytes, above zero. With the bounds `min` and `max`, `allowed` says what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

/// Bytes, zero or more. With the bound `max`, `allowed` says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

/// Two whole numbers within bounds, of which `allowed` says what they are; with `ASCENDING` the
/// second one is not below the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<const ASCENDING: bool>(pub [u32; 2]);

/// A rate in bits per second, above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitRate(pub u64);

/// A whole number, 1 or more. With bounds, `allowed` says what they are, or `beyond` above `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u32);

/// A share or a probability, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(pub f64);

fn span(ps: i64) -> Span {
    Span(ps.unsigned_abs())
}

/// A time as a file has it.
pub fn time_text(time: Span) -> String {
    show_time(i64::try_from(time.0).unwrap_or(i64::MAX))
}

/// A size as a file has it.
pub fn size_text(size: impl Into<u64>) -> String {
    show_size(i64::try_from(size.into()).unwrap_or(i64::MAX))
}

pub(crate) fn int(number: impl Into<u64>) -> Attribute {
    Attribute::Value(Value::Int(i64::try_from(number.into()).unwrap_or(i64::MAX)))
}

/// What a `KeyValue` of a time has beside its reading and its limits; its field is a `Span`.
macro_rules! time_of_span {
    () => {
        fn write(&self, _: Option<&Value>) -> Value {
            $crate::values::time_text(self.0).into()
        }

        fn attribute(&self) -> Attribute {
            $crate::values::int(self.0.0)
        }

        fn unit() -> &'static str {
            "time"
        }

        fn schema(_: &Bounds, _: &mut Definitions) -> Value {
            $crate::schema::quantity(Quantity::Time.units())
        }

        fn number(_: &Bounds) -> Option<$crate::controls::Number> {
            Some($crate::controls::Number::Time)
        }
    };
}

/// What a `KeyValue` of a size has beside its reading and its limits; its field is a number of bytes.
macro_rules! size_of_bytes {
    () => {
        fn write(&self, _: Option<&Value>) -> Value {
            $crate::values::size_text(self.0).into()
        }

        fn attribute(&self) -> Attribute {
            $crate::values::int(self.0)
        }

        fn unit() -> &'static str {
            "size"
        }

        fn schema(_: &Bounds, _: &mut Definitions) -> Value {
            $crate::schema::quantity(Quantity::Size.units())
        }

        fn number(_: &Bounds) -> Option<$crate::controls::Number> {
            Some($crate::controls::Number::Size)
        }
    };
}
pub(crate) use {size_of_bytes, time_of_span};

/// A time in picoseconds within 100 days; may be negative.
fn at_most_100_days(value: &Value) -> Read<i64> {
    let ps = Quantity::Time.read(value)?;
    if ps > 0 && span(ps) > MAX_SPAN { Err(Invalid::value(value, LONGEST)) } else { Ok(ps) }
}

/// The bound as a quantity's number.
fn bound(quantity: Quantity, bound: Option<Bound>, otherwise: i64) -> i64 {
    bound.and_then(|bound| quantity.read(&bound.value()).ok()).unwrap_or(otherwise)
}

impl KeyValue for Time {
    fn read(value: &Value, bounds: &Bounds) -> Read<Time> {
        if let Some(allowed) = bounds.allowed {
            let ps = Quantity::Time.read(value)?;
            let is_within = ps >= bound(Quantity::Time, bounds.min, 0) && span(ps) <= MAX_SPAN;
            return if is_within { Ok(Time(span(ps))) } else { Err(Invalid::value(value, allowed)) };
        }
        let ps = at_most_100_days(value)?;
        if ps < 0 { Err(Invalid::value(value, "a time of zero or more")) } else { Ok(Time(span(ps))) }
    }

    fn limits(bounds: &Bounds) -> String {
        bounds.allowed.map_or_else(|| format!("a time of zero or more; {LONGEST}"), str::to_owned)
    }

    time_of_span!();
}

impl KeyValue for Duration {
    fn read(value: &Value, _: &Bounds) -> Read<Duration> {
        let ps = at_most_100_days(value)?;
        if ps <= 0 { Err(Invalid::value(value, "a time above zero")) } else { Ok(Duration(span(ps))) }
    }

    fn limits(_: &Bounds) -> String {
        format!("a time above zero; {LONGEST}")
    }

    time_of_span!();
}

impl KeyValue for Bytes {
    fn read(value: &Value, bounds: &Bounds) -> Read<Bytes> {
        let size = Quantity::Size.read(value)?;
        let within = bound(Quantity::Size, bounds.min, 1)..=bound(Quantity::Size, bounds.max, i64::MAX);
        if !within.contains(&size) {
            return Err(Invalid::value(value, bounds.allowed.unwrap_or("a size above zero")));
        }
        Ok(Bytes(size.unsigned_abs()))
    }

    fn limits(bounds: &Bounds) -> String {
        bounds.allowed.unwrap_or("a size above zero").into()
    }

    size_of_bytes!();
}

impl Bytes {
    /// An error for a size of a packet beyond 32 bits, which the engine has for it.
    pub fn check_32_bits(self, key: &str) -> Read<()> {
        if self.0 <= u64::from(u32::MAX) {
            return Ok(());
        }
        Err(Invalid::value(&self.write(None), format!("a size of at most {} B", u32::MAX)).at(key))
    }

    /// After `check_32_bits`.
    pub fn to_u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl KeyValue for Size {
    fn read(value: &Value, bounds: &Bounds) -> Read<Size> {
        let size = Quantity::Size.read(value)?;
        match bounds.allowed {
            Some(allowed) if size > bound(Quantity::Size, bounds.max, i64::MAX) => Err(Invalid::new(size.to_string(), allowed)),
            _ => Ok(Size(size.unsigned_abs())),
        }
    }

    fn limits(bounds: &Bounds) -> String {
        bounds.allowed.unwrap_or_default().into()
    }

    size_of_bytes!();
}

impl<const ASCENDING: bool> KeyValue for Pair<ASCENDING> {
    fn read(value: &Value, bounds: &Bounds) -> Read<Self> {
        let read = || {
            let Value::Array(values) = value else { return None };
            let [first, last] = values.as_slice() else { return None };
            let pair = [Count::read(first, bounds).ok()?.0, Count::read(last, bounds).ok()?.0];
            (!ASCENDING || pair[0] <= pair[1]).then_some(Pair(pair))
        };
        read().ok_or_else(|| Invalid::value(value, bounds.allowed.unwrap_or_default()))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.map(|number| Value::Int(number.into())).to_vec().into()
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(self.write(None))
    }

    fn unit() -> &'static str {
        "numbers"
    }

    fn limits(bounds: &Bounds) -> String {
        bounds.allowed.unwrap_or_default().into()
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        schema::array(Count::schema(bounds, definitions), [("minItems", 2.into()), ("maxItems", 2.into())])
    }

    fn number(_: &Bounds) -> Option<Number> {
        Some(Number::Count)
    }
}

/// Two whole numbers, for defaults and examples.
pub fn pair(first: i64, last: i64) -> Value {
    vec![Value::Int(first), Value::Int(last)].into()
}

impl KeyValue for BitRate {
    fn read(value: &Value, _: &Bounds) -> Read<BitRate> {
        Ok(BitRate(Quantity::Rate.read(value)?.unsigned_abs()))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        show_rate(i64::try_from(self.0).unwrap_or(i64::MAX)).into()
    }

    fn attribute(&self) -> Attribute {
        int(self.0)
    }

    fn unit() -> &'static str {
        "b/s"
    }

    fn limits(_: &Bounds) -> String {
        RATE.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::quantity(Quantity::Rate.units())
    }

    fn number(_: &Bounds) -> Option<Number> {
        Some(Number::Rate)
    }
}

impl Count {
    const BOUNDS: Bounds = Bounds {
        min: Some(Bound::Int(1)),
        max: Some(Bound::Int(MAX_COUNT)),
        allowed: Some("a whole number, 1 or more"),
        ..Bounds::NONE
    };

    fn bounds(given: &Bounds) -> Bounds {
        Bounds {
            min: given.min.or(Count::BOUNDS.min),
            max: given.max.or(Count::BOUNDS.max),
            allowed: given.allowed.or(Count::BOUNDS.allowed),
            ..*given
        }
    }
}

impl KeyValue for Count {
    fn read(value: &Value, bounds: &Bounds) -> Read<Count> {
        let bounds = Count::bounds(bounds);
        let is_within = |number: i64| {
            bounds.min.is_none_or(|min| number as f64 >= min.number())
                && bounds.max.is_none_or(|max| number as f64 <= max.number())
        };
        match (value, bounds.beyond) {
            (Value::Int(number), _) if is_within(*number) => u32::try_from(*number).ok().map(Count),
            (Value::Int(number), Some(beyond)) if (1..=MAX_COUNT).contains(number) => return Err(Invalid::value(value, beyond)),
            _ => None,
        }
        .ok_or_else(|| Invalid::value(value, bounds.allowed.unwrap_or_default()))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        Value::Int(i64::from(self.0))
    }

    fn unit() -> &'static str {
        "number"
    }

    fn limits(bounds: &Bounds) -> String {
        Count::bounds(bounds).allowed.unwrap_or_default().into()
    }

    fn schema(bounds: &Bounds, _: &mut Definitions) -> Value {
        schema::number("integer", &Count::bounds(bounds))
    }

    fn number(_: &Bounds) -> Option<Number> {
        Some(Number::Count)
    }
}

/// A number within its bounds.
impl KeyValue for f64 {
    fn read(value: &Value, bounds: &Bounds) -> Read<f64> {
        let number = value.number().filter(|number| {
            number.is_finite()
                && bounds.min.is_none_or(|min| *number >= min.number())
                && bounds.above.is_none_or(|above| *number > above.number())
                && bounds.max.is_none_or(|max| *number <= max.number())
                && bounds.below.is_none_or(|below| *number < below.number())
        });
        number.ok_or_else(|| Invalid::value(value, bounds.allowed.unwrap_or("a number")))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        Value::Float(*self)
    }

    fn unit() -> &'static str {
        "number"
    }

    fn limits(bounds: &Bounds) -> String {
        bounds.allowed.unwrap_or("a number").into()
    }

    fn schema(bounds: &Bounds, _: &mut Definitions) -> Value {
        schema::number("number", bounds)
    }

    fn number(bounds: &Bounds) -> Option<Number> {
        let (low, high) = (bounds.min.or(bounds.above), bounds.max.or(bounds.below));
        let is_share = low.is_some_and(|low| low.number() >= 0.0) && high.is_some_and(|high| high.number() <= 1.0);
        Some(if is_share { Number::Share } else { Number::Plain })
    }
}

impl Share {
    const BOUNDS: Bounds =
        Bounds { min: Some(Bound::Int(0)), max: Some(Bound::Int(1)), allowed: Some("a probability from 0 to 1"), ..Bounds::NONE };
}

impl KeyValue for Share {
    fn read(value: &Value, _: &Bounds) -> Read<Share> {
        f64::read(value, &Share::BOUNDS).map(Share)
    }

    fn write(&self, _: Option<&Value>) -> Value {
        Value::Float(self.0)
    }

    fn unit() -> &'static str {
        "share"
    }

    fn limits(_: &Bounds) -> String {
        f64::limits(&Share::BOUNDS)
    }

    fn schema(_: &Bounds, definitions: &mut Definitions) -> Value {
        f64::schema(&Share::BOUNDS, definitions)
    }

    fn number(_: &Bounds) -> Option<Number> {
        Some(Number::Share)
    }
}

impl KeyValue for bool {
    fn read(value: &Value, _: &Bounds) -> Read<bool> {
        match value {
            Value::Bool(yes) => Ok(*yes),
            _ => Err(Invalid::value(value, "true or false")),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        Value::Bool(*self)
    }

    fn unit() -> &'static str {
        "true or false"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("type", "boolean".into())])
    }

    fn options() -> Vec<Value> {
        vec![true.into(), false.into()]
    }
}

impl KeyValue for String {
    fn read(value: &Value, _: &Bounds) -> Read<String> {
        if let Value::Text(text) = value { Ok(text.clone()) } else { Err(Invalid::value(value, "text in quotes")) }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.as_str().into()
    }

    fn unit() -> &'static str {
        "text"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("type", "string".into())])
    }
}

/// One of a few words, `words` with their values.
pub fn read_word<T: Copy>(value: &Value, words: &[(&str, T)]) -> Read<T> {
    if let Value::Text(text) = value
        && let Some((_, word)) = words.iter().find(|(word, _)| word == text)
    {
        return Ok(*word);
    }
    let quoted: Vec<String> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    let names: Vec<&str> = quoted.iter().map(String::as_str).collect();
    Err(Invalid::value(value, choices(&names, Some(&format_value(value)))))
}

/// One of a few names.
pub(crate) fn name_of(value: &Value, names: &[&'static str]) -> Read<&'static str> {
    let found = if let Value::Text(text) = value { Some(text.as_str()) } else { None };
    let known = names.iter().find(|&&name| found == Some(name));
    known.copied().ok_or_else(|| Invalid::value(value, choices(names, found)))
}

/// The words of an enum of the engine.
#[macro_export]
macro_rules! words {
    ($type:ty { $($word:literal => $value:expr),+ $(,)? }) => {
        impl $crate::keys::KeyValue for $type {
            fn read(value: &$crate::value::Value, _: &$crate::keys::Bounds) -> $crate::invalid::Read<Self> {
                $crate::values::read_word(value, &[$(($word, $value)),+])
            }

            fn write(&self, _: Option<&$crate::value::Value>) -> $crate::value::Value {
                let words = [$(($word, $value)),+];
                words.iter().find(|(_, value)| value == self).map_or($crate::value::Value::Absent, |(word, _)| (*word).into())
            }

            fn unit() -> &'static str {
                "choice"
            }

            fn limits(_: &$crate::keys::Bounds) -> String {
                [$(concat!("\"", $word, "\"")),+].join(", ")
            }

            fn schema(_: &$crate::keys::Bounds, _: &mut $crate::schema::Definitions) -> $crate::value::Value {
                $crate::schema::words(&[$($word),+])
            }

            fn options() -> Vec<$crate::value::Value> {
                vec![$($word.into()),+]
            }
        }
    };
}

/// An enum of the words that a key may be.
#[macro_export]
macro_rules! word_enum {
    ($(#[$doc:meta])* pub enum $type:ident { $($(#[$of_word:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$of_word])* $variant),+
        }

        $crate::words!($type { $($word => $type::$variant),+ });
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed<T: KeyValue>(value: impl Into<Value>, bounds: &Bounds) -> String {
        T::read(&value.into(), bounds).err().map_or_else(String::new, |invalid| invalid.allowed)
    }

    #[test]
    fn value_is_refused_when_it_is_outside_its_bounds() {
        assert_eq!(allowed::<Time>("-1 s", &Bounds::NONE), "a time of zero or more");
        assert_eq!(allowed::<Time>("101 day", &Bounds::NONE), LONGEST);
        assert_eq!(allowed::<Time>("100 day", &Bounds::NONE), "");
        assert_eq!(allowed::<Duration>("0 s", &Bounds::NONE), "a time above zero");
        assert_eq!(allowed::<Bytes>("0 B", &Bounds::NONE), "a size above zero");
        assert_eq!(allowed::<Count>(0, &Bounds::NONE), "a whole number, 1 or more");
        assert_eq!(allowed::<Count>(MAX_COUNT + 1, &Bounds::NONE), "a whole number, 1 or more");
        assert_eq!(allowed::<Count>(true, &Bounds::NONE), "a whole number, 1 or more");
        assert_eq!(allowed::<Share>(1.1, &Bounds::NONE), "a probability from 0 to 1");
        assert_eq!(allowed::<Share>(1, &Bounds::NONE), "");
        assert_eq!(allowed::<bool>(1, &Bounds::NONE), "true or false");
        assert_eq!(allowed::<f64>(f64::INFINITY, &Bounds::NONE), "a number");
        let from_1_us = Bounds { min: Some(Bound::Text("1 us")), allowed: Some("from 1 us"), ..Bounds::NONE };
        assert_eq!(
            (allowed::<Time>("1 us", &from_1_us), allowed::<Time>("1 ns", &from_1_us)),
            (String::new(), "from 1 us".into())
        );
    }

    #[test]
    fn written_value_reads_back() {
        let time = Time(Span::from_ms(5));
        assert_eq!(Time::read(&time.write(None), &Bounds::NONE), Ok(time));
        let size = Bytes(1514);
        assert_eq!(Bytes::read(&size.write(None), &Bounds::NONE), Ok(size));
        let rate = BitRate(28_800);
        assert_eq!(BitRate::read(&rate.write(None), &Bounds::NONE), Ok(rate));
    }
}
