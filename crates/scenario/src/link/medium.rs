//! Shared media of a hop, for both directions, in place of its rate.
//!
//! Each has the value `nominal_bps` beside its keys: the maximum rate of each direction in bits per
//! second.

use super::grants::Grants;
use super::half_duplex::HalfDuplex;
use super::packet_radio::PacketRadio;
use super::roaming::Roaming;
use super::wimax::Wimax;
use super::wlan::Wlan;
use crate::Keys;
use crate::keys::Attribute;
use crate::value::Value;

/// Any medium.
#[expect(clippy::large_enum_variant, reason = "one is made where a link is read, none per packet")]
#[derive(Clone, Debug, PartialEq, Keys)]
pub enum Medium {
    Grants(Grants),
    HalfDuplex(HalfDuplex),
    PacketRadio(PacketRadio),
    Wimax(Wimax),
    Wlan(Wlan),
}

impl Medium {
    pub(super) fn example() -> Value {
        Value::table([("kind", "wlan".into()), ("standard", "802.11n".into())])
    }

    /// Maximum rate of each direction.
    pub(super) fn nominal_bps(&self) -> [u64; 2] {
        match self {
            Medium::Grants(medium) => medium.nominal_bps(),
            Medium::HalfDuplex(medium) => medium.nominal_bps(),
            Medium::PacketRadio(medium) => medium.nominal_bps(),
            Medium::Wimax(medium) => medium.nominal_bps(),
            Medium::Wlan(medium) => medium.nominal_bps(),
        }
    }

    /// How clients change between its cells.
    pub(super) fn handover(&self) -> Option<&Roaming> {
        match self {
            Medium::Grants(medium) => medium.handover.as_ref(),
            Medium::HalfDuplex(medium) => medium.handover.as_ref(),
            Medium::PacketRadio(_) => None,
            Medium::Wimax(medium) => medium.handover.as_ref(),
            Medium::Wlan(medium) => medium.handover.as_ref(),
        }
    }
}

/// The value `nominal_bps` of a medium.
pub(super) fn nominal_attribute(name: &str, nominal_bps: impl FnOnce() -> [u64; 2]) -> Option<Attribute> {
    let rate = |bps: u64| Value::Int(i64::try_from(bps).unwrap_or(i64::MAX));
    (name == "nominal_bps").then(|| {
        let [down, up] = nominal_bps();
        Attribute::Value(Value::table([("down", rate(down)), ("up", rate(up))]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Bounds, KeyValue};
    use ackclock_core::medium::MediumPlan;

    #[test]
    fn plan_of_each_kind_is_the_engines_configuration() {
        let keys: [&[(&str, &str)]; 5] = [
            &[("kind", "grants"), ("standard", "lte"), ("rate", "50 Mb/s")],
            &[("kind", "half-duplex"), ("rate", "2 Mb/s")],
            &[("kind", "packet-radio")],
            &[("kind", "wimax"), ("channel", "7 MHz")],
            &[("kind", "wlan"), ("standard", "802.11ac")],
        ];
        for keys in keys {
            let table = Value::Table(keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect());
            let plan = Medium::read(&table, &Bounds::NONE).expect("a medium").checked().plan();
            let read: MediumPlan = serde_json::from_value(plan.clone()).expect("a plan");
            assert_eq!((read.check(None), serde_json::json!(read)), (Ok(()), plan));
        }
    }
}
