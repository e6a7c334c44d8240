//! All parameters of a link, from one run or several over the same path.

use crate::arrival_shape::ArrivalShape;
use crate::delay::{self, BaseDelay, IsolatedDelays, KnownLink};
use crate::estimate::{Fitted, Status};
use crate::facts::DirectionFacts;
use crate::frame_period::{self, FramePeriod};
use crate::framing::{self, FramingFit};
use crate::jitter::{self, Jitter};
use crate::late_timestamps::{self, DelayBulk};
use crate::loss::{self, ChannelFit, KnownDrops};
use crate::policer::{self, PolicerFit};
use crate::queue::{self, QueueLimit, ServiceTime};
use crate::rate::{self, RateMethod, ServiceRate};
use crate::rate_by_size;
use crate::recorded_rate::{self, RecordedRate};
use crate::reordering::{self, Reordering};
use crate::service;
use crate::shaper::{self, ShaperFit};
use crate::shared_link::SharedLink;
use crate::stalls::{self, PeriodicStalls};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;
use serde::Serialize;

/// One run: both directions of the path in the same time.
#[derive(Debug, Clone, Default)]
pub struct RunFacts {
    /// From the server to the clients.
    pub down: DirectionFacts,
    /// From the clients to the server.
    pub up: DirectionFacts,
    /// Both clocks are known to be correct; else the delays of both directions have equal minima.
    pub known_clocks: bool,
}

/// The parameters of one direction. Times are in nanoseconds.
#[derive(Debug, Clone, Serialize, Document)]
pub struct DirectionFit {
    pub packets: usize,
    /// IP bytes of the packets.
    pub bytes: u64,
    pub lost: usize,
    /// What the line adds to each packet. The rate and the delay are then those of the bytes on the line.
    pub framing: Option<FramingFit>,
    /// Bit/s.
    pub rate: Fitted<ServiceRate>,
    /// Of a packet of length zero, or of the most common length if the rate is not known.
    pub base_delay: Fitted<BaseDelay>,
    pub jitter: Jitter,
    /// Bytes; none if no queue was seen because the rate is not known.
    pub queue: Option<Fitted<QueueLimit>>,
    pub loss: ChannelFit,
    pub flow_queues: bool,
    pub marked: bool,
    /// Bit/s and bytes.
    pub token_bucket: Option<(f64, f64)>,
    pub policer: Option<PolicerFit>,
    /// Its rate is `rate`, its queue `queue`.
    pub shaper: Option<ShaperFit>,
    /// Number of times in which the link sent nothing of what waited.
    pub stalls: usize,
    pub periodic_stalls: Option<PeriodicStalls>,
    pub frame_period: Option<FramePeriod>,
    pub reordering: Option<Reordering>,
    pub shape: ArrivalShape,
    /// Of a rate that varies.
    pub recorded: Option<RecordedDirection>,
}

/// One direction with a recorded rate.
#[derive(Debug, Clone, Serialize, Document)]
pub struct RecordedDirection {
    pub rate: RecordedRate,
    /// Minimum delay, which has no service time: a packet leaves with the opportunity that it waits for.
    pub min_delay: f64,
    /// Bytes, by the packets between departure and arrival.
    pub queue: Fitted<QueueLimit>,
}

/// A link.
#[derive(Debug, Clone, Serialize, Document)]
pub struct LinkFit {
    pub down: DirectionFit,
    pub up: DirectionFit,
    /// Mean of the base delays of both directions, nanoseconds: what remains if the offset between
    /// the clocks is not known.
    pub delay: Fitted<()>,
    pub known_clocks: bool,
}

/// The parameters of a link. `draws` is the number of draws of each, in the same order for all.
pub fn fit_link(runs: &[RunFacts], draws: usize, seed: u64) -> LinkFit {
    let known_clocks = !runs.is_empty() && runs.iter().all(|run| run.known_clocks);
    let [down, up] = with_known_hosts(runs);
    let (down, up) = (fit_direction(&down, "down", draws, seed), fit_direction(&up, "up", draws, seed));
    let delay = delay::of_both(&down.base_delay, &up.base_delay);
    LinkFit { down, up, delay, known_clocks }
}

