//! An 802.16 cell: base station and stations on one TDD channel (docs/models/wimax.md).

use super::medium::nominal_attribute;
use super::roaming::Roaming;
use super::wimax_station::{Connection, Modulation, Station, frames};
use crate::invalid::{Invalid, Read, format_value};
use crate::keys::{Attribute, Bounds, KeyValue, Kind};
use crate::schema::Definitions;
use crate::value::Value;
use crate::values::{Bytes, Count, Duration, Pair, Time, pair};
use crate::{Keys, word_enum};
use ackclock_core::medium::MediumPlan;
use ackclock_core::medium::wimax::arq::ArqConfig;
use ackclock_core::medium::wimax::frame::Split;
use ackclock_core::medium::wimax::harq::HarqConfig;
use ackclock_core::medium::wimax::mcs::{Mcs, OFDM, OFDMA};
use ackclock_core::medium::wimax::plan::{ContentionPlan, LayoutPlan};
use ackclock_core::medium::wimax::retransmission::RetransmissionMode;
use ackclock_core::medium::wimax::{RequestRule, WimaxPlan};
use ackclock_core::units::Span;
use serde_json::json;

word_enum! {
    /// The PHY of a cell.
    pub enum Phy {
        /// Fixed 802.16.
        Ofdm = "ofdm",
        /// Mobile 802.16.
        Ofdma = "ofdma",
    }
}

word_enum! {
    /// Cyclic prefix as a part of the symbol.
    pub enum CyclicPrefix {
        Quarter = "1/4",
        Eighth = "1/8",
        Sixteenth = "1/16",
        ThirtySecond = "1/32",
    }
}

word_enum! {
    /// What an opportunity for a request costs.
    pub enum ContentionLayout {
        RequestOnly = "request-only",
        Whole = "whole",
        Fractional = "fractional",
    }
}

word_enum! {
    /// How stations request bandwidth.
    pub enum Requests {
        /// As IEEE 802.16 has it.
        Standard = "802.16",
        /// As NIST's module for ns-2 was released.
        NistReleased = "nist-released",
        /// NIST's module with its bookkeeping of requests corrected.
        NistCorrected = "nist-corrected",
    }
}

/// Bandwidth of a channel, as it is written and in Hz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelWidth {
    written: String,
    hz: u64,
}

const CHANNEL: &str = "a channel from 1 to 100 MHz, such as \"7 MHz\"";
const MIN_CHANNEL_HZ: u64 = 1_000_000;
const MAX_CHANNEL_HZ: u64 = 100_000_000;
/// Digits before and after the point of a bandwidth, and of a part of a ratio.
const MAX_DIGITS: usize = 9;
const MAX_RATIO_DIGITS: usize = 4;

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
}

fn has_digits(text: &str, max: usize) -> bool {
    (1..=max).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A whole number of Hz; none for another form.
fn hertz(text: &str) -> Option<u64> {
    let text = trimmed(text);
    let (number, factor) = [("kHz", 1_000_u32), ("MHz", 1_000_000), ("GHz", 1_000_000_000)]
        .iter()
        .find_map(|(unit, factor)| Some((trimmed(text.strip_suffix(unit)?), *factor)))?;
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => has_digits(fraction, MAX_DIGITS).then_some((whole, fraction))?,
        None => (number, ""),
    };
    let digits: u64 = has_digits(whole, MAX_DIGITS).then(|| format!("{whole}{fraction}"))?.parse().ok()?;
    let parts = 10_u64.pow(u32::try_from(fraction.len()).ok()?);
    let hz = u128::from(digits) * u128::from(factor);
    (hz % u128::from(parts) == 0).then(|| u64::try_from(hz / u128::from(parts)).ok())?
}

impl KeyValue for ChannelWidth {
    fn read(value: &Value, _: &Bounds) -> Read<ChannelWidth> {
        let Value::Text(text) = value else { return Err(Invalid::value(value, CHANNEL)) };
        let hz = hertz(text).filter(|hz| (MIN_CHANNEL_HZ..=MAX_CHANNEL_HZ).contains(hz));
        hz.map(|hz| ChannelWidth { written: text.clone(), hz }).ok_or_else(|| Invalid::value(value, CHANNEL))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.written.as_str().into()
    }

