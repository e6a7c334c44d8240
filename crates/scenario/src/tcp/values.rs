//! Values of TCP's keys: sizes, timers, and keys that are a word or a number.

use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::{Quantity, show_size};
use crate::value::Value;
use crate::values::{Bytes, Duration, int, size_of_bytes, size_text, time_of_span, time_text};
use crate::words;
use ackclock_core::tcp::config::{
    FrtoKind, IdleRestart, MtuProbing, NewRenoExit, Push, RtoFloor, RtoRestart, WindowRule, WindowValidation,
};
use ackclock_core::tcp::{AccEcnOption, EcnMode, EcnPackets, MetricsCache, WindowGrowth};
use ackclock_core::units::Span;

/// The largest window that 16 bits and a scale of 14 advertise (RFC 7323, section 2.3).
const MAX_WINDOW: i64 = 65_535 << 14;
const MIN_TIMER: Span = Span::from_us(1);
const MAX_GRO_PS: i64 = 1_000_000_000;
/// The options of a TCP header (RFC 9293, section 3.1).
const MAX_OPTION: i64 = 40;
const OVERHEAD_OFF: &str = "false (the share stays as it is)";
const GRO_OFF: &str = "false (segments are not merged)";
const GRO_TIME: &str = "a time above 0, at most \"1 ms\"";

words!(WindowGrowth { "double" => WindowGrowth::Double, "lead" => WindowGrowth::Lead, "near" => WindowGrowth::Near });
words!(WindowRule { "sequence" => WindowRule::Sequence, "in-flight" => WindowRule::InFlight });
words!(RtoFloor { "timeout" => RtoFloor::Timeout, "variance" => RtoFloor::Variance });
words!(RtoRestart {
    "advance" => RtoRestart::Advance,
    "recovery" => RtoRestart::Recovery,
    "head" => RtoRestart::Head,
    "head-and-sack" => RtoRestart::HeadAndSack,
    "every-ack" => RtoRestart::EveryAck,
});
words!(FrtoKind { "off" => FrtoKind::Off, "basic" => FrtoKind::Basic, "sack" => FrtoKind::Sack });
words!(MtuProbing { "off" => MtuProbing::Off, "black-hole" => MtuProbing::BlackHole, "always" => MtuProbing::Always });
words!(IdleRestart { "off" => IdleRestart::Off, "restart" => IdleRestart::Restart, "decay" => IdleRestart::Decay });
words!(WindowValidation {
    "off" => WindowValidation::Off,
    "rfc2861" => WindowValidation::Rfc2861,
    "rfc7661" => WindowValidation::Rfc7661,
});
words!(EcnPackets { "data" => EcnPackets::Data, "established" => EcnPackets::Established, "all" => EcnPackets::All });
words!(AccEcnOption { "off" => AccEcnOption::Off, "changes" => AccEcnOption::Changes, "every" => AccEcnOption::Every });
words!(Push { "every" => Push::Every, "chunks" => Push::Chunks });
words!(NewRenoExit { "flight" => NewRenoExit::Flight, "threshold" => NewRenoExit::Threshold });

/// A timer, from 1 us to 100 days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer(pub Span);

/// Bytes above zero, with the maximum `max`, which `allowed` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeWithin(pub u32);

/// Bytes of an option in a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionSize(pub u16);

/// A socket buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The host's rule.
    Auto,
    /// It grows.
    Tuned,
    Unlimited,
    Bytes(u32),
}

/// A buffer of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendBuffer(pub Buffer);

/// A buffer of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveBuffer(pub Buffer);

/// Memory of a received segment beside its payload; None: it does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentOverhead(pub Option<u32>);

/// Time in which segments are merged; None: they are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroTime(pub Option<Span>);

/// The initial slow start threshold in segments; None: unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialSsthresh(pub Option<u64>);

/// What a connection takes over from ended ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheRule {
    /// `true`: as the host.
    OfHost,
    Keeps(MetricsCache),
}