/// How packets arrive in both directions of a link: the `shape` of each direction of `fit_link`, without the
/// parameters that it needs none of.
#[derive(Debug, Clone, Serialize, Document)]
pub struct LinkShape {
    pub down: ArrivalShape,
    pub up: ArrivalShape,
}

impl LinkShape {
    pub fn of(runs: &[RunFacts]) -> LinkShape {
        let [down, up] = with_known_hosts(runs);
        LinkShape { down: shape_of(&down, "down"), up: shape_of(&up, "up") }
    }
}

fn shape_of(runs: &[DirectionFacts], name: &str) -> ArrivalShape {
    let (_, passed) = policed(runs, name, 0, 1);
    let runs = passed.as_deref().unwrap_or(runs);
    ArrivalShape::of(runs, &IsolatedDelays::of(runs, 0.0))
}

/// The policer, and what it lets pass: the packets that it drops do not reach what follows it.
fn policed(runs: &[DirectionFacts], name: &str, draws: usize, seed: u64) -> (Option<PolicerFit>, Option<Vec<DirectionFacts>>) {
    let policer = policer::estimate(runs, draws, &mut Rng::for_element(seed, &format!("fit.{name}.policer")));
    let passed = policer.as_ref().map(|policer| policer::without_drops(runs, policer));
    (policer, passed)
}

/// Both directions of the runs, with what they show of the hosts: late timestamps are mended, and each knows
/// what the capture at its receiver loses.
fn with_known_hosts(runs: &[RunFacts]) -> [Vec<DirectionFacts>; 2] {
    let [mut down, mut up]: [Vec<DirectionFacts>; 2] = [
        runs.iter().map(|run| late_timestamps::corrected(&run.down)).collect(),
        runs.iter().map(|run| late_timestamps::corrected(&run.up)).collect(),
    ];
    for (down, up) in down.iter_mut().zip(&mut up) {
        (down.receiver_misses, up.receiver_misses) = (up.sender_misses(), down.sender_misses());
    }
    if down.iter().chain(&up).any(|facts| facts.late.is_some()) {
        down.iter_mut().zip(&mut up).for_each(|(down, up)| late_timestamps::of_both([down, up]));
        down.iter_mut().chain(&mut up).for_each(|facts| facts.late = facts.late.or(Some(LIMITS.host_delay_ns)));
    }
    [down, up]
}

/// The parameters of a direction by the bytes on its line, where service times show a framing; else by those of
/// its packets.
fn fit_direction(runs: &[DirectionFacts], name: &str, draws: usize, seed: u64) -> DirectionFit {
    let plain = fit_lengths(runs, name, draws, seed);
    // A bucket counts bytes of its own.
    if plain.policer.is_some() || plain.shaper.is_some() {
        return plain;
    }
    let margin = quantile_of_sorted(&IsolatedDelays::of(runs, 0.0).above_min(), 0.95).unwrap_or(0.0) as i64;
    let Some(framing) = framing::estimate(runs, margin, draws, &mut Rng::for_element(seed, &format!("fit.{name}.framing")))
    else {
        return plain;
    };
    let fit = fit_lengths(&framing.on_line(runs), name, draws, seed);
    let is_rate = fit.rate.value.is_some() && fit.rate.evidence.gaps > 0;
    if !is_rate || fit.recorded.is_some() || fit.policer.is_some() || fit.shaper.is_some() {
        return plain;
    }
    let common_len = plain.base_delay.evidence.len;
    let (rate, ends) = (fit.rate.value.unwrap_or_default(), framing.range(common_len));
    // A length that is rare may fill a cell more or less.
    let cell = if framing.overhead.lo == framing.overhead.hi { 0.0 } else { framing.cell_bytes() * 8e9 / rate };
    let base_delay = Fitted { evidence: BaseDelay { len: common_len, ..fit.base_delay.evidence }, ..fit.base_delay };
    let base_delay = match base_delay.value {
        Some(value) => base_delay.at_least(value - cell, value + cell),
        None => base_delay,
    };
    DirectionFit {
        rate: fit.rate.at_least(rate * ends[0].min(ends[1]), rate * ends[0].max(ends[1])),
        queue: fit.queue.map(|queue| in_packets(queue, framing.share_of(common_len), common_len)),
        framing: Some(framing),
        bytes: plain.bytes,
        shape: plain.shape,
        base_delay,
        ..fit
    }
}

