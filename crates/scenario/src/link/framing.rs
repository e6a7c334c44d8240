//! Framing: the bytes that a line sends for a packet.

use crate::controls::Control;
use crate::invalid::{Code, Invalid, Read, choices, format_value};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::{Count, Size, size_text};
use crate::{Keys, word_enum, words};
use ackclock_core::link::{AAL5_TRAILER, Cells, Framing, LinkLayer as LinkLayerConfig};
use serde_json::json;

words!(Cells { "none" => Cells::None, "atm" => Cells::Atm, "ptm" => Cells::Ptm });

word_enum! {
    /// The kind of a framing: whole cells, or a keyword of tc-cake(8).
    pub enum FramingKind {
        Atm = "atm",
        PppoaVcmux = "pppoa-vcmux",
        PppoaLlc = "pppoa-llc",
        PppoeVcmux = "pppoe-vcmux",
        PppoeLlcsnap = "pppoe-llcsnap",
        BridgedVcmux = "bridged-vcmux",
        BridgedLlcsnap = "bridged-llcsnap",
        IpoaVcmux = "ipoa-vcmux",
        IpoaLlcsnap = "ipoa-llcsnap",
        PppoePtm = "pppoe-ptm",
        BridgedPtm = "bridged-ptm",
        Docsis = "docsis",
        Ethernet = "ethernet",
        Conservative = "conservative",
        Raw = "raw",
    }
}

impl FramingKind {
    /// The keywords of tc-cake(8), OVERHEAD COMPENSATION PARAMETERS; `Atm` is none of them.
    fn link_layer(self) -> Option<LinkLayerConfig> {
        let (cells, overhead, mpu) = match self {
            FramingKind::Atm => return None,
            FramingKind::PppoaVcmux => (Cells::Atm, 10, 0),
            FramingKind::PppoaLlc => (Cells::Atm, 14, 0),
            FramingKind::PppoeVcmux => (Cells::Atm, 32, 0),
            FramingKind::PppoeLlcsnap => (Cells::Atm, 40, 0),
            FramingKind::BridgedVcmux => (Cells::Atm, 24, 0),
            FramingKind::BridgedLlcsnap => (Cells::Atm, 32, 0),
            FramingKind::IpoaVcmux => (Cells::Atm, 8, 0),
            FramingKind::IpoaLlcsnap => (Cells::Atm, 16, 0),
            FramingKind::PppoePtm => (Cells::Ptm, 30, 0),
            FramingKind::BridgedPtm => (Cells::Ptm, 22, 0),
            FramingKind::Docsis => (Cells::None, 18, 64),
            FramingKind::Ethernet => (Cells::None, 38, 84),
            FramingKind::Conservative => (Cells::Atm, 48, 0),
            FramingKind::Raw => (Cells::None, 0, 0),
        };
        Some(LinkLayerConfig { cells, overhead, mpu })
    }
}

/// What a line adds to each IP packet, counted as tc-cake(8) does: `overhead` first, then the minimum
/// `mpu`, then cells.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = LinkLayer::plan_json, prepare = LinkLayer::of_word, check = LinkLayer::check, derived = LinkLayer::derived,
    written = LinkLayer::present)]
pub struct LinkLayer {
    /// The encapsulation, a keyword of tc-cake(8), which sets all of the other keys but `vlan`; or
    /// "atm": whole cells of 53 B, 48 B of them payload (AAL5, RFC 2684).
    #[key(example = "pppoe-vcmux", absent = "that of cells, overhead and mpu")]
    pub kind: Option<FramingKind>,
    /// How the line divides packets: not at all, into ATM cells of 48 of 53 B (ADSL), or with a byte
    /// for each 64 B begun (PTM, VDSL2).
    #[key(example = "ptm", absent = "none")]
    pub cells: Option<Cells>,
    /// Bytes in addition to the IP packet; with `cells` AAL5's trailer of 8 B is among them, with kind
    /// "atm" it is not: there 2 B is PPP over ATM with VC multiplexing, 32 B PPP over Ethernet, bridged.
    #[key(
        example = "32 B",
        absent = "2 B with kind \"atm\", else 0 B",
        max = "1000 B",
        allowed = "an encapsulation of at most 1000 B"
    )]
    pub overhead: Option<Size>,
    /// Minimum of packet and overhead, before cells.
    #[key(example = "64 B", absent = "0 B", max = "1000 B", allowed = "a minimum of at most 1000 B")]
    pub mpu: Option<Size>,
    /// VLAN tags, of 4 B each.
    #[key(example = 1, absent = "0", min = 0, max = 2, allowed = "0, 1 or 2 tags")]
    pub vlan: Option<Count>,
}

