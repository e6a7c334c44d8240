//! An 802.11 network: an access point and stations that contend for one channel
//! (docs/models/wlan.md).

use super::medium::nominal_attribute;
use super::roaming::Roaming;
use super::sides::FrameError;
use crate::controls::Number;
use crate::invalid::{Invalid, Read, format_value};
use crate::keys::{Attribute, Bounds, KeyValue, Kind};
use crate::schema::{self, Definitions};
use crate::units::Quantity;
use crate::value::Value;
use crate::values::{BitRate, Bytes, Count, Duration, Pair, Size, Time, size_text};
use crate::{Keys, word_enum};
use ackclock_core::medium::wlan::{AmpduConfig, Format};
use ackclock_core::medium::{MediumPlan, WlanConfig};
use ackclock_core::units::{Rate, Span};
use serde_json::json;

word_enum! {
    /// A standard of the network.
    pub enum WlanStandard {
        B = "802.11b",
        G = "802.11g",
        N = "802.11n",
        Ac = "802.11ac",
    }
}

word_enum! {
    /// Preamble and header of 802.11b.
    pub enum Preamble {
        /// 144 + 48 bits at 1 Mb/s.
        Long = "long",
        /// 72 bits at 1 and 48 at 2 Mb/s.
        Short = "short",
        /// 72 + 48 bits at 1 Mb/s, as ns-2 with a preamble of 72.
        Bits72 = "72-bit",
    }
}

impl Preamble {
    fn time(self) -> Span {
        Span::from_us(match self {
            Preamble::Long => 192,
            Preamble::Short => 96,
            Preamble::Bits72 => 120,
        })
    }
}

word_enum! {
    /// Guard interval of an OFDM symbol.
    pub enum GuardInterval {
        Short = "400 ns",
        Long = "800 ns",
    }
}

word_enum! {
    /// The queues of the access point.
    pub enum ApQueue {
        PerClient = "per-client",
        Shared = "shared",
    }
}

/// A standard's constants; rates in Mb/s, times in microseconds, sizes in bytes. IEEE 802.11-2012,
/// tables 16-2, 17-5, 18-17, 19-8, 20-25.
struct Standard {
    rate: u64,
    basic_rate: u64,
    lowest_rate: u64,
    slot: u64,
    sifs: u64,
    difs: u64,
    cw: [u32; 2],
    preamble: u64,
    control_preamble: u64,
    has_symbols: bool,
    extension: u64,
    header: u32,
    /// Bytes of an A-MPDU; 0: the standard has none.
    aggregate: u32,
}

/// DSSS and CCK; DIFS = SIFS + 2 slots. 28 bytes of MAC header and FCS, 8 of LLC/SNAP.
const B: Standard = Standard {
    rate: 11,
    basic_rate: 1,
    lowest_rate: 1,
    slot: 20,
    sifs: 10,
    difs: 50,
    cw: [31, 1023],
    preamble: 192,
    control_preamble: 192,
    has_symbols: false,
    extension: 0,
    header: 36,
    aggregate: 0,
};
/// ERP-OFDM without stations of 802.11b, so with the short slot.
const G: Standard = Standard {
    rate: 54,
    basic_rate: 24,
    lowest_rate: 6,
    slot: 9,
    difs: 28,
    cw: [15, 1023],
    preamble: 20,
    control_preamble: 20,
    has_symbols: true,
    extension: 6,
    ..B
};
/// HT mixed format at 5 GHz, one stream, 20 MHz, long guard interval; AIFS of best effort; QoS MAC
/// header.
const N: Standard = Standard { rate: 65, sifs: 16, difs: 43, preamble: 36, extension: 0, header: 38, aggregate: 65_535, ..G };
/// VHT, one stream, 80 MHz, long guard interval.
const AC: Standard = Standard { rate: 390, preamble: 40, aggregate: 1_048_575, ..N };

const MBPS: u64 = 1_000_000;
/// Useful part of an OFDM symbol.
const USEFUL_SYMBOL: Span = Span::from_ns(3200);
const ACK_BYTES: u32 = 14;
const MAX_HEADER: u64 = 1000;
/// Packet size of the nominal rate, in bytes.
const PACKET: u16 = 1500;