/// A quantity beside words: the error of the quantity names the words first.
fn or_words(quantity: Quantity, value: &Value, words: &str) -> Read<i64> {
    let with_words = |invalid: Invalid| Invalid::new(invalid.found, format!("{words}, or {}", invalid.allowed));
    quantity.read(value).map_err(with_words)
}

fn to_u32(size: i64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn const_false() -> Value {
    Value::table([("const", false.into())])
}

/// One of these values.
fn one_of<const N: usize>(values: [Value; N]) -> Value {
    Value::table([("enum", Vec::from(values).into())])
}

impl KeyValue for Timer {
    fn read(value: &Value, bounds: &Bounds) -> Read<Timer> {
        let Duration(span) = Duration::read(value, bounds)?;
        if span >= MIN_TIMER {
            Ok(Timer(span))
        } else {
            Err(Invalid::value(&Timer(span).write(None), "a timer of at least 1 us"))
        }
    }

    fn limits(bounds: &Bounds) -> String {
        Duration::limits(bounds)
    }

    time_of_span!();
}

impl KeyValue for SizeWithin {
    fn read(value: &Value, bounds: &Bounds) -> Read<SizeWithin> {
        let size = Bytes::read(value, &Bounds::NONE)?;
        let max = bounds.max.map_or(f64::INFINITY, |max| max.number());
        if size.0 as f64 > max {
            return Err(Invalid::value(&size.write(None), bounds.allowed.unwrap_or_default()));
        }
        Ok(SizeWithin(u32::try_from(size.0).unwrap_or(u32::MAX)))
    }

    fn limits(bounds: &Bounds) -> String {
        format!("{}; {}", Bytes::limits(&Bounds::NONE), bounds.allowed.unwrap_or_default())
    }

    size_of_bytes!();
}

impl KeyValue for OptionSize {
    fn read(value: &Value, bounds: &Bounds) -> Read<OptionSize> {
        let size = Quantity::Size.read(value)?;
        match u16::try_from(size) {
            Ok(short) if size <= MAX_OPTION => Ok(OptionSize(short)),
            _ => Err(Invalid::value(&show_size(size).into(), OptionSize::limits(bounds))),
        }
    }

    fn limits(_: &Bounds) -> String {
        format!("an option of at most {MAX_OPTION} B")
    }

    size_of_bytes!();
}

impl Buffer {
    const WORDS: [(&'static str, Buffer); 3] =
        [("auto", Buffer::Auto), ("unlimited", Buffer::Unlimited), ("tuned", Buffer::Tuned)];

    fn read(value: &Value, words: &[&str]) -> Read<Buffer> {
        let of_word = |(word, _): &&(&str, Buffer)| words.contains(word) && *value == Value::from(*word);
        if let Some((_, buffer)) = Buffer::WORDS.iter().find(of_word) {
            return Ok(*buffer);
        }
        let quoted = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let size = or_words(Quantity::Size, value, &quoted)?;
        if (1..=MAX_WINDOW).contains(&size) {
            return Ok(Buffer::Bytes(to_u32(size)));
        }
        Err(Invalid::value(value, Buffer::allowed()))
    }

    fn allowed() -> String {
        format!("a buffer above zero, at most {MAX_WINDOW} B (RFC 7323, section 2.3)")
    }

    fn write(self) -> Value {
        if let Buffer::Bytes(size) = self {
            return size_text(size).into();
        }
        Buffer::WORDS.iter().find(|(_, buffer)| *buffer == self).map_or(Value::Absent, |(word, _)| (*word).into())
    }
}

/// A buffer with the words of its end.
macro_rules! buffer {
    ($name:ident: $($word:literal),+) => {
        impl KeyValue for $name {
            fn read(value: &Value, _: &Bounds) -> Read<$name> {
                Buffer::read(value, &[$($word),+]).map($name)
            }

            fn write(&self, _: Option<&Value>) -> Value {
                self.0.write()
            }

            fn attribute(&self) -> Attribute {
                if let Buffer::Bytes(size) = self.0 { int(size) } else { Attribute::Value(self.0.write()) }
            }

            fn unit() -> &'static str {
                Bytes::unit()
            }

            fn limits(_: &Bounds) -> String {
                let words = [$(concat!("\"", $word, "\"")),+].join(", ");
                format!("{words}, or {}; {}", Quantity::Size.allowed(), Buffer::allowed())
            }

            fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
                schema::either(vec![schema::words(&[$($word),+]), Bytes::schema(bounds, definitions)])
            }
        }
    };
}

buffer!(SendBuffer: "auto", "unlimited", "tuned");
buffer!(ReceiveBuffer: "auto", "tuned");

impl KeyValue for SegmentOverhead {
    fn read(value: &Value, _: &Bounds) -> Read<SegmentOverhead> {
        if *value == Value::Bool(false) {
            return Ok(SegmentOverhead(None));
        }
        let size = or_words(Quantity::Size, value, OVERHEAD_OFF)?;
        if size > MAX_WINDOW {
            return Err(Invalid::value(value, format!("at most {MAX_WINDOW} B")));
        }
        // Without any memory beside the payload there is none to count.
        Ok(SegmentOverhead((size > 0).then(|| to_u32(size))))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.map_or(false.into(), |size| size_text(size).into())
    }

    fn attribute(&self) -> Attribute {
        self.0.map_or(Attribute::Value(false.into()), int)
    }

    fn unit() -> &'static str {
        Bytes::unit()
    }

    fn limits(_: &Bounds) -> String {
        format!("{OVERHEAD_OFF}, or {}; at most {MAX_WINDOW} B", Quantity::Size.allowed())
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        schema::either(vec![const_false(), Bytes::schema(bounds, definitions)])
    }
}

