//! Keys of a station of an 802.16 cell: modulation, errors, channel, QoS class, rate limits.

use super::sides::Sides;
use super::signal::{Fading, Points};
use crate::invalid::{Invalid, Read};
use crate::keys::{Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::{BitRate, Bytes, Count, Duration, Share, read_word};
use crate::{Keys, word_enum, words};
use ackclock_core::medium::Direction;
use ackclock_core::medium::wimax::ConnectionConfig;
use ackclock_core::medium::wimax::amc::AmcConfig;
use ackclock_core::medium::wimax::mcs::{OFDM, OFDMA};
use ackclock_core::medium::wimax::plan::{SignalLossPlan, StationPlan};
use ackclock_core::medium::wimax::qos_class::{QosClass, ServiceFlow};
use ackclock_core::medium::wimax::rate_limit::{Excess, RateLimitConfig, TrafficFilter};
use ackclock_core::units::Span;

words!(QosClass {
    "ugs" => QosClass::Ugs,
    "ertps" => QosClass::Ertps,
    "rtps" => QosClass::Rtps,
    "nrtps" => QosClass::Nrtps,
    "be" => QosClass::BestEffort,
});
words!(TrafficFilter { "all" => TrafficFilter::All, "tcp" => TrafficFilter::Tcp, "udp" => TrafficFilter::Udp });
words!(Direction { "down" => Direction::Down, "up" => Direction::Up });

word_enum! {
    /// The traffic of a connection.
    pub enum ConnectionTraffic {
        Tcp = "tcp",
        Udp = "udp",
    }
}

/// The name of a modulation with its code rate, of any PHY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulation(pub &'static str);

impl Modulation {
    /// Those of OFDM, then those of OFDMA alone.
    fn all() -> Vec<&'static str> {
        let mut names: Vec<&str> = OFDM.iter().map(|mcs| mcs.name).collect();
        names.extend(OFDMA.iter().map(|mcs| mcs.name).filter(|name| !OFDM.iter().any(|mcs| mcs.name == *name)));
        names
    }
}

impl KeyValue for Modulation {
    fn read(value: &Value, _: &Bounds) -> Read<Modulation> {
        let words: Vec<_> = Modulation::all().into_iter().map(|name| (name, Modulation(name))).collect();
        read_word(value, &words)
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.into()
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        Modulation::all().iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::words(&Modulation::all())
    }
}

/// A modem's signal LEDs: what they say about its radio.
struct SignalStrength {
    /// Our assumption.
    modulation: &'static str,
    /// Share of a cap, down and up, from Figure 3 of `wimax-measured`.
    shares: [f64; 2],
}

/// By the number of lights, from one on.
const SSI: [SignalStrength; 5] = [
    SignalStrength { modulation: "qpsk-3/4", shares: [0.78, 0.88] },
    SignalStrength { modulation: "16qam-1/2", shares: [1.0, 0.88] },
    SignalStrength { modulation: "16qam-3/4", shares: [1.0, 1.0] },
    SignalStrength { modulation: "64qam-2/3", shares: [1.0, 1.0] },
    SignalStrength { modulation: "64qam-3/4", shares: [1.0, 1.0] },
];

/// Adaptive modulation.
///
/// The error rate is `error` at a modulation's threshold and a tenth of it `decade` dB above.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Amc {
    /// How far above its threshold a higher modulation is chosen.
    #[key(default = 1.0, example = 1.0, unit = "dB", min = 0, max = 200, allowed = "decibels from 0 to 200")]
    pub hysteresis: f64,
    /// From a change of the signal until the modulation follows.
    #[key(default = "10 ms")]
    pub delay: Duration,
    /// The uplink's quality minus the downlink's.
    #[key(default = 0.0, example = 0.0, unit = "dB", min = -200, max = 200, allowed = "decibels from -200 to 200")]
    pub up_offset: f64,
    /// Above a threshold the error rate falls to a tenth in this many dB.
    #[key(default = 2.0, example = 2.0, unit = "dB", above = 0, max = 200, allowed = "decibels above 0, to 200")]
    pub decade: f64,
}

impl Amc {
    fn example() -> Value {
        Value::table([("hysteresis", 1.0.into())])
    }
}

