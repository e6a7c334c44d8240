//! What a hop's line loses, as the core has it.

use crate::plan::{Loss, curve};
use ackclock_core::Span;
use ackclock_core::impairment::{GilbertElliott, LossList, LossModel, SignalLoss, Sojourns};
use ackclock_core::rng::Rng;

/// `signal` is the same for both directions of a hop.
pub fn model(loss: &Loss, rng: Rng, signal: Rng) -> LossModel {
    match *loss {
        Loss::Signal { ref fading, step_ps, ref points } => match (fading.process(), curve(points)) {
            (Ok(process), Ok(curve)) => LossModel::Signal(Box::new(SignalLoss::new(process, Span(step_ps), curve, signal, rng))),
            // A checked plan has both.
            _ => LossModel::List(LossList::new(Vec::new())),
        },
        Loss::Bernoulli { mean } => LossModel::Bernoulli { mean, rng },
        Loss::GilbertElliott { good_ps, bad_ps, loss_good, loss_bad } => {
            let sojourns = Sojourns { good: Span(good_ps), bad: Span(bad_ps), loss_good, loss_bad };
            LossModel::GilbertElliott(GilbertElliott::new(sojourns, rng))
        }
        Loss::List { ref packets } => LossModel::List(LossList::new(packets.clone())),
    }
}
