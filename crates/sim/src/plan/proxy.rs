//! Split connections: which flows are halves of one, and who stands between them.

use super::{Direction, Flow, Plan, Tcp};
use serde::Deserialize;

/// A proxy joins the client's end of one flow to the server's end of the next: what arrives at either is sent on by the other.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proxy {
    pub name: String,
    /// The flow between the server and the proxy, and the one between the proxy and the client, by index.
    pub near: usize,
    pub far: usize,
    /// Bytes it keeps in each direction.
    pub buffer: u64,
    pub handshake: Handshake,
    /// Its own host, at both its ends.
    pub tcp: Tcp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Handshake {
    /// It answers a caller at once and calls on.
    Local,
    /// It calls on, and answers when it has been answered.
    Through,
}

impl Plan {
    /// The proxy at a flow's end: at the server's where that end sends down.
    pub fn proxy_at(&self, flow: usize, end: Direction) -> Option<&Proxy> {
        self.proxies.iter().find(|proxy| match end {
            Direction::Down => proxy.far == flow,
            Direction::Up => proxy.near == flow,
        })
    }

    /// The host that sends a flow's data: the flow's own, or a proxy's.
    pub fn sender_tcp(&self, flow: usize) -> Option<&Tcp> {
        let proxy = self.proxy_at(flow, self.flows[flow].direction);
        proxy.map(|proxy| &proxy.tcp).or(self.flows[flow].tcp.as_ref())
    }

    /// The flow that carries on what this one brings, where a proxy stands at its receiver.
    pub fn feeds(&self, flow: usize) -> Option<usize> {
        match self.flows[flow].direction {
            Direction::Down => self.proxy_at(flow, Direction::Up).map(|proxy| proxy.far),
            Direction::Up => self.proxy_at(flow, Direction::Down).map(|proxy| proxy.near),
        }
    }

    /// The flow at the end of which its data arrives: itself, but for a part of a split connection.
    pub fn last_part(&self, flow: usize) -> &Flow {
        let mut last = flow;
        while let Some(next) = self.feeds(last) {
            last = next;
        }
        &self.flows[last]
    }
}