impl KeyValue for GroTime {
    fn read(value: &Value, _: &Bounds) -> Read<GroTime> {
        if *value == Value::Bool(false) {
            return Ok(GroTime(None));
        }
        let time = or_words(Quantity::Time, value, GRO_OFF)?;
        if (1..=MAX_GRO_PS).contains(&time) {
            return Ok(GroTime(Some(Span(time.unsigned_abs()))));
        }
        Err(Invalid::value(value, GRO_TIME))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.map_or(false.into(), |span| time_text(span).into())
    }

    fn attribute(&self) -> Attribute {
        self.0.map_or(Attribute::Value(false.into()), |span| int(span.0))
    }

    fn unit() -> &'static str {
        "time or false"
    }

    fn limits(_: &Bounds) -> String {
        format!("{GRO_OFF}, or {}; {GRO_TIME}", Quantity::Time.allowed())
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        schema::either(vec![const_false(), Duration::schema(bounds, definitions)])
    }
}

impl KeyValue for InitialSsthresh {
    fn read(value: &Value, bounds: &Bounds) -> Read<InitialSsthresh> {
        match value {
            Value::Int(segments) if *segments >= 2 => Ok(InitialSsthresh(Some(segments.unsigned_abs()))),
            Value::Text(word) if word == "unlimited" => Ok(InitialSsthresh(None)),
            _ => Err(Invalid::value(value, InitialSsthresh::limits(bounds))),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.map_or("unlimited".into(), |segments| Value::Int(i64::try_from(segments).unwrap_or(i64::MAX)))
    }

    fn unit() -> &'static str {
        "segments, or unlimited"
    }

    fn limits(_: &Bounds) -> String {
        "a number of segments, 2 or more, or \"unlimited\"".into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let segments = Value::table([("type", "integer".into()), ("minimum", 2.into())]);
        schema::either(vec![schema::words(&["unlimited"]), segments])
    }
}