    fn unit() -> &'static str {
        "Hz"
    }

    fn limits(_: &Bounds) -> String {
        CHANNEL.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let pattern = r"^\s*\d{1,9}(\.\d{1,9})?\s*(kHz|MHz|GHz)\s*$";
        Value::table([("type", "string".into()), ("pattern", pattern.into())])
    }
}

/// Ratio of the downlink to the uplink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    down: u32,
    up: u32,
}

const RATIO: &str = "downlink to uplink, such as \"3:1\"";

impl KeyValue for Ratio {
    fn read(value: &Value, _: &Bounds) -> Read<Ratio> {
        let part = |text: &str| {
            let text = trimmed(text);
            has_digits(text, MAX_RATIO_DIGITS).then(|| text.parse().ok())?.filter(|part| *part > 0)
        };
        let ratio = match value {
            Value::Text(text) => text.split_once(':').and_then(|(down, up)| Some(Ratio { down: part(down)?, up: part(up)? })),
            _ => None,
        };
        ratio.ok_or_else(|| Invalid::value(value, RATIO))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        format!("{}:{}", self.down, self.up).into()
    }

    fn unit() -> &'static str {
        "ratio"
    }

    fn limits(_: &Bounds) -> String {
        RATIO.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("type", "string".into()), ("pattern", r"^\s*\d{1,4}\s*:\s*\d{1,4}\s*$".into())])
    }
}

/// ARQ: a lost block is retransmitted after `timer`, `attempts` transmissions in all (IEEE
/// 802.16-2004, 6.3.4).
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = Arq::check)]
pub struct Arq {
    /// Size of a block.
    #[key(default = "64 B")]
    pub block: Bytes,
    /// Blocks in flight.
    #[key(default = 1024, unit = "blocks", allowed = "a window from 1 to 1024 blocks")]
    pub window: Count,
    /// Time after which a lost block is retransmitted.
    #[key(default = "20 ms")]
    pub timer: Duration,
    /// Transmissions of a block.
    #[key(default = 8, unit = "transmissions")]
    pub attempts: Count,
}

impl Arq {
    fn example() -> Value {
        Value::table([("block", "64 B".into())])
    }

    fn check(&self) -> Read<()> {
        self.block.check_32_bits("block")
    }

    fn config(&self, frame: Span) -> ArqConfig {
        let timer = frames(self.timer, frame);
        ArqConfig { block: self.block.to_u32(), window: self.window.0, timer, attempts: self.attempts.0 }
    }
}

/// HARQ: a damaged burst is retransmitted after `feedback`, `attempts` transmissions in all (IEEE
/// 802.16e-2005, 6.3.17).
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Harq {
    /// Transmissions of a burst.
    #[key(default = 4, unit = "transmissions")]
    pub attempts: Count,
    /// Time after which a damaged burst is retransmitted.
    #[key(default = "10 ms")]
    pub feedback: Duration,
}

impl Harq {
    fn example() -> Value {
        Value::table([("attempts", 4.into())])
    }

    fn config(&self, frame: Span) -> HarqConfig {
        HarqConfig { attempts: self.attempts.0, feedback: frames(self.feedback, frame) }
    }
}

