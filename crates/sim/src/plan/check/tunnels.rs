//! Checks of tunnels.

use super::super::Plan;
use ackclock_core::config_check::{Checked, ensure};
use std::collections::BTreeSet;

pub fn check(plan: &Plan) -> Checked {
    let mut taken = BTreeSet::new();
    for (number, tunnel) in plan.tunnels.iter().enumerate() {
        let here = |what: &str| format!("tunnel {number}: {what}");
        tunnel.config().check().map_err(|message| here(&message))?;
        ensure(!tunnel.over.is_empty(), || here("over is empty"))?;
        ensure(tunnel.over.iter().all(|&hop| hop < plan.hops.len()), || here("over has a hop that does not exist"))?;
        ensure(tunnel.over.windows(2).all(|pair| pair[0] + 1 == pair[1]), || here("over is not consecutive hops"))?;
        ensure(tunnel.over.iter().all(|&hop| taken.insert(hop)), || here("another tunnel has a hop of over"))?;
        for flow in &plan.flows {
            let crossed = tunnel.over.iter().filter(|hop| flow.hops.contains(hop)).count();
            ensure(crossed == 0 || crossed == tunnel.over.len(), || here(&format!("flow '{}' crosses a part of it", flow.name)))?;
        }
    }
    Ok(())
}
