//! Findings about UDP flows between two captures: those that need neither sequence numbers nor ACKs.

use super::rule::{Check, RuleClaim};
use super::rules::RULES;
use super::sending_end::SendingEnd;
use super::transfer::{ENOUGH_BYTES, Transfer};
use ackclock_trace::report::{DirectionReport, FlowReport, UdpDirectionReport, UdpFlowReport};

/// Rules about the losses, delays and queues of a direction between two captures.
const OF_DATAGRAMS: [&str; 8] =
    ["loss_congestion", "loss_radio", "loss_both", "policer", "buffer", "buffer_at_least", "link_stall", "loss_bursts"];

/// The flow with its findings; without any if there is one capture.
pub fn diagnosed_datagrams(mut flow: UdpFlowReport) -> UdpFlowReport {
    if flow.a2b.joined.is_none() && flow.b2a.joined.is_none() {
        return flow;
    }
    let direction = |udp: &mut UdpDirectionReport| DirectionReport {
        packets: udp.packets,
        unique_bytes: udp.bytes,
        goodput_bps: (flow.duration_s > 0.0).then(|| 8.0 * udp.bytes as f64 / flow.duration_s),
        joined: udp.joined.take(),
        ..DirectionReport::default()
    };
    let (a2b, b2a) = (direction(&mut flow.a2b), direction(&mut flow.b2a));
    let mut facts = FlowReport { duration_s: flow.duration_s, a2b, b2a, ..FlowReport::default() };
    let transfers = SendingEnd::BOTH.map(|end| Transfer::new(&facts, None, end, 0.0));
    let enough = transfers.iter().filter(|transfer| transfer.figures.unique_bytes >= ENOUGH_BYTES);
    let found = enough.flat_map(claims).map(RuleClaim::finding).collect();
    flow.diagnosis = Some(found);
    (flow.a2b.joined, flow.b2a.joined) = (facts.a2b.joined.take(), facts.b2a.joined.take());
    flow
}

fn claims<'a>(transfer: &'a Transfer<'_>) -> impl Iterator<Item = RuleClaim> + 'a {
    RULES.iter().filter(|rule| OF_DATAGRAMS.contains(&rule.code)).filter_map(|rule| match rule.check {
        Check::Transfer(check) => check(transfer).map(|claim| claim.by(rule, transfer.sender.direction())),
        _ => None,
    })
}
