//! Loss and duplication of packets.

use super::schedule::{MeanLoss, OverTime, picoseconds};
use super::sides::SHARE;
use super::signal::{Fading, Points};
use crate::invalid::{Invalid, Read, Step};
use crate::keys::{Attribute, Bounds, KeyValue, Kind};
use crate::number_text::general;
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::{Duration, Share, Time};
use crate::{Keys, words};
use ackclock_core::config_check::MAX_SPAN;
use ackclock_core::impairment::{DuplicateConfig, ListedPackets, LossConfig, ScheduledFades, SignalLossConfig, Sojourns};
use serde_json::json;

words!(ListedPackets { "data" => ListedPackets::Data, "all" => ListedPackets::All });

/// Any loss. A number alone is the mean of an independent one.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(default = "bernoulli", prepare = bare_mean, shorthand = mean_schema, limits = SHARE)]
pub enum Loss {
    Bernoulli(Bernoulli),
    GilbertElliott(GilbertElliott),
    LossList(LossList),
    SignalLoss(SignalLoss),
}

/// Each packet is lost with probability `mean`, independently of others.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "bernoulli", plan = Bernoulli::plan_json, derived = Bernoulli::derived)]
pub struct Bernoulli {
    /// Independent losses. The default kind.
    #[key(kind, default)]
    pub kind: Kind,
    /// Share of packets lost, constant or a schedule.
    #[key(example = 1e-4)]
    pub mean: MeanLoss<Share>,
}

/// Two states in continuous time with exponential sojourns (Gilbert 1960, Elliott 1963).
///
/// Either `mean` and `bad_sojourn`, or all four of good_sojourn, bad_sojourn, loss_good and
/// loss_bad. With `mean` the bad state loses all packets, the good state none, and the mean good
/// sojourn is bad_sojourn * (1 - mean) / mean.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "gilbert-elliott", plan = GilbertElliott::plan_json, check = GilbertElliott::check,
    derived = GilbertElliott::derived)]
pub struct GilbertElliott {
    /// Losses in bursts: two states with exponential durations, in continuous time. Either `mean`
    /// and `bad_sojourn`, or all four of the other keys.
    #[key(kind)]
    pub kind: Kind,
    /// Mean duration of the bad state.
    #[key(example = "50 ms")]
    pub bad_sojourn: Duration,
    /// Share of the time in the bad state, which then loses every packet, and the good state none:
    /// constant or a schedule.
    #[key(example = 1e-4, unit = "share", min = 0, below = 1, allowed = "a mean loss from 0 to below 1")]
    pub mean: Option<MeanLoss<f64>>,
    /// Mean duration of the good state, in place of `mean`.
    #[key(example = "10 s", absent = "from `mean`")]
    pub good_sojourn: Option<Duration>,
    /// Loss in the good state, in place of `mean`.
    #[key(example = 0.0, absent = "0 with `mean`")]
    pub loss_good: Option<Share>,
    /// Loss in the bad state, in place of `mean`.
    #[key(example = 0.5, absent = "1 with `mean`")]
    pub loss_bad: Option<Share>,
}

/// The listed packets are lost, counted from 1, retransmissions included: of those with payload, or
/// of all.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "list", plan = LossList::plan_json)]
pub struct LossList {
    /// The listed packets are lost.
    #[key(kind)]
    pub kind: Kind,
    /// Packets, counted from 1, retransmissions included.
    #[key(example = PacketNumbers::example())]
    pub packets: PacketNumbers,
    /// Which packets count: those with payload, or all, the SYN first. A list for a path of ACKs
    /// needs all.
    #[key(default = "data", example = "all")]
    pub of: ListedPackets,
}

/// Loss as a function of signal quality: linear between `points`, constant outside. The signal is
/// updated every `step`.
///
/// Both directions of a hop with the same table share the signal; their losses are independent.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "signal", plan = SignalLoss::plan_json)]
pub struct SignalLoss {
    /// Loss as a function of a signal's quality.
    #[key(kind)]
    pub kind: Kind,
    /// How the signal moves. Both directions of a hop with the same table share the signal.
    #[key(example = SignalLoss::fading_example())]
    pub fading: Fading,
    /// Points of quality in dB and share lost: linear between them, constant outside.
    #[key(example = Points::example())]
    pub points: Points,
    /// Time between two updates of the signal.
    #[key(default = "10 ms")]
    pub step: Duration,
}

/// Each packet is duplicated with probability `mean`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Duplicate::plan_json, prepare = bare_mean, shorthand = mean_schema, limits = SHARE)]
pub struct Duplicate {
    /// Share of packets that arrive twice.
    #[key(example = 0.001)]
    pub mean: Share,
}

/// All packets that the rate releases from `start` to `end` are lost.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Outage::plan_json)]
pub struct Outage {
    /// Time of the run at which losses begin.
    #[key(example = "10 s")]
    pub start: Time,
    /// Time at which they end; after `start`. Outages are in order and do not overlap.
    #[key(example = "12 s")]
    pub end: Duration,
}