/// A scheduling class; `interval` between fixed grants or polls, `bytes` of a fixed grant.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = Service::check)]
pub struct Service {
    /// Unsolicited grants, extended and real-time polls, non-real-time, best effort.
    #[key(default = "be")]
    pub kind: QosClass,
    /// Between fixed grants (ugs, ertps) or polls (rtps).
    #[key(example = "20 ms")]
    pub interval: Option<Duration>,
    /// Size of a fixed grant (ugs, ertps).
    #[key(example = "200 B")]
    pub bytes: Option<Bytes>,
}

impl Service {
    fn polled() -> Value {
        Value::table([("kind", "rtps".into()), ("interval", "20 ms".into())])
    }

    pub(super) fn granted() -> Value {
        Value::table([("kind", "ugs".into()), ("interval", "20 ms".into()), ("bytes", "200 B".into())])
    }

    fn check(&self) -> Read<()> {
        let has_grants = matches!(self.kind, QosClass::Ugs | QosClass::Ertps);
        let allowed = if has_grants && (self.interval.is_none() || self.bytes.is_none()) {
            "interval and bytes of its grants beside it"
        } else if self.kind == QosClass::Rtps && self.interval.is_none() {
            "the interval of its polls beside it"
        } else {
            return self.bytes.map_or(Ok(()), |bytes| bytes.check_32_bits("bytes"));
        };
        Err(Invalid::new(format!("kind = {}", self.kind.write(None).to_toml()), allowed))
    }

    /// `frame` is the cell's frame duration.
    fn config(&self, frame: Span) -> ServiceFlow {
        ServiceFlow {
            class: self.kind,
            interval: self.interval.map_or(0, |interval| frames(interval, frame)),
            bytes: self.bytes.map_or(0, Bytes::to_u32),
        }
    }
}

/// An additional connection of each station: its traffic and its scheduling class.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Connection {
    /// The packets that the connection carries.
    #[key(example = "udp")]
    pub traffic: ConnectionTraffic,
    /// Its scheduling class.
    #[key(example = Service::granted())]
    pub service: Service,
}

impl Connection {
    pub(super) fn example() -> Value {
        vec![Value::table([("traffic", "udp".into()), ("service", Service::granted())])].into()
    }

    pub(super) fn config(&self, frame: Span) -> ConnectionConfig {
        let traffic = match self.traffic {
            ConnectionTraffic::Tcp => TrafficFilter::Tcp,
            ConnectionTraffic::Udp => TrafficFilter::Udp,
        };
        ConnectionConfig { traffic, service: self.service.config(frame) }
    }
}

/// A token bucket's rate: `rate`, or a value drawn from `low` to `high` `every` so long.
///
/// What is too fast is dropped, or waits behind at most `buffer`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = Cap::check)]
pub struct Cap {
    /// Direction of the limit.
    #[key(example = "down")]
    pub direction: Direction,
    /// Packets under the limit.
    #[key(default = "all")]
    pub traffic: TrafficFilter,
    /// The rate; or `low` and `high`.
    #[key(example = "3 Mb/s", absent = "from `low` and `high`")]
    pub rate: Option<BitRate>,
    /// Minimum of a rate that is drawn.
    #[key(example = "2 Mb/s")]
    pub low: Option<BitRate>,
    /// Maximum of a rate that is drawn.
    #[key(example = "4 Mb/s")]
    pub high: Option<BitRate>,
    /// How often a rate is drawn.
    #[key(default = "60 s")]
    pub every: Duration,
    /// Bytes that may pass above the rate.
    #[key(default = "3 kB", example = "3000 B")]
    pub burst: Bytes,
    /// Bytes that wait for the rate.
    #[key(example = "30 kB", absent = "none: excess traffic is dropped")]
    pub buffer: Option<Bytes>,
}

impl Cap {
    fn example() -> Value {
        vec![Value::table([("direction", "down".into()), ("rate", "3 Mb/s".into())])].into()
    }

    fn check(&self) -> Read<()> {
        let is_one = match self.rate {
            Some(_) => self.low.is_none() && self.high.is_none(),
            None => self.low.is_some() && self.high.is_some(),
        };
        if !is_one {
            return Err(Invalid::new("a cap", "either rate, or low and high").at("rate"));
        }
        match (self.low, self.high) {
            (Some(low), Some(high)) if low.0 > high.0 => Err(Invalid::new("low above high", "low up to high").at("low")),
            _ => Ok(()),
        }
    }

