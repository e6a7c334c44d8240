//! What the decision about limits reads of a run's summary and of its plan.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A summary (`docs/inside/plan.md`). Other fields are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct RunFigures {
    pub flows: Vec<FlowFigures>,
    pub hops: Vec<HopFigures>,
    #[serde(default)]
    pub proxies: Vec<ProxyFigures>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct FlowFigures {
    pub flow: String,
    pub direction: String,
    #[serde(default)]
    pub feeds: Option<String>,
    pub goodput_bps: Option<f64>,
    pub rtt_ms: MeanFigure,
    pub limited_share: Option<BTreeMap<String, f64>>,
    pub path: Option<PathFigures>,
    pub advertised_window_bytes: Option<f64>,
    #[serde(default)]
    pub limiting_window_bytes: Option<f64>,
    #[serde(default)]
    pub limiting_window_rtt_ms: Option<f64>,
    pub window_cuts: f64,
    pub ecn_cuts: f64,
    pub timeouts: f64,
}

impl FlowFigures {
    /// The receive window in force while it limited, in bytes; else the one that was advertised last.
    pub fn window_bytes(&self) -> f64 {
        self.limiting_window_bytes.or(self.advertised_window_bytes).unwrap_or(0.0)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct MeanFigure {
    pub mean: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct PathFigures {
    pub saturated: Option<HopShareFigures>,
    pub ack_wait: Option<HopShareFigures>,
    pub ack_wait_ms: f64,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub struct HopShareFigures {
    pub hop: String,
    pub share: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct HopFigures {
    pub hop: String,
    pub direction: String,
    pub queue_delay_ms: MeanFigure,
    pub drops_by_cause: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ProxyFigures {
    pub near: String,
    pub far: String,
    pub held_bytes_max: BTreeMap<String, f64>,
}

/// A plan. Other keys are ignored.
#[derive(Debug, Clone, Deserialize)]
pub struct PlanFigures {
    pub hops: Vec<PlannedHop>,
    pub flows: Vec<PlannedFlow>,
    #[serde(default)]
    pub proxies: Vec<PlannedProxy>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlannedHop {
    pub name: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlannedFlow {
    pub direction: String,
    pub hops: Vec<usize>,
    pub tcp: Option<PlannedTcp>,
    /// The client's, if it differs from the server's.
    #[serde(default)]
    pub tcp_client: Option<PlannedTcp>,
    #[serde(default)]
    pub quic: Option<PlannedQuic>,
    pub workload: PlannedWorkload,
}

impl PlannedFlow {
    /// TCP of the data's sender, and of its receiver.
    pub fn ends(&self) -> Option<[&PlannedTcp; 2]> {
        let server = self.tcp.as_ref()?;
        let client = self.tcp_client.as_ref().unwrap_or(server);
        Some(if self.direction == "up" { [client, server] } else { [server, client] })
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlannedWorkload {
    #[serde(default)]
    pub read_bps: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlannedTcp {
    pub receive_buffer: f64,
    pub send_buffer: Option<f64>,
    pub window_scaling: bool,
    #[serde(default)]
    pub receive_tuning: Option<PlannedTuning>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlannedQuic {
    pub receive_window: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlannedTuning {
    pub share: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct PlannedProxy {
    pub buffer: f64,
}
