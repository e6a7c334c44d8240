//! The figures of one flow's limit.

use super::figures::{FlowFigures, HopFigures, PlanFigures, PlannedFlow, RunFigures};
use super::kind::{self, KINDS, LimitKind, largest};
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The maximum of the window field (RFC 9293); a larger window needs scaling (RFC 7323).
const UNSCALED_BYTES: f64 = 65_535.0;

/// A tuned receive window above this share of its maximum is limited by the maximum.
const GROWN: f64 = 0.9;

/// A window that is closed for this share of the time or more is closed in most RTTs: a sender whose
/// pacing or cwnd follows it waits for it only at the end of each RTT.
const CLOSES: f64 = 0.1;

const OVERFLOWS: [&str; 3] = ["queue_full", "early", "policed"];
const POLICED: [&str; 1] = ["policed"];
const TOO_LONG: [&str; 1] = ["mtu"];
const CHANNEL: [&str; 4] = ["loss", "retries", "outage", "handover"];

/// Limits that an ACK lifts.
const WINDOWS: [LimitKind; 3] = [LimitKind::ReceiveWindow, LimitKind::SendBuffer, LimitKind::Cwnd];

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// The figures of one flow's limit, or their means over several flows or runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Document)]
#[serde(default, deny_unknown_fields)]
pub struct LimitFacts {
    /// Share of the flow's time by kind; they add up to 1.
    #[serde(serialize_with = "kind::by_kind")]
    pub shares: BTreeMap<String, f64>,
    /// Of the data.
    pub direction: String,
    /// Share of the time in which a hop in the direction of the data has no free capacity.
    pub saturated: f64,
    /// Of the flow, mean; 0 without.
    pub goodput_bps: f64,
    pub rtt_ms: f64,
    /// Queueing delay of the flow's ACKs while the bottleneck has free capacity, mean.
    pub ack_wait_ms: f64,
    /// Its part of the RTT.
    pub ack_part: f64,
    /// Queueing delay in the direction of the data, mean.
    pub queue_ms: f64,
    /// The receive window in force while it limits, and the RTT of that time; 0 without.
    pub window_bytes: f64,
    pub window_rtt_ms: f64,
    /// The configured one.
    pub buffer_bytes: f64,
    /// 0: tuned or unlimited.
    pub send_buffer_bytes: f64,
    /// Reductions of cwnd, those for marks, and RTOs.
    pub cuts: f64,
    pub mark_cuts: f64,
    pub timeouts: f64,
    /// Packets that hops in the direction of the data dropped at full queues (or by an AQM), and on
    /// the channel.
    pub overflow_drops: f64,
    pub channel_drops: f64,
    /// Those of `overflow_drops` that policers dropped.
    #[serde(skip_serializing_if = "is_zero")]
    pub policed_drops: f64,
    /// Packets that they dropped because they were longer than the MTU.
    #[serde(skip_serializing_if = "is_zero")]
    pub mtu_drops: f64,
    /// Those of the more frequent cause at `loss_hop`.
    pub loss_drops: f64,
    /// Hops by name.
    pub bottleneck: String,
    pub ack_hop: String,
    pub loss_hop: String,
    /// Other flows use `loss_hop`, so that its drops are not all of this flow.
    pub shares_loss_hop: bool,
    /// Flows send data through `ack_hop` in the direction of the ACKs.
    pub data_beside_acks: bool,
    /// What caps the receive window: "buffer", "scaling", "autotuning", "reader", "proxy": one whose
    /// buffer is full, since it receives faster than `feeds` sends, or "proxy_buffer": `feeds` waits
    /// for data, although the buffer is full: it is smaller than what an RTT behind the proxy
    /// (`proxy_rtt_ms`) needs.
    pub window_cap: String,
    /// The buffer of the proxy; 0 without one.
    pub proxy_bytes: f64,
    pub proxy_rtt_ms: f64,
    /// The flow whose data a proxy forwards here.
    pub pushed_by: String,
    /// The flow to which a proxy forwards this flow's data.
    pub feeds: String,
    /// The flow's name.
    pub flow: String,
}