impl KeyValue for CacheRule {
    fn read(value: &Value, bounds: &Bounds) -> Read<CacheRule> {
        match value {
            Value::Bool(false) => Ok(CacheRule::Keeps(MetricsCache::Off)),
            Value::Bool(true) => Ok(CacheRule::OfHost),
            Value::Text(word) if word == "rtt" => Ok(CacheRule::Keeps(MetricsCache::Rtt)),
            Value::Text(word) if word == "full" => Ok(CacheRule::Keeps(MetricsCache::Full)),
            _ => Err(Invalid::value(value, CacheRule::limits(bounds))),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        match self {
            CacheRule::Keeps(MetricsCache::Off) => false.into(),
            CacheRule::OfHost => true.into(),
            CacheRule::Keeps(MetricsCache::Rtt) => "rtt".into(),
            CacheRule::Keeps(MetricsCache::Full) => "full".into(),
        }
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        "false, true (as the host), \"rtt\", or \"full\"".into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        one_of([false.into(), true.into(), "rtt".into(), "full".into()])
    }
}

impl KeyValue for EcnMode {
    fn read(value: &Value, bounds: &Bounds) -> Read<EcnMode> {
        match value {
            Value::Bool(false) => Ok(EcnMode::Off),
            Value::Bool(true) => Ok(EcnMode::Classic),
            Value::Text(word) if word == "accecn" => Ok(EcnMode::Accurate),
            _ => Err(Invalid::value(value, EcnMode::limits(bounds))),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        match self {
            EcnMode::Off => false.into(),
            EcnMode::Classic => true.into(),
            EcnMode::Accurate => "accecn".into(),
        }
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        "true (RFC 3168), \"accecn\" (RFC 9768) or false".into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        one_of([false.into(), true.into(), "accecn".into()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffer_has_the_words_of_its_end() {
        let words = SendBuffer::read(&"fixed".into(), &Bounds::NONE).expect_err("no size");
        assert!(words.allowed.starts_with("\"auto\", \"unlimited\", \"tuned\", or a size with a unit"), "{words:?}");
        assert!(ReceiveBuffer::read(&"unlimited".into(), &Bounds::NONE).is_err());
        assert_eq!(ReceiveBuffer::read(&"tuned".into(), &Bounds::NONE), Ok(ReceiveBuffer(Buffer::Tuned)));
        let largest = SendBuffer::read(&"1073725440 B".into(), &Bounds::NONE);
        assert_eq!(largest, Ok(SendBuffer(Buffer::Bytes(1_073_725_440))));
        for wrong in ["0 B", "1073725441 B"] {
            assert_eq!(SendBuffer::read(&wrong.into(), &Bounds::NONE).expect_err(wrong).allowed, Buffer::allowed());
        }
    }

    #[test]
    fn timer_is_refused_when_it_is_shorter_than_a_microsecond() {
        assert_eq!(Timer::read(&"1 us".into(), &Bounds::NONE), Ok(Timer(Span::from_us(1))));
        let short = Timer::read(&"0.9 us".into(), &Bounds::NONE).expect_err("short");
        assert_eq!((short.found.as_str(), short.allowed.as_str()), ("\"900 ns\"", "a timer of at least 1 us"));
        assert_eq!(Timer::read(&"0 s".into(), &Bounds::NONE).expect_err("zero").allowed, "a time above zero");
    }

    #[test]
    fn gro_merges_for_a_millisecond_at_most() {
        let read = |value: Value| GroTime::read(&value, &Bounds::NONE);
        assert_eq!(read(false.into()), Ok(GroTime(None)));
        assert_eq!(read("1 ms".into()), Ok(GroTime(Some(Span::from_ms(1)))));
        for wrong in ["0 s", "1000001 ns"] {
            assert_eq!(read(wrong.into()).expect_err(wrong).allowed, "a time above 0, at most \"1 ms\"");
        }
        assert!(read(true.into()).expect_err("true").allowed.starts_with("false (segments are not merged), or a time"));
    }
}
