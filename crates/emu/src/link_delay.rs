//! What a link itself adds to a packet's delay, beside propagation and queueing: serialisation, the
//! frame of a medium, and jitter. A lateness of the emulator matters in proportion to it.

use ackclock_core::Span;
use ackclock_core::impairment::JitterConfig;
use ackclock_core::units::Rate;
use ackclock_sim::Plan;
use ackclock_sim::plan::{Direction, HopDirection, MediumPlan, RatePlan};

/// The bytes of an opportunity of a recorded rate.
const OPPORTUNITY: u64 = 1500;

/// One direction of the path of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkDelay {
    /// Serialisation over all hops.
    pub ps_per_byte: f64,
    /// Frames and jitter over all hops.
    pub constant: Span,
    /// Serialisation at the slowest hop, where all hops have a fixed rate and no jitter: only then
    /// does the spacing of the packets that leave the path show whether its bottleneck was idle.
    pub bottleneck_ps_per_byte: Option<f64>,
    /// The bottleneck is the client's own.
    pub per_client: bool,
}

impl LinkDelay {
    /// The path of flow number `flow` in one direction.
    pub fn of(plan: &Plan, flow: usize, direction: Direction) -> LinkDelay {
        let mut path = LinkDelay::default();
        let mut slowest = Some(0.0f64);
        for &hop in &plan.flows[flow].hops {
            let hop = &plan.hops[hop];
            if let Some(medium) = &hop.medium {
                let (per_byte, constant) = medium_delay(medium, direction);
                path.ps_per_byte += per_byte;
                path.constant = path.constant + constant;
                slowest = None;
            }
            let Some(config) = hop.direction(direction) else { continue };
            let per_byte = config.rate.as_ref().map_or(0.0, ps_per_byte);
            path.ps_per_byte += per_byte;
            // A shaper spaces the packets, and delays none that finds its tokens.
            let per_byte = config.shaper.as_ref().map_or(0.0, |shaper| self::per_byte(shaper.config.rate)).max(per_byte);
            path.constant = path.constant + config.jitter.as_ref().map_or(Span::ZERO, jitter);
            // As the frame of a medium.
            let grants = config.slots().and_then(|slots| slots.grants);
            path.constant = path.constant + grants.map_or(Span::ZERO, |grants| grants.frame.saturating_mul(grants.every.into()));
            if slowest.is_some_and(|slowest| per_byte > slowest) {
                path.per_client = hop.per_client;
            }
            slowest = slowest.filter(|_| keeps_spacing(config)).map(|slowest| slowest.max(per_byte));
        }
        path.bottleneck_ps_per_byte = slowest.filter(|&slowest| slowest > 0.0);
        path
    }

    /// What the path adds to a packet of `bytes`.
    #[inline]
    pub fn added(&self, bytes: u32) -> Span {
        self.constant + Span((self.ps_per_byte * f64::from(bytes)) as u64)
    }
}

/// Whether packets leave a hop with at least the spacing of its rate.
fn keeps_spacing(config: &HopDirection) -> bool {
    let is_recorded = matches!(config.rate, Some(RatePlan::Trace { .. } | RatePlan::Schedule(_) | RatePlan::Slots(_)));
    let has_burst = config.shaper.as_ref().is_some_and(|shaper| shaper.config.burst.is_some() || shaper.autorate.is_some());
    !is_recorded
        && !has_burst
        && config.jitter.is_none()
        && config.reorder.is_none()
        && config.outage.is_empty()
        && config.handover.is_none()
}

fn ps_per_byte(rate: &RatePlan) -> f64 {
    match rate {
        RatePlan::Fixed { bps } => per_byte(Rate::from_bps(*bps)),
        // The mean of the schedule.
        RatePlan::Schedule(schedule) => per_byte(Rate::from_bps((schedule.mean_bps() as u64).max(1))),
        RatePlan::Slots(slots) => per_byte(Rate::from_bps((slots.mean_bps() as u64).max(1))),
        // The mean over the recording.
        RatePlan::Trace { times_ms, .. } => {
            let period_ps = Span::from_ms(times_ms.last().copied().unwrap_or(0)).0 as f64;
            period_ps / (times_ms.len().max(1) as u64 * OPPORTUNITY) as f64
        }
    }
}