impl LimitFacts {
    /// Why cwnd was reduced most often: "overflow", "policer", "channel", "mark", "mtu"; "none" without a
    /// reduction.
    pub fn loss(&self) -> &'static str {
        if self.cuts + self.timeouts < 0.5 {
            return "none";
        }
        if self.mark_cuts > 0.5 * self.cuts {
            return "mark";
        }
        // A report of the MTU reduces nothing: without one only the RTO is left.
        if self.timeouts >= 0.5 && self.mtu_drops > self.overflow_drops + self.channel_drops {
            return "mtu";
        }
        if self.channel_drops > self.overflow_drops {
            return "channel";
        }
        if self.policed_drops > 0.5 * self.overflow_drops { "policer" } else { "overflow" }
    }

    /// The kind of limit with the largest share, as [`largest`] counts them.
    pub fn kind(&self) -> LimitKind {
        largest(&self.shares, self.loss() != "none")
    }

    /// The means of several flows or runs; of names and causes the most frequent, the first of equal ones.
    /// The receive window is that of the time in which it limits: flows that it limits for longer count
    /// more. None without any.
    pub fn mean(facts: &[LimitFacts]) -> Option<LimitFacts> {
        let first = facts.first()?;
        let mean = |figure: fn(&LimitFacts) -> f64| facts.iter().map(figure).sum::<f64>() / facts.len() as f64;
        let limited: f64 = facts.iter().map(|flow| flow.share(LimitKind::ReceiveWindow)).sum();
        let window = |figure: fn(&LimitFacts) -> f64| {
            if limited > 0.0 {
                facts.iter().map(|flow| figure(flow) * flow.share(LimitKind::ReceiveWindow)).sum::<f64>() / limited
            } else {
                mean(figure)
            }
        };
        let name = |figure: fn(&LimitFacts) -> &String| mode(facts.iter().map(figure)).cloned().unwrap_or_default();
        let flag = |figure: fn(&LimitFacts) -> bool| mode(facts.iter().map(figure)).unwrap_or_default();
        let share = |kind: &String| facts.iter().map(|flow| flow.shares.get(kind).copied().unwrap_or(0.0)).sum::<f64>();
        Some(LimitFacts {
            shares: first.shares.keys().map(|kind| (kind.clone(), share(kind) / facts.len() as f64)).collect(),
            direction: name(|flow| &flow.direction),
            saturated: mean(|flow| flow.saturated),
            goodput_bps: mean(|flow| flow.goodput_bps),
            rtt_ms: mean(|flow| flow.rtt_ms),
            ack_wait_ms: mean(|flow| flow.ack_wait_ms),
            ack_part: mean(|flow| flow.ack_part),
            queue_ms: mean(|flow| flow.queue_ms),
            window_bytes: window(|flow| flow.window_bytes),
            window_rtt_ms: window(|flow| flow.window_rtt_ms),
            buffer_bytes: mean(|flow| flow.buffer_bytes),
            send_buffer_bytes: mean(|flow| flow.send_buffer_bytes),
            cuts: mean(|flow| flow.cuts),
            mark_cuts: mean(|flow| flow.mark_cuts),
            timeouts: mean(|flow| flow.timeouts),
            overflow_drops: mean(|flow| flow.overflow_drops),
            channel_drops: mean(|flow| flow.channel_drops),
            policed_drops: mean(|flow| flow.policed_drops),
            mtu_drops: mean(|flow| flow.mtu_drops),
            loss_drops: mean(|flow| flow.loss_drops),
            bottleneck: name(|flow| &flow.bottleneck),
            ack_hop: name(|flow| &flow.ack_hop),
            loss_hop: name(|flow| &flow.loss_hop),
            shares_loss_hop: flag(|flow| flow.shares_loss_hop),
            data_beside_acks: flag(|flow| flow.data_beside_acks),
            window_cap: name(|flow| &flow.window_cap),
            proxy_bytes: mean(|flow| flow.proxy_bytes),
            proxy_rtt_ms: mean(|flow| flow.proxy_rtt_ms),
            pushed_by: name(|flow| &flow.pushed_by),
            feeds: name(|flow| &flow.feeds),
            flow: name(|flow| &flow.flow),
        })
    }

    pub(super) fn share(&self, kind: LimitKind) -> f64 {
        self.shares.get(kind.name()).copied().unwrap_or(0.0)
    }

    /// The time in which the application has no data, but a hop no free capacity, becomes the
    /// bottleneck's.
    fn give_to_full_hop(&mut self) {
        let (application, bottleneck) = (self.share(LimitKind::Application), self.share(LimitKind::Bottleneck));
        let full = application.min(self.saturated - bottleneck).max(0.0);
        self.shares.insert(LimitKind::Application.name().into(), application - full);
        self.shares.insert(LimitKind::Bottleneck.name().into(), bottleneck + full);
    }
}

