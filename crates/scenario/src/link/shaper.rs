//! Shapers: a queue, and a token bucket that its packets leave through.

use super::framing::LineFraming;
use super::queue::Queue;
use crate::Keys;
use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Bounds, Checked, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::Quantity;
use crate::value::Value;
use crate::values::{BitRate, Bytes, size_text};
use ackclock_core::link::{Framing, ShaperConfig};
use ackclock_core::units::Rate;
use serde_json::json;

/// A queue before a token bucket: tc-tbf(8), the bandwidth of tc-cake(8), SQM, the bucket of a cable
/// modem.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Shaper::plan_json, check = Shaper::check)]
pub struct Shaper {
    /// Rate at which the bucket is filled.
    #[key(example = "18 Mb/s")]
    pub rate: BitRate,
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
}

impl Shaper {
    fn queue_example() -> Value {
        Value::table([("kind", "cake".into())])
    }

    fn check(&self) -> Read<()> {
        match self.peak {
            Some(peak) if peak.0 < self.rate.0 => {
                let rate = self.rate.write(None).to_toml();
                Err(Invalid::value(&peak.write(None), format!("a rate of at least rate = {rate}")).at("peak"))
            }
            _ => Ok(()),
        }
    }

    fn config(&self, of_hop: Framing) -> ShaperConfig {
        ShaperConfig {
            rate: Rate::from_bps(self.rate.0),
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
