//! Packet loss: independent, in bursts, by signal quality, or by list.

use super::{GilbertElliott, LossList, Sojourns};
use crate::element::{DropReason, Element, Output, Port};
use crate::medium::radio_channel::{Fading, LossCurve, Process};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

#[derive(Clone, Debug)]
pub enum LossModel {
    /// Each packet is lost independently with probability `mean`.
    Bernoulli {
        mean: f64,
        rng: Rng,
    },
    GilbertElliott(GilbertElliott),
    Signal(Box<SignalLoss>),
    List(LossList),
}

/// Loss that rises as the signal quality falls.
#[derive(Clone, Debug)]
pub struct SignalLoss {
    /// Interval at which the signal quality changes.
    step: Span,
    fading: Fading,
    curve: LossCurve,
    losses: Rng,
}

impl SignalLoss {
    /// `signal` drives the signal quality: two directions with the same stream see the same signal,
    /// but draw their losses independently.
    pub fn new(process: Process, step: Span, curve: LossCurve, signal: Rng, losses: Rng) -> SignalLoss {
        let step = step.max(Span(1));
        SignalLoss { step, fading: Fading::new(process, step, signal), curve, losses }
    }

    fn loses(&mut self, now: Time) -> bool {
        let share = self.curve.at(self.fading.at(now.0 / self.step.0));
        self.losses.chance(share)
    }
}

impl LossModel {
    pub fn bernoulli(mean: f64, rng: Rng) -> LossModel {
        LossModel::Bernoulli { mean, rng }
    }

    pub fn gilbert_elliott(sojourns: Sojourns, rng: Rng) -> LossModel {
        LossModel::GilbertElliott(GilbertElliott::new(sojourns, rng))
    }

    /// Exactly these data packets, counted from 1.
    pub fn list(packets: Vec<u64>) -> LossModel {
        LossModel::List(LossList::new(packets))
    }

    fn loses(&mut self, now: Time, packet: &Packet) -> bool {
        match self {
            LossModel::Bernoulli { mean, rng } => rng.chance(*mean),
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
    pub fn new(model: LossModel) -> Loss {
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
