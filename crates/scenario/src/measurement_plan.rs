//! The plan of a measurement (`ackclock measure --plan FILE`): tests, durations, numbers and sizes.

use crate::Keys;
use crate::invalid::{Invalid, Read, format_value};
use crate::keys::{Attribute, Bound, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::table;
use crate::units::{Quantity, show_rate, show_size};
use crate::value::Value;
use crate::values::{Bytes, Count, Duration, name_of, time_text};
use ackclock_core::Span;
use std::marker::PhantomData;

/// A list of values: an array is no expression of a derive macro's attribute.
macro_rules! list {
    ($($value:expr),+) => { Value::Array(vec![$(Value::from($value)),+]) };
}

/// What `ackclock measure` measures, and for how long.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct MeasurementPlan {
    /// Tests to run. They run in the order of the table of tests, whatever the order here.
    #[key(default = texts(&TESTS), example = list!["delay", "capacity", "tcp"], unit = "names")]
    pub tests: List<Test>,
    /// IP packet lengths of the probes of `path`. The capacity of a hop is fitted over them.
    #[key(default = list![64, 350, 650, 950, 1250, 1500], example = list![64, 500, 1000, 1500], unit = "B")]
    pub path_sizes: List<PacketLength>,
    /// Probes of each size and hop in `path`.
    #[key(default = 10, example = 20, unit = "probes")]
    pub path_rounds: Count,
    /// Directions to measure: `down` is from the far end.
    #[key(default = texts(&DIRECTIONS), example = list!["down"], unit = "names")]
    pub directions: List<DirectionName>,
    /// Time of one run of a test. A run of `steps` takes half of it.
    #[key(default = "10 s", example = "30 s")]
    pub duration: Duration,
    /// Interval between samples of TCP_INFO.
    #[key(default = "20 ms", example = "100 ms")]
    pub sample: Within<10, 1000>,
    /// UDP payload of a datagram of `capacity` and `steps`.
    #[key(default = "1172 B", example = "1172 B")]
    pub payload: Bytes,
    /// Rate of the first trial of `capacity`; each trial is four times faster.
    #[key(default = 1e6, example = 1e5, unit = "b/s", min = 1e3, max = 1e9, allowed = "bits per second from 1e3 to 1e9")]
    pub start_rate: f64,
    /// Rates of `steps` as shares of the measured capacity.
    #[key(default = list![0.25, 0.5, 0.75, 0.9], example = list![0.5, 0.9], unit = "shares")]
    pub shares: List<CapacityShare>,
    /// Absolute rates of `steps`, also above the capacity, in place of `shares`. The far end's limit
    /// holds.
    #[key(default = Vec::new(), example = list!["500 kb/s", "2 Mb/s"], unit = "b/s", absent = "from `shares`")]
    pub steps: List<StepRate>,
    /// The directions alternate from run to run in `steps` and `tcp`; else one direction follows the
    /// other.
    #[key(default = false, example = true)]
    pub alternate: bool,
    /// In `bidirectional`, from the start of the first transfer to that of the second, and from the end
    /// of the second to that of the first; then with the directions exchanged.
    #[key(example = "5 s", absent = "both at once")]
    pub offset: Option<Within<1000, 20_000>>,
    /// Conditions of the measurement. Reports of a schedule group by them.
    #[key(default = Value::Table(Vec::new()), example = table!("ssi" => "3"), absent = "none")]
    pub labels: Labels,
    /// Congestion controls of `tcp`, by the names of both ends' kernels.
    #[key(default = list!["cubic"], example = list!["cubic", "bbr"], unit = "names")]
    pub congestion: List<KernelControl>,
    /// Socket buffers of `tcp` at both ends; `auto` leaves them to the kernels.
    #[key(default = list![AUTO], example = list![AUTO, "64 KiB"], unit = "size")]
    pub buffers: List<SocketBuffer>,
    /// Concurrent connections of `flows` and `latency`.
    #[key(default = 4, example = 8, unit = "connections")]
    pub flows: Count,
    /// Sizes of the transfers of `transfers`.
    #[key(default = list!["10 kB", "100 kB", "1 MB"], example = list!["10 kB", "1 MB"], unit = "size")]
    pub sizes: List<TransferSize>,
    /// Transfers of each size and direction in `transfers`.
    #[key(default = 5, example = 10, unit = "transfers")]
    pub repeats: Count,
    /// Maximum bytes of IP of the whole measurement: every test, both directions, retransmissions and
    /// the reports of the far end. What does not fit is shortened or left out.
    #[key(default = "500 MB", example = "50 MB", min = "100 kB", allowed = "a size of at least \"100 kB\"")]
    pub max_bytes: Bytes,
}

