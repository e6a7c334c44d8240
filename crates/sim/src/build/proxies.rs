//! Split connections: the endpoints that stand on a proxy, and who is joined to whom.

use super::{FlowEndpoints, endpoints};
use crate::plan::{Direction, Handshake, Plan};
use ackclock_core::app::{AnyApp, ProxyApp};
use ackclock_core::network::NetworkBuilder;
use ackclock_core::tcp::{TcpConfig, TcpEndpoint};
use std::sync::Arc;

/// What an end of a flow is where a proxy stands there: its host, and how it deals with the handshake. `calls`: it opens the connection.
pub fn end(plan: &Plan, flow: usize, at: Direction, calls: bool) -> Option<TcpEndpoint> {
    let proxy = plan.proxy_at(flow, at)?;
    let config: Arc<TcpConfig> = Arc::new(endpoints::configured(plan, &proxy.tcp)?);
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

/// Joins the two endpoints of each proxy.
pub fn join(plan: &Plan, endpoints: &[FlowEndpoints], builder: &mut NetworkBuilder) {
    for proxy in &plan.proxies {
        builder.proxy([endpoints[proxy.near].client, endpoints[proxy.far].server], proxy.buffer);
    }
}