/// The most frequent value, the first of equal ones.
fn mode<T: PartialEq + Copy>(values: impl Iterator<Item = T> + Clone) -> Option<T> {
    let count = |value: T| values.clone().filter(|other| *other == value).count();
    values.clone().reduce(|best, value| if count(value) > count(best) { value } else { best })
}

/// The figures of each TCP flow with packets, in the order of the summary.
pub fn of_run(run: &RunFigures, plan: &PlanFigures) -> Vec<LimitFacts> {
    let backlogged = backlogged(run, plan);
    let mut facts: Vec<LimitFacts> = Vec::new();
    for (flow, planned) in run.flows.iter().zip(&plan.flows) {
        let Some(of) = of_flow(flow, planned, run, plan) else { continue };
        let is_lossy = |hop: usize| plan.hops.get(hop).is_some_and(|hop| hop.name == of.loss_hop);
        let users = plan.flows.iter().flat_map(|other| &other.hops).filter(|&&hop| is_lossy(hop)).count();
        let buffer = backlogged.get(&flow.flow).copied();
        let feeder = run.flows.iter().rfind(|other| other.feeds.as_ref() == Some(&flow.flow));
        facts.push(LimitFacts {
            shares_loss_hop: users > 1,
            window_cap: if buffer.is_some() { "proxy".into() } else { of.window_cap },
            proxy_bytes: buffer.unwrap_or(0.0),
            pushed_by: feeder.map_or_else(String::new, |feeder| feeder.flow.clone()),
            ..of
        });
    }
    let unchanged = facts.clone();
    for number in 0..facts.len() {
        let Some(before) = facts.iter().position(|part| !part.flow.is_empty() && part.flow == facts[number].pushed_by) else {
            continue;
        };
        if facts[before].kind() != LimitKind::ReceiveWindow || facts[before].window_cap != "proxy" {
            continue;
        }
        // All that the proxy holds is in flight, which leaves nothing to send: with a full hop on
        // the way that hop limits, without one the buffer.
        facts[number] = unchanged[number].clone();
        facts[number].give_to_full_hop();
        if facts[number].kind() == LimitKind::Application {
            let (bytes, rtt) = (facts[before].proxy_bytes, facts[number].rtt_ms);
            for part in [number, before] {
                facts[part].window_cap = "proxy_buffer".into();
                (facts[part].proxy_bytes, facts[part].proxy_rtt_ms) = (bytes, rtt);
            }
        }
    }
    facts
}

/// The figures of each TCP connection. A connection that proxies split has those of its last part, or
/// of the part before if the proxy has nothing to forward. The first of each pair is the last part's
/// name.
pub fn of_connections(run: &RunFigures, plan: &PlanFigures) -> Vec<(String, LimitFacts)> {
    let facts = of_run(run, plan);
    let by_name = |name: &str| facts.iter().find(|part| part.flow == name);
    let last = run.flows.iter().filter(|flow| flow.feeds.is_none()).filter_map(|flow| by_name(&flow.flow));
    last.map(|part| {
        let mut limiting = part;
        // A flow feeds one other at most, so a chain of proxies has an end.
        for _ in 0..facts.len() {
            match by_name(&limiting.pushed_by) {
                Some(before) if limiting.kind() == LimitKind::Application => limiting = before,
                _ => break,
            }
        }
        (part.flow.clone(), limiting.clone())
    })
    .collect()
}

