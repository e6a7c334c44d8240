//! Checks of a proxy and the two flows that it connects.

use super::super::{Direction, Plan, PlanError, Proxy, WorkloadConfig};
use super::{flow, in_part};
use ackclock_core::config_check::{Checked, ensure};
use std::collections::HashSet;

pub fn check(plan: &Plan) -> Result<(), PlanError> {
    let mut ends = HashSet::new();
    for proxy in &plan.proxies {
        ensure(ends.insert((proxy.near, Direction::Up as u8)) && ends.insert((proxy.far, Direction::Down as u8)), || {
            "another proxy is at the same end of a flow".into()
        })
        .map_err(|e| in_part(format!("proxy '{}'", proxy.name), e))?;
        check_one(plan, proxy).map_err(|e| in_part(format!("proxy '{}'", proxy.name), e))?;
    }
    Ok(())
}

fn check_one(plan: &Plan, proxy: &Proxy) -> Checked {
    let (near, far) = (plan.flows.get(proxy.near), plan.flows.get(proxy.far));
    let (Some(near), Some(far)) = (near, far) else {
        return Err(format!("it connects flows {} and {}, but there are {}", proxy.near, proxy.far, plan.flows.len()));
    };
    // The order also excludes rings of proxied flows.
    ensure(proxy.near < proxy.far, || "near must precede far".into())?;
    ensure(proxy.buffer > 0, || "a buffer of 0 bytes".into())?;
    let sized = |w: WorkloadConfig| {
        matches!(w, WorkloadConfig::Bulk { .. } | WorkloadConfig::Transfer { .. } | WorkloadConfig::Exchange { .. })
    };
    let alike = near.direction == far.direction && near.client == far.client && near.workload == far.workload;
    ensure(alike && sized(near.workload) && near.tcp.is_some() && far.tcp.is_some(), || {
        "it must connect two TCP flows with the same client, direction and workload".into()
    })?;
    ensure(near.after.is_empty() && far.after.is_empty() && near.job.is_none() && far.job.is_none(), || {
        "it must connect flows without after and job".into()
    })?;
    ensure(near.hops.last().map(|last| last + 1) == far.hops.first().copied(), || {
        "far must begin at the hop after the last hop of near".into()
    })?;
    flow::check_tcp(&proxy.tcp)
}
