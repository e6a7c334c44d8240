//! Shapers: a queue, and a token bucket that its packets leave through.

use super::autorate::Autorate;
use super::framing::LineFraming;
use super::queue::Queue;
use crate::Keys;
use crate::invalid::{Code, Invalid, Read};
use crate::keys::{Attribute, Bounds, Checked, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::Quantity;
use crate::value::Value;
use crate::values::{BitRate, Bytes, size_text};
use ackclock_core::autorate::PingConfig;
use ackclock_core::link::{Framing, ShaperConfig};
use ackclock_core::units::{Rate, Span};
use serde_json::json;

/// A queue before a token bucket: tc-tbf(8), the bandwidth of tc-cake(8), SQM, the bucket of a cable
/// modem.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Shaper::plan_json, check = Shaper::check)]
pub struct Shaper {
    /// Rate at which the bucket is filled.
    #[key(example = "18 Mb/s", absent = "required without autorate")]
    pub rate: Option<BitRate>,
    /// Bytes that the bucket holds, with framing, and is full of at the start; a longer packet is
    /// dropped. With "1 packet" a packet leaves when the one before would have been sent at the rate.
    #[key(default = "1 packet", example = "3044 B")]
    pub burst: Burst,
    /// Rate at which a burst leaves; at least `rate`.
    #[key(example = "40 Mb/s", absent = "unlimited")]
    pub peak: Option<BitRate>,
    /// Where packets wait for tokens: see the queues.
    #[key(example = Shaper::queue_example(), absent = "unlimited")]
    pub queue: Option<Queue>,
    /// How many bytes the shaper counts for a packet.
    #[key(example = "ethernet", absent = "the framing of the hop")]
    pub framing: Option<LineFraming>,
    #[key(flatten)]
    pub autorate: Autorate,
}

impl Shaper {
    fn queue_example() -> Value {
        Value::table([("kind", "cake".into())])
    }

    fn check(&self) -> Read<()> {
        self.autorate.check()?;
        match (self.rate, self.autorate.base(), self.peak) {
            (Some(_), Some(_), _) => {
                Err(Invalid::new("a rate and autorate", "either rate, or autorate, which changes it").at("rate"))
            }
            (_, Some(_), Some(_)) => {
                Err(Invalid::new("a peak and autorate", "peak with rate, or autorate without peak").at("peak"))
            }
            (None, None, _) => {
                let missing = Invalid::new("no \"rate\"", "rate, or autorate = \"cake-autorate\"");
                Err(missing.with_code(Code::MissingKey))
            }
            (Some(rate), None, Some(peak)) if peak.0 < rate.0 => {
                let rate = rate.write(None).to_toml();
                Err(Invalid::value(&peak.write(None), format!("a rate of at least rate = {rate}")).at("peak"))
            }
            _ => Ok(()),
        }
    }

    /// The rate; with autorate the one that it starts with.
    fn initial_bps(&self) -> u64 {
        self.rate.map(|rate| rate.0).or(self.autorate.base()).unwrap_or(1)
    }

    /// The rate; with autorate its maximum.
    pub fn max_bps(&self) -> u64 {
        self.rate.map_or(self.autorate.rates()[2], |rate| rate.0)
    }

    /// What the pinger of its controller does; none without a controller.
    pub fn pings(&self) -> Option<(PingConfig, Span)> {
        self.autorate.base().map(|_| self.autorate.pings())
    }

    fn config(&self, of_hop: Framing) -> ShaperConfig {
        ShaperConfig {
            rate: Rate::from_bps(self.initial_bps()),
            burst: self.burst.0,
            peak: self.peak.map(|peak| Rate::from_bps(peak.0)),
            framing: self.framing.as_ref().map_or(of_hop, LineFraming::config),
        }
    }

    /// As a plan has it, on a hop with this framing.
    pub fn on_hop(&self, of_hop: Framing) -> serde_json::Value {
        let mut plan = json!(self.config(of_hop));
        plan["queue"] = json!(self.queue.as_ref().map(Queue::config));
        if let Some(acks) = self.queue.as_ref().and_then(Queue::acks) {
            plan["acks"] = acks.plan();
        }
        if let Some(autorate) = self.autorate.plan_json() {
            plan["autorate"] = autorate;
        }
        plan
    }

    fn plan_json(&self) -> serde_json::Value {
        self.on_hop(Framing::None)
    }
}

/// Bytes of a bucket; None: one packet of whatever length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst(pub Option<u64>);

const ONE_PACKET: &str = "1 packet";
const BURST: &str = "a size such as \"3044 B\", or \"1 packet\"";

impl KeyValue for Burst {
    fn read(value: &Value, bounds: &Bounds) -> Read<Burst> {
        match value {
            Value::Text(text) if text == ONE_PACKET => Ok(Burst(None)),
            Value::Text(text) if text.split_whitespace().last().is_some_and(|unit| Quantity::Size.has_unit(unit)) => {
                Bytes::read(value, bounds).map(|size| Burst(Some(size.0)))
            }
            _ => Err(Invalid::value(value, BURST)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.map_or(ONE_PACKET.into(), |bytes| size_text(bytes).into())
    }

    fn attribute(&self) -> Attribute {
        self.0.map_or(Attribute::Value(Value::Absent), |bytes| Bytes(bytes).attribute())
    }

    fn unit() -> &'static str {
        "size"
    }

    fn limits(_: &Bounds) -> String {
        BURST.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::either(vec![schema::words(&[ONE_PACKET]), schema::quantity(Quantity::Size.units())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Shaper> {
        let Value::Table(mut table) = Value::table(keys) else { unreachable!("a table") };
        table.insert(0, ("rate".into(), "18 Mb/s".into()));
        Shaper::read(&Value::Table(table), &Bounds::NONE)
    }

    #[test]
    fn burst_is_a_size_or_one_packet() {
        assert_eq!(read([]).expect("a shaper").burst, Burst(None));
        assert_eq!(read([("burst", "3044 B".into())]).expect("a shaper").burst, Burst(Some(3044)));
        for wrong in [Value::from("2 packets"), "0 B".into(), 5.into(), "1 ms".into()] {
            assert!(read([("burst", wrong.clone())]).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn peak_is_refused_when_it_is_below_the_rate() {
        let low = read([("peak", "17 Mb/s".into())]).expect_err("too low");
        assert_eq!(low.allowed, "a rate of at least rate = \"18 Mb/s\"");
        assert_eq!(read([("peak", "18 Mb/s".into())]).expect("equal").plan_json()["peak_bps"], 18_000_000);
    }

    const KEYS: [(&str, &str); 4] = [
        ("autorate", "cake-autorate"),
        ("min_shaper_rate", "5 Mb/s"),
        ("base_shaper_rate", "20 Mb/s"),
        ("max_shaper_rate", "80 Mb/s"),
    ];

    fn controlled(changes: &[(&str, Value)]) -> Read<Shaper> {
        let kept = KEYS.into_iter().filter(|(key, _)| !changes.iter().any(|(changed, _)| changed == key));
        let mut table: Vec<(String, Value)> = kept.map(|(key, value)| (key.to_owned(), value.into())).collect();
        let changed = changes.iter().filter(|(_, value)| *value != Value::Absent);
        table.extend(changed.map(|(key, value)| ((*key).to_owned(), value.clone())));
        Shaper::read(&Value::Table(table), &Bounds::NONE)
    }

    #[test]
    fn controlled_shaper_starts_at_its_base_and_has_the_published_values() {
        let shaper = controlled(&[]).expect("a shaper");
        let plan = shaper.plan_json();
        assert_eq!((plan["bps"].as_u64(), shaper.max_bps()), (Some(20_000_000), 80_000_000));
        let rules = &plan["autorate"]["controller"]["cake-autorate"];
        assert_eq!(
            (rules["owd_delta_delay_thr_ps"].as_u64(), rules["high_load_thr"].as_f64()),
            (Some(30_000_000_000), Some(0.75))
        );
        let pings = json!({"pingers": 6, "interval_ps": 300_000_000_000_u64, "method": "fping"});
        assert_eq!((&plan["autorate"]["pings"], &plan["autorate"]["min_bps"]), (&pings, &json!(5_000_000)));
        assert_eq!(read([]).expect("a shaper").plan_json().get("autorate"), None);
    }

    #[test]
    fn controlled_shaper_is_refused_when_its_keys_do_not_fit_together() {
        let refused = |changes: &[(&str, Value)]| controlled(changes).expect_err("refused");
        for (changes, found) in [
            (vec![("autorate", Value::Absent)], "a min_shaper_rate without autorate"),
            (vec![("rate", "18 Mb/s".into())], "a rate and autorate"),
            (vec![("peak", "90 Mb/s".into())], "a peak and autorate"),
            (vec![("max_shaper_rate", Value::Absent)], "no \"max_shaper_rate\""),
            (vec![("autorate", "pid".into())], "\"pid\""),
            (vec![("base_shaper_rate", "4 Mb/s".into())], "\"4 Mb/s\""),
            (vec![("base_shaper_rate", "81 Mb/s".into())], "\"80 Mb/s\""),
            (vec![("owd_delta_delay_thr", "60 ms".into())], "\"60 ms\""),
            (vec![("owd_delta_delay_thr", "10 ms".into())], "\"10 ms\""),
            (vec![("bufferbloat_detection_thr", 7.into())], "7"),
            (vec![("high_load_thr", 1.5.into())], "1.5"),
            (vec![("no_pingers", 0.into())], "0"),
            (vec![("autorate", "python:my.Missing".into())], "\"python:my.Missing\""),
            (
                vec![("autorate", "python:my.Controller".into()), ("high_load_thr", 0.5.into())],
                "a high_load_thr of cake-autorate",
            ),
        ] {
            assert_eq!(refused(&changes).found, found);
        }
        assert_eq!(Shaper::read(&Value::Table(Vec::new()), &Bounds::NONE).expect_err("empty").found, "no \"rate\"");
    }

    #[test]
    fn controller_in_python_is_named_with_the_digest_of_its_code() {
        let plan = controlled(&[("autorate", "python:my.Controller".into())]).expect("a shaper").plan_json();
        let user = json!({"name": "python:my.Controller", "digest": "fedcba9876543210"});
        assert_eq!(plan["autorate"]["controller"], json!({ "user": user }));
    }

    #[test]
    fn shaper_has_the_framing_of_its_hop_when_it_has_none_of_its_own() {
        let hop = Framing::Atm { overhead: 2 };
        let plan = |keys: [(&str, Value); 1]| read(keys).expect("a shaper").on_hop(hop);
        assert_eq!(plan([("burst", "1 packet".into())])["framing"], json!({"atm": {"overhead": 2}}));
        assert_eq!(plan([("framing", "none".into())]).get("framing"), None);
        let queue = Value::table([("kind", "cake".into()), ("ack", Value::table([("filter", "cake".into())]))]);
        let filtered = plan([("queue", queue)]);
        assert_eq!((filtered["queue"]["kind"].as_str(), filtered["acks"]["filter"].is_object()), (Some("cake"), true));
    }
}