/// A limit of a queue in bytes on the line, in those of packets, which a queue counts.
fn in_packets(queue: Fitted<QueueLimit>, share: f64, packet: u32) -> Fitted<QueueLimit> {
    let scaled = |bytes: Option<f64>| bytes.map(|bytes| bytes * share);
    let evidence = QueueLimit {
        max_accepted: queue.evidence.max_accepted * share,
        blur: queue.evidence.blur * share,
        packet,
        ..queue.evidence
    };
    let draws = queue.draws.iter().map(|bytes| bytes * share).collect();
    Fitted { value: scaled(queue.value), lo: scaled(queue.lo), hi: scaled(queue.hi), draws, evidence, ..queue }
}

fn fit_lengths(runs: &[DirectionFacts], name: &str, draws: usize, seed: u64) -> DirectionFit {
    let rng = |parameter: &str| Rng::for_element(seed, &format!("fit.{name}.{parameter}"));
    let (mut policer, passed) = policed(runs, name, draws, seed);
    let sent = runs;
    let mut runs = passed.as_deref().unwrap_or(runs);
    let late = runs.iter().filter_map(|facts| facts.late).reduce(f64::max);
    let floor_error = runs.iter().map(|facts| facts.floor_error).fold(0.0, f64::max);
    let mut isolated = IsolatedDelays::of(runs, 0.0);
    let shape = ArrivalShape::of(runs, &isolated);
    // What jitter adds to an arrival does not show that the next packet waited.
    let margin = quantile_of_sorted(&isolated.above_min(), 0.95).unwrap_or(0.0) as i64;
    let mut rate = rate::estimate(runs, margin, draws, &mut rng("rate"));
    let resolved = steady_ns_per_byte(&rate).and_then(|ns_per_byte| with_known_losses(runs, ns_per_byte));
    if let Some(resolved) = &resolved {
        runs = resolved;
        rate = rate::estimate(runs, margin, draws, &mut rng("rate"));
    }
    let carried = rate.lo;
    if rate.status == Status::Bounded {
        rate = rate_by_size::estimate(rate, runs, &isolated, draws, &mut rng("rate"));
    }
    let waits_for_bucket = policer.as_ref().is_some_and(|policer| is_same_rate(&rate, policer));
    let shaper = match policer.is_none() || waits_for_bucket {
        true => shaper::estimate(sent, &rate, draws, &mut rng("shaper")).map(|found| match late {
            Some(_) => found.by_late_hosts(floor_error),
            None => found,
        }),
        false => None,
    };
    if shaper.is_some() {
        (policer, runs) = (None, sent);
    } else if waits_for_bucket {
        // Packets wait for tokens in a short queue: the line is at least as fast.
        rate = Fitted::bounded(rate.lo, None, ServiceRate::without_queue(RateMethod::Throughput, Vec::new()));
    }
    if let Some(found) = &shaper {
        let steady = ServiceRate { steps: None, variation: None, own: None, ..rate.evidence.clone() };
        let Fitted { status, value, lo, hi, draws, .. } = found.rate.clone();
        rate = Fitted { status, value, lo, hi, draws, evidence: steady };
    }
    // Of a link that serves others, too, a packet takes the time of its own rate.
    // Late timestamps blur what lengths differ by.
    let is_blurred = late.is_some() && rate.evidence.method == RateMethod::Size;
    let own_rate = rate.evidence.own.or(rate.value).filter(|_| !is_blurred);
    let at_least = match own_rate {
        Some(value) => {
            isolated = IsolatedDelays::of(runs, 8e9 / value);
            None
        }
        None => rate_by_size::at_least(&isolated, draws, &mut rng("at least")).into_iter().chain(carried).reduce(f64::max),
    };
    // A packet that finds tokens passes at the rate of bursts.
    let rates: Vec<f64> = match &shaper {
        Some(found) => vec![found.evidence.peak],
        None => {
            let scale = rate.evidence.own.zip(rate.value).map_or(1.0, |(own, mean)| own / mean);
            rate.value.iter().chain(&rate.draws).filter(|_| own_rate.is_some()).map(|rate| rate * scale).collect()
        }
    };
    let full = f64::from(isolated.common_len);
    let ns_per_byte = own_rate.map(|rate| 8e9 / rate);
    let service_time = ns_per_byte.map(|ns_per_byte| ns_per_byte * full);
    let of_others = rate.evidence.own.map_or(0.0, |own| 8e9 / own * full);
    // Hosts of several flows keep their packets apart.
    let of_hosts = service_time
        .filter(|_| runs.iter().any(DirectionFacts::has_several_flows))
        .map_or(0.0, |service_time| LIMITS.max_host_spacing_ns.min(LIMITS.host_spacing * service_time));
    // A link with a queue for each flow serves another one in between.
    let of_flows = service_time.filter(|_| runs.iter().any(|facts| facts.flow_queues)).unwrap_or(0.0);
    let others = of_others.max(of_hosts).max(of_flows);
    let of_delay = |jitter: &[f64], early: &[f64]| {
        let known = KnownLink { rates: &rates, jitter, early, at_least, late: late.unwrap_or(0.0).max(floor_error), others };
        delay::estimate(&isolated, known, draws, &mut rng("delay"))
    };
    let first = of_delay(&[], &[]);
    // Packets of which the rate is not known took no longer than this; short ones show hardly a rate.
    let slowest = at_least.filter(|_| isolated.common_len >= LIMITS.max_short_len).map(|rate| 8e9 / rate);
    let mut served = ns_per_byte.zip(first.value.or(first.hi)).filter(|_| rate.evidence.gaps > 0);
    let mut above = isolated.above_min();
    let mut early = Vec::new();
    if let Some((ns_per_byte, base)) = served {
        let mut of_all = jitter_of_all(runs, base, ns_per_byte);
        if rate.evidence.method == RateMethod::Mode {
            // Service times that agree leave no room for more: a loss of another cause is in between.
            of_all.retain(|jitter| *jitter < ns_per_byte * full / 2.0);
        }
        if of_all.len() > above.len() {
            above = of_all;
        }
        let count = early_count(&rate, ns_per_byte * full, &above);
        let of_run = |facts: &DirectionFacts| service::early_delays(facts, ns_per_byte, base, count);
        early = runs.iter().flat_map(of_run).collect();
        early.sort_unstable_by(f64::total_cmp);
        // Packets of several flows may have reached the link in another order than they left.
        let is_order = |bulk: &DelayBulk| early[LIMITS.max_misordered] >= bulk.floor;
        if let Some(bulk) = DelayBulk::of(&early).filter(|bulk| late.is_some() || is_order(bulk)) {
            early.retain(|delay| *delay >= bulk.floor);
        }
        if shaper.is_some() || passes_bursts(&early, &isolated, ns_per_byte) {
            early.clear();
        }
        if early.len() >= LIMITS.min_early_packets && rate.evidence.method == RateMethod::Mean {
            above = early.iter().map(|delay| delay - early[0]).collect();
        }
    }
    let base_delay = of_delay(&above, &early);
    let host_noise = LIMITS.host_noise_ns.max(of_hosts) + late.unwrap_or(0.0);
    served = served.zip(base_delay.value).map(|((ns_per_byte, _), base)| (ns_per_byte, base)).or(served);
    let mut jitter = jitter::estimate(runs, &above, host_noise, draws, &mut rng("jitter"));
    if late.is_some() && jitter.family.is_some() {
        jitter.status = Status::Bounded;
    }
    // Flows that overtake each other make no arrival late.
    let has_jitter = !jitter.is_by_flow && jitter.p95.is_some_and(|p95| p95 > host_noise);
    let queue = ns_per_byte.zip(served.map(|s| s.1).or(first.value).or(first.hi)).map(|(ns_per_byte, base)| {
        let of_run = |facts: &DirectionFacts| {
            // What waits for tokens is in the queue.
            let waiting = shaper.as_ref().map(|found| found.waiting(facts));
            let (facts, sending) = match (&waiting, &shaper) {
                (Some(facts), Some(found)) => (facts, 8e9 / found.evidence.peak),
                _ => (facts, ns_per_byte),
            };
            let arrivals: Vec<Option<f64>> = match has_jitter && rate.evidence.gaps > 0 {
                true => service::unjittered_arrivals(facts, base, ns_per_byte),
                false => facts.packets.iter().map(|packet| Some(packet.arrival()? as f64)).collect(),
            };
            queue::levels(facts, &arrivals, base, ServiceTime { ns_per_byte, sending })
        };
        let levels: Vec<queue::Level> = runs.iter().flat_map(of_run).collect();
        let queue = queue::estimate(&levels, isolated.common_len, draws, &mut rng("queue"));
        // What waits for a frame is in the queue or has left it. A request, its grant and the burst take some
        // frames, of which the floor of the delays has no trace: what waits for them is in the queue, too.
        let blur = jitter.p95.filter(|_| !jitter.is_described).map_or(0.0, |p95| p95 / ns_per_byte);
        // Of a floor that may be too low, what waits may be less.
        let less = blur + floor_error / ns_per_byte;
        match queue.lo.zip(queue.hi).filter(|_| queue.status == Status::Identified && less > 0.0) {
            Some((lo, hi)) => queue.at_least((lo - less).max(full), hi + LIMITS.grant_frames * blur),
            None => queue,
        }
    });
    let shared = rate.evidence.own.zip(served).map(|(_, (ns_per_byte, base))| SharedLink { base, ns_per_byte });
    let attributed: Option<Vec<DirectionFacts>> =
        shared.map(|shared| runs.iter().map(|facts| shared.attributed(facts)).collect());
    let queue = match shared {
        Some(shared) => queue.map(|queue| queue::of_shared_link(&queue, runs.iter().map(|facts| shared.largest(facts)))),
        None => queue,
    };
    let varies = rate.evidence.steps.is_some()
        || rate.evidence.variation.is_some_and(|variation| variation >= LIMITS.min_recorded_variation)
        || is_wide(&rate)
        // ACKs alone show the times at which a link sends.
        || (rate.evidence.gaps == 0 && !jitter.is_described);
    let recorded = varies.then(|| recorded(runs, &isolated, draws, &mut rng("recorded"))).flatten();
    // A policer says why bursts alone have the line's rate.
    let rate = if policer.is_none() { rate::without_bursts(&rate, runs) } else { rate };
    let rate = rate_by_size::lower_bound(if shaper.is_none() && recorded.is_none() {
        rate::without_contradiction(rate, runs)
    } else {
        rate
    });
    let rate = if late.is_some() { rate.widened(LIMITS.late_rate_error) } else { rate };
    if let Some(found) = policer.as_mut().filter(|_| late.is_some()) {
        found.rate = found.rate.clone().widened(LIMITS.late_rate_error);
    }
    let is_uncertain = |policer: &&PolicerFit| !policer.is_known();
    let at_policer = policer.as_ref().filter(is_uncertain).map_or(0, |policer| policer.evidence.drops);
    let known = KnownDrops::of(at_policer, rate.value.is_some() && jitter.is_described);
    let loss = loss::estimate(attributed.as_deref().unwrap_or(runs), ns_per_byte.or(slowest), known, draws, &mut rng("loss"));
    DirectionFit {
        framing: None,
        recorded,
        policer,
        shaper,
        packets: sent.iter().map(|facts| facts.packets.len()).sum(),
        bytes: sent.iter().flat_map(|facts| &facts.packets).map(|packet| u64::from(packet.len)).sum(),
        lost: sent.iter().flat_map(|facts| &facts.packets).filter(|packet| packet.is_lost()).count(),
        jitter,
        loss,
        queue,
        rate,
        base_delay,
        shape,
        flow_queues: runs.iter().any(|facts| facts.flow_queues),
        marked: runs.iter().any(|facts| facts.marked),
        token_bucket: runs.iter().find_map(|facts| facts.token_bucket),
        stalls: runs.iter().map(|facts| facts.stalls.len()).sum(),
        periodic_stalls: stalls::estimate(runs, service_time.unwrap_or(0.0), draws, &mut rng("stalls")),
        frame_period: frame_period::estimate(runs),
        reordering: reordering::estimate(runs, draws, &mut rng("reordering")),
    }
}

