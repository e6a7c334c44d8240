//! Controllers of a shaper's rate: the rules of cake-autorate, or a class in Python.

use crate::invalid::{Code, Invalid, Read};
use crate::keys::{Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::sources::sources;
use crate::value::Value;
use crate::values::{BitRate, Count, Duration, Time};
use crate::{Keys, words};
use ackclock_core::autorate::{CakeAutorateConfig, PingConfig, PingMethod};
use ackclock_core::units::Span;
use serde_json::json;

words!(PingMethod { "fping" => PingMethod::Fping, "tsping" => PingMethod::Tsping });

/// What changes the rate of a shaper, and the keys of cake-autorate 3.2.1, by their names without
/// direction and unit.
#[derive(Clone, Debug, Default, PartialEq, Keys)]
pub struct Autorate {
    /// What changes the rate, in place of a fixed one: cake-autorate's rules, or a class that derives
    /// from ackclock.RateController.
    #[key(example = "cake-autorate", absent = "nothing")]
    pub autorate: Option<ControllerName>,
    /// Lowest rate.
    #[key(example = "5 Mb/s", absent = "required with autorate")]
    pub min_shaper_rate: Option<BitRate>,
    /// Rate at the start, and that to which the shaper returns at low load.
    #[key(example = "20 Mb/s", absent = "required with autorate")]
    pub base_shaper_rate: Option<BitRate>,
    /// Highest rate.
    #[key(example = "80 Mb/s", absent = "required with autorate")]
    pub max_shaper_rate: Option<BitRate>,
    /// Pingers, each with a reflector beyond the path.
    #[key(example = 6, absent = "6, with autorate", max = 1000, allowed = "a whole number from 1 to 1000")]
    pub no_pingers: Option<Count>,
    /// Interval of the pings of each pinger.
    #[key(example = "0.3 s", absent = "0.3 s, with autorate")]
    pub reflector_ping_interval: Option<Duration>,
    /// What a ping measures: `fping` round-trip times, of which half is each one-way delay; `tsping`
    /// one-way delays.
    #[key(example = "tsping", absent = "fping, with autorate")]
    pub pinger_method: Option<PingMethod>,
    /// Interval in which the achieved rate is read.
    #[key(example = "200 ms", absent = "200 ms, with autorate")]
    pub monitor_achieved_rates_interval: Option<Duration>,
    /// Increase of a one-way delay over the baseline that is a delay.
    #[key(example = "30 ms", absent = "30 ms, with cake-autorate")]
    pub owd_delta_delay_thr: Option<Time>,
    /// Mean increase up to which the rate rises by the maximum.
    #[key(example = "10 ms", absent = "10 ms, with cake-autorate")]
    pub avg_owd_delta_max_adjust_up_thr: Option<Time>,
    /// Mean increase from which on the rate falls by the maximum.
    #[key(example = "60 ms", absent = "60 ms, with cake-autorate")]
    pub avg_owd_delta_max_adjust_down_thr: Option<Time>,
    /// Responses among which delays are counted.
    #[key(example = 6, absent = "6, with cake-autorate", max = 10_000, allowed = "a whole number from 1 to 10000")]
    pub bufferbloat_detection_window: Option<Count>,
    /// Delays among them that are bufferbloat.
    #[key(example = 3, absent = "3, with cake-autorate", max = 10_000, allowed = "a whole number from 1 to 10000")]
    pub bufferbloat_detection_thr: Option<Count>,
    /// Share of an increase by which the baseline follows it.
    #[key(example = 0.001, absent = "0.001, with cake-autorate", above = 0.0, max = 1.0, allowed = "above 0, at most 1")]
    pub alpha_baseline_increase: Option<f64>,
    /// Share of a decrease by which the baseline follows it.
    #[key(example = 0.9, absent = "0.9, with cake-autorate", above = 0.0, max = 1.0, allowed = "above 0, at most 1")]
    pub alpha_baseline_decrease: Option<f64>,
    /// Factor of the rate at bufferbloat with a mean increase of `owd_delta_delay_thr` or less.
    #[key(example = 0.99, absent = "0.99, with cake-autorate", above = 0.0, max = 1.0, allowed = "above 0, at most 1")]
    pub shaper_rate_min_adjust_down_bufferbloat: Option<f64>,
    /// Factor of the rate at bufferbloat with a mean increase of `avg_owd_delta_max_adjust_down_thr` or
    /// more.
    #[key(example = 0.75, absent = "0.75, with cake-autorate", above = 0.0, max = 1.0, allowed = "above 0, at most 1")]
    pub shaper_rate_max_adjust_down_bufferbloat: Option<f64>,
    /// Factor of the rate at high load with a mean increase of `owd_delta_delay_thr` or more.
    #[key(example = 1.0, absent = "1, with cake-autorate", min = 1.0, max = 10.0, allowed = "a number from 1 to 10")]
    pub shaper_rate_min_adjust_up_load_high: Option<f64>,
    /// Factor of the rate at high load with a mean increase of `avg_owd_delta_max_adjust_up_thr` or
    /// less.
    #[key(example = 1.04, absent = "1.04, with cake-autorate", min = 1.0, max = 10.0, allowed = "a number from 1 to 10")]
    pub shaper_rate_max_adjust_up_load_high: Option<f64>,
    /// Factor of a rate above the base at low load.
    #[key(example = 0.99, absent = "0.99, with cake-autorate", above = 0.0, max = 1.0, allowed = "above 0, at most 1")]
    pub shaper_rate_adjust_down_load_low: Option<f64>,
    /// Factor of a rate below the base at low load.
    #[key(example = 1.01, absent = "1.01, with cake-autorate", min = 1.0, max = 10.0, allowed = "a number from 1 to 10")]
    pub shaper_rate_adjust_up_load_low: Option<f64>,
    /// Share of the rate above which the achieved rate is a high load.
    #[key(example = 0.75, absent = "0.75, with cake-autorate", above = 0.0, max = 1.0, allowed = "above 0, at most 1")]
    pub high_load_thr: Option<f64>,
    /// Time after a decrease for bufferbloat in which there is no other one.
    #[key(example = "300 ms", absent = "300 ms, with cake-autorate")]
    pub bufferbloat_refractory_period: Option<Time>,
    /// Time after a step to the base rate in which there is no other one.
    #[key(example = "1 s", absent = "1 s, with cake-autorate")]
    pub decay_refractory_period: Option<Time>,
}

/// Keys that a controller in Python has, too.
const COMMON: [&str; 8] = [
    "autorate",
    "min_shaper_rate",
    "base_shaper_rate",
    "max_shaper_rate",
    "no_pingers",
    "reflector_ping_interval",
    "pinger_method",
    "monitor_achieved_rates_interval",
];

impl Autorate {
    /// The keys that were given.
    fn given(&self) -> Vec<String> {
        use crate::keys::KeySet;
        let written = self.write_keys(None).into_iter();
        written.filter(|(_, value)| *value != Value::Absent).map(|(name, _)| name).collect()
    }

    /// An error for keys without a controller that has them, and for values that do not fit together.
    pub fn check(&self) -> Read<()> {
        let given = self.given();
        let Some(controller) = &self.autorate else {
            let unused = given.first();
            let message = |key: &String| {
                Err(Invalid::new(format!("a {key} without autorate"), "autorate = \"cake-autorate\" beside it, or a fixed rate")
                    .at(key))
            };
            return unused.map_or(Ok(()), message);
        };
        if let (ControllerName::Python(_), Some(key)) = (controller, given.iter().find(|key| !COMMON.contains(&key.as_str()))) {
            let allowed = format!("with a controller in Python {}", COMMON[1..].join(", "));
            return Err(Invalid::new(format!("a {key} of cake-autorate"), allowed).at(key));
        }
        for (key, rate) in [
            ("min_shaper_rate", self.min_shaper_rate),
            ("base_shaper_rate", self.base_shaper_rate),
            ("max_shaper_rate", self.max_shaper_rate),
        ] {
            if rate.is_none() {
                let missing = Invalid::new(
                    format!("no \"{key}\""),
                    "min_shaper_rate, base_shaper_rate and max_shaper_rate beside autorate",
                );
                return Err(missing.with_code(Code::MissingKey));
            }
        }
        let [min, base, max] = self.rates();
        let at = |key: &str, value: u64, allowed: String| Err(Invalid::value(&BitRate(value).write(None), allowed).at(key));
        let text = |rate: u64| BitRate(rate).write(None).to_toml();
        if base < min {
            return at("base_shaper_rate", base, format!("a rate of at least min_shaper_rate = {}", text(min)));
        }
        if max < base {
            return at("max_shaper_rate", max, format!("a rate of at least base_shaper_rate = {}", text(base)));
        }
        self.check_rules()
    }

    fn check_rules(&self) -> Read<()> {
        let rules = self.rules();
        let times = [
            (
                "owd_delta_delay_thr",
                rules.owd_delta_delay_thr,
                "avg_owd_delta_max_adjust_up_thr",
                rules.avg_owd_delta_max_adjust_up_thr,
            ),
            (
                "avg_owd_delta_max_adjust_down_thr",
                rules.avg_owd_delta_max_adjust_down_thr,
                "owd_delta_delay_thr",
                rules.owd_delta_delay_thr,
            ),
        ];
        for (key, value, lower_key, lower) in times {
            if value <= lower {
                let allowed = format!("a time above {lower_key} = {}", Time(lower).write(None).to_toml());
                return Err(Invalid::value(&Time(value).write(None), allowed).at(key));
            }
        }
        let counts = (rules.bufferbloat_detection_thr, rules.bufferbloat_detection_window);
        if counts.0 > counts.1 {
            let allowed = format!("at most bufferbloat_detection_window = {}", counts.1);
            return Err(Invalid::value(&Count(counts.0).write(None), allowed).at("bufferbloat_detection_thr"));
        }
        Ok(())
    }

    /// Minimum, base and maximum in bits per second; zeros without a controller.
    pub fn rates(&self) -> [u64; 3] {
        [self.min_shaper_rate, self.base_shaper_rate, self.max_shaper_rate].map(|rate| rate.map_or(0, |rate| rate.0))
    }

    /// The rate at the start; none without a controller.
    pub fn base(&self) -> Option<u64> {
        self.autorate.as_ref().and(self.base_shaper_rate).map(|rate| rate.0)
    }

    fn rules(&self) -> CakeAutorateConfig {
        let default = CakeAutorateConfig::default();
        let time = |key: Option<Time>, default: Span| key.map_or(default, |time| time.0);
        let count = |key: Option<Count>, default: u32| key.map_or(default, |count| count.0);
        CakeAutorateConfig {
            owd_delta_delay_thr: time(self.owd_delta_delay_thr, default.owd_delta_delay_thr),
            avg_owd_delta_max_adjust_up_thr: time(self.avg_owd_delta_max_adjust_up_thr, default.avg_owd_delta_max_adjust_up_thr),
            avg_owd_delta_max_adjust_down_thr: time(
                self.avg_owd_delta_max_adjust_down_thr,
                default.avg_owd_delta_max_adjust_down_thr,
            ),
            bufferbloat_detection_window: count(self.bufferbloat_detection_window, default.bufferbloat_detection_window),
            bufferbloat_detection_thr: count(self.bufferbloat_detection_thr, default.bufferbloat_detection_thr),
            alpha_baseline_increase: self.alpha_baseline_increase.unwrap_or(default.alpha_baseline_increase),
            alpha_baseline_decrease: self.alpha_baseline_decrease.unwrap_or(default.alpha_baseline_decrease),
            shaper_rate_min_adjust_down_bufferbloat: self
                .shaper_rate_min_adjust_down_bufferbloat
                .unwrap_or(default.shaper_rate_min_adjust_down_bufferbloat),
            shaper_rate_max_adjust_down_bufferbloat: self
                .shaper_rate_max_adjust_down_bufferbloat
                .unwrap_or(default.shaper_rate_max_adjust_down_bufferbloat),
            shaper_rate_min_adjust_up_load_high: self
                .shaper_rate_min_adjust_up_load_high
                .unwrap_or(default.shaper_rate_min_adjust_up_load_high),
            shaper_rate_max_adjust_up_load_high: self
                .shaper_rate_max_adjust_up_load_high
                .unwrap_or(default.shaper_rate_max_adjust_up_load_high),
            shaper_rate_adjust_down_load_low: self
                .shaper_rate_adjust_down_load_low
                .unwrap_or(default.shaper_rate_adjust_down_load_low),
            shaper_rate_adjust_up_load_low: self.shaper_rate_adjust_up_load_low.unwrap_or(default.shaper_rate_adjust_up_load_low),
            high_load_thr: self.high_load_thr.unwrap_or(default.high_load_thr),
            bufferbloat_refractory_period: time(self.bufferbloat_refractory_period, default.bufferbloat_refractory_period),
            decay_refractory_period: time(self.decay_refractory_period, default.decay_refractory_period),
        }
    }

    /// What one pinger serves: pings and readings.
    pub fn pings(&self) -> (PingConfig, Span) {
        let pings = PingConfig {
            pingers: self.no_pingers.map_or(6, |count| count.0),
            interval: self.reflector_ping_interval.map_or(Span::from_ms(300), |time| time.0),
            method: self.pinger_method.unwrap_or(PingMethod::Fping),
        };
        (pings, self.monitor_achieved_rates_interval.map_or(Span::from_ms(200), |time| time.0))
    }

    /// As a plan has it; none without a controller.
    pub fn plan_json(&self) -> Option<serde_json::Value> {
        let controller = match self.autorate.as_ref()? {
            ControllerName::CakeAutorate => json!({"cake-autorate": self.rules()}),
            // A class that was found when the table was read has a digest.
            ControllerName::Python(name) => {
                json!({"user": {"name": name, "digest": sources().controller_digest(name).unwrap_or_default()}})
            }
        };
        let ([min, _, max], (pings, monitor)) = (self.rates(), self.pings());
        Some(json!({"controller": controller, "min_bps": min, "max_bps": max, "pings": pings, "monitor_ps": monitor}))
    }
}

/// cake-autorate, or a class in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControllerName {
    CakeAutorate,
    Python(String),
}

const CAKE_AUTORATE: &str = "cake-autorate";
const PYTHON: &str = "python:";
const CONTROLLER: &str = "\"cake-autorate\", or a class: \"python:module.Class\"";

impl KeyValue for ControllerName {
    fn read(value: &Value, _: &Bounds) -> Read<ControllerName> {
        match value {
            Value::Text(name) if name == CAKE_AUTORATE => Ok(ControllerName::CakeAutorate),
            Value::Text(name) if name.starts_with(PYTHON) => {
                sources().check_controller(name).map(|()| ControllerName::Python(name.clone()))
            }
            _ => Err(Invalid::value(value, CONTROLLER)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        match self {
            ControllerName::CakeAutorate => CAKE_AUTORATE.into(),
            ControllerName::Python(name) => name.as_str().into(),
        }
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        CONTROLLER.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let class = Value::table([("type", "string".into()), ("pattern", r"^python:.+\..+$".into())]);
        schema::either(vec![schema::words(&[CAKE_AUTORATE]), class])
    }
}
