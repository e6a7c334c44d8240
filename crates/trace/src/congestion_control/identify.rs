//! The likelihood of each congestion control, from its replay.

use super::family::{CcFamily, family_of};
use super::flight_log::FlightLog;
use super::identifications::{MIN_BUSY, MIN_REDUCTIONS};
use super::probe_rtt::ProbeRttSigns;
use super::replay::{Comparison, Course, Form, replay};
use super::script::Script;
use ackclock_core::tcp::cc::Variant;

/// What a direction's windows show.
#[derive(Clone, Debug)]
pub struct CcIdentification {
    pub family: CcFamily,
    /// Likelihoods, that sum to one, the highest first.
    pub candidates: Vec<(&'static str, f64)>,
    pub is_confident: bool,
}

/// What is asked of a family that is stated, by the downloads of seeds 1 and 2 of
/// studies/analyzer/drawn_senders.py, for few wrong ones: its likelihood, and the share of all windows that are near
/// those of its likeliest member. Of two controls with the same windows on a path the commoner one has 0.93.
struct Required {
    likelihood: f64,
    near: f64,
    /// Windows seen after reductions, but for a family that goes by delay: until there are two, Illinois and Veno are
    /// not distinguished from others far from the sender.
    reductions: usize,
    /// By this logarithm Reno and its kin must be likelier than a Vegas whose windows are near as well: where no queue
    /// stands both grow alike, and timestamps of a millisecond do not show whether one does.
    over_vegas: f64,
}

const AT_SENDER: Required = Required { likelihood: 0.92, near: 0.7, reductions: 0, over_vegas: 0.0 };
const ELSEWHERE: Required = Required { likelihood: 0.92, near: 0.8, reductions: 2, over_vegas: 15.0 };
/// Shares of the windows, of all and of those after reductions, with which Vegas leaves it open.
const NEAR_VEGAS: f64 = 0.9;
/// That of LEDBAT++, which like Vegas stops growing when a queue stands.
const NEAR_LEDBAT: f64 = 0.9;
/// Share of the windows after reductions that are near.
const MIN_NEAR_AFTER_REDUCTIONS: f64 = 0.7;
/// A member of another family leaves it open if so many of its windows are near, if its likelihood is not
/// lower by more than this logarithm, and if its windows after reductions are nearer by so much, in standard
/// deviations: of two that explain the growth, the one whose reductions are exact may be right.
const RIVAL_NEAR: f64 = 0.7;
const RIVAL_LIKELIHOOD: f64 = 30.0;
const NEARER: f64 = 0.2;

/// A model of the windows: a replayed congestion control, or one that a replay does not show.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    Replayed(Variant),
    /// One that the Linux of the papers, and kernels that were given it, compute in another way.
    OfPapers(Variant),
    /// The delivery rate sets the window, and losses do not.
    Bbr,
    Bbr3,
    /// Of BBR without its ProbeRTT: a window that hardly moves.
    Steady,
    /// None of them.
    Other,
}

/// The models with the logarithm of how common they are.
const MODELS: &[(Model, f64)] = &[
    (Model::Replayed(Variant::Cubic), 0.0),
    (Model::Replayed(Variant::Reno), -0.5),
    (Model::Bbr, -0.5),
    (Model::Bbr3, -1.0),
    (Model::Replayed(Variant::Cubic2), -3.0),
    (Model::Replayed(Variant::Bic), -3.0),
    (Model::Replayed(Variant::BicPaper), -3.0),
    (Model::Replayed(Variant::Bic268), -3.0),
    (Model::Replayed(Variant::Htcp), -3.0),
    (Model::Replayed(Variant::Vegas), -3.0),
    (Model::OfPapers(Variant::Vegas), -3.0),
    (Model::Replayed(Variant::VegasOriginal), -3.0),
    (Model::Replayed(Variant::Veno), -3.0),
    (Model::OfPapers(Variant::Veno), -3.0),
    (Model::Replayed(Variant::Westwood), -3.0),
    (Model::Replayed(Variant::WestwoodPlus), -3.0),
    (Model::OfPapers(Variant::WestwoodPlus), -3.0),
    (Model::Replayed(Variant::WestwoodNs2), -3.0),
    (Model::Replayed(Variant::Biad), -3.0),
    (Model::Replayed(Variant::Hybla), -3.0),
    (Model::Replayed(Variant::Illinois), -3.0),
    (Model::Replayed(Variant::Scalable), -3.0),
    (Model::Replayed(Variant::HighSpeed), -3.0),
    (Model::Replayed(Variant::Yeah), -3.0),
    (Model::Replayed(Variant::Lp), -3.0),
    (Model::Replayed(Variant::LedbatPp), -3.0),
    (Model::Replayed(Variant::Dctcp), -3.0),
    (Model::Steady, -3.0),
    (Model::Other, -3.0),
];