const VLAN_TAG: u16 = 4;
/// With the kind "atm": PPP over ATM with VC multiplexing.
const ATM_OVERHEAD: u16 = 2;

fn bytes(size: Option<Size>) -> Option<u16> {
    size.map(|size| u16::try_from(size.0).unwrap_or(u16::MAX))
}

impl LinkLayer {
    /// Overhead without what the kind has beside it.
    fn own_overhead(&self) -> u16 {
        let usual = if self.kind == Some(FramingKind::Atm) { ATM_OVERHEAD } else { 0 };
        let tags = self.vlan.map_or(0, |tags| u16::try_from(tags.0).unwrap_or(u16::MAX));
        bytes(self.overhead).unwrap_or(usual).saturating_add(tags.saturating_mul(VLAN_TAG))
    }

    /// In the bytes of tc-cake(8).
    fn link_layer(&self) -> LinkLayerConfig {
        let own = self.own_overhead();
        match self.kind {
            None => {
                LinkLayerConfig { cells: self.cells.unwrap_or_default(), overhead: own, mpu: bytes(self.mpu).unwrap_or_default() }
            }
            Some(kind) => match kind.link_layer() {
                None => LinkLayerConfig { cells: Cells::Atm, overhead: own.saturating_add(AAL5_TRAILER), mpu: 0 },
                Some(known) => LinkLayerConfig { overhead: known.overhead.saturating_add(own), ..known },
            },
        }
    }

    pub fn config(&self) -> Framing {
        let link_layer = self.link_layer();
        if self.kind == Some(FramingKind::Atm) {
            Framing::Atm { overhead: self.own_overhead() }
        } else if link_layer == LinkLayerConfig::default() {
            Framing::None
        } else {
            Framing::LinkLayer(link_layer)
        }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config())
    }

    fn of_word(value: &Value) -> Read<Option<Value>> {
        let is_kind = matches!(value, Value::Text(_)) && FramingKind::read(value, &Bounds::NONE).is_ok();
        Ok(is_kind.then(|| Value::table([("kind", value.clone())])))
    }

    /// Which keys exclude each other.
    fn check(&self) -> Read<()> {
        let Some(kind) = self.kind else {
            if self.cells.is_some() {
                return Ok(());
            }
            let needed = "either a kind, or cells with overhead and mpu";
            return Err(Invalid::new("neither \"kind\" nor \"cells\"", needed).with_code(Code::MissingKey));
        };
        let beside = [
            ("cells", self.cells.is_some()),
            ("overhead", self.overhead.is_some() && kind != FramingKind::Atm),
            ("mpu", self.mpu.is_some()),
        ];
        match beside.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((key, _)) => {
                let found = format!("{key} beside kind = {}", format_value(&kind.write(None)));
                Err(Invalid::new(found, "either a kind, or cells with overhead and mpu").at(key))
            }
        }
    }

    /// The keys that have a value; of the kind "atm" the overhead, too.
    fn present(&self, written: Vec<(String, Value)>) -> Vec<(String, Value)> {
        let shown = |(key, value): (String, Value)| match (value, key.as_str()) {
            (Value::Absent, "overhead") if self.kind == Some(FramingKind::Atm) => Some((key, size_text(ATM_OVERHEAD).into())),
            (Value::Absent, _) => None,
            (value, _) => Some((key, value)),
        };
        written.into_iter().filter_map(shown).collect()
    }

    /// The arguments of tc-cake(8): `cake_overhead`, AAL5's trailer and VLAN tags included,
    /// `cake_cells` and `cake_mpu`.
    fn derived(&self, name: &str) -> Option<Attribute> {
        let LinkLayerConfig { cells, overhead, mpu } = self.link_layer();
        let value = match name {
            "cake_overhead" => Value::Int(overhead.into()),
            "cake_mpu" => Value::Int(mpu.into()),
            "cake_cells" => match cells {
                Cells::None => "noatm".into(),
                Cells::Atm => "atm".into(),
                Cells::Ptm => "ptm".into(),
            },
            _ => return None,
        };
        Some(Attribute::Value(value))
    }
}

