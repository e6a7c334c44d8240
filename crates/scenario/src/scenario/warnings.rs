//! What is allowed in a scenario and is likely not meant: one sentence each.

use super::Scenario;
use crate::flow::Flow;
use crate::flow::workload::Workload;
use crate::link::loss::Loss;
use ackclock_core::impairment::ListedPackets;
use ackclock_core::medium::Direction;

impl Scenario {
    /// A sentence for each part of a checked scenario that has no effect.
    pub fn warnings(&self) -> Vec<String> {
        let hops = self.hop.iter().enumerate();
        let sides =
            hops.flat_map(|(index, hop)| hop.directions.sides().map(move |(direction, side)| (index, hop, direction, side)));
        let idle = sides.filter(|(index, _, direction, side)| {
            let counts_data = matches!(&side.loss, Some(Loss::LossList(list)) if list.of == ListedPackets::Data);
            let mut crossing = self.flow.iter().filter(|flow| self.hops_of(flow).contains(index));
            counts_data && !crossing.any(|flow| sends_data(flow, *direction))
        });
        let sentence = |(name, direction): (&str, &str)| {
            format!(
                "hop.{name}.loss.{direction}: the list counts packets with payload, and none crosses \"{name}\" {direction}; \
                 of = \"all\" counts ACKs"
            )
        };
        idle.map(|(_, hop, direction, _)| sentence((&hop.name.0, direction.name()))).collect()
    }
}

/// A flow sends packets with payload in this direction.
fn sends_data(flow: &Flow, direction: Direction) -> bool {
    let bidirectional = matches!(
        flow.workload,
        Workload::Live(_)
            | Workload::Web(_)
            | Workload::Page(_)
            | Workload::Video(_)
            | Workload::Call(_)
            | Workload::Conference(_)
            | Workload::Game(_)
            | Workload::Probe(_)
    );
    flow.direction == direction || bidirectional
}