/// A cell.
///
/// Defaults are those of fixed 802.16 OFDM; `phy = "ofdma"` selects those of mobile 802.16.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(
    kind = "wimax",
    plan = Wimax::plan_json,
    check = Wimax::check,
    derived = Wimax::derived,
    written = Wimax::written_keys
)]
pub struct Wimax {
    /// The keys of stations that have none of their own.
    #[key(flatten)]
    pub station: Station,
    /// An 802.16 cell: a base station and its stations on one TDD channel.
    #[key(kind)]
    pub kind: Kind,
    /// Bandwidth of the channel.
    #[key(example = "7 MHz")]
    pub channel: ChannelWidth,
    /// `ofdm`: fixed 802.16; `ofdma`: mobile 802.16.
    #[key(default = "ofdm")]
    pub phy: Phy,
    /// Subcarriers of OFDMA (OFDM has 256).
    #[key(default = 1024, unit = "subcarriers", allowed = "128, 512, 1024 or 2048")]
    pub fft: Count,
    /// Cyclic prefix, as a part of the symbol.
    #[key(example = "1/16", absent = "1/8")]
    pub cyclic_prefix: Option<CyclicPrefix>,
    /// Duration of a frame.
    #[key(default = "5 ms")]
    pub frame: Duration,
    /// Ratio of the downlink's to the uplink's part of the frame.
    #[key(example = "3:1", absent = "3:1")]
    pub dl_ul: Option<Ratio>,
    /// Symbols of the downlink and the uplink, in place of `dl_ul`.
    #[key(
        example = pair(27, 15),
        absent = "from `dl_ul`",
        unit = "symbols",
        min = 1,
        max = 9999,
        allowed = "symbols down and up, such as [27, 15]"
    )]
    pub symbols: Option<Pair<false>>,
    /// Gap between downlink and uplink.
    #[key(example = "5 us", absent = "ofdm 5, ofdma 105.7 us")]
    pub ttg: Option<Time>,
    /// Gap between uplink and the next downlink.
    #[key(example = "5 us", absent = "ofdm 5, ofdma 60 us")]
    pub rtg: Option<Time>,
    /// Symbols before the downlink's data.
    #[key(example = 3, absent = "ofdm 3, ofdma 1", unit = "symbols", min = 0, allowed = "a whole number, 0 or more")]
    pub preamble: Option<Count>,
    /// Modulation of the maps.
    #[key(example = "16qam-1/2", absent = "ofdm 16qam-1/2, ofdma qpsk-1/2")]
    pub map_modulation: Option<Modulation>,
    /// Repetitions of the maps.
    #[key(example = 4, absent = "ofdm 1, ofdma 4", unit = "repetitions")]
    pub map_repetition: Option<Count>,
    /// Symbols before each burst of the uplink.
    #[key(example = 1, absent = "ofdm 1, ofdma 0", unit = "symbols", min = 0, allowed = "a whole number, 0 or more")]
    pub burst_gap: Option<Count>,
    /// Symbols of a preamble of each burst of the uplink.
    #[key(default = 0, example = 1, unit = "symbols", min = 0, allowed = "a whole number, 0 or more")]
    pub uplink_preamble: Count,
    /// Each PDU has a CRC of 4 B.
    #[key(default = true)]
    pub crc: bool,
    /// Opportunities for requests in each frame.
    #[key(default = 5, unit = "opportunities", min = 0, allowed = "a whole number, 0 or more")]
    pub contention: Count,
    /// What an opportunity costs (ofdm): a request of two symbols, or whole or packed opportunities
    /// of ranging and requests.
    #[key(default = "request-only")]
    pub contention_layout: ContentionLayout,
    /// Modulation of `whole` and `fractional` opportunities.
    #[key(default = "bpsk-1/2")]
    pub contention_modulation: Modulation,
    /// Columns of three symbols for contention (ofdma).
    #[key(default = 1, unit = "columns", min = 0, allowed = "a whole number, 0 or more")]
    pub contention_columns: Count,
    /// Powers of two of the minimum and maximum back-off window.
    #[key(default = pair(2, 6), unit = "exponents", min = 0, max = 9999, allowed = "two exponents, such as [2, 6]")]
    pub backoff: Pair<false>,
    /// Requests before the next packet is dropped.
    #[key(default = 16, unit = "requests")]
    pub request_tries: Count,
    /// Time without a grant after which a station requests once more.
    #[key(default = "100 ms")]
    pub t16: Duration,
    /// Frames from a request until its grant.
    #[key(default = 2, unit = "frames")]
    pub grant_frames: Count,
    /// Data carries the request for what still waits.
    #[key(default = true)]
    pub piggyback: bool,
    /// Minimum size of a grant; later packets may use the rest.
    #[key(example = "100 B", absent = "0 B", former = "least_grant")]
    pub min_grant: Option<Bytes>,
    /// A grant may carry several packets.
    #[key(default = true)]
    pub bundling: bool,
    /// How stations request: as IEEE 802.16 has it, or as NIST's module for ns-2 was released or with
    /// its bookkeeping corrected (docs/models/wimax.md).
    #[key(default = "802.16")]
    pub requests: Requests,
    /// Retransmission of blocks; not with `harq`.
    #[key(example = Arq::example())]
    pub arq: Option<Arq>,
    /// Retransmission of bursts; not with `arq`.
    #[key(example = Harq::example())]
    pub harq: Option<Harq>,
    /// Clients change between cells.
    #[key(example = Roaming::example())]
    pub handover: Option<Roaming>,
    /// A client's own keys: modulation, error, ssi, fading, signal_loss, amc, service, caps. Clients
    /// after the list have the cell's.
    #[key(
        default = Vec::new(),
        absent = "all alike",
        example = Station::example(),
        allowed = "a list of stations' own keys"
    )]
    pub stations: Vec<Station>,
    /// Further connections of every station, at most 8; the first whose traffic matches a packet
    /// carries it.
    #[key(
        default = Vec::new(),
        absent = "none",
        example = Connection::example(),
        allowed = "a list of connections, each with traffic and service"
    )]
    pub connections: Vec<Connection>,
}

