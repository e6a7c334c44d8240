//! Checks of a medium and its hop.

use super::super::{Direction, Hop, Plan};
use ackclock_core::config_check::{Checked, ensure};
use ackclock_core::link::Framing;
use ackclock_core::medium::MAX_STATIONS;

pub fn check(plan: &Plan, hop: &Hop) -> Checked {
    let Some(medium) = &hop.medium else {
        return ensure(hop.roaming.is_none(), || "roaming needs a medium".into());
    };
    let max_clients = MAX_STATIONS / (1 + medium.connections());
    ensure(plan.clients <= max_clients, || format!("{} clients on a medium: at most {max_clients} are possible", plan.clients))?;
    for config in Direction::BOTH.into_iter().filter_map(|direction| hop.direction(direction)) {
        ensure(config.rate.is_none(), || "a medium and a rate: only one of them is possible".into())?;
        ensure(config.framing == Framing::None, || "a medium and a framing: only one of them is possible".into())?;
    }
    medium.check(hop.roaming.as_ref())
}
