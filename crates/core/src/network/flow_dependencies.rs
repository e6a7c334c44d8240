//! Flows that start after other flows have finished: a server's responses after the request, the
//! next page after the previous one.

use super::{EndpointId, Network};
use crate::endpoint::{AnyEndpoint, Endpoint};
use crate::timer_tree::TimerOwner;
use crate::units::Span;

/// Which flows wait for which. The dependency costs no packets: both endpoints are on one host or
/// belong to one program.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowDependencies {
    waits: Vec<Wait>,
    /// By endpoint: indices into `waits`; emptied when the endpoint has finished. May be shorter
    /// than the list of endpoints.
    of: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    left: u32,
    opener: EndpointId,
    pause: Span,
}

impl FlowDependencies {
    pub(super) fn add(&mut self, awaited: &[EndpointId], opener: EndpointId, pause: Span) {
        let wait = self.waits.len() as u32;
        self.waits.push(Wait { left: awaited.len() as u32, opener, pause });
        for by in awaited.iter().map(|id| id.0 as usize) {
            if self.of.len() <= by {
                self.of.resize(by + 1, Vec::new());
            }
            self.of[by].push(wait);
        }
    }
}

impl Network {
    /// Starts the flows for which this endpoint, if it has finished, was the last one missing.
    pub(super) fn open_dependents(&mut self, slot: usize) {
        let Some(waits) = self.dependencies.of.get_mut(slot) else { return };
        let finished = match &self.endpoints[slot].endpoint {
            AnyEndpoint::Tcp(tcp) => tcp.receiver_stats().finished,
            AnyEndpoint::Other(other) => other.transport().finished,
            _ => None,
        };
        if finished.is_none() {
            return;
        }
        for number in std::mem::take(waits) {
            let wait = &mut self.dependencies.waits[number as usize];
            wait.left -= 1;
            if wait.left > 0 {
                continue;
            }
            let Wait { opener, pause, .. } = *wait;
            let at = self.now + pause;
            let next = &mut self.endpoints[opener.0 as usize];
            match &mut next.endpoint {
                AnyEndpoint::Tcp(tcp) => tcp.connect_at(at),
                AnyEndpoint::Other(other) => other.connect_at(at),
                _ => continue,
            }
            next.scheduled = next.endpoint.due();
            self.due.set(TimerOwner::Endpoint(opener.0 as usize), next.scheduled);
        }
    }
}
