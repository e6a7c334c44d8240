//! Pages: what a browser does on one connection after something arrived on another.

use super::{EndpointId, Network};
use crate::app::SharedPage;
use crate::endpoint::AnyEndpoint;
use crate::probe::Probe;

/// The loads of pages.
#[derive(Clone, Debug, Default)]
pub(super) struct Pages {
    loads: Vec<Load>,
    /// By endpoint: its load. May be shorter than the list of endpoints.
    of: Vec<Option<u32>>,
}

#[derive(Clone, Debug)]
struct Load {
    page: SharedPage,
    /// The browser's ends, by connection.
    browser: Vec<EndpointId>,
}

impl Pages {
    pub(super) fn add(&mut self, page: SharedPage, browser: Vec<EndpointId>) {
        for by in browser.iter().map(|id| id.0 as usize) {
            if self.of.len() <= by {
                self.of.resize(by + 1, None);
            }
            self.of[by] = Some(self.loads.len() as u32);
        }
        self.loads.push(Load { page, browser });
    }
}

impl Network {
    /// Runs the other connections of a page that have something to do after this one was called.
    pub(super) fn run_page<P: Probe>(&mut self, slot: usize, probe: &mut P) {
        let Some(load) = self.pages.of.get(slot).copied().flatten() else { return };
        loop {
            let load = &self.pages.loads[load as usize];
            let woken: Vec<usize> = load
                .page
                .take_woken()
                .iter()
                .filter_map(|&number| load.browser.get(number as usize))
                .map(|id| id.0 as usize)
                .collect();
            if woken.is_empty() {
                break;
            }
            for end in woken {
                match &mut self.endpoints[end].endpoint {
                    AnyEndpoint::Tcp(tcp) => tcp.call_app(self.now),
                    AnyEndpoint::Other(other) => other.call_app(self.now),
                    _ => {}
                }
                let moves = self.drain(end, false, probe);
                self.defer(moves);
            }
        }
    }
}
