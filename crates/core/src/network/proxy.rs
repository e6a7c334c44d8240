//! Split-TCP proxies: two endpoints on one host, each the end of a separate connection, that relay
//! data between them.

use super::{EndpointId, Network};
use crate::endpoint::AnyEndpoint;
use crate::probe::Probe;
use crate::tcp::{relay_bytes, relay_handshakes};

/// The pairs of endpoints.
#[derive(Clone, Debug, Default)]
pub(super) struct Proxies {
    pairs: Vec<Pair>,
    /// By endpoint: its pair. May be shorter than the list of endpoints.
    of: Vec<Option<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    ends: [EndpointId; 2],
    buffer: u64,
    /// Maximum bytes buffered, from the first endpoint to the second and back.
    max_buffered: [u64; 2],
}

impl Proxies {
    pub(super) fn add(&mut self, ends: [EndpointId; 2], buffer: u64) {
        for by in ends.map(|id| id.0 as usize) {
            if self.of.len() <= by {
                self.of.resize(by + 1, None);
            }
            self.of[by] = Some(self.pairs.len() as u32);
        }
        self.pairs.push(Pair { ends, buffer, max_buffered: [0; 2] });
    }
}

impl Network {
    /// Maximum bytes buffered in the proxy of an endpoint: from its first endpoint to its second,
    /// and back.
    pub fn max_proxied(&self, id: EndpointId) -> Option<[u64; 2]> {
        let pair = self.proxies.of.get(id.0 as usize).copied().flatten()?;
        Some(self.proxies.pairs[pair as usize].max_buffered)
    }

    /// Runs the proxy of an endpoint after the endpoint was called.
    pub(super) fn run_proxy<P: Probe>(&mut self, slot: usize, probe: &mut P) {
        if let Some(pair) = self.proxies.of.get(slot).copied().flatten() {
            self.pass_on(pair as usize, probe);
        }
    }

    fn pass_on<P: Probe>(&mut self, pair: usize, probe: &mut P) {
        let Pair { ends: [a, b], buffer, max_buffered } = &mut self.proxies.pairs[pair];
        let (a, b) = (a.0 as usize, b.0 as usize);
        let Ok([first, second]) = self.endpoints.get_disjoint_mut([a, b]) else { return };
        if let (AnyEndpoint::Tcp(first), AnyEndpoint::Tcp(second)) = (&mut first.endpoint, &mut second.endpoint) {
            relay_handshakes(self.now, first, second);
            max_buffered[0] = max_buffered[0].max(relay_bytes(self.now, first, second, *buffer));
            max_buffered[1] = max_buffered[1].max(relay_bytes(self.now, second, first, *buffer));
        }
        for end in [a, b] {
            let moves = self.drain(end, false, probe);
            self.defer(moves);
        }
    }
}