/// The buffers in bytes of the proxies that a flow's data filled, by the flow in front.
fn backlogged(run: &RunFigures, plan: &PlanFigures) -> BTreeMap<String, f64> {
    let mut buffers = BTreeMap::new();
    for (proxy, planned) in run.proxies.iter().zip(&plan.proxies) {
        let parts = [&proxy.near, &proxy.far];
        let is_before =
            |flow: &&FlowFigures| parts.contains(&&flow.flow) && flow.feeds.as_ref().is_some_and(|to| parts.contains(&to));
        let Some(before) = run.flows.iter().find(is_before) else { continue };
        if proxy.held_bytes_max.get(&before.direction).is_some_and(|&held| held >= planned.buffer) {
            buffers.insert(before.flow.clone(), planned.buffer);
        }
    }
    buffers
}

fn of_flow(flow: &FlowFigures, planned: &PlannedFlow, run: &RunFigures, plan: &PlanFigures) -> Option<LimitFacts> {
    let [sender, receiver] = planned.ends()?;
    let limited = flow.limited_share.as_ref().filter(|shares| !shares.is_empty())?;
    let back = if flow.direction == "down" { "up" } else { "down" };
    let names: Vec<&str> = planned.hops.iter().filter_map(|&hop| plan.hops.get(hop)).map(|hop| hop.name.as_str()).collect();
    let row = |name: &&str| run.hops.iter().find(|row| row.hop == *name && row.direction == flow.direction);
    let data: Vec<&HopFigures> = names.iter().filter_map(row).collect();
    let beside: BTreeSet<usize> =
        plan.flows.iter().filter(|other| other.direction == back).flat_map(|other| other.hops.clone()).collect();
    let is_beside = |name: &str| {
        planned.hops.iter().any(|hop| beside.contains(hop) && plan.hops.get(*hop).is_some_and(|hop| hop.name == name))
    };
    let drops = |row: &HopFigures, causes: &[&str]| {
        causes.iter().map(|cause| row.drops_by_cause.get(*cause).copied().unwrap_or(0.0)).sum::<f64>()
    };
    let overflow: Vec<f64> = data.iter().map(|row| drops(row, &OVERFLOWS)).collect();
    let channel: Vec<f64> = data.iter().map(|row| drops(row, &CHANNEL)).collect();
    let too_long: Vec<f64> = data.iter().map(|row| drops(row, &TOO_LONG)).collect();
    let [overflows, losses, mtu_drops] = [&overflow, &channel, &too_long].map(|drops| drops.iter().sum::<f64>());
    let of_cause = if losses > overflows { &channel } else { &overflow };
    let frequent = if flow.timeouts >= 0.5 && mtu_drops > overflows + losses { &too_long } else { of_cause };
    // The first of equal ones.
    let lossy = (0..frequent.len()).rev().max_by(|&a, &b| frequent[a].total_cmp(&frequent[b]));
    let path = flow.path.clone().unwrap_or_default();
    let (saturated, ack_wait) = (path.saturated.unwrap_or_default(), path.ack_wait.unwrap_or_default());
    Some(LimitFacts {
        shares: shares(&held(flow, limited), saturated.share, ack_wait.share),
        saturated: saturated.share,
        direction: flow.direction.clone(),
        goodput_bps: flow.goodput_bps.unwrap_or(0.0),
        rtt_ms: flow.rtt_ms.mean.unwrap_or(0.0),
        ack_wait_ms: path.ack_wait_ms,
        ack_part: ack_wait.share,
        queue_ms: data.iter().map(|row| row.queue_delay_ms.mean.unwrap_or(0.0)).sum(),
        window_bytes: flow.window_bytes(),
        window_rtt_ms: flow.limiting_window_rtt_ms.unwrap_or(0.0),
        buffer_bytes: planned.quic.as_ref().map_or(receiver.receive_buffer, |quic| quic.receive_window),
        send_buffer_bytes: sender.send_buffer.unwrap_or(0.0),
        cuts: flow.window_cuts,
        mark_cuts: flow.ecn_cuts,
        timeouts: flow.timeouts,
        overflow_drops: overflows,
        channel_drops: losses,
        policed_drops: data.iter().map(|row| drops(row, &POLICED)).sum(),
        mtu_drops,
        loss_drops: lossy.map_or(0.0, |at| frequent[at]),
        bottleneck: saturated.hop,
        data_beside_acks: is_beside(&ack_wait.hop),
        ack_hop: ack_wait.hop,
        loss_hop: lossy.map_or_else(String::new, |at| data[at].hop.clone()),
        window_cap: window_cap(flow, planned).into(),
        feeds: flow.feeds.clone().unwrap_or_default(),
        flow: flow.flow.clone(),
        ..LimitFacts::default()
    })
}