/// `mean_share`: the mean of a loss; of a schedule over a repetition, without one that of the last step.
fn mean_share<V>(mean: &MeanLoss<V>, constant: impl FnOnce(&V) -> f64) -> f64 {
    match mean {
        OverTime::Constant(mean) => constant(mean),
        OverTime::Scheduled(schedule) => schedule.config().mean(),
    }
}

/// A number alone is a mean.
fn bare_mean(value: &Value) -> Read<Option<Value>> {
    if let Value::Text(_) = value {
        return Err(Invalid::value(value, format!("{SHARE} (1 % is 0.01), or a table of its keys")));
    }
    Ok(value.number().map(|_| Value::table([("mean", value.clone())])))
}

fn mean_schema() -> Value {
    Value::table([("type", "number".into()), ("minimum", 0.into()), ("maximum", 1.into())])
}

/// Increasing numbers from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketNumbers(pub Vec<u64>);

const PACKET_NUMBERS: &str = "a list of increasing packet numbers from 1";

impl PacketNumbers {
    fn example() -> Value {
        vec![Value::Int(1500), Value::Int(4000)].into()
    }
}

impl KeyValue for PacketNumbers {
    fn read(value: &Value, _: &Bounds) -> Read<PacketNumbers> {
        let Value::Array(values) = value else { return Err(Invalid::value(value, PACKET_NUMBERS)) };
        if values.is_empty() {
            return Err(Invalid::value(value, PACKET_NUMBERS));
        }
        let mut numbers: Vec<u64> = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let number = match *value {
                Value::Int(number) if number >= 1 => number.unsigned_abs(),
                _ => return Err(Invalid::value(value, PACKET_NUMBERS).below(Step::Index(index))),
            };
            if let Some(last) = numbers.last().filter(|last| number <= **last) {
                return Err(Invalid::new(format!("{number} after {last}"), PACKET_NUMBERS).below(Step::Index(index)));
            }
            numbers.push(number);
        }
        Ok(PacketNumbers(numbers))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.iter().map(|number| Value::Int(i64::try_from(*number).unwrap_or(i64::MAX))).collect::<Vec<_>>().into()
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(self.write(None))
    }

    fn unit() -> &'static str {
        "packet numbers"
    }

    fn limits(_: &Bounds) -> String {
        PACKET_NUMBERS.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let number = Value::table([("type", "integer".into()), ("minimum", 1.into())]);
        schema::array(number, [("minItems", 1.into()), ("uniqueItems", true.into())])
    }
}

impl Bernoulli {
    fn plan_json(&self) -> serde_json::Value {
        match &self.mean {
            OverTime::Constant(mean) => json!((mean.0 > 0.0).then_some(LossConfig::Bernoulli { mean: mean.0 })),
            OverTime::Scheduled(mean) => json!(LossConfig::BernoulliSchedule(mean.config())),
        }
    }

    fn derived(&self, name: &str) -> Option<Attribute> {
        let constant = |mean: &Share| mean.0;
        (name == "mean_share").then(|| Attribute::Value(Value::Float(mean_share(&self.mean, constant))))
    }
}

impl GilbertElliott {
    fn check(&self) -> Read<()> {
        let given: Vec<&str> = [
            ("good_sojourn", self.good_sojourn.is_some()),
            ("loss_good", self.loss_good.is_some()),
            ("loss_bad", self.loss_bad.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
        .collect();
        let is_complete = if self.mean.is_some() { given.is_empty() } else { given.len() == 3 };
        if !is_complete {
            let found = self.mean.as_ref().map(|_| "mean").into_iter().chain(["bad_sojourn"]).chain(given).collect::<Vec<_>>();
            let allowed = "either mean and bad_sojourn, or good_sojourn, bad_sojourn, loss_good and loss_bad";
            return Err(Invalid::new(found.join(" and "), allowed));
        }
        let mean = match &self.mean {
            Some(OverTime::Constant(mean)) => *mean,
            Some(OverTime::Scheduled(schedule)) => schedule.config().max(),
            None => return Ok(()),
        };
        if mean >= 1.0 {
            return Err(Invalid::new(general(mean), "means from 0 to below 1").at("mean"));
        }
        if mean > 0.0 && Sojourns::of_mean(self.bad_sojourn.0, mean).is_some_and(|sojourns| sojourns.good > MAX_SPAN) {
            let allowed = "a mean large enough for a loss within 100 days, or 0";
            return Err(Invalid::new(format!("mean = {}", general(mean)), allowed).at("mean"));
        }
        Ok(())
    }

    /// `mean_share`, and the sojourns `good_ps` and `bad_ps` while a mean is at its maximum.
    fn derived(&self, name: &str) -> Option<Attribute> {
        match (name, &self.mean) {
            ("mean_share", Some(mean)) => Some(Attribute::Value(Value::Float(mean_share(mean, |mean| *mean)))),
            ("good_ps", _) => {
                Some(Attribute::Value(self.sojourns().map_or(Value::Absent, |sojourns| picoseconds(sojourns.good))))
            }
            ("bad_ps", _) => Some(Attribute::Value(picoseconds(self.bad_sojourn.0))),
            _ => None,
        }
    }

    /// While a mean is at its maximum; none if it is 0.
    fn sojourns(&self) -> Option<Sojourns> {
        let bad = self.bad_sojourn.0;
        match &self.mean {
            Some(OverTime::Constant(mean)) => Sojourns::of_mean(bad, *mean),
            Some(OverTime::Scheduled(schedule)) => Sojourns::of_mean(bad, schedule.config().max()),
            None => Some(Sojourns { good: self.good_sojourn?.0, bad, loss_good: self.loss_good?.0, loss_bad: self.loss_bad?.0 }),
        }
    }

    /// None: no loss.
    pub fn config(&self) -> Option<LossConfig> {
        if let Some(OverTime::Scheduled(schedule)) = &self.mean {
            return Some(LossConfig::GilbertElliottSchedule(ScheduledFades { bad: self.bad_sojourn.0, mean: schedule.config() }));
        }
        self.sojourns().map(LossConfig::GilbertElliott)
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config())
    }
}

impl LossList {
    fn plan_json(&self) -> serde_json::Value {
        json!(LossConfig::List { packets: self.packets.0.clone(), of: self.of })
    }
}

impl SignalLoss {
    fn fading_example() -> Value {
        Value::table([("kind", "ar1".into()), ("mean", 15.into()), ("sd", 5.into()), ("correlation", "1 s".into())])
    }