/// The service time of a byte, nanoseconds, where nearly all of a busy link agree: it serves no others, and arrivals
/// have no jitter.
fn steady_ns_per_byte(rate: &Fitted<ServiceRate>) -> Option<f64> {
    let facts = &rate.evidence;
    let is_steady = facts.gaps > 0
        && facts.mode_share >= LIMITS.min_exact_share
        && facts.mode_above_mean <= LIMITS.max_mode_difference
        && facts.variation.is_none()
        && facts.steps.is_none();
    rate.value.filter(|_| is_steady).map(|mean| match facts.method {
        RateMethod::Mean => 8e9 / (mean * (1.0 + facts.mode_above_mean)),
        _ => 8e9 / mean,
    })
}

/// The runs, with what times say of lost packets; none if they say nothing.
fn with_known_losses(runs: &[DirectionFacts], ns_per_byte: f64) -> Option<Vec<DirectionFacts>> {
    let known: Vec<Option<DirectionFacts>> = runs.iter().map(|facts| service::served_or_dropped(facts, ns_per_byte)).collect();
    let is_any = known.iter().any(Option::is_some);
    is_any.then(|| known.into_iter().zip(runs).map(|(known, facts)| known.unwrap_or_else(|| facts.clone())).collect())
}

/// The busy link has the rate of the policer.
fn is_same_rate(rate: &Fitted<ServiceRate>, policer: &PolicerFit) -> bool {
    let both = rate.value.filter(|_| rate.evidence.gaps > 0).zip(policer.rate.value);
    both.is_some_and(|(rate, policed)| (rate / policed - 1.0).abs() <= LIMITS.same_bucket_rate)
}