/// The framing of a line: a word, or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum LineFraming {
    None,
    Slip,
    Cslip,
    LinkLayer(LinkLayer),
}

fn words() -> Vec<String> {
    let kinds = FramingKind::limits(&Bounds::NONE);
    ["none", "slip", "cslip"].into_iter().map(str::to_owned).chain(kinds.split(", ").map(|word| word.replace('"', ""))).collect()
}

fn allowed(found: Option<&str>) -> String {
    let quoted: Vec<String> = words().iter().map(|word| format!("\"{word}\"")).collect();
    let quoted: Vec<&str> = quoted.iter().map(String::as_str).collect();
    format!("{}, or {{ cells = \"atm\", overhead = \"40 B\" }}", choices(&quoted, found))
}

impl LineFraming {
    pub fn config(&self) -> Framing {
        match self {
            LineFraming::None => Framing::None,
            LineFraming::Slip => Framing::Slip,
            LineFraming::Cslip => Framing::Cslip,
            LineFraming::LinkLayer(link_layer) => link_layer.config(),
        }
    }
}

impl KeyValue for LineFraming {
    fn read(value: &Value, bounds: &Bounds) -> Read<LineFraming> {
        match value {
            Value::Table(_) => LinkLayer::read(value, bounds).map(LineFraming::LinkLayer),
            Value::Text(word) if word == "none" => Ok(LineFraming::None),
            Value::Text(word) if word == "slip" => Ok(LineFraming::Slip),
            Value::Text(word) if word == "cslip" => Ok(LineFraming::Cslip),
            Value::Text(_) if FramingKind::read(value, bounds).is_ok() => {
                LinkLayer::read(value, bounds).map(LineFraming::LinkLayer)
            }
            _ => Err(Invalid::value(value, allowed(Some(&format_value(value))))),
        }
    }

    fn write(&self, given: Option<&Value>) -> Value {
        match self {
            LineFraming::None => "none".into(),
            LineFraming::Slip => "slip".into(),
            LineFraming::Cslip => "cslip".into(),
            LineFraming::LinkLayer(link_layer) => link_layer.write(given),
        }
    }