/// The values that absent keys have by PHY.
struct PhyDefaults {
    ttg: Span,
    rtg: Span,
    preamble: u32,
    map_modulation: &'static str,
    map_repetition: u32,
    burst_gap: u32,
}

/// 10 physical slots at 7 MHz.
const OF_OFDM: PhyDefaults = PhyDefaults {
    ttg: Span::from_us(5),
    rtg: Span::from_us(5),
    preamble: 3,
    map_modulation: "16qam-1/2",
    map_repetition: 1,
    burst_gap: 1,
};
/// The profile of 10 MHz.
const OF_OFDMA: PhyDefaults = PhyDefaults {
    ttg: Span::from_ns(105_700),
    rtg: Span::from_us(60),
    preamble: 1,
    map_modulation: "qpsk-1/2",
    map_repetition: 4,
    burst_gap: 0,
};

const OFDM_FFT: u32 = 256;
/// The modulation of a cell without the key.
const MODULATION: &str = "64qam-3/4";

impl Wimax {
    fn check(&self) -> Read<()> {
        if self.dl_ul.is_some() && self.symbols.is_some() {
            return Err(excluded("dl_ul and symbols both divide the frame", "symbols"));
        }
        if self.arq.is_some() && self.harq.is_some() {
            return Err(excluded("arq and harq exclude each other", "harq"));
        }
        if self.handover.is_some() && !self.connections.is_empty() {
            return Err(excluded("handover and connections exclude each other", "connections"));
        }
        let (name, set): (_, &[Mcs]) = if self.phy == Phy::Ofdm { ("ofdm", &OFDM) } else { ("ofdma", &OFDMA) };
        let of_station = self.station.modulation.iter().flat_map(|sides| sides.directions()).map(|found| ("modulation", found));
        for (key, Modulation(found)) in of_station.chain(self.map_modulation.map(|found| ("map_modulation", found))) {
            if !set.iter().any(|mcs| mcs.name == found) {
                let names: Vec<&str> = set.iter().map(|mcs| mcs.name).collect();
                let allowed = format!("one of {name}'s: {}", names.join(", "));
                return Err(Invalid::new(format_value(&found.into()), allowed).at(key));
            }
        }
        for station in self.stations() {
            station.check_signal()?;
        }
        self.min_grant.map_or(Ok(()), |size| size.check_32_bits("min_grant"))?;
        let capacity = self.cell().nominal_bps();
        capacity.map(|_| ()).map_err(|found| Invalid::new(found, "a cell in which every direction has room for data"))
    }