impl Model {
    /// None of what is none of those known.
    fn variant(self) -> Option<Variant> {
        match self {
            Model::Replayed(variant) | Model::OfPapers(variant) => Some(variant),
            Model::Bbr => Some(Variant::Bbr),
            Model::Bbr3 => Some(Variant::Bbr3),
            Model::Steady | Model::Other => None,
        }
    }

    fn is_replayed(self) -> bool {
        matches!(self, Model::Replayed(_) | Model::OfPapers(_))
    }

    fn name(self) -> &'static str {
        self.variant().map_or("other", Variant::name)
    }

    fn family(self) -> CcFamily {
        self.variant().map_or(CcFamily::Unknown, family_of)
    }
}

/// Share of the acknowledged bytes whose ACKs echo a mark, from which DCTCP is as likely as any.
const MANY_MARKS: f64 = 0.02;
/// Logarithms: of a fall of the flight that is a ProbeRTT, or of an interval between two; of none; of one
/// that the model does not have. Two falls at the right interval decide.
const PROBE_RTT: f64 = 3.0;
const NO_PROBE_RTT: f64 = -6.0;
const UNEXPLAINED_FALL: f64 = -2.0;
const PERIODIC_PROBE_RTT: f64 = 1000.0;

fn probe_rtt(falls: u32, intervals: u32) -> f64 {
    if falls == 0 {
        return NO_PROBE_RTT;
    }
    let decides = if intervals > 0 { PERIODIC_PROBE_RTT } else { 0.0 };
    PROBE_RTT * f64::from(falls.min(3) + intervals.min(3)) + decides
}

/// Share of the rounds that something else limits, above which the flight shows nothing.
const MAX_LIMITED: f64 = 0.5;

/// The congestion control of a direction.
pub fn identify(log: &FlightLog) -> CcIdentification {
    let script = Script::of(log);
    let duration = log.entries.last().map_or(0, |last| last.at - log.entries[0].at);
    let is_limited = f64::from(script.limited_rounds) > MAX_LIMITED * script.rounds.len() as f64;
    if is_limited || (script.reductions + script.timeouts < MIN_REDUCTIONS && duration < MIN_BUSY) {
        return CcIdentification { family: CcFamily::Unknown, candidates: Vec::new(), is_confident: false };
    }
    if log.is_l4s() {
        return CcIdentification {
            family: CcFamily::DctcpLike,
            candidates: vec![(Variant::Prague.name(), 1.0)],
            is_confident: true,
        };
    }
    let course = Course::of(log, &script);
    let plain = replay(&course, Variant::Reno, Form::Linux);
    let signs = ProbeRttSigns::of(&script);
    let width = if log.of.is_at_sender { &REPLAYED } else { &REPLAYED_ELSEWHERE };
    let falls = UNEXPLAINED_FALL * f64::from((signs.to_floor + signs.to_half).min(4));
    // Without a mark its windows are those of Reno.
    let may_be_dctcp = script.marked_share > 0.0 || log.is_ecn_capable();
    let fits: Vec<(Model, f64, Fit)> = MODELS
        .iter()
        .filter(|(model, _)| *model != Model::Replayed(Variant::Dctcp) || may_be_dctcp)
        .map(|&(model, prior)| {
            let (fit, signs) = match model {
                Model::Replayed(variant) | Model::OfPapers(variant) => {
                    let form = if model == Model::OfPapers(variant) { Form::Papers } else { Form::Linux };
                    let signs = if variant == Variant::LedbatPp { 0.0 } else { falls };
                    (fit(&replay(&course, variant, form), width), signs)
                }
                Model::Bbr => {
                    let falls = if signs.is_floor_low || signs.floor_intervals > 0 { signs.to_floor } else { 0 };
                    (fit(&constant(&plain), &RATE), probe_rtt(falls, signs.floor_intervals))
                }
                // A single fall to half may be anything, and half of a short flight as well.
                Model::Bbr3 => {
                    let falls = if signs.is_floor_low && signs.half_intervals > 0 { signs.to_half } else { 0 };
                    (fit(&constant(&plain), &RATE), probe_rtt(falls, signs.half_intervals))
                }
                Model::Steady => (fit(&constant(&plain), &RATE), 0.0),
                Model::Other => (fit(&constant(&plain), &OTHER), 0.0),
            };
            let is_marked = model == Model::Replayed(Variant::Dctcp) && script.marked_share > MANY_MARKS;
            (model, if is_marked { 0.0 } else { prior } + signs + TEMPER * fit.log_likelihood, fit)
        })
        .collect();
    let reductions = plain.iter().filter(|one| one.is_reduction).count();
    let rounds = plain.len() - reductions;
    let found = decided(&fits, if log.of.is_at_sender { &AT_SENDER } else { &ELSEWHERE }, reductions);
    // A window that hardly moves is that of LEDBAT++ only if there are slowdowns.
    let is_flat = found.family == CcFamily::LedbatLike && script.slowdowns == 0 && script.reductions < MIN_REDUCTIONS;
    // Growth must be seen, a round for each reduction at least.
    if is_flat || rounds < reductions { found.unknown() } else { found }
}

