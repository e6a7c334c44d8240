//! What a medium and its hop must fulfil.

use super::super::{Framing, Hop, Medium, Plan, Toward};
use super::{Checked, ensure, span};
use ackclock_core::Rate;
use ackclock_core::medium::MOST_STATIONS;

pub fn check(plan: &Plan, hop: &Hop) -> Checked {
    let Some(medium) = &hop.medium else { return Ok(()) };
    ensure(plan.clients <= MOST_STATIONS, || {
        format!("{} clients on a medium: at most {MOST_STATIONS} are possible", plan.clients)
    })?;
    for way in Toward::BOTH.into_iter().filter_map(|toward| hop.way(toward)) {
        ensure(way.rate.is_none(), || "it has a medium and a rate: only one of them can send".into())?;
        ensure(way.framing == Framing::None, || "it has a medium and a framing, which is for a line".into())?;
    }
    match *medium {
        Medium::HalfDuplex { bps, turnaround_ps } => {
            ensure(bps > 0, || "the medium's rate is 0 b/s".into())?;
            ensure(Rate::from_bps(bps).time_to_send(1).0 > 0, || {
                format!("the medium's {bps} b/s is less than a picosecond for a byte")
            })?;
            span("turnaround_ps", turnaround_ps)
        }
        Medium::Wimax(ref wimax) => wimax.terms().map(|_| ()),
    }
}
