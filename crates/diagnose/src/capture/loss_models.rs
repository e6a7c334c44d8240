//! Closed-form throughput models for the measured losses, beside the measured rate.

use super::acks;
use super::limit_shares::LimitShares;
use super::loss_response::{LossyTransfer, ModelRates, WITHIN, segments_per_ack};
use super::losses;
use super::rule::{Claim, Remedy};
use super::sending_end::SendingEnd;
use super::transfer::Transfer;
use crate::limit::LimitKind;
use crate::number_text::{many, milliseconds, percent, rate, whole_percent};
use ackclock_trace::report::{DirectionReport, FlowReport};

/// Share of time: a longer standing queue shows that the path's rate is reached.
const REACHED: f64 = 0.3;
/// Limits by the hosts: in their time losses hardly matter.
const HOSTS: [LimitKind; 3] = [LimitKind::Application, LimitKind::ReceiveWindow, LimitKind::SendBuffer];
/// Share of time of such a limit above which a rate near a model's is not due to the losses.
const HOST_LIMITED: f64 = 0.5;
/// Factor within which a rate is near a model's: the error of such a model for known losses.
const NEAR: f64 = 1.3;
/// Above this number of segments per ACK, a sender that counts ACKs grows slower than one that counts
/// segments.
const COUNTS: f64 = 1.2;

/// The sender's losses and RTT; none below three loss events and where the capture does not show that
/// RTT.
pub fn lossy(transfer: &Transfer<'_>) -> Option<LossyTransfer> {
    if transfer.shows_pace() { LossyTransfer::of(transfer, &transfer.figures.rtt_ms) } else { None }
}

/// The models' rates of a sender with these figures.
pub fn models_of(figures: &DirectionReport) -> Option<ModelRates> {
    let flow = FlowReport::default();
    let transfer = Transfer { figures, ..Transfer::new(&flow, None, SendingEnd::Client, 0.0) };
    lossy(&transfer).map(|lossy| lossy.rates(1.0))
}

/// The models beside the rate, and their rates with fewer losses.
pub fn models(transfer: &Transfer<'_>) -> Option<Claim> {
    let lossy = lossy(transfer)?;
    let (models, measured) = (lossy.rates(1.0), transfer.goodput_bps());
    let counted = if segments_per_ack(transfer) > COUNTS {
        format!(", or {} if it counts segments instead of ACKs, as Linux does,", rate(models.counted_bps))
    } else {
        String::new()
    };
    let evidence = format!(
        "With {} loss events in {} segments and a mean RTT of {}, Reno would get {} (Padhye's model; {} by the square-root \
         formula){counted} and CUBIC {}; measured: {}.",
        transfer.loss_events(),
        transfer.figures.segments,
        milliseconds(transfer.figures.rtt_ms.mean),
        rate(models.padhye_bps),
        rate(models.mathis_bps),
        rate(models.cubic_bps),
        rate(measured)
    );
    let (advice, remedy) = match other_limit(transfer, &models, measured) {
        Some(advice) => (advice, None),
        None => (what_fewer_give(transfer, &lossy, &models, measured), Some(Remedy::FewerLosses)),
    };
    let events = many(u64::from(transfer.loss_events()), "loss event");
    let needed = transfer.figures.retransmitted_segments.saturating_sub(u64::from(transfer.not_needed()));
    let share = percent(needed as f64 / transfer.figures.segments.max(1) as f64);
    let short = match (remedy, losses::policer_sentence(transfer)) {
        (Some(_), Some(policed)) => policed,
        (Some(_), None) => format!(
            "{share} of the segments are lost with hardly a queue ({events}); each loss slows the sender down: {}.",
            transfer.share_of_path()
        ),
        (None, _) => {
            format!("{share} of the segments are lost ({events}), which is not what limits the transfer to {}.", rate(measured))
        }
    };
    Some(Claim::new(evidence, advice).without_models(short).with_remedy(remedy))
}

/// A Reno model, counting ACKs or segments.
#[derive(Debug, Clone, Copy)]
enum Reno {
    Acks,
    Segments,
}

impl Reno {
    /// The one whose rate is nearer to the measured one.
    fn nearer(models: &ModelRates, measured: f64) -> Reno {
        let is_counted = (measured - models.counted_bps).abs() < (measured - models.padhye_bps).abs();
        if is_counted { Reno::Segments } else { Reno::Acks }
    }