impl CcIdentification {
    fn unknown(self) -> CcIdentification {
        CcIdentification { family: CcFamily::Unknown, is_confident: false, ..self }
    }
}

/// The likelihoods from their logarithms.
fn decided(fits: &[(Model, f64, Fit)], required: &Required, reductions: usize) -> CcIdentification {
    let best = fits.iter().map(|fit| fit.1).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = fits.iter().map(|fit| (fit.1 - best).exp()).sum();
    let mut likely: Vec<(Model, f64)> = fits.iter().map(|&(model, score, _)| (model, (score - best).exp() / total)).collect();
    likely.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share =
        |family: CcFamily| likely.iter().filter(|(model, _)| model.family() == family).map(|(_, share)| share).sum::<f64>();
    let (family, of_family) = CcFamily::ALL
        .iter()
        .map(|&family| (family, share(family)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .unwrap_or((CcFamily::Unknown, 0.0));
    let likeliest = fits.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let near = if family == CcFamily::LedbatLike { NEAR_LEDBAT } else { required.near };
    let is_by_delay = matches!(family, CcFamily::LedbatLike | CcFamily::DelayBased);
    let is_seen = |fit: &Fit| fit.near >= near && (reductions >= required.reductions || is_by_delay);
    let may_be_vegas = |best: f64| {
        family == CcFamily::RenoLike
            && fits.iter().any(|(model, score, fit)| {
                let is_near = fit.near >= NEAR_VEGAS && fit.near_after_reductions >= NEAR_VEGAS;
                model.family() == CcFamily::DelayBased && is_near && *score > best - required.over_vegas
            })
    };
    let fits_well = |(model, score, fit): &(Model, f64, Fit)| {
        !model.is_replayed() || (is_seen(fit) && is_clear(fit, *score, family, fits) && !may_be_vegas(*score))
    };
    let is_likely = family != CcFamily::Unknown && of_family >= required.likelihood;
    let is_confident = is_likely && likeliest.is_some_and(fits_well);
    // Two models have the name of none of those known.
    let mut candidates: Vec<(&'static str, f64)> = Vec::new();
    for (model, share) in likely.iter().filter(|(_, share)| *share >= MIN_LISTED) {
        match candidates.iter_mut().find(|(name, _)| *name == model.name()) {
            Some((_, sum)) => *sum += share,
            None => candidates.push((model.name(), *share)),
        }
    }
    CcIdentification { family: if is_confident { family } else { CcFamily::Unknown }, candidates, is_confident }
}

/// The windows after reductions are near those of the likeliest control, and no other family's control has nearer ones.
fn is_clear(likeliest: &Fit, best: f64, family: CcFamily, fits: &[(Model, f64, Fit)]) -> bool {
    let is_rival = |(model, score, fit): &(Model, f64, Fit)| {
        let is_other = model.is_replayed() && model.family() != family;
        let is_near = fit.near >= RIVAL_NEAR && fit.near_after_reductions >= MIN_NEAR_AFTER_REDUCTIONS;
        is_other && is_near && *score > best - RIVAL_LIKELIHOOD && fit.deviation < likeliest.deviation - NEARER
    };
    likeliest.near_after_reductions >= MIN_NEAR_AFTER_REDUCTIONS && !fits.iter().any(is_rival)
}

/// Likelihood from which a candidate is listed.
const MIN_LISTED: f64 = 0.01;
/// Weight of the windows' likelihoods: reductions and rounds are not independent of each other.
const TEMPER: f64 = 0.5;

/// Standard deviations of the windows around what a model predicts, as shares of the window, and in
/// segments.
struct Width {
    reduction: f64,
    growth: f64,
    segments: f64,
}

const REPLAYED: Width = Width { reduction: 0.05, growth: 0.03, segments: 0.8 };
/// Not at the sender, where timestamps are no finer than a millisecond.
const REPLAYED_ELSEWHERE: Width = Width { reduction: 0.07, growth: 0.05, segments: 1.2 };
const RATE: Width = Width { reduction: 0.2, growth: 0.15, segments: 0.8 };
const OTHER: Width = Width { reduction: 0.4, growth: 0.5, segments: 0.8 };

/// The windows before, in place of predictions.
fn constant(of: &[Comparison]) -> Vec<Comparison> {
    of.iter().map(|one| Comparison { predicted: one.since, ..*one }).collect()
}

/// How well a model fits the windows.
#[derive(Clone, Copy, Debug)]
struct Fit {
    log_likelihood: f64,
    /// Share of the windows near the predicted ones, of all and of those after reductions in avoidance.
    near: f64,
    near_after_reductions: f64,
    /// Median deviation of the windows after reductions, in standard deviations; zero without any.
    deviation: f64,
}

/// Windows near the predicted ones, and all.
#[derive(Clone, Copy, Debug, Default)]
struct NearCount(u32, u32);

impl NearCount {
    fn add(&mut self, is_near: bool) {
        self.0 += u32::from(is_near);
        self.1 += 1;
    }

    /// One if there are none.
    fn share(self) -> f64 {
        if self.1 == 0 { 1.0 } else { f64::from(self.0) / f64::from(self.1) }
    }
}

/// Rounds between two reductions depend on each other: together they count as `GROWTH_COUNT` at most.
fn fit(comparisons: &[Comparison], width: &Width) -> Fit {
    let (mut reductions, mut growth) = (0.0, 0.0);
    let (mut sum, mut count) = (0.0, 0.0);
    let (mut near, mut near_after_reductions) = (NearCount::default(), NearCount::default());
    let mut deviations = Vec::new();
    for one in comparisons {
        let wide = if one.is_reduction { width.reduction } else { width.growth };
        let wide = wide.hypot(width.segments / one.since.max(1.0));
        let deviation = (one.seen - one.predicted).abs() / (wide * one.since.max(1.0));
        let is_near = deviation <= NEAR;
        near.add(is_near);
        let density = log_density(one, wide);
        if one.is_reduction {
            if !one.from_slow_start {
                near_after_reductions.add(is_near);
                deviations.push(deviation);
            }
            growth += flush(&mut sum, &mut count);
            reductions += density;
        } else {
            sum += density;
            count += 1.0;
            if one.is_last {
                growth += flush(&mut sum, &mut count);
            }
        }
    }
    growth += flush(&mut sum, &mut count);
    Fit {
        log_likelihood: reductions + growth,
        near: near.share(),
        near_after_reductions: near_after_reductions.share(),
        deviation: median(deviations),
    }
}

/// Zero without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Standard deviations within which a window is near the predicted one.
const NEAR: f64 = 2.5;

const GROWTH_COUNT: f64 = 3.0;

fn flush(sum: &mut f64, count: &mut f64) -> f64 {
    let mean = if *count > 0.0 { *sum / *count } else { 0.0 };
    let weight = count.min(GROWTH_COUNT);
    (*sum, *count) = (0.0, 0.0);
    mean * weight
}

/// Share of the windows that no model predicts, and the range in which they lie, in windows.
const OUTLIERS: f64 = 0.08;
const OUTLIER_RANGE: f64 = 1.5;

/// Of the window seen, in units of the window before.
fn log_density(one: &Comparison, width: f64) -> f64 {
    let deviation = (one.seen - one.predicted) / one.since.max(1.0) / width;
    let normal = (-0.5 * deviation * deviation).exp() / (width * (2.0 * std::f64::consts::PI).sqrt());
    ((1.0 - OUTLIERS) * normal + OUTLIERS / OUTLIER_RANGE).ln()
}
