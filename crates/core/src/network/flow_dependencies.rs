//! Connections that begin when others are through: a server's answers after the request, the next page after the last.

use super::{EndpointId, Network};
use crate::endpoint::{AnyEndpoint, Endpoint};
use crate::timer_tree::TimerOwner;
use crate::units::Span;

/// Who waits for whom. Waiting costs no packets: both ends of such a link stand on one slot, or one program knows of both.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowDependencies {
    waits: Vec<Wait>,
    /// By endpoint: the waits that it is part of, emptied when it is through. Shorter than the endpoints where the last have none.
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
    /// Whether anybody waits for this endpoint.
    #[inline]
    pub(super) fn has_dependents(&self, slot: usize) -> bool {
        self.dependencies.of.get(slot).is_some_and(|waits| !waits.is_empty())
    }

    /// Opens what has waited for this endpoint alone or for it last, if it is through.
    pub(super) fn open_dependents(&mut self, slot: usize) {
        let AnyEndpoint::Tcp(tcp) = &self.endpoints[slot].endpoint else { return };
        if tcp.receiver_stats().finished.is_none() {
            return;
        }
        for number in std::mem::take(&mut self.dependencies.of[slot]) {
            let wait = &mut self.dependencies.waits[number as usize];
            wait.left -= 1;
            if wait.left > 0 {
                continue;
            }
            let Wait { opener, pause, .. } = *wait;
            let at = self.now + pause;
            let next = &mut self.endpoints[opener.0 as usize];
            if let AnyEndpoint::Tcp(tcp) = &mut next.endpoint {
                tcp.call_at(at);
                next.scheduled = tcp.due();
                self.due.set(TimerOwner::Endpoint(opener.0 as usize), next.scheduled);
            }
        }
    }
}
