//! Split connections: the flows that are parts of one connection, and the proxies between them. The
//! core connects two endpoints and does not know flows.

use super::{Direction, Flow, Plan};
use ackclock_core::tcp::TcpConfig;
use serde::Deserialize;

/// A proxy connects the client's end of one flow with the server's end of the next: data that
/// arrives at one is sent by the other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    pub name: String,
    /// The flow between the server and the proxy, and the one between the proxy and the client, by
    /// index.
    pub near: usize,
    pub far: usize,
    /// Buffer in bytes for each direction.
    pub buffer: u64,
    pub handshake: Handshake,
    /// TCP of the proxy, for both connections.
    pub tcp: TcpConfig,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Handshake {
    /// The proxy answers a SYN at once, and opens its own connection.
    Local,
    /// The proxy opens its own connection, and answers the SYN when that is established.
    Through,
}

impl Plan {
    /// The proxy at an end of a flow: `Direction::Down` is the server's end, which sends down.
    pub fn proxy_at(&self, flow: usize, end: Direction) -> Option<&Proxy> {
        self.proxies.iter().find(|proxy| match end {
            Direction::Down => proxy.far == flow,
            Direction::Up => proxy.near == flow,
        })
    }

    /// TCP at an end of a flow: the flow's own, or that of a proxy.
    pub fn tcp_at(&self, flow: usize, end: Direction) -> Option<&TcpConfig> {
        self.proxy_at(flow, end).map(|proxy| &proxy.tcp).or(self.flows[flow].tcp_at(end))
    }

    /// TCP of the sender of a flow's data.
    pub fn sender_tcp(&self, flow: usize) -> Option<&TcpConfig> {
        self.tcp_at(flow, self.flows[flow].direction)
    }

    /// The flow to which a proxy at this flow's receiver forwards its data.
    pub fn feeds(&self, flow: usize) -> Option<usize> {
        match self.flows[flow].direction {
            Direction::Down => self.proxy_at(flow, Direction::Up).map(|proxy| proxy.far),
            Direction::Up => self.proxy_at(flow, Direction::Down).map(|proxy| proxy.near),
        }
    }

    /// The last flow of a split connection, at the end of which the data arrives; otherwise the
    /// flow itself.
    pub fn last_part(&self, flow: usize) -> &Flow {
        let mut last = flow;
        while let Some(next) = self.feeds(last) {
            last = next;
        }
        &self.flows[last]
    }
}