    /// With this share of the rate.
    fn config(&self, share: f64) -> RateLimitConfig {
        let bps = |given: Option<BitRate>| {
            let bps = self.rate.or(given).map_or(0, |rate| rate.0);
            ((bps as f64 * share).round_ties_even() as u64).max(1)
        };
        RateLimitConfig {
            traffic: self.traffic,
            low_bps: bps(self.low),
            high_bps: bps(self.high),
            every: self.every.0,
            burst: self.burst.0,
            excess: self.buffer.map_or(Excess::Police, |buffer| Excess::Shape { bytes: buffer.0 }),
        }
    }
}

/// Keys of one station; absent ones are the cell's.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Station {
    /// Modulation and code rate, in both or each direction; with `fading` the highest one.
    #[key(example = "64qam-3/4", absent = "64qam-3/4", allowed = "a modulation")]
    pub modulation: Option<Sides<Modulation>>,
    /// Share of damaged blocks or bursts, in both or each direction.
    #[key(example = 0.01, absent = 0, allowed = "a probability")]
    pub error: Option<Sides<Share>>,
    /// Lights of the modem in the paper `wimax-measured`: they set the modulation and the share of
    /// the caps.
    #[key(example = 4, unit = "lights", min = 1, max = 5, allowed = "a signal strength from 1 to 5")]
    pub ssi: Option<Count>,
    /// How the station's signal moves; the modulation follows it.
    #[key(example = Station::fading_example())]
    pub fading: Option<Fading>,
    /// Points of quality in dB and share lost, in both or each direction; needs `fading`.
    #[key(example = Points::example(), allowed = "a list of [decibels, share lost]")]
    pub signal_loss: Option<Sides<Points>>,
    /// How the modulation follows the signal.
    #[key(example = Amc::example(), absent = "the values below")]
    pub amc: Option<Amc>,
    /// Scheduling class of the station's connection.
    #[key(example = Service::polled(), absent = "best effort")]
    pub service: Option<Service>,
    /// Rate limits of the station, by token buckets.
    #[key(example = Cap::example(), unit = "tables", allowed = "a list of caps")]
    pub caps: Option<Vec<Cap>>,
}

/// Adaptive modulation of a cell without the table.
const AMC: (f64, Span, f64, f64) = (1.0, Span::from_ms(10), 0.0, 2.0);

impl Station {
    pub(super) fn example() -> Value {
        vec![Value::table([("modulation", "qpsk-1/2".into())])].into()
    }

    fn fading_example() -> Value {
        let ar1 = |mean: i64| [("kind", "ar1".into()), ("mean", mean.into()), ("sd", 5.into()), ("correlation", "1 s".into())];
        ar1(20).into()
    }

    /// This station's keys with the cell's for absent ones. Its signal strength determines its
    /// modulation before the cell's key does.
    pub(super) fn over(&self, cell: &Station) -> Station {
        let own = self.clone();
        let modulation = if self.ssi.is_some() { None } else { cell.modulation.clone() };
        Station {
            modulation: own.modulation.or(modulation),
            error: own.error.or_else(|| cell.error.clone()),
            ssi: own.ssi.or(cell.ssi),
            fading: own.fading.or_else(|| cell.fading.clone()),
            signal_loss: own.signal_loss.or_else(|| cell.signal_loss.clone()),
            amc: own.amc.or_else(|| cell.amc.clone()),
            service: own.service.or_else(|| cell.service.clone()),
            caps: own.caps.or_else(|| cell.caps.clone()),
        }
    }

    /// An error if a key needs another one.
    pub(super) fn check_signal(&self) -> Read<()> {
        if self.signal_loss.is_some() && self.fading.is_none() {
            let allowed = "fading beside it, which says how the signal moves";
            return Err(Invalid::new("signal_loss without fading", allowed).at("signal_loss"));
        }
        Ok(())
    }