    fn plan_json(&self) -> serde_json::Value {
        let config = SignalLossConfig { fading: self.fading.config(), step: self.step.0, curve: self.points.curve() };
        json!(LossConfig::Signal(config))
    }
}

impl Outage {
    fn plan_json(&self) -> serde_json::Value {
        json!({"start_ps": self.start.0, "end_ps": self.end.0})
    }
}

impl Duplicate {
    fn plan_json(&self) -> serde_json::Value {
        json!((self.mean.0 > 0.0).then_some(DuplicateConfig { mean: self.mean.0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Loss> {
        Loss::read(&Value::table(keys), &Bounds::NONE)
    }

    #[test]
    fn loss_is_independent_when_it_is_a_number_alone() {
        let loss = Loss::read(&0.5.into(), &Bounds::NONE).expect("a mean");
        assert_eq!(loss, Loss::Bernoulli(Bernoulli { kind: Kind, mean: OverTime::Constant(Share(0.5)) }));
        assert_eq!(loss.checked().plan(), json!({"kind": "bernoulli", "mean": 0.5}));
        assert_eq!(Loss::read(&0.into(), &Bounds::NONE).expect("no loss").checked().plan(), serde_json::Value::Null);
        assert_eq!(Loss::read(&2.into(), &Bounds::NONE).expect_err("above 1").path, [Step::Key("mean".into())]);
        let invalid = Loss::read(&"1 %".into(), &Bounds::NONE).expect_err("a text");
        assert_eq!(invalid.allowed, "a probability from 0 to 1 (1 % is 0.01), or a table of its keys");
        assert!(Loss::read(&true.into(), &Bounds::NONE).expect_err("no loss").allowed.starts_with("a table with a kind"));
    }

    #[test]
    fn gilbert_elliott_has_a_mean_or_all_four_of_the_other_keys() {
        let kind = || ("kind", Value::from("gilbert-elliott"));
        let bad = || ("bad_sojourn", Value::from("1 s"));
        let loss = read([kind(), bad(), ("mean", 0.25.into())]).expect("a mean");
        assert_eq!(loss.checked().plan()["good_ps"], 3_000_000_000_000_u64);
        assert_eq!(read([kind(), bad()]).expect_err("no mean").found, "bad_sojourn");
        let both = read([kind(), bad(), ("mean", 0.1.into()), ("loss_bad", 1.into())]).expect_err("both");
        assert_eq!(both.found, "mean and bad_sojourn and loss_bad");
        let rare = read([kind(), bad(), ("mean", 1e-12.into())]).expect_err("too rare");
        assert_eq!((rare.found.as_str(), rare.path), ("mean = 1e-12", vec![Step::Key("mean".into())]));
    }

    #[test]
    fn packets_are_refused_at_their_index_when_they_do_not_increase() {
        let list = |numbers: Vec<Value>| read([("kind", "list".into()), ("packets", numbers.into())]);
        let invalid = list(vec![4.into(), 4.into()]).expect_err("twice");
        assert_eq!((invalid.found.as_str(), &invalid.path[1]), ("4 after 4", &Step::Index(1)));
        assert_eq!(list(vec![0.into()]).expect_err("from 1").found, "0");
        assert_eq!(list(vec![7.into()]).expect("a list").checked().plan(), json!({"kind": "list", "packets": [7]}));
    }
}
