//! Split connections: the endpoints on proxies, and the pairs that forward to each other.

use super::{FlowEndpoints, endpoints};
use crate::plan::{Direction, Handshake, Plan};
use ackclock_core::app::{AnyApp, ControlledApp};
use ackclock_core::network::NetworkBuilder;
use ackclock_core::tcp::{TcpConfig, TcpEndpoint};
use std::sync::Arc;

/// The endpoint of a flow on a proxy, none where no proxy is at that end: `Direction::Down` is the
/// server's end. `opens`: it opens the connection.
pub fn endpoint(plan: &Plan, flow: usize, end: Direction, opens: bool) -> Option<TcpEndpoint> {
    let proxy = plan.proxy_at(flow, end)?;
    let config: Arc<TcpConfig> = Arc::new(endpoints::tcp_config(plan, &proxy.tcp));
    let app = AnyApp::ControlledApp(ControlledApp::default());
    if opens {
        return Some(TcpEndpoint::deferred_client(config, app));
    }
    let listener = TcpEndpoint::server(config, app);
    Some(match proxy.handshake {
        Handshake::Local => listener,
        Handshake::Through => listener.defer_syn_ack(),
    })
}

/// Connects the two endpoints of each proxy.
pub fn connect(plan: &Plan, endpoints: &[FlowEndpoints], builder: &mut NetworkBuilder) {
    for proxy in &plan.proxies {
        builder.proxy([endpoints[proxy.near].client, endpoints[proxy.far].server], proxy.buffer);
    }
}