    fn attribute(&self) -> Attribute {
        match self {
            LineFraming::LinkLayer(link_layer) => link_layer.attribute(),
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
        let words = words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        schema::either(vec![schema::words(&words), LinkLayer::schema(bounds, definitions)])
    }

    fn controls(value: &Value) -> Vec<Control> {
        LinkLayer::controls(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalid::Step;

    fn read(value: impl Into<Value>) -> Read<LineFraming> {
        LineFraming::read(&value.into(), &Bounds::NONE)
    }

    fn config(value: impl Into<Value>) -> Framing {
        read(value).expect("a framing").config()
    }

    fn table<const N: usize>(keys: [(&str, Value); N]) -> Value {
        Value::table(keys)
    }

    #[test]
    fn framing_is_a_word_or_a_table_of_a_link_layer() {
        assert_eq!(config("atm"), Framing::Atm { overhead: 2 });
        let atm = |overhead: &str| table([("kind", "atm".into()), ("overhead", overhead.into())]);
        assert_eq!(config(atm("32 B")), Framing::Atm { overhead: 32 });
        assert_eq!(read(atm("1001 B")).expect_err("long").found, "1001");
        assert!(read("atn").expect_err("a word").allowed.contains("(did you mean \"atm\"?), or { cells"));
        assert!(read(Value::Int(3)).is_err());
    }

    #[test]
    fn kinds_are_the_keywords_of_cake() {
        // tc-cake(8): keyword, what it stands for there.
        for (kind, cells, overhead, mpu) in [
            ("pppoa-vcmux", Cells::Atm, 10, 0),
            ("pppoa-llc", Cells::Atm, 14, 0),
            ("pppoe-vcmux", Cells::Atm, 32, 0),
            ("pppoe-llcsnap", Cells::Atm, 40, 0),
            ("bridged-vcmux", Cells::Atm, 24, 0),
            ("bridged-llcsnap", Cells::Atm, 32, 0),
            ("ipoa-vcmux", Cells::Atm, 8, 0),
            ("ipoa-llcsnap", Cells::Atm, 16, 0),
            ("pppoe-ptm", Cells::Ptm, 30, 0),
            ("bridged-ptm", Cells::Ptm, 22, 0),
            ("docsis", Cells::None, 18, 64),
            ("ethernet", Cells::None, 38, 84),
            ("conservative", Cells::Atm, 48, 0),
        ] {
            let link_layer = LinkLayerConfig { cells, overhead, mpu };
            assert_eq!(config(kind), Framing::LinkLayer(link_layer), "{kind}");
            let tagged = table([("kind", kind.into()), ("vlan", 1.into())]);
            assert_eq!(config(tagged), Framing::LinkLayer(LinkLayerConfig { overhead: overhead + 4, ..link_layer }), "{kind}");
        }
        assert_eq!(config("raw"), Framing::None);
        let tagged = table([("kind", "atm".into()), ("overhead", "32 B".into()), ("vlan", 1.into())]);
        assert_eq!(config(tagged), Framing::Atm { overhead: 36 });
    }

    #[test]
    fn cells_have_the_overhead_of_cake_and_exclude_a_kind() {
        let keys =
            |cells: &str| [("cells", cells.into()), ("overhead", "44 B".into()), ("mpu", "64 B".into()), ("vlan", 2.into())];
        let link_layer = LinkLayerConfig { cells: Cells::Ptm, overhead: 52, mpu: 64 };
        assert_eq!(config(table(keys("ptm"))), Framing::LinkLayer(link_layer));
        assert_eq!(config(table([("cells", "none".into())])), Framing::None);
        for (key, value) in [("cells", Value::from("atm")), ("overhead", "2 B".into()), ("mpu", "64 B".into())] {
            let both = read(table([("kind", "docsis".into()), (key, value)])).expect_err(key);
            assert_eq!((both.found, both.path), (format!("{key} beside kind = \"docsis\""), vec![Step::Key(key.into())]));
        }
        let neither = read(table([("overhead", "44 B".into())])).expect_err("neither");
        assert_eq!((neither.code, neither.found.as_str()), (Code::MissingKey, "neither \"kind\" nor \"cells\""));
        assert!(read(table([("kind", "atm".into()), ("cells", "atm".into())])).is_err());
    }

    #[test]
    fn written_framing_is_read_again_and_names_the_arguments_of_cake() {
        for (framing, written, cake) in [
            ("atm".into(), "{ kind = \"atm\", overhead = \"2 B\" }", ("atm", 10, 0)),
            (table([("kind", "docsis".into()), ("vlan", 1.into())]), "{ kind = \"docsis\", vlan = 1 }", ("noatm", 22, 64)),
            (table([("cells", "ptm".into())]), "{ cells = \"ptm\" }", ("ptm", 0, 0)),
        ] {
            let framing = read(framing).expect("a framing");
            assert_eq!(framing.write(None).to_toml(), written);
            assert_eq!(read(framing.write(None)).map(|again| again.config()), Ok(framing.config()));
            let Attribute::Table(found) = framing.attribute() else { panic!("{written}") };
            let of = |name: &str| match found.attribute(name) {
                Some(Attribute::Value(value)) => value,
                other => panic!("{name}: {other:?}"),
            };
            assert_eq!((of("cake_cells"), of("cake_overhead"), of("cake_mpu")), (cake.0.into(), cake.1.into(), cake.2.into()));
        }
        let given = Value::from("atm");
        assert_eq!(read("atm").expect("atm").write(Some(&given)).to_toml(), "{ kind = \"atm\" }");
    }
}