/// A-MPDU: aggregation of frames to one receiver (IEEE 802.11-2012, 9.12).
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Aggregate {
    /// Frames in an A-MPDU.
    #[key(default = 64, unit = "frames", max = 1024, beyond = "1 to 1024 frames")]
    pub frames: Count,
    /// Bytes in an A-MPDU.
    #[key(example = "65535 B", absent = "802.11n 65535, ac 1048575 B")]
    pub bytes: Option<Bytes>,
    /// Time of an A-MPDU on the air.
    #[key(default = "5.484 ms", example = "5484 us")]
    pub time: Duration,
}

impl Aggregate {
    fn example() -> Value {
        Value::table([("frames", 32.into())])
    }
}

/// A network. Defaults are the standard's.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "wlan", plan = Wlan::plan_json, check = Wlan::check, derived = Wlan::derived)]
pub struct Wlan {
    /// An 802.11 access point and its stations, which contend for one channel.
    #[key(kind)]
    pub kind: Kind,
    /// The standard whose values the other keys have by default.
    #[key(default = "802.11b", example = "802.11n")]
    pub standard: WlanStandard,
    /// Rate of data frames.
    #[key(example = "65 Mb/s", absent = "802.11b 11, g 54, n 65, ac 390 Mb/s")]
    pub rate: Option<BitRate>,
    /// Rate of control frames.
    #[key(example = "24 Mb/s", absent = "802.11b 1, others 24 Mb/s")]
    pub basic_rate: Option<BitRate>,
    /// Preamble, with 802.11b only.
    #[key(example = "short", absent = "long with 802.11b")]
    pub preamble: Option<Preamble>,
    /// Guard interval of an OFDM symbol.
    #[key(default = "800 ns", example = "400 ns")]
    pub guard_interval: GuardInterval,
    /// Spatial streams, 1 before 802.11n. They lengthen the preamble; `rate` has the rate.
    #[key(default = 1, example = 2, unit = "streams", allowed = "1 to 4 spatial streams")]
    pub streams: Count,
    /// Slot time.
    #[key(example = "9 us", absent = "802.11b 20, others 9 us")]
    pub slot: Option<Duration>,
    /// Short interframe space.
    #[key(example = "16 us", absent = "802.11b, g 10, n, ac 16 us")]
    pub sifs: Option<Time>,
    /// DCF interframe space (from 802.11n on AIFS of best effort).
    #[key(example = "43 us", absent = "802.11b 50, g 28, n, ac 43 us")]
    pub difs: Option<Time>,
    /// Space after a damaged frame.
    #[key(example = "364 us", absent = "SIFS + an ACK at the lowest rate + DIFS")]
    pub eifs: Option<Time>,
    /// Minimum and maximum contention window.
    #[key(
        example = crate::values::pair(15, 1023),
        absent = "802.11b [31, 1023], others [15, 1023]",
        unit = "slots",
        min = 1,
        max = 32767,
        allowed = "CWmin and CWmax in slots from 1 to 32767, such as [31, 1023]"
    )]
    pub cw: Option<Pair<true>>,
    /// MAC header, FCS and LLC/SNAP of a frame.
    #[key(example = "38 B", absent = "802.11b, g 36, n, ac 38 B")]
    pub header: Option<Bytes>,
    /// Frames longer than this are preceded by RTS and CTS.
    #[key(example = "500 B", unit = "size, or never", absent = "never")]
    pub rts_threshold: RtsThreshold,
    /// Transmissions of an RTS, or of a frame without one.
    #[key(default = 7, unit = "transmissions")]
    pub short_retries: Count,
    /// Transmissions of a frame that is preceded by an RTS.
    #[key(default = 4, unit = "transmissions")]
    pub long_retries: Count,
    /// Limits of an A-MPDU, with 802.11n and ac, which always aggregate.
    #[key(example = Aggregate::example(), absent = "64 frames, the standard's maximum bytes, 5.484 ms")]
    pub aggregate: Option<Aggregate>,
    /// Share of damaged data frames: one number, or one for each direction.
    #[key(default = FrameError::none(), example = 0.1, unit = "share")]
    pub frame_error: FrameError,
    /// Clients change between cells.
    #[key(example = Roaming::example())]
    pub handover: Option<Roaming>,
    /// The access point has a queue for each client, or one for all.
    #[key(default = "per-client", example = "shared")]
    pub ap_queue: ApQueue,
}