/// Packets behind others have delays, without service and waiting, far below those of the packets that
/// found an empty path: a token bucket passes its burst faster than the rate, which then shows no floor.
fn passes_bursts(early: &[f64], isolated: &IsolatedDelays, ns_per_byte: f64) -> bool {
    let above = isolated.above_min();
    let (Some(early), Some(len)) = (early.first(), (above.len() >= LIMITS.min_floor_packets).then_some(isolated.common_len))
    else {
        return false;
    };
    let smallest = isolated.of_common_len()[0] - ns_per_byte * f64::from(len);
    let jitter = quantile_of_sorted(&above, 0.95).unwrap_or(0.0);
    *early < smallest - jitter.max(LIMITS.host_noise_ns)
}

/// The blocks of a busy link differ by more than the noise of many gaps.
fn is_wide(rate: &Fitted<ServiceRate>) -> bool {
    let (Some(value), Some(lo), Some(hi)) = (rate.value, rate.lo, rate.hi) else { return false };
    rate.evidence.method == RateMethod::Mean
        && rate.evidence.busy_s >= LIMITS.min_busy_s
        && (hi - lo) / 2.0 >= LIMITS.min_recorded_width * value
}

/// The recording of a rate that varies, and the queue before it.
fn recorded(runs: &[DirectionFacts], isolated: &IsolatedDelays, draws: usize, rng: &mut Rng) -> Option<RecordedDirection> {
    let rate = recorded_rate::estimate(runs)?;
    let min_delay = runs.iter().filter_map(DirectionFacts::floor).min()? as f64;
    let of_run = |facts: &DirectionFacts| {
        // A stall is a part of the recording: its packets wait in the queue.
        let facts = DirectionFacts { stalls: Vec::new(), ..facts.clone() };
        let arrivals: Vec<Option<f64>> = facts.packets.iter().map(|packet| Some(packet.arrival()? as f64)).collect();
        queue::levels(&facts, &arrivals, min_delay, ServiceTime::of(0.0))
    };
    let levels: Vec<queue::Level> = runs.iter().flat_map(of_run).collect();
    let queue = queue::estimate(&levels, isolated.common_len, draws, rng);
    Some(RecordedDirection { rate, min_delay, queue })
}

