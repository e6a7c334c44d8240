//! Packet loss: independent, in bursts, by signal quality, or by list.

use super::{GilbertElliott, ListedPackets, LossList, ScheduledFades, Sojourns};
use crate::config_check::{Checked, check_fraction, check_span, ensure};
use crate::config_form::is_default;
use crate::element::{DropReason, Element, Output, Port};
use crate::medium::radio_channel::{Fading, FadingConfig, LossCurve};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::schedule::ScheduleConfig;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// A loss model, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossConfig {
    /// Each packet is lost independently with probability `mean`.
    Bernoulli {
        mean: f64,
    },
    /// As `Bernoulli`, with a mean that changes.
    BernoulliSchedule(ScheduleConfig<f64>),
    GilbertElliott(Sojourns),
    GilbertElliottSchedule(ScheduledFades),
    Signal(SignalLossConfig),
    /// Exactly these packets, counted from 1, retransmissions included.
    List {
        packets: Vec<u64>,
        #[serde(default, skip_serializing_if = "is_default")]
        of: ListedPackets,
    },
}

/// Loss that rises as the signal quality of a radio channel falls.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SignalLossConfig {
    pub fading: FadingConfig,
    /// Interval at which the signal quality changes.
    #[serde(rename = "step_ps")]
    pub step: Span,
    #[serde(rename = "points")]
    pub curve: LossCurve,
}

impl LossConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        match self {
            LossConfig::Bernoulli { mean } => check_fraction("loss.mean", *mean),
            LossConfig::BernoulliSchedule(mean) => mean.check_shares(),
            LossConfig::GilbertElliott(sojourns) => sojourns.check(),
            LossConfig::GilbertElliottSchedule(fades) => fades.check(),
            LossConfig::Signal(signal) => signal.check(),
            LossConfig::List { packets, .. } => {
                ensure(packets.iter().all(|&p| p > 0), || "loss.packets has 0: packets are numbered from 1".into())
            }
        }
    }
}

impl SignalLossConfig {
    fn check(&self) -> Checked {
        ensure(self.step > Span::ZERO, || "loss.step_ps is 0: it must be above 0".into())?;
        check_span("loss.step_ps", self.step)?;
        self.fading.check()?;
        self.curve.check()
    }
}

#[derive(Clone, Debug)]
enum LossModel {
    None,
    Bernoulli { mean: f64, rng: Rng },
    BernoulliSchedule { mean: ScheduleConfig<f64>, rng: Rng },
    GilbertElliott(GilbertElliott),
    Signal(Box<SignalLoss>),
    List(LossList),
}

#[derive(Clone, Debug)]
struct SignalLoss {
    step: Span,
    fading: Fading,
    curve: LossCurve,
    losses: Rng,
}

impl SignalLoss {
    fn new(config: &SignalLossConfig, signal: Rng, losses: Rng) -> SignalLoss {
        let step = config.step.max(Span(1));
        let fading = Fading::new(config.fading.clone(), step, signal);
        SignalLoss { step, fading, curve: config.curve.clone(), losses }
    }

    fn loses(&mut self, now: Time) -> bool {
        let share = self.curve.at(self.fading.at(now.0 / self.step.0));
        self.losses.chance(share)
    }
}

impl LossModel {
    fn loses(&mut self, now: Time, packet: &Packet) -> bool {
        match self {
            LossModel::None => false,
            LossModel::Bernoulli { mean, rng } => rng.chance(*mean),
            LossModel::BernoulliSchedule { mean, rng } => rng.chance(mean.at(now)),
            LossModel::GilbertElliott(channel) => channel.loses(now),
            LossModel::Signal(signal) => signal.loses(now),
            LossModel::List(list) => list.loses(packet),
        }
    }
}

pub struct Loss {
    model: LossModel,
}

impl Loss {
    /// `signal` drives the signal quality: two directions with the same stream see the same signal,
    /// but draw their losses independently, from `losses`.
    pub fn new(config: &LossConfig, losses: Rng, signal: Rng) -> Loss {
        let model = match config {
            LossConfig::Bernoulli { mean } => LossModel::Bernoulli { mean: *mean, rng: losses },
            LossConfig::BernoulliSchedule(mean) => LossModel::BernoulliSchedule { mean: mean.clone(), rng: losses },
            LossConfig::GilbertElliottSchedule(fades) => {
                GilbertElliott::scheduled(fades.clone(), losses).map_or(LossModel::None, LossModel::GilbertElliott)
            }
            LossConfig::GilbertElliott(sojourns) => LossModel::GilbertElliott(GilbertElliott::new(*sojourns, losses)),
            LossConfig::Signal(config) => LossModel::Signal(Box::new(SignalLoss::new(config, signal, losses))),
            LossConfig::List { packets, of } => LossModel::List(LossList::new(packets.clone(), *of)),
        };
        Loss { model }
    }
}

impl Element for Loss {
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        if self.model.loses(now, &packet) {
            out.drop(packet, DropReason::Loss);
        } else {
            out.forward(Port(0), packet);
        }
    }

    fn wake(&mut self, _now: Time, _out: &mut Output<'_>) {}

    fn due(&self) -> Time {
        Time::NEVER
    }

    fn occupancy(&self) -> u64 {
        0
    }
}