/// The sender's account, without the time that another limit causes.
///
/// A pacing rate and a congestion window that was never reduced follow what the path delivers. Where
/// the receive window or the send buffer closes besides, it holds the delivery, so that time is
/// theirs.
fn held(flow: &FlowFigures, limited: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let mut limited = limited.clone();
    let share = |of: &BTreeMap<String, f64>, kind: LimitKind| of.get(kind.name()).copied().unwrap_or(0.0);
    let following: &[LimitKind] =
        if flow.window_cuts + flow.timeouts > 0.0 { &[LimitKind::Pacing] } else { &[LimitKind::Pacing, LimitKind::Cwnd] };
    let closing = [LimitKind::ReceiveWindow, LimitKind::SendBuffer].map(|kind| (kind, share(&limited, kind)));
    let total: f64 = closing.iter().map(|(_, share)| share).sum();
    if total >= CLOSES {
        let time: f64 = following.iter().map(|&kind| share(&limited, kind)).sum();
        for kind in following {
            limited.insert(kind.name().into(), 0.0);
        }
        for (kind, share) in closing {
            limited.insert(kind.name().into(), share + time * share / total);
        }
    }
    limited
}

/// The flow's time by kind.
///
/// `limited` is the sender's account, `saturated` the share of the time in which a hop had no free
/// capacity, and `ack_part` the part of an RTT in which an ACK waits in a queue.
fn shares(limited: &BTreeMap<String, f64>, saturated: f64, ack_part: f64) -> BTreeMap<String, f64> {
    let application_name = LimitKind::Application.name();
    let application = limited.get(application_name).copied().unwrap_or(0.0);
    let bottleneck = saturated.min(1.0 - application);
    let total: f64 = limited.iter().filter(|(kind, _)| *kind != application_name).map(|(_, share)| share).sum();
    let factor = if total > 0.0 { (1.0 - application - bottleneck) / total } else { 0.0 };
    let mut shares: BTreeMap<String, f64> = KINDS.into_iter().map(|kind| (kind.name().to_owned(), 0.0)).collect();
    for (kind, share) in limited {
        shares.insert(kind.clone(), share * factor);
    }
    shares.insert(application_name.into(), application);
    shares.insert(LimitKind::Bottleneck.name().into(), bottleneck);
    for kind in WINDOWS {
        let share = shares.get(kind.name()).copied().unwrap_or(0.0);
        *shares.entry(LimitKind::AckPath.name().into()).or_default() += share * ack_part;
        shares.insert(kind.name().into(), share * (1.0 - ack_part));
    }
    shares
}

fn window_cap(flow: &FlowFigures, planned: &PlannedFlow) -> &'static str {
    let Some([sender, tcp]) = planned.ends() else { return "buffer" };
    let window = flow.window_bytes();
    let reads_slowly = |bps: &f64| *bps > 0.0 && flow.goodput_bps.unwrap_or(0.0) >= GROWN * bps;
    if planned.workload.read_bps.as_ref().is_some_and(reads_slowly) {
        return "reader";
    }
    if planned.quic.is_some() {
        return "buffer";
    }
    if !(sender.window_scaling && tcp.window_scaling) && tcp.receive_buffer > UNSCALED_BYTES {
        return "scaling";
    }
    if tcp.receive_tuning.as_ref().is_some_and(|tuning| window < GROWN * tuning.share * tcp.receive_buffer) {
        return "autotuning";
    }
    "buffer"
}