    /// The keys as a file has them, without `fft` for OFDM: it has 256 subcarriers.
    fn written_keys(&self, mut written: Vec<(String, Value)>) -> Vec<(String, Value)> {
        written.retain(|(key, _)| key != "fft" || self.phy == Phy::Ofdma);
        written
    }

    /// The stations of the list; stations beyond its end have the cell's values.
    fn stations(&self) -> Vec<Station> {
        let listed = self.stations.iter().map(|station| station.over(&self.station));
        listed.chain([self.station.clone()]).collect()
    }

    fn split(&self) -> Split {
        match (self.symbols, self.dl_ul) {
            (Some(Pair([down, up])), _) => Split::Symbols { down, up },
            (None, Some(Ratio { down, up })) => Split::Ratio { down, up },
            (None, None) => Split::Ratio { down: 3, up: 1 },
        }
    }

    fn layout(&self) -> LayoutPlan {
        let modulation = self.contention_modulation.0.to_owned();
        match (self.phy, self.contention_layout) {
            (Phy::Ofdma, _) => LayoutPlan::Columns { columns: self.contention_columns.0 },
            (Phy::Ofdm, ContentionLayout::RequestOnly) => LayoutPlan::RequestOnly {},
            (Phy::Ofdm, ContentionLayout::Whole) => LayoutPlan::Whole { modulation },
            (Phy::Ofdm, ContentionLayout::Fractional) => LayoutPlan::Fractional { modulation },
        }
    }

    /// The cell as a plan has it.
    fn cell(&self) -> WimaxPlan {
        let usual = if self.phy == Phy::Ofdm { &OF_OFDM } else { &OF_OFDMA };
        let frame = self.frame.0;
        let arq = self.arq.as_ref().map(|arq| RetransmissionMode::Arq(arq.config(frame)));
        let repair = arq.or_else(|| self.harq.as_ref().map(|harq| RetransmissionMode::Harq(harq.config(frame))));
        WimaxPlan {
            fft: if self.phy == Phy::Ofdm { OFDM_FFT } else { self.fft.0 },
            channel_hz: self.channel.hz,
            prefix: match self.cyclic_prefix {
                Some(CyclicPrefix::Quarter) => 4,
                Some(CyclicPrefix::Eighth) | None => 8,
                Some(CyclicPrefix::Sixteenth) => 16,
                Some(CyclicPrefix::ThirtySecond) => 32,
            },
            frame,
            ttg: self.ttg.map_or(usual.ttg, |gap| gap.0),
            rtg: self.rtg.map_or(usual.rtg, |gap| gap.0),
            split: self.split(),
            preamble: self.preamble.map_or(usual.preamble, |symbols| symbols.0),
            map_modulation: self.map_modulation.map_or(usual.map_modulation, |modulation| modulation.0).to_owned(),
            map_repetition: self.map_repetition.map_or(usual.map_repetition, |repetitions| repetitions.0),
            burst_gap: self.burst_gap.map_or(usual.burst_gap, |symbols| symbols.0),
            uplink_preamble: self.uplink_preamble.0,
            crc: self.crc,
            contention: ContentionPlan {
                opportunities: self.contention.0,
                layout: self.layout(),
                backoff: self.backoff.0,
                tries: self.request_tries.0,
            },
            grant_frames: self.grant_frames.0.into(),
            patience_frames: frames(self.t16, frame),
            piggyback: self.piggyback,
            min_grant_bytes: self.min_grant.map_or(0, Bytes::to_u32),
            bundling: self.bundling,
            requests: match self.requests {
                Requests::Standard => RequestRule::Standard,
                Requests::NistReleased => RequestRule::NistReleased,
                Requests::NistCorrected => RequestRule::NistCorrected,
            },
            repair: [repair, repair],
            stations: self.stations().iter().map(|station| station.plan(MODULATION, frame)).collect(),
            connections: self.connections.iter().map(|connection| connection.config(frame)).collect(),
        }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(MediumPlan::Wimax(Box::new(self.cell())))
    }