/// In the order in which they run.
const TESTS: [&str; 9] = ["path", "delay", "capacity", "steps", "tcp", "bidirectional", "flows", "latency", "transfers"];
const DIRECTIONS: [&str; 2] = ["down", "up"];
/// A socket buffer of the kernel's choice.
const AUTO: &str = "auto";

fn texts(texts: &[&str]) -> Value {
    texts.iter().map(|&text| Value::from(text)).collect::<Vec<_>>().into()
}

/// A kind of list: what it and its elements are.
pub trait ListRule: Clone + std::fmt::Debug + PartialEq + Sized {
    /// The minimum and the maximum of elements.
    const COUNT: (usize, usize) = (1, usize::MAX);
    /// Elements that are equal as written count once.
    const IS_SET: bool = true;

    /// The words of the error message.
    fn allowed() -> String;

    /// The element as it is written.
    fn read(element: &Value) -> Read<Value>;

    fn schema() -> Value;

    /// What is wrong with the elements together.
    fn fault(_: &[Value]) -> Option<String> {
        None
    }

    /// All elements in their order.
    fn ordered(elements: Vec<Value>) -> Vec<Value> {
        elements
    }
}

/// A list whose elements are kept as they are written.
#[derive(Clone, Debug, PartialEq)]
pub struct List<R: ListRule> {
    pub elements: Vec<Value>,
    rule: PhantomData<R>,
}

impl<R: ListRule> KeyValue for List<R> {
    fn read(value: &Value, _: &Bounds) -> Read<List<R>> {
        let values = match value {
            Value::Array(values) if (R::COUNT.0..=R::COUNT.1).contains(&values.len()) => values,
            _ => return Err(Invalid::value(value, R::allowed())),
        };
        let mut elements = Vec::new();
        for value in values {
            let element = R::read(value)?;
            if !(R::IS_SET && elements.contains(&element)) {
                elements.push(element);
            }
        }
        match R::fault(&elements) {
            Some(allowed) => Err(Invalid::value(value, allowed)),
            None => Ok(List { elements: R::ordered(elements), rule: PhantomData }),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.elements.clone().into()
    }

    fn unit() -> &'static str {
        "list"
    }

    fn limits(_: &Bounds) -> String {
        R::allowed()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let (min, max) = R::COUNT;
        let count = |count: usize| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
        match (min, max) {
            (0, _) => schema::array(R::schema(), []),
            (_, usize::MAX) => schema::array(R::schema(), [("minItems", count(min))]),
            _ => schema::array(R::schema(), [("minItems", count(min)), ("maxItems", count(max))]),
        }
    }
}

/// Words in their order.
fn ordered(elements: &[Value], words: &[&str]) -> Vec<Value> {
    words.iter().map(|&word| Value::from(word)).filter(|word| elements.contains(word)).collect()
}

/// A test by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Test;

impl ListRule for Test {
    fn allowed() -> String {
        format!("a list of tests: {}", TESTS.join(", "))
    }

    fn read(element: &Value) -> Read<Value> {
        name_of(element, &TESTS).map(Value::from)
    }

    fn schema() -> Value {
        schema::words(&TESTS)
    }

    fn ordered(elements: Vec<Value>) -> Vec<Value> {
        ordered(&elements, &TESTS)
    }
}

/// A direction by its name.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionName;

impl ListRule for DirectionName {
    fn allowed() -> String {
        format!("a list of directions: {}", DIRECTIONS.join(", "))
    }

    fn read(element: &Value) -> Read<Value> {
        name_of(element, &DIRECTIONS).map(Value::from)
    }

    fn schema() -> Value {
        schema::words(&DIRECTIONS)
    }

    fn ordered(elements: Vec<Value>) -> Vec<Value> {
        ordered(&elements, &DIRECTIONS)
    }
}

/// The length of an IP packet.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketLength;

impl ListRule for PacketLength {
    const COUNT: (usize, usize) = (1, 64);

    fn allowed() -> String {
        "one to 64 IP packet lengths in bytes, such as [64, 500, 1000, 1500]".into()
    }