    fn bps(self, models: &ModelRates) -> f64 {
        match self {
            Reno::Acks => models.padhye_bps,
            Reno::Segments => models.counted_bps,
        }
    }
}

/// The conclusion from the models and the rate, where something else than the losses limits it.
fn other_limit(transfer: &Transfer<'_>, models: &ModelRates, measured: f64) -> Option<String> {
    let (reno, cubic) = (Reno::nearer(models, measured).bps(models), models.cubic_bps);
    let (queued, repaired) = (transfer.queued_share(), transfer.limited().recovery);
    if queued > REACHED && repaired > queued {
        return Some(format!(
            "Both matter: a queue stood {} of the time, and loss recovery took {}.",
            whole_percent(queued),
            whole_percent(repaired)
        ));
    }
    if queued > REACHED || transfer.has_path_rate() {
        let limit = if acks::ack_queue_dominates(transfer) { "The queue of the ACKs" } else { "The path's rate" };
        return Some(format!("{limit} limits this flow: fewer losses would hardly make it faster."));
    }
    if measured > WITHIN * reno.max(cubic) {
        return Some("The sender does not respond to losses as Reno or CUBIC do, or losses do not limit its rate.".into());
    }
    let shares = LimitShares::of(transfer);
    if measured * WITHIN < reno.min(cubic) {
        let (kind, share) = shares.largest_of(LimitShares::KINDS.into_iter().filter(|kind| *kind != LimitKind::Recovery));
        return Some(format!(
            "These losses alone would allow more: {} limited the flow {} of the time.",
            kind.words().noun,
            whole_percent(share)
        ));
    }
    let (host, share) = shares.largest_of(HOSTS);
    if share > HOST_LIMITED {
        let coincidence = if is_near(measured, reno) || is_near(measured, cubic) {
            ", and the rate is near a model's by coincidence"
        } else {
            ""
        };
        return Some(format!(
            "Fewer losses would gain little: {} limited the flow {} of the time{coincidence}.",
            host.words().noun,
            whole_percent(share)
        ));
    }
    None
}

/// Whether a rate is a model's within the model's own error.
fn is_near(measured: f64, model: f64) -> bool {
    (measured / model).ln().abs() <= NEAR.ln()
}

/// The model nearest to the rate, and the rates for a quarter of the losses: the models' own where the
/// rate is near one, else the measured one by the model's increase.
fn what_fewer_give(transfer: &Transfer<'_>, lossy: &LossyTransfer, models: &ModelRates, measured: f64) -> String {
    let counts = Reno::nearer(models, measured);
    let (reno, cubic, fewer) = (counts.bps(models), models.cubic_bps, lossy.rates(0.25));
    let is_reno = (measured / reno).ln().abs() <= (measured / cubic).ln().abs();
    let (nearest, of_fewer) = if is_reno { (reno, counts.bps(&fewer)) } else { (cubic, fewer.cubic_bps) };
    if !is_near(measured, nearest) {
        let times = of_fewer / nearest;
        let whose = match (reno == cubic, is_reno) {
            (true, _) => "Reno and CUBIC",
            (false, true) => "Reno",
            (false, false) => "CUBIC",
        };
        return format!(
            "The losses limit the rate, which is {:.1} times what {whose} would get: a quarter of them would give about {times:.1} times the \
             rate, {}, up to the path's rate.",
            measured / nearest,
            rate(times * measured)
        );
    }
    let (minimum, mean) = (transfer.min_rtt_ms(), transfer.figures.rtt_ms.mean.unwrap_or(0.0));
    let shorter = if is_reno && minimum != 0.0 && mean > 1.5 * minimum {
        format!(
            " The RTT matters, too: at its minimum, {}, Reno would get {} with these losses.",
            milliseconds(minimum),
            rate(reno * mean / minimum)
        )
    } else {
        String::new()
    };
    let near = match (reno == cubic, is_reno) {
        (true, _) => "Reno's and CUBIC's alike",
        (false, true) => "Reno's",
        (false, false) => "CUBIC's",
    };
    let reno_fewer = rate(counts.bps(&fewer));
    let rates = if counts.bps(&fewer) == fewer.cubic_bps {
        format!("{reno_fewer} with either")
    } else {
        format!("{reno_fewer} with Reno and {} with CUBIC", rate(fewer.cubic_bps))
    };
    format!(
        "The losses limit the rate, which is near {near}: a quarter of them would give about {rates}, up to the path's rate.{shorter}"
    )
}