    /// `default` is the modulation of a cell without one, `frame` its frame duration.
    pub(super) fn plan(&self, default: &'static str, frame: Span) -> StationPlan {
        let lights = self.ssi.map(|ssi| &SSI[(ssi.0 as usize).clamp(1, SSI.len()) - 1]);
        let usual = Modulation(lights.map_or(default, |lights| lights.modulation));
        let modulation = self.modulation.as_ref().map_or([usual; 2], Sides::directions);
        let [down, up] = lights.map_or([1.0; 2], |lights| lights.shares);
        let caps = |direction: Direction, share: f64| {
            let caps = self.caps.iter().flatten().filter(|cap| cap.direction == direction);
            caps.map(|cap| cap.config(share)).collect()
        };
        let (hysteresis_db, delay, up_offset_db, decade_db) =
            self.amc.as_ref().map_or(AMC, |amc| (amc.hysteresis, amc.delay.0, amc.up_offset, amc.decade));
        StationPlan {
            modulation: modulation.map(|modulation| modulation.0.to_owned()),
            error: self.error.as_ref().map_or([0.0; 2], |error| error.directions().map(|share| share.0)),
            service: self.service.as_ref().map_or(ServiceFlow::BEST_EFFORT, |service| service.config(frame)),
            fading: self.fading.as_ref().map(Fading::config),
            amc: AmcConfig { hysteresis_db, delay: frames(Duration(delay), frame), up_offset_db, decade_db },
            signal_loss: self
                .signal_loss
                .as_ref()
                .map(|loss| SignalLossPlan(loss.directions().map(|points| Some(points.curve())))),
            caps: [caps(Direction::Down, down), caps(Direction::Up, up)],
        }
    }
}

/// A time in frames, rounded up, 1 or more.
pub(super) fn frames(time: Duration, frame: Span) -> u64 {
    time.0.0.div_ceil(frame.0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Station> {
        Station::read(&Value::table(keys), &Bounds::NONE)
    }

    #[test]
    fn signal_strength_sets_modulation_and_share_of_the_caps() {
        let caps = vec![Value::table([("direction", "up".into()), ("rate", "1 Mb/s".into())])];
        let station = read([("ssi", 1.into()), ("caps", caps.into())]).expect("a station");
        let plan = station.plan("64qam-3/4", Span::from_ms(5));
        assert_eq!((plan.modulation, plan.caps[1][0].low_bps), (["qpsk-3/4".to_owned(), "qpsk-3/4".to_owned()], 880_000));
        let cell = read([("modulation", "bpsk-1/2".into()), ("error", 0.5.into())]).expect("a station");
        let over = station.over(&cell);
        assert_eq!((over.modulation, over.error), (None, Some(Sides::Both(Share(0.5)))));
    }

    #[test]
    fn value_is_for_both_directions_or_a_table_with_both() {
        let each = [("down", "qpsk-1/2".into()), ("up", "bpsk-1/2".into())];
        let station = read([("modulation", each.into())]).expect("a station");
        assert_eq!(station.modulation.map(|of| of.directions()), Some([Modulation("qpsk-1/2"), Modulation("bpsk-1/2")]));
        let one = read([("modulation", [("down", "qpsk-1/2".into())].into())]).expect_err("one direction");
        assert_eq!(one.allowed, "a modulation, or { down = .., up = .. } with both");
        assert!(read([("modulation", "64qam".into())]).expect_err("no rate").allowed.contains("did you mean"));
    }

    #[test]
    fn service_and_cap_have_the_keys_that_they_need() {
        let service = |kind: &str| read([("service", [("kind", kind.into())].into())]);
        assert_eq!(service("ugs").expect_err("no grants").found, "kind = \"ugs\"");
        assert_eq!(service("rtps").expect_err("no polls").allowed, "the interval of its polls beside it");
        assert!(service("nrtps").is_ok());
        let cap = |low: &str, high: &str| {
            let cap = Value::table([("direction", "up".into()), ("low", low.into()), ("high", high.into())]);
            read([("caps", vec![cap].into())])
        };
        assert_eq!(cap("2 Mb/s", "1 Mb/s").expect_err("out of order").found, "low above high");
        assert!(cap("1 Mb/s", "2 Mb/s").is_ok());
    }

    #[test]
    fn time_is_rounded_up_to_frames() {
        let frame = Span::from_ms(5);
        let counts = [1, 5_000, 5_001].map(|us| frames(Duration(Span::from_us(us)), frame));
        assert_eq!(counts, [1, 1, 2]);
    }
}
