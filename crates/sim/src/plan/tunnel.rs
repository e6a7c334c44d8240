//! Tunnels over hops of a plan.

use ackclock_core::link::{TunnelConfig, TunnelKind};
use serde::Deserialize;

/// A tunnel: all packets that cross its hops travel in packets of one flow.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// Indices of consecutive hops. Each flow crosses all of them, or none.
    pub over: Vec<usize>,
    pub kind: TunnelKind,
    /// IP length of the longest packet inside.
    pub mtu: u16,
    /// Packets of the tunnel must not be fragmented.
    pub df: bool,
}

impl Tunnel {
    pub fn config(&self) -> TunnelConfig {
        TunnelConfig { kind: self.kind, mtu: self.mtu, df: self.df }
    }
}