    fn read(element: &Value) -> Read<Value> {
        match element {
            Value::Int(48..=65_535) => Ok(element.clone()),
            _ => Err(Invalid::value(element, "an IP packet's length, 48 to 65535 bytes")),
        }
    }

    fn schema() -> Value {
        let bounds = Bounds { min: Some(Bound::Int(48)), max: Some(Bound::Int(65_535)), ..Bounds::NONE };
        schema::number("integer", &bounds)
    }
}

/// A share of the capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityShare;

impl ListRule for CapacityShare {
    const IS_SET: bool = false;

    fn allowed() -> String {
        "a list of shares of the capacity, such as [0.25, 0.5, 0.75, 0.9]".into()
    }

    fn read(element: &Value) -> Read<Value> {
        let share = element.number().filter(|share| (0.001..=10.0).contains(share));
        share.map(Value::Float).ok_or_else(|| Invalid::value(element, "a share of the capacity from 0.001 to 10"))
    }

    fn schema() -> Value {
        schema::number("number", &Bounds { min: Some(Bound::Float(0.001)), max: Some(Bound::Int(10)), ..Bounds::NONE })
    }
}

/// A rate of the test `steps`.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRate;

impl ListRule for StepRate {
    const COUNT: (usize, usize) = (0, usize::MAX);

    fn allowed() -> String {
        "a list of rates, such as [\"500 kb/s\", \"2 Mb/s\"]".into()
    }

    fn read(element: &Value) -> Read<Value> {
        let rate = Quantity::Rate.read(element)?;
        match rate {
            1_000..=10_000_000_000 => Ok(show_rate(rate).into()),
            _ => Err(Invalid::new(show_rate(rate), "1 kb/s to 10 Gb/s")),
        }
    }

    fn schema() -> Value {
        schema::quantity(Quantity::Rate.units())
    }
}

/// A congestion control by its name in a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelControl;

const MAX_CONTROL_NAME: usize = 15;

impl ListRule for KernelControl {
    fn allowed() -> String {
        "a list of congestion controls by their kernel's names, such as [\"cubic\", \"bbr\"]".into()
    }

    fn read(element: &Value) -> Read<Value> {
        Ok(element.clone())
    }

    fn fault(elements: &[Value]) -> Option<String> {
        let is_name = |name: &Value| matches!(name, Value::Text(name) if (1..=MAX_CONTROL_NAME).contains(&name.chars().count()));
        (!elements.iter().all(is_name)).then(Self::allowed)
    }

    fn schema() -> Value {
        Value::table([("type", "string".into()), ("minLength", 1.into()), ("maxLength", 15.into())])
    }
}

/// A socket buffer: a size, or the kernel's choice.
#[derive(Clone, Debug, PartialEq)]
pub struct SocketBuffer;

impl ListRule for SocketBuffer {
    fn allowed() -> String {
        "a list of socket buffers, such as [\"auto\", \"64 KiB\"]".into()
    }

    fn read(element: &Value) -> Read<Value> {
        if *element == AUTO.into() {
            return Ok(element.clone());
        }
        match Quantity::Size.read(element)? {
            size @ 2_048..=1_073_741_824 => Ok(show_size(size).into()),
            _ => Err(Invalid::value(element, "\"auto\", or 2 KiB to 1 GiB")),
        }
    }

    fn schema() -> Value {
        schema::either(vec![schema::words(&[AUTO]), schema::quantity(Quantity::Size.units())])
    }
}

/// The size of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferSize;

impl ListRule for TransferSize {
    fn allowed() -> String {
        "a list of sizes, such as [\"10 kB\", \"1 MB\"]".into()
    }

    fn read(element: &Value) -> Read<Value> {
        Quantity::Size.read(element).map(|size| show_size(size).into())
    }

    fn fault(elements: &[Value]) -> Option<String> {
        elements.contains(&show_size(0).into()).then(|| "sizes above zero".into())
    }

    fn schema() -> Value {
        schema::quantity(Quantity::Size.units())
    }
}

/// A time between two bounds, which are milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within<const MIN: u64, const MAX: u64>(pub Duration);

