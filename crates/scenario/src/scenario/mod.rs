//! Scenarios: a link, flows, duration, seeds and measurement window.

mod check;
pub mod draft;
pub mod draws;
pub mod plan;
mod resolution;
pub mod sweep;
pub mod sweep_path;
pub mod values;
mod warnings;

use crate::flow::Flow;
use crate::invalid::Read;
use crate::keys::Checked;
use crate::link::file::Link;
use crate::link::hop::Hop;
use crate::link::tunnel::Tunnel;
use crate::tcp::keys::{End, TcpEnds, TcpKeys};
use crate::tcp::resolution::{Tcp, resolve};
use crate::value::Value;
use crate::values::{Count, Duration, Time};
use crate::{Keys, table};
use ackclock_core::Span;
use ackclock_core::medium::Direction;
use std::sync::Arc;
use sweep::Sweep;
use values::{LinkName, Seeds, Window};

/// Flows start within this time after their start, so that they are out of phase.
pub const PHASE_START: Span = Span::from_ms(10);

/// A link, who sends what over it, for how long and how often.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = Scenario::check)]
pub struct Scenario {
    /// A packaged link's name, or a link file; in its place, [[hop]] tables.
    #[key(example = "dsl-16m", unit = "name or file", absent = "[[hop]] tables")]
    pub link: Option<LinkName>,
    /// What the scenario is, in a few words.
    #[key(default = "", example = "An upload beside two downloads", absent = "empty")]
    pub title: String,
    /// Where the numbers come from.
    #[key(default = "", example = "the paper asymmetry, section 4", absent = "empty")]
    pub source: String,
    /// The hops in place of `link`, as in a link file.
    #[key(default = Vec::new(), example = Link::hop_example(), absent = "from `link`", allowed = "[[hop]] tables")]
    pub hop: Vec<Arc<Hop>>,
    /// Tunnels over some of the hops, as in a link file.
    #[key(default = Vec::new(), example = Link::tunnel_example(), absent = "none", allowed = "[[tunnel]] tables")]
    pub tunnel: Vec<Arc<Tunnel>>,
    /// Simulated time of a run.
    #[key(example = "60 s")]
    pub duration: Duration,
    /// How many seeds (10 means 1 to 10), or a list of them.
    #[key(default = 1, example = 10, unit = "count or list")]
    pub seeds: Seeds,
    /// Number of clients. Flows are assigned to them in rotation.
    #[key(default = 1, example = 6, unit = "clients")]
    pub clients: Count,
    /// Interval of the time series; 0 for none.
    #[key(default = "100 ms")]
    pub sample: Time,
    /// Random delays of up to 10 ms at starts, and of packets in the sending hosts, which keep flows
    /// out of phase.
    #[key(default = true, example = true)]
    pub phase_jitter: bool,
    /// TCP of all flows: any key of [tcp] below.
    #[key(default = Value::Table(Vec::new()), example = table!("variant" => "cubic"), absent = "the host's")]
    pub tcp: TcpEnds,
    /// Who sends what: one [[flow]] table for each kind of flow.
    #[key(example = Scenario::flow_example(), allowed = "[[flow]] tables")]
    pub flow: Vec<Arc<Flow>>,
    /// The part of a run over which metrics are calculated.
    #[key(default = Value::Table(Vec::new()), example = Measure::example(), absent = "each flow's whole time")]
    pub measure: Measure,
    /// Values of other keys, by their dotted path: every combination is run.
    #[key(example = Sweep::example(), absent = "nothing")]
    pub sweep: Option<Sweep>,
}

/// The part of a run over which metrics are calculated.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Measure {
    /// Each flow's whole time, the time while every flow runs, or two times; a negative one counts
    /// from the end.
    #[key(default = "all", example = Window::example())]
    pub window: Window,
}

impl Measure {
    fn example() -> Value {
        Value::table([("window", Window::example())])
    }
}

impl Scenario {
    fn flow_example() -> Value {
        vec![table!("workload" => table!("kind" => "bulk"))].into()
    }

    /// The base name of each flow, in order: its own, or `flow1`, `flow2`, .. by its position.
    pub fn flow_names(&self) -> Vec<String> {
        let name = |(index, flow): (usize, &Arc<Flow>)| {
            flow.name.as_ref().map_or_else(|| format!("flow{}", index + 1), |name| name.0.clone())
        };
        self.flow.iter().enumerate().map(name).collect()
    }

    /// Indices of the hops on a flow's path, server first.
    pub fn hops_of(&self, flow: &Flow) -> Vec<usize> {
        let is_crossed = |hop: &Hop| flow.over.as_ref().is_none_or(|names| names.0.contains(&hop.name.0));
        self.hop.iter().enumerate().filter(|(_, hop)| is_crossed(hop)).map(|(index, _)| index).collect()
    }

    /// Indices of the hops that a tunnel crosses, server first.
    pub fn hops_under(&self, tunnel: &Tunnel) -> Vec<usize> {
        self.hop.iter().enumerate().filter(|(_, hop)| tunnel.over.0.contains(&hop.name.0)).map(|(index, _)| index).collect()
    }

    /// Indices of the hops with a proxy before them that splits the flow's connections, server first.
    pub fn cuts(&self, flow: &Flow) -> Vec<usize> {
        if flow.is_udp() {
            return Vec::new();
        }
        self.hops_of(flow).into_iter().skip(1).filter(|&index| self.hop[index].pep.is_some()).collect()
    }

    /// All TCP keys of an end of a flow.
    pub fn tcp_of(&self, flow: &Flow, end: End) -> Read<Tcp> {
        resolve(self.tcp.at(Some(end)).chain(flow.tcp.at(Some(end))))
    }

    /// All TCP keys of a proxy on a flow's path: those of both ends, overridden by its own.
    fn proxy_tcp(&self, flow: &Flow, proxy: Option<&TcpKeys>) -> Read<Tcp> {
        resolve(self.tcp.at(None).chain(flow.tcp.at(None)).chain(proxy))
    }

    /// The measured time in picoseconds from the start; None: that of the flows.
    pub fn measured_ps(&self) -> Option<[i64; 2]> {
        let Window::Between(times) = self.measure.window else { return None };
        Some(times.map(|time| if time < 0 { signed_ps(self.duration.0).saturating_add(time) } else { time }))
    }
}

fn signed_ps(time: Span) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

/// The names of the single flows of a table: its base name, or with numbers from 1.
pub fn instance_names(flow: &Flow, base: &str) -> Vec<String> {
    match flow.instances() {
        1 => vec![base.to_owned()],
        count => (1..=count).map(|number| format!("{base}-{number}")).collect(),
    }
}

/// A hop of these has a medium, slots, a rate or a delay.
fn takes_time<'a>(hops: impl IntoIterator<Item = &'a Arc<Hop>>) -> bool {
    hops.into_iter().any(|hop| {
        hop.medium.is_some()
            || hop.slots.is_some()
            || hop.directions.sides().any(|(_, side)| side.rate.is_some() || side.delay.is_some_time())
    })
}

/// Hops with this direction.
fn carries<'a>(hops: impl IntoIterator<Item = &'a Arc<Hop>>, direction: Direction) -> bool {
    hops.into_iter().any(|hop| hop.directions.of(direction).is_some())
}

/// A flow among the tables of a program.
pub fn as_flow(table: &dyn Checked) -> Option<&Flow> {
    (table as &dyn std::any::Any).downcast_ref()
}