/// Jitter of the packets that no predecessor held back, sorted.
fn jitter_of_all(runs: &[DirectionFacts], base: f64, ns_per_byte: f64) -> Vec<f64> {
    let of_run = |facts: &DirectionFacts| {
        let unjittered = service::unjittered_arrivals(facts, base, ns_per_byte);
        service::jitter_of(facts, &unjittered)
    };
    let mut jitter: Vec<f64> = runs.iter().flat_map(of_run).collect();
    jitter.sort_unstable_by(f64::total_cmp);
    jitter
}

/// Number of packets after an idle time over which the error of the rate adds up to `max_drift` of the
/// median jitter.
fn early_count(rate: &Fitted<ServiceRate>, service_time: f64, jitter: &[f64]) -> usize {
    let (Some(value), Some(lo), Some(hi)) = (rate.value, rate.lo, rate.hi) else { return 1 };
    let median = quantile_of_sorted(jitter, 0.5).unwrap_or(0.0);
    let drift = service_time * (hi - lo) / 2.0 / value;
    ((LIMITS.max_drift * median / drift) as usize).clamp(1, LIMITS.drift_window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{LinkPacket, Outcome};

    const US: i64 = 1000;

    /// A link of 20 Mb/s and 15 ms that passes `burst` packets at once after it was idle: single packets
    /// 30 ms apart, bursts of 30 packets, and a standing queue.
    fn shaped(burst: f64) -> RunFacts {
        let sent = (0..300).map(|i| i * 30_000 * US).chain((0..40).flat_map(|i| [10_000_000 * US + i * 50_000 * US; 30]));
        let standing = (0..2000).map(|i| 13_000_000 * US + i * 599 * US);
        let (mut tokens, mut last) = (burst, 0);
        let packets = sent.chain(standing).map(|sent: i64| {
            // The packet waits until the bucket has a token for it.
            tokens = (tokens + (sent - last) as f64 / (600 * US) as f64).min(burst);
            let wait = ((1.0 - tokens).max(0.0) * (600 * US) as f64) as i64;
            (tokens, last) = (tokens - 1.0, sent);
            LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(sent + wait + 15_000 * US) }
        });
        let down = DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() };
        RunFacts { down, ..RunFacts::default() }
    }

    #[test]
    fn base_delay_is_that_of_single_packets_when_bursts_pass_faster_than_the_rate() {
        let down = fit_link(&[shaped(21.0)], 50, 1).down;
        let (rate, base) = (down.rate.value.unwrap(), down.base_delay.value.unwrap());
        assert!((rate / 20e6 - 1.0).abs() < 0.01, "{rate}");
        assert!((base - 14.4e6).abs() < 0.1e6, "{base}");
    }

    #[test]
    fn shape_of_a_link_is_that_of_its_fit() {
        // A policer of 20 Mb/s and 20 packets, which the bursts of 30 exceed; and the same link as it is.
        let mut policed = shaped(0.0);
        let (mut tokens, mut last) = (20.0f64, 0);
        for packet in &mut policed.down.packets {
            tokens = (tokens + (packet.sent - last) as f64 / (600 * US) as f64).min(20.0);
            last = packet.sent;
            packet.outcome =
                if tokens < 1.0 { Outcome::Lost { channel: 0.5 } } else { Outcome::Arrived(packet.sent + 15_000 * US) };
            tokens -= if tokens < 1.0 { 0.0 } else { 1.0 };
        }
        for (runs, is_policed) in [(vec![policed], true), (vec![shaped(21.0)], false)] {
            let (fit, shape) = (fit_link(&runs, 50, 7), LinkShape::of(&runs));
            assert_eq!(fit.down.policer.is_some(), is_policed);
            assert_eq!((shape.down, shape.up), (fit.down.shape, fit.up.shape));
        }
    }

    #[test]
    fn packets_behind_others_show_the_base_delay_when_all_pass_at_the_rate() {
        let facts = shaped(0.0);
        let base = fit_link(std::slice::from_ref(&facts), 50, 1).down.base_delay;
        assert!((base.value.unwrap() - 15e6).abs() < 0.1e6, "{:?}", base.value);
        let isolated = IsolatedDelays::of(std::slice::from_ref(&facts.down), 400.0);
        let early = service::early_delays(&facts.down, 400.0, 15e6, 30);
        assert!(early.len() > 1000 && !passes_bursts(&early, &isolated, 400.0), "{:?}", &early[..5]);
        let bursts = shaped(21.0).down;
        let early = service::early_delays(&bursts, 400.0, 15e6, 30);
        assert!(passes_bursts(&early, &IsolatedDelays::of(&[bursts], 400.0), 400.0), "{:?}", &early[..5]);
    }
}