impl<const MIN: u64, const MAX: u64> KeyValue for Within<MIN, MAX> {
    fn read(value: &Value, bounds: &Bounds) -> Read<Self> {
        let ps = Quantity::Time.read(value)?;
        let range = Span::from_ms(MIN)..=Span::from_ms(MAX);
        if ps < 0 || !range.contains(&Span(ps.unsigned_abs())) {
            return Err(Invalid::value(value, Self::limits(bounds)));
        }
        Duration::read(value, bounds).map(Within)
    }

    fn write(&self, given: Option<&Value>) -> Value {
        self.0.write(given)
    }

    fn attribute(&self) -> Attribute {
        KeyValue::attribute(&self.0)
    }

    fn unit() -> &'static str {
        Duration::unit()
    }

    fn limits(_: &Bounds) -> String {
        format!("{} to {}", time_text(Span::from_ms(MIN)), time_text(Span::from_ms(MAX)))
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        Duration::schema(bounds, definitions)
    }
}

/// Conditions by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels(Value);

const LABELS: &str = "a table of labels, such as { ssi = \"3\" }";

impl KeyValue for Labels {
    fn read(value: &Value, _: &Bounds) -> Read<Labels> {
        let Value::Table(entries) = value else { return Err(Invalid::value(value, LABELS)) };
        let label = |(name, value): &(String, Value)| {
            let text = match value {
                Value::Text(text) => text.clone(),
                Value::Bool(yes) => if *yes { "True" } else { "False" }.into(),
                Value::Int(_) | Value::Float(_) => format_value(value),
                _ => String::new(),
            };
            let is_label = |text: &str, max: usize| (1..=max).contains(&text.chars().count());
            if is_label(&text, 64) && is_label(name, 32) {
                Ok((name.clone(), text.into()))
            } else {
                Err(Invalid::value(value, "a label of 1 to 64 characters"))
            }
        };
        entries.iter().map(label).collect::<Read<_>>().map(|labels| Labels(Value::Table(labels)))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.clone()
    }

    fn unit() -> &'static str {
        "table"
    }

    fn limits(_: &Bounds) -> String {
        LABELS.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let kinds = vec![Value::from("string"), "number".into()];
        Value::table([("type", "object".into()), ("additionalProperties", Value::table([("type", kinds.into())]))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan<const N: usize>(keys: [(&str, Value); N]) -> Read<MeasurementPlan> {
        MeasurementPlan::read(&Value::table(keys), &Bounds::NONE)
    }

    #[test]
    fn tests_run_in_their_order_and_once() {
        let plan = plan([("tests", list!["tcp", "path", "tcp"])]).expect("a plan");
        assert_eq!(plan.tests.write(None), list!["path", "tcp"]);
        assert_eq!((plan.duration.0, plan.offset), (Span::from_ms(10_000), None));
    }

    #[test]
    fn list_is_refused_when_it_or_one_of_its_elements_is_none() {
        let allowed = |key: &str, value: Value| plan([(key, value)]).expect_err("an error").allowed;
        assert_eq!(allowed("tests", Vec::new().into()), Test::allowed());
        assert!(allowed("tests", list!["tpc"]).ends_with("(did you mean tcp?)"));
        assert_eq!(allowed("path_sizes", list![47]), "an IP packet's length, 48 to 65535 bytes");
        assert_eq!(allowed("path_sizes", vec![Value::Int(64); 65].into()), PacketLength::allowed());
        assert_eq!(allowed("shares", list![10.5]), "a share of the capacity from 0.001 to 10");
        assert_eq!(allowed("steps", list!["999 b/s"]), "1 kb/s to 10 Gb/s");
        assert_eq!(allowed("congestion", list!["sixteen-letters-"]), KernelControl::allowed());
        assert_eq!(allowed("buffers", list!["2047 B"]), "\"auto\", or 2 KiB to 1 GiB");
        assert_eq!(allowed("sizes", list!["1 kB", "0 B"]), "sizes above zero");
    }

    #[test]
    fn times_and_labels_are_within_their_bounds() {
        let allowed = |key: &str, value: Value| plan([(key, value)]).expect_err("an error").allowed;
        assert_eq!(allowed("sample", "9 ms".into()), "10 ms to 1 s");
        assert_eq!(allowed("offset", "21 s".into()), "1 s to 20 s");
        assert_eq!(allowed("labels", table!("x" => "y".repeat(65))), "a label of 1 to 64 characters");
        assert_eq!(plan([("labels", table!("ssi" => 3))]).expect("a plan").labels.write(None), table!("ssi" => "3"));
    }
}
