//! Framing: the bytes that a line sends for a packet.

use crate::controls::Control;
use crate::invalid::{Invalid, Read, choices, format_value};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::Size;
use crate::{Keys, word_enum};
use ackclock_core::link::{AAL5_TRAILER, Framing};
use serde_json::json;

word_enum! {
    /// The kind of a framing that has keys.
    pub enum FramingKind {
        Atm = "atm",
    }
}

/// Whole ATM cells (AAL5, RFC 2684): `overhead` bytes of encapsulation and an 8-byte trailer go with
/// each packet.
///
/// 2 B is PPP over ATM with VC multiplexing, 32 B PPP over Ethernet, bridged with LLC/SNAP and
/// without the Ethernet FCS.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Atm::plan_json, prepare = Atm::of_word, derived = Atm::derived)]
pub struct Atm {
    /// Whole cells of 53 B, 48 B of them payload (AAL5, RFC 2684).
    #[key(example = "atm")]
    pub kind: FramingKind,
    /// Bytes of encapsulation of a packet, beside an 8 B trailer: 2 B for PPP over ATM with VC
    /// multiplexing, 32 B for PPP over Ethernet, bridged.
    #[key(default = "2 B", example = "32 B", max = "1000 B", allowed = "an encapsulation of at most 1000 B")]
    pub overhead: Size,
}

impl Atm {
    fn config(&self) -> Framing {
        Framing::Atm { overhead: u16::try_from(self.overhead.0).unwrap_or(u16::MAX) }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config())
    }

    fn of_word(value: &Value) -> Read<Option<Value>> {
        Ok((*value == ATM.into()).then(|| Value::table([("kind", ATM.into())])))
    }

    /// `aal5_overhead`: bytes that go with an IP packet into cells, trailer included, tc-cake(8)'s
    /// overhead.
    fn derived(&self, name: &str) -> Option<Attribute> {
        let bytes = || i64::try_from(self.overhead.0).unwrap_or(i64::MAX).saturating_add(AAL5_TRAILER.into());
        (name == "aal5_overhead").then(|| Attribute::Value(bytes().into()))
    }
}

/// The framing of a line: a word, or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum LineFraming {
    None,
    Slip,
    Cslip,
    Atm(Atm),
}

const ATM: &str = "atm";
const WORDS: [&str; 4] = ["none", "slip", "cslip", ATM];

fn allowed(found: Option<&str>) -> String {
    let quoted = WORDS.map(|word| format!("\"{word}\""));
    format!("{}, or {{ kind = \"atm\", overhead = \"32 B\" }}", choices(&quoted.each_ref().map(String::as_str), found))
}

impl LineFraming {
    pub fn config(&self) -> Framing {
        match self {
            LineFraming::None => Framing::None,
            LineFraming::Slip => Framing::Slip,
            LineFraming::Cslip => Framing::Cslip,
            LineFraming::Atm(atm) => atm.config(),
        }
    }
}

impl KeyValue for LineFraming {
    fn read(value: &Value, bounds: &Bounds) -> Read<LineFraming> {
        match value {
            Value::Table(_) => Atm::read(value, bounds).map(LineFraming::Atm),
            Value::Text(word) if word == ATM => Atm::read(value, bounds).map(LineFraming::Atm),
            Value::Text(word) if word == "none" => Ok(LineFraming::None),
            Value::Text(word) if word == "slip" => Ok(LineFraming::Slip),
            Value::Text(word) if word == "cslip" => Ok(LineFraming::Cslip),
            _ => Err(Invalid::value(value, allowed(Some(&format_value(value))))),
        }
    }

    fn write(&self, given: Option<&Value>) -> Value {
        match self {
            LineFraming::None => "none".into(),
            LineFraming::Slip => "slip".into(),
            LineFraming::Cslip => "cslip".into(),
            LineFraming::Atm(atm) => atm.write(given),
        }
    }

    fn attribute(&self) -> Attribute {
        match self {
            LineFraming::Atm(atm) => atm.attribute(),
            _ => Attribute::Value(self.write(None)),
        }
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        allowed(None)
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        schema::either(vec![schema::words(&WORDS), Atm::schema(bounds, definitions)])
    }

    fn controls(value: &Value) -> Vec<Control> {
        Atm::controls(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_is_a_word_or_a_table_of_atm() {
        let read = |value: Value| LineFraming::read(&value, &Bounds::NONE);
        assert_eq!(read("atm".into()).map(|framing| framing.config()), Ok(Framing::Atm { overhead: 2 }));
        let table = |overhead: &str| Value::table([("kind", "atm".into()), ("overhead", overhead.into())]);
        assert_eq!(read(table("32 B")).map(|framing| framing.config()), Ok(Framing::Atm { overhead: 32 }));
        assert_eq!(read(table("1001 B")).expect_err("long").found, "1001");
        assert!(read("atn".into()).expect_err("a word").allowed.contains("(did you mean \"atm\"?), or { kind"));
        assert!(read(Value::Int(3)).is_err());
    }
}
