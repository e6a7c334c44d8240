//! The plan: the input of one run, in integers (`docs/inside/plan.md`). `Plan::from_json` checks
//! all of it: a plan that it accepts can be built.
//!
//! The configuration of a model (TCP, queue, impairment, medium) is the core's own type, which has
//! the plan's keys and checks its values. The types here are those that the core does not have: the
//! path, the flows, and what is measured.

mod check;
mod flow;
mod hop;
mod proxy;
mod quic;
mod tunnel;

pub use ackclock_core::host_overhead::HostOverhead;
pub use flow::{Flow, Job};
pub use hop::{Acks, Hop, HopDirection, RatePlan, RecordingStart, ShaperPlan};
pub use proxy::{Handshake, Proxy};
pub use quic::{QuicControl, QuicHost};
pub use tunnel::Tunnel;

pub use ackclock_core::app::{OnDistribution, PageConfig, UDP_HEADER, UniformTime, WorkloadConfig};
pub use ackclock_core::medium::{Direction, MediumPlan};

use ackclock_core::Problem;
use ackclock_core::autorate::{ControllerConfig, UserController};
use ackclock_core::config_form::nullable;
use ackclock_core::tcp::TcpConfig;
use ackclock_core::tcp::cc::UserVariant;
use ackclock_pcap::write::OffloadConfig;
use serde::Deserialize;

/// One run. Times are picoseconds, rates bits per second, sizes bytes, probabilities fractions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub seed: u64,
    pub duration_ps: u64,
    /// Sampling interval of the time series; 0: no series.
    pub sample_ps: u64,
    pub clients: u32,
    pub measure: Measure,
    /// In path order from the server.
    pub hops: Vec<Hop>,
    pub flows: Vec<Flow>,
    /// Pages that flows load. Absent: no pages.
    #[serde(default)]
    pub pages: Vec<PageConfig>,
    /// Absent: no split connections.
    #[serde(default)]
    pub proxies: Vec<Proxy>,
    /// Absent: no tunnels.
    #[serde(default)]
    pub tunnels: Vec<Tunnel>,
    pub captures: Vec<Capture>,
    /// Congestion controls of the user, by the names that flows have for them.
    #[serde(skip)]
    pub variants: Vec<UserVariant>,
    /// Rate controllers of the user, by the names that shapers have for them.
    #[serde(skip)]
    pub controllers: Vec<UserController>,
}

/// The part of the run that the metrics cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Measure {
    /// Each flow from its start to its end.
    All {},
    /// From the last start to the first end.
    AllActive {},
    Interval {
        from_ps: u64,
        to_ps: u64,
    },
}

/// A capture file: the packets of one flow at one capture point.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    pub flow: String,
    pub end: End,
    /// For a capture in the middle: the number of hops between it and the server.
    #[serde(default)]
    pub after: u32,
    pub path: std::path::PathBuf,
    pub format: CaptureFormat,
    /// Merges segments as the offloads of a host do (GSO, TSO and GRO); not in the middle.
    #[serde(default)]
    pub offloads: Option<OffloadConfig>,
    /// A file with the ground truth for the analyzer: a line for each segment in the order of the
    /// capture, with the number of its captured packet, its own number in the run, whether this end
    /// (in the middle: the server) sent it, and the reason of a retransmission (`fast`, `timeout`,
    /// `go_back_n`, `tail_probe`, `handshake`; empty for a first transmission).
    #[serde(default)]
    pub truth: Option<std::path::PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    Server,
    Client,
    /// Between two hops.
    Middle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaptureFormat {
    Pcap,
    Pcapng,
}

/// An error in a plan, with its location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{statement}", if key.is_empty() { String::new() } else { format!("{key}: ") })]
pub struct PlanError {
    /// The part of the plan, such as `hop 'air' down`; empty: the plan as a whole.
    pub key: String,
    pub statement: String,
}

impl From<String> for PlanError {
    fn from(statement: String) -> PlanError {
        PlanError { key: String::new(), statement }
    }
}

impl From<PlanError> for Problem {
    fn from(PlanError { key, statement }: PlanError) -> Problem {
        Problem::new(statement, "correct the plan (docs/inside/plan.md)").at_key(key)
    }
}

impl Plan {
    /// Reads and checks a plan.
    pub fn from_json(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan = serde_json::from_str(text)
            .map_err(|e| PlanError::from(format!("the plan cannot be read: {}", one_line(&e.to_string()))))?;
        plan.check()?;
        Ok(plan)
    }

    /// Adds congestion controls and rate controllers of the user.
    pub fn with_user_code(self, variants: Vec<UserVariant>, controllers: Vec<UserController>) -> Plan {
        Plan { variants, controllers, ..self }
    }

    /// An error if a congestion control or a rate controller of the user was not passed.
    pub fn check_user_code(&self) -> Result<(), PlanError> {
        let hosts = self.flows.iter().flat_map(|flow| [flow.tcp.as_ref(), flow.tcp_client.as_ref()]).flatten();
        let hosts = hosts.chain(self.proxies.iter().map(|proxy| &proxy.tcp));
        if let Some(tcp) = { hosts }.find(|tcp| tcp.user.is_some() && self.user_variant(tcp).is_none()) {
            return Err(format!("there is no TCP variant '{}': it must be given with the plan", tcp.variant_name()).into());
        }
        let controlled = self.hops.iter().flat_map(|hop| Direction::BOTH.into_iter().filter_map(|side| hop.autorate(side)));
        let mut named = controlled.filter_map(|config| match &config.controller {
            ControllerConfig::User(user) => Some(user.name()),
            ControllerConfig::CakeAutorate(_) => None,
        });
        match named.find(|&name| self.user_controller(name).is_none()) {
            Some(name) => Err(format!("there is no rate controller '{name}': it must be given with the plan").into()),
            None => Ok(()),
        }
    }

    /// The first connection of the page that this flow is a further connection of.
    pub fn first_connection(&self, flow: usize) -> Option<usize> {
        let WorkloadConfig::Page { connection: connection @ 1.., .. } = self.flows[flow].workload else { return None };
        flow.checked_sub(connection as usize)
    }

    /// A shaper of the path has a controller of its rate.
    pub fn controls_rates(&self) -> bool {
        self.hops.iter().any(|hop| Direction::BOTH.into_iter().any(|direction| hop.autorate(direction).is_some()))
    }

    pub fn user_controller(&self, name: &str) -> Option<&UserController> {
        self.controllers.iter().find(|controller| controller.name() == name)
    }

    /// The congestion control of the user that this TCP names, if any.
    pub fn user_variant(&self, tcp: &TcpConfig) -> Option<&UserVariant> {
        self.variants.iter().find(|variant| tcp.user.as_ref().is_some_and(|user| user.name() == variant.name()))
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
