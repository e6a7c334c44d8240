//! Proxies: pairs of endpoints that stand on one slot, each the end of a connection of its own, and pass on what they receive.

use super::{EndpointId, Network};
use crate::endpoint::AnyEndpoint;
use crate::probe::Probe;
use crate::tcp::{pass, shake_hands};

/// Which endpoints belong together.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies {
    pairs: Vec<Pair>,
    /// By endpoint: its pair. Shorter than the endpoints where the last have none.
    of: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    ends: [EndpointId; 2],
    buffer: u64,
    /// The most bytes that were held, from the first end to the second and back.
    most: [u64; 2],
}

impl Proxies {
    pub(super) fn add(&mut self, ends: [EndpointId; 2], buffer: u64) {
        for by in ends.map(|id| id.0 as usize) {
            if self.of.len() <= by {
                self.of.resize(by + 1, None);
            }
            self.of[by] = Some(self.pairs.len() as u32);
        }
        self.pairs.push(Pair { ends, buffer, most: [0; 2] });
    }
}

impl Network {
    /// The most bytes that the proxy of which an endpoint is a side has held: from its first end to its second, and back.
    pub fn max_proxied(&self, id: EndpointId) -> Option<[u64; 2]> {
        let pair = self.proxies.of.get(id.0 as usize).copied().flatten()?;
        Some(self.proxies.pairs[pair as usize].most)
    }

    /// An endpoint has done something: its other side may go on.
    #[inline]
    pub(super) fn run_proxy<P: Probe>(&mut self, slot: usize, probe: &mut P) {
        if let Some(pair) = self.proxies.of.get(slot).copied().flatten() {
            self.pass_on(pair as usize, probe);
        }
    }

    fn pass_on<P: Probe>(&mut self, pair: usize, probe: &mut P) {
        let Pair { ends: [a, b], buffer, most } = &mut self.proxies.pairs[pair];
        let (a, b) = (a.0 as usize, b.0 as usize);
        let Ok([one, other]) = self.endpoints.get_disjoint_mut([a, b]) else { return };
        if let (AnyEndpoint::Tcp(one), AnyEndpoint::Tcp(other)) = (&mut one.endpoint, &mut other.endpoint) {
            shake_hands(self.now, one, other);
            most[0] = most[0].max(pass(self.now, one, other, *buffer));
            most[1] = most[1].max(pass(self.now, other, one, *buffer));
        }
        self.drain(a, false, probe);
        self.drain(b, false, probe);
    }
}