    /// That of a single station, headers included.
    pub(super) fn nominal_bps(&self) -> [u64; 2] {
        self.cell().nominal_bps().unwrap_or_default()
    }

    fn derived(&self, name: &str) -> Option<Attribute> {
        nominal_attribute(name, || self.nominal_bps())
    }
}

/// The error about two keys of which one is possible.
fn excluded(statement: &str, key: &str) -> Invalid {
    Invalid::problem(statement, "leave one of them out").at(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Checked;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Wimax> {
        let Value::Table(mut table) = Value::table(keys) else { unreachable!("a table") };
        table.extend([("channel".to_owned(), "7 MHz".into())]);
        Wimax::read(&Value::Table(table), &Bounds::NONE)
    }

    #[test]
    fn channel_is_a_whole_number_of_hertz_from_1_to_100_mhz() {
        for (text, hz) in [("7 MHz", Some(7_000_000)), (" 8.75MHz ", Some(8_750_000)), ("0.1 GHz", Some(100_000_000))] {
            assert_eq!(ChannelWidth::read(&text.into(), &Bounds::NONE).map(|width| width.hz).ok(), hz, "{text}");
        }
        for text in ["7", "100.1 MHz", "999 kHz", "1.0000001 MHz", "1. MHz", ".5 GHz", "1234567890 kHz"] {
            assert!(ChannelWidth::read(&text.into(), &Bounds::NONE).is_err(), "{text}");
        }
    }

    #[test]
    fn ratio_is_written_without_leading_zeros() {
        assert_eq!(Ratio::read(&" 02 : 1".into(), &Bounds::NONE).map(|ratio| ratio.write(None)), Ok("2:1".into()));
        for text in ["3", "0:1", "3:", "12345:1", "1:1:1"] {
            assert!(Ratio::read(&text.into(), &Bounds::NONE).is_err(), "{text}");
        }
    }

    #[test]
    fn cell_has_the_keys_of_a_station_and_its_own() {
        let cell = read([("error", 0.5.into()), ("stations", vec![Value::table([("ssi", 3.into())])].into())]).expect("a cell");
        let plan = cell.plan_json();
        assert_eq!(plan["stations"][0]["modulation"]["up"], "16qam-3/4");
        assert_eq!(plan["stations"][1]["error"]["down"], 0.5);
        assert!(matches!(Checked::attribute(&cell, "error"), Some(Attribute::Value(Value::Float(0.5)))));
        assert_eq!((cell.write(None).get("fft"), plan["fft"].as_u64()), (None, Some(256)));
        let mobile = read([("phy", "ofdma".into())]).expect("a cell");
        assert_eq!(mobile.write(None).get("fft"), Some(&Value::Int(1024)));
    }

    #[test]
    fn modulation_is_one_of_the_phy() {
        let invalid = read([("modulation", "64qam-5/6".into())]).expect_err("of OFDMA");
        assert!(invalid.allowed.starts_with("one of ofdm's: bpsk-1/2, "), "{}", invalid.allowed);
        assert!(read([("phy", "ofdma".into()), ("map_modulation", "bpsk-1/2".into())]).is_err());
        assert!(read([("phy", "ofdma".into()), ("modulation", "64qam-5/6".into())]).is_ok());
    }

    #[test]
    fn keys_that_exclude_each_other_are_a_problem() {
        let both = read([("dl_ul", "3:1".into()), ("symbols", pair(27, 15))]).expect_err("two divisions");
        assert_eq!(
            (both.found.as_str(), both.allowed.as_str()),
            ("dl_ul and symbols both divide the frame", "leave one of them out")
        );
        let loss = read([("signal_loss", super::super::signal::Points::example())]).expect_err("no fading");
        assert_eq!(loss.found, "signal_loss without fading");
        let full = read([("contention", 70_000.into())]).expect_err("no room");
        assert_eq!(full.allowed, "a cell in which every direction has room for data");
    }
}
