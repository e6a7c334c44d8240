//! All parameters of a link, from one run or several over the same path.

use crate::delay::{self, BaseDelay, IsolatedDelays, KnownLink};
use crate::estimate::{Fitted, Status};
use crate::facts::DirectionFacts;
use crate::jitter::{self, Jitter};
use crate::loss::{self, ChannelFit};
use crate::queue::{self, QueueLimit};
use crate::rate::{self, ServiceRate};
use crate::rate_by_size;
use crate::service;
use crate::thresholds::LIMITS;
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
#[derive(Debug, Clone, Serialize)]
pub struct DirectionFit {
    pub packets: usize,
    pub lost: usize,
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
    /// Number of times in which the link sent nothing of what waited.
    pub stalls: usize,
}

/// A link.
#[derive(Debug, Clone, Serialize)]
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
    let [down, up]: [Vec<DirectionFacts>; 2] =
        [runs.iter().map(|run| run.down.clone()).collect(), runs.iter().map(|run| run.up.clone()).collect()];
    let (down, up) = (fit_direction(&down, "down", draws, seed), fit_direction(&up, "up", draws, seed));
    let both = |of: fn(&Fitted<BaseDelay>) -> Option<f64>| Some((of(&down.base_delay)? + of(&up.base_delay)?) / 2.0);
    let delay = match both(|delay| delay.value) {
        Some(value) => {
            let pairs = down.base_delay.draws.iter().zip(&up.base_delay.draws);
            Fitted::identified(value, pairs.map(|(down, up)| (down + up) / 2.0).collect(), ())
        }
        None => Fitted::bounded(None, both(|delay| delay.hi), ()),
    };
    LinkFit { down, up, delay, known_clocks }
}

fn fit_direction(runs: &[DirectionFacts], name: &str, draws: usize, seed: u64) -> DirectionFit {
    let rng = |parameter: &str| Rng::for_element(seed, &format!("fit.{name}.{parameter}"));
    let isolated = IsolatedDelays::of(runs);
    // What jitter adds to an arrival does not show that the next packet waited.
    let margin = quantile_of_sorted(&isolated.above_min(), 0.95).unwrap_or(0.0) as i64;
    let mut rate = rate::estimate(runs, margin, draws, &mut rng("rate"));
    if rate.status == Status::Bounded {
        rate = rate_by_size::estimate(rate, runs, &isolated, draws, &mut rng("rate"));
    }
    let rates: Vec<f64> = rate.value.iter().chain(&rate.draws).copied().collect();
    let of_delay = |jitter: &[f64]| {
        let known = KnownLink { rates: &rates, jitter };
        delay::estimate(&isolated, known, draws, &mut rng("delay"))
    };
    let first = of_delay(&[]);
    let ns_per_byte = rate.value.map(|rate| 8e9 / rate);
    let served = ns_per_byte.zip(first.value.or(first.hi));
    let unjittered: Option<Vec<Vec<Option<f64>>>> = served
        .map(|(ns_per_byte, base)| runs.iter().map(|facts| service::unjittered_arrivals(facts, base, ns_per_byte)).collect());
    let mut above = isolated.above_min();
    if let Some(unjittered) = &unjittered {
        let of_all: Vec<f64> =
            runs.iter().zip(unjittered).flat_map(|(facts, arrivals)| service::jitter_of(facts, arrivals)).collect();
        // Without a queue the rate adds nothing to what isolated packets show.
        if rate.evidence.gaps > 0 && of_all.len() > above.len() {
            above = of_all;
            above.sort_unstable_by(f64::total_cmp);
        }
    }
    let has_jitter = quantile_of_sorted(&above, 0.95).is_some_and(|p95| p95 > LIMITS.host_noise_ns);
    let base_delay = of_delay(&above);
    let queue = served.zip(unjittered).map(|((ns_per_byte, base), unjittered)| {
        let of_run = |(facts, unjittered): (&DirectionFacts, Vec<Option<f64>>)| {
            let observed = || facts.packets.iter().map(|packet| Some(packet.arrival()? as f64)).collect();
            queue::levels(facts, &if has_jitter { unjittered } else { observed() }, base, ns_per_byte)
        };
        let levels: Vec<queue::Level> = runs.iter().zip(unjittered).flat_map(of_run).collect();
        queue::estimate(&levels, isolated.common_len, draws, &mut rng("queue"))
    });
    DirectionFit {
        packets: runs.iter().map(|facts| facts.packets.len()).sum(),
        lost: runs.iter().flat_map(|facts| &facts.packets).filter(|packet| packet.is_lost()).count(),
        jitter: jitter::estimate(runs, &above, draws, &mut rng("jitter")),
        loss: loss::estimate(runs, ns_per_byte, draws, &mut rng("loss")),
        queue,
        rate,
        base_delay,
        flow_queues: runs.iter().any(|facts| facts.flow_queues),
        marked: runs.iter().any(|facts| facts.marked),
        token_bucket: runs.iter().find_map(|facts| facts.token_bucket),
        stalls: runs.iter().map(|facts| facts.stalls.len()).sum(),
    }
}
