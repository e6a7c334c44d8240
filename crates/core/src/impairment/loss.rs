//! Packets that the line loses: by chance, in bursts, with the signal, or by list.

use super::{GilbertElliott, LossList, Sojourns};
use crate::element::{DropReason, Element, Output, Port};
use crate::medium::radio_channel::{Fading, LossCurve, Process};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

#[derive(Clone, Debug)]
pub enum LossModel {
    /// Each packet is lost with probability `mean`, whatever became of the others.
    Bernoulli {
        mean: f64,
        rng: Rng,
    },
    GilbertElliott(GilbertElliott),
    Signal(Box<SignalLoss>),
    List(LossList),
}

/// The weaker the signal, the more is lost.
#[derive(Clone, Debug)]
pub struct SignalLoss {
    /// The signal moves once in each of these.
    step: Span,
    fading: Fading,
    curve: LossCurve,
    losses: Rng,
}

impl SignalLoss {
    /// `signal` moves the signal: two directions that are given the same have the same signal, and lose by themselves.
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