fn per_byte(rate: Rate) -> f64 {
    8.0 * Span::from_secs(1).0 as f64 / rate.bps() as f64
}

/// The mean of a jitter above its minimum; of a normal distribution, which has none, the standard
/// deviation.
fn jitter(config: &JitterConfig) -> Span {
    match *config {
        JitterConfig::Uniform { low, high, .. } => Span(high.0.saturating_sub(low.0) / 2),
        JitterConfig::Normal { sd, .. } => sd,
        JitterConfig::Exponential { mean, .. } => mean,
        JitterConfig::Pareto { mean, shape, .. } => Span((mean.0 as f64 / shape.max(1.0)) as u64),
    }
}

/// Serialisation per byte, and the frame or the overhead of each packet.
fn medium_delay(medium: &MediumPlan, direction: Direction) -> (f64, Span) {
    match medium {
        MediumPlan::HalfDuplex(config) => (per_byte(config.rate), Span::ZERO),
        MediumPlan::Wimax(cell) => (0.0, cell.frame),
        MediumPlan::PacketRadio(config) => {
            let hops = config.hops.max(1);
            (f64::from(hops) * per_byte(config.rate), Span(u64::from(hops) * config.latency.0))
        }
        MediumPlan::Wlan(config) => (per_byte(config.data.rate), config.data.preamble),
        MediumPlan::Grants(config) => {
            let direction = if direction == Direction::Down { &config.down } else { &config.up };
            (0.0, direction.interval)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const MS: u64 = 1_000_000_000;

    fn direction(rate: &Value, jitter: &Value) -> Value {
        json!({"queue": null, "rate": rate, "framing": "none", "outage": [], "loss": null, "duplicate": null,
            "delay_ps": 30 * MS, "jitter": jitter, "reorder": null})
    }

    fn plan(hops: Vec<Value>) -> Plan {
        let flow = json!({"name": "live", "client": 0, "direction": "down", "hops": (0..hops.len()).collect::<Vec<_>>(),
            "start": {"low_ps": 0, "high_ps": 0}, "stop_ps": null, "overhead_ps": 0, "workload": {"kind": "live"}, "tcp": null});
        let plan = json!({"seed": 1, "duration_ps": MS, "sample_ps": 100 * MS, "clients": 1, "measure": {"kind": "all"},
            "hops": hops, "flows": [flow], "captures": []});
        Plan::from_json(&plan.to_string()).unwrap()
    }

    fn hop(down: Value) -> Value {
        json!({"name": "hop", "per_client": true, "medium": null, "down": down.clone(), "up": down})
    }

    // finding("L9")
    #[test]
    fn link_adds_serialisation_at_every_hop_and_no_propagation() {
        let fixed = |bps: u64| hop(direction(&json!({"kind": "fixed", "bps": bps}), &Value::Null));
        let mut second = fixed(1_000_000);
        second["name"] = json!("second");
        let path = LinkDelay::of(&plan(vec![fixed(10_000_000), second]), 0, Direction::Down);
        assert_eq!(path.added(1500), Span::from_us(1200 + 12_000));
        assert_eq!(path.bottleneck_ps_per_byte, Some(8_000_000.0));
        assert!(path.per_client);
    }

    // finding("L9")
    #[test]
    fn link_adds_the_mean_jitter_and_the_mean_opportunity_when_it_has_them() {
        let jitter = json!({"kind": "uniform", "low_ps": 2 * MS, "high_ps": 6 * MS, "in_order": true});
        let path = LinkDelay::of(&plan(vec![hop(direction(&Value::Null, &jitter))]), 0, Direction::Up);
        assert_eq!(path.added(1500), Span::from_ms(2));
        assert_eq!(path.bottleneck_ps_per_byte, None);
        let recorded = json!({"kind": "trace", "times_ms": [1, 4, 5, 8]});
        let path = LinkDelay::of(&plan(vec![hop(direction(&recorded, &Value::Null))]), 0, Direction::Down);
        assert_eq!(path.added(1500), Span::from_ms(2));
        assert_eq!(path.bottleneck_ps_per_byte, None);
    }
}
