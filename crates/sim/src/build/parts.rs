//! Split connections: the ends that stand on a proxy, and who is joined to whom.

use super::{Ends, ends};
use crate::plan::{Handshake, Plan, Toward};
use ackclock_core::app::{AnyApp, ProxyApp};
use ackclock_core::network::NetworkBuilder;
use ackclock_core::tcp::{TcpConfig, TcpEndpoint};
use std::sync::Arc;

/// What an end of a flow is where a proxy stands there: its host, and how it deals with the handshake. `calls`: it opens the connection.
pub fn end(plan: &Plan, flow: usize, at: Toward, calls: bool) -> Option<TcpEndpoint> {
    let proxy = plan.proxy_at(flow, at)?;
    let config: Arc<TcpConfig> = Arc::new(ends::configured(plan, &proxy.tcp)?);
    let relay = AnyApp::ProxyApp(ProxyApp::default());
    if calls {
        return Some(TcpEndpoint::called_later(config, relay));
    }
    let listener = TcpEndpoint::server(config, relay);
    Some(match proxy.handshake {
        Handshake::Local => listener,
        Handshake::Through => listener.wait_to_answer(),
    })
}

/// Joins the two ends of each proxy.
pub fn join(plan: &Plan, ends: &[Ends], builder: &mut NetworkBuilder) {
    for proxy in &plan.proxies {
        builder.proxy([ends[proxy.near].client, ends[proxy.far].server], proxy.buffer);
    }
}