/// Frame size above which RTS and CTS precede a frame; none: never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtsThreshold(pub Option<Size>);

const NEVER: &str = "never";

impl KeyValue for RtsThreshold {
    const OPTIONAL: bool = true;

    fn read(value: &Value, bounds: &Bounds) -> Read<RtsThreshold> {
        match value {
            Value::Absent => Ok(RtsThreshold(None)),
            Value::Text(word) if word == NEVER => Ok(RtsThreshold(None)),
            _ => Size::read(value, bounds).map(|size| RtsThreshold(Some(size))),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.map_or(Value::Absent, |size| size.write(None))
    }

    fn attribute(&self) -> Attribute {
        self.0.attribute()
    }

    fn unit() -> &'static str {
        "size"
    }

    fn limits(bounds: &Bounds) -> String {
        Size::limits(bounds)
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::either(vec![schema::words(&[NEVER]), schema::quantity(Quantity::Size.units())])
    }

    fn number(bounds: &Bounds) -> Option<Number> {
        Size::number(bounds)
    }

    fn absent() -> Option<RtsThreshold> {
        Some(RtsThreshold(None))
    }
}

impl Wlan {
    fn standard(&self) -> &'static Standard {
        match self.standard {
            WlanStandard::B => &B,
            WlanStandard::G => &G,
            WlanStandard::N => &N,
            WlanStandard::Ac => &AC,
        }
    }

    fn check(&self) -> Read<()> {
        let (standard, name) = (self.standard(), self.standard.write(None));
        if let Some(preamble) = self.preamble.filter(|_| self.standard != WlanStandard::B) {
            return Err(Invalid::value(&preamble.write(None), "a preamble only with 802.11b").at("preamble"));
        }
        let name = if let Value::Text(name) = name { name } else { String::new() };
        if self.aggregate.is_some() && standard.aggregate == 0 {
            return Err(Invalid::new(name, "aggregates only with 802.11n and 802.11ac").at("aggregate"));
        }
        if self.streams.0 > 4 || (self.streams.0 > 1 && standard.aggregate == 0) {
            let found = format_value(&self.streams.write(None));
            return Err(Invalid::new(found, "1 to 4 spatial streams, and 1 before 802.11n").at("streams"));
        }
        let bytes = self.aggregate.as_ref().and_then(|aggregate| aggregate.bytes);
        if let Some(bytes) = bytes.filter(|bytes| bytes.0 > standard.aggregate.into()) {
            let allowed = format!("at most {} with {name}", size_text(standard.aggregate));
            return Err(Invalid::new(size_text(bytes.0), allowed).at("bytes").at("aggregate"));
        }
        if self.handover.is_some() && self.ap_queue == ApQueue::Shared {
            let allowed = "only one of them: a queue for all does not change cells";
            return Err(Invalid::new("ap_queue = \"shared\" and handover", allowed).at("ap_queue"));
        }
        if let Some(header) = self.header.filter(|header| header.0 > MAX_HEADER) {
            return Err(Invalid::new(size_text(header.0), format!("a header of at most {MAX_HEADER} B")).at("header"));
        }
        match self.rts_threshold.0 {
            Some(size) if size.0 > 0 => Bytes(size.0).check_32_bits("rts_threshold"),
            _ => Ok(()),
        }
    }

    fn preamble(&self, of_symbols: u64) -> Span {
        if self.standard().has_symbols { Span::from_us(of_symbols) } else { self.preamble.unwrap_or(Preamble::Long).time() }
    }

    fn data(&self) -> Format {
        let standard = self.standard();
        let guard = Span::from_ns(if self.guard_interval == GuardInterval::Short { 400 } else { 800 });
        // A long training field of 4 us for each further stream; three streams need four.
        let training = match self.streams.0 {
            1 => 0,
            2 => 4,
            _ => 12,
        };
        Format {
            rate: Rate::from_bps(self.rate.map_or(standard.rate * MBPS, |rate| rate.0)),
            preamble: self.preamble(standard.preamble + training),
            symbol: if standard.has_symbols { USEFUL_SYMBOL + guard } else { Span::ZERO },
            extension: Span::from_us(standard.extension),
        }
    }

    fn control(&self, bps: u64) -> Format {
        let standard = self.standard();
        Format {
            rate: Rate::from_bps(bps),
            preamble: self.preamble(standard.control_preamble),
            symbol: if standard.has_symbols { Span::from_us(4) } else { Span::ZERO },
            extension: Span::from_us(standard.extension),
        }
    }

    fn config(&self) -> WlanConfig {
        let standard = self.standard();
        let sifs = self.sifs.map_or(Span::from_us(standard.sifs), |sifs| sifs.0);
        let difs = self.difs.map_or(Span::from_us(standard.difs), |difs| difs.0);
        // EIFS is SIFS, an ACK at the lowest rate and DIFS (IEEE 802.11-2012, 9.3.7).
        let slowest_ack = self.control(standard.lowest_rate * MBPS).air(ACK_BYTES);
        let limits = self.aggregate.as_ref();
        WlanConfig {
            slot: self.slot.map_or(Span::from_us(standard.slot), |slot| slot.0),
            sifs,
            difs,
            eifs: self.eifs.map_or(sifs + slowest_ack + difs, |eifs| eifs.0),
            cw: self.cw.map_or(standard.cw, |cw| cw.0),
            data: self.data(),
            control: self.control(self.basic_rate.map_or(standard.basic_rate * MBPS, |rate| rate.0)),
            header: self.header.map_or(standard.header, Bytes::to_u32),
            rts_threshold: self.rts_threshold.0.map(|size| Bytes(size.0).to_u32()),
            short_retries: self.short_retries.0,
            long_retries: self.long_retries.0,
            aggregate: (standard.aggregate > 0).then(|| AmpduConfig {
                frames: limits.map_or(64, |limits| limits.frames.0),
                bytes: limits.and_then(|limits| limits.bytes).map_or(standard.aggregate, Bytes::to_u32),
                air: limits.map_or(Span::from_us(5484), |limits| limits.time.0),
            }),
            shared_queue: self.ap_queue == ApQueue::Shared,
            frame_error: self.frame_error.shares(),
        }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(MediumPlan::Wlan(Box::new(self.config())))
    }

    pub(super) fn nominal_bps(&self) -> [u64; 2] {
        [self.config().nominal_bps(PACKET); 2]
    }

    fn derived(&self, name: &str) -> Option<Attribute> {
        nominal_attribute(name, || self.nominal_bps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Wlan> {
        Wlan::read(&Value::table(keys), &Bounds::NONE)
    }

    #[test]
    fn eifs_has_an_ack_at_the_lowest_rate() {
        // 802.11b: 10 + 192 + 112 + 50 us; 802.11g: 10 + 20 + 6 symbols of 4 us + 6 + 28 us.
        for (standard, us) in [("802.11b", 364), ("802.11g", 88)] {
            assert_eq!(read([("standard", standard.into())]).expect("a network").config().eifs, Span::from_us(us));
        }
    }

    #[test]
    fn keys_of_another_standard_are_refused() {
        for (key, value, allowed) in [
            ("preamble", "short".into(), "a preamble only with 802.11b"),
            ("aggregate", Value::Table(Vec::new()), "aggregates only with 802.11n and 802.11ac"),
            ("streams", 2.into(), "1 to 4 spatial streams, and 1 before 802.11n"),
        ] {
            let invalid = read([("standard", "802.11g".into()), (key, value)]).expect_err(key);
            assert_eq!((invalid.allowed.as_str(), invalid.path.len()), (allowed, 1));
        }
        let bytes =
            read([("standard", "802.11n".into()), ("aggregate", [("bytes", "70 kB".into())].into())]).expect_err("too long");
        assert_eq!(bytes.allowed, "at most 65535 B with 802.11n");
    }

    #[test]
    fn rts_threshold_is_a_size_or_never() {
        assert_eq!(read([("rts_threshold", "never".into())]).expect("never").rts_threshold, RtsThreshold(None));
        assert_eq!(read([("rts_threshold", "0 B".into())]).expect("always").config().rts_threshold, Some(0));
        assert!(read([("rts_threshold", "nevr".into())]).is_err());
    }
}
