//! Flows: workload, direction, path, start and end.

pub mod page;
pub mod quic;
pub mod start;
pub mod workload;

use crate::invalid::{Invalid, Read, format_value};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::link::hop::Name;
use crate::schema::{self, Definitions};
use crate::tcp::keys::{End, TcpEnds};
use crate::value::Value;
use crate::values::{Count, Duration};
use crate::{Keys, table};
use ackclock_core::medium::Direction;
use quic::{Quic, Transport};
use serde_json::{Value as Json, json};
use start::SomeTime;
use workload::{Page, Workload};

/// A [[flow]]: `count` flows, assigned to the clients in rotation, with any key of [tcp].
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = Flow::check, derived = Flow::derived)]
pub struct Flow {
    /// Name of the flow; of several, `NAME-1`, `NAME-2`, and so on.
    #[key(example = "download", absent = "`flow1`, `flow2`, .. by position")]
    pub name: Option<Name>,
    /// Direction of the data.
    #[key(default = "down")]
    pub direction: Direction,
    /// Names of consecutive hops that the flow crosses.
    #[key(example = vec![Value::from("core")], unit = "names", absent = "all hops")]
    pub over: Option<HopNames>,
    /// What the flow sends: see the workloads below.
    #[key(
        example = table!("kind" => "bulk"),
        needed = "workload = { kind = \"bulk\" } is required here; kinds: bulk, transfer, web, page, video, call, conference, game, cbr, onoff, probe, live"
    )]
    pub workload: Workload,
    /// What carries the data: TCP, or QUIC as the stack noq 1.4 has it, with the `variant` of the flow.
    #[key(default = "tcp", example = "quic")]
    pub transport: Transport,
    /// What its hosts set for QUIC.
    #[key(example = table!("ack_frequency" => 9), absent = "noq's defaults")]
    pub quic: Option<Quic>,
    /// Number of such flows, assigned to the clients in rotation.
    #[key(default = 1, example = 6, unit = "flows")]
    pub count: Count,
    /// The device of the client that has the flows, behind its one address on the link's medium and in captures.
    /// To a queue that is fair between hosts each device is one.
    #[key(example = 2, unit = "number", absent = "1, the only device")]
    pub device: Option<Count>,
    /// Time of the start, or a range from which each flow draws it.
    #[key(default = "0 s", example = "uniform(5 s, 10 s)")]
    pub start: SomeTime,
    /// Time at which the flow ends.
    #[key(example = "50 s", absent = "the end of the run")]
    pub stop: Option<Duration>,
    /// The flow is repeated.
    #[key(example = table!("every" => "10 s", "times" => 3), absent = "once")]
    pub repeat: Option<Repeat>,
    #[key(flatten, first)]
    pub tcp: TcpEnds,
}

/// Repetition of a flow: `times` in all, one `every` so long.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Repeat {
    /// Time between two starts.
    #[key(example = "10 s")]
    pub every: Duration,
    /// Number of starts.
    #[key(example = 3, unit = "starts")]
    pub times: Count,
}

/// Names of hops, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopNames(pub Vec<String>);

/// What the emulator reads of a real host.
const LIVE_BYTES: u16 = 1500;
const HOP_NAMES: &str = "a list of hop names, such as [\"core\"]";

impl KeyValue for HopNames {
    fn read(value: &Value, _: &Bounds) -> Read<HopNames> {
        let names: Option<Vec<String>> = match value {
            Value::Array(names) if !names.is_empty() => {
                names.iter().map(|name| if let Value::Text(name) = name { Some(name.clone()) } else { None }).collect()
            }
            _ => None,
        };
        names.map(HopNames).ok_or_else(|| Invalid::value(value, HOP_NAMES))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        Value::Array(self.0.iter().map(|name| name.as_str().into()).collect())
    }

    fn unit() -> &'static str {
        "names"
    }

    fn limits(_: &Bounds) -> String {
        HOP_NAMES.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::array(Value::table([("type", "string".into())]), [("minItems", 1.into())])
    }
}

impl Flow {
    fn check(&self) -> Read<()> {
        let at_client = match self.workload {
            Workload::Page(_) => Some("\"down\" with page: the client has the browser"),
            Workload::Video(_) => Some("\"down\" with video: the client has the player"),
            _ => None,
        };
        if let Some(allowed) = at_client.filter(|_| self.direction == Direction::Up) {
            return Err(Invalid::new("direction = \"up\"", allowed).at("direction"));
        }
        self.check_transport()?;
        let Some(stop) = self.stop else { return Ok(()) };
        let refused = |allowed: &str| {
            let found = format!("stop = {}", format_value(&stop.write(None)));
            Err(Invalid::new(found, allowed).at("stop"))
        };
        if stop.0.0 <= self.start.0.high_ps {
            return refused("a stop after the start");
        }
        match self.workload {
            Workload::Web(_) => refused("no stop with web: its jobs end by themselves"),
            Workload::Page(_) => refused("no stop with page: it ends with its last object"),
            _ => Ok(()),
        }
    }

    fn check_transport(&self) -> Read<()> {
        if self.transport == Transport::Tcp {
            return match self.quic {
                Some(_) => Err(Invalid::new("quic without transport = \"quic\"", "transport = \"quic\" with it").at("quic")),
                None => Ok(()),
            };
        }
        let refused = |allowed: &str| Err(Invalid::new("transport = \"quic\"", allowed).at("transport"));
        match &self.workload {
            Workload::Bulk(_)
            | Workload::Transfer(_)
            | Workload::Web(_)
            | Workload::Page(_)
            | Workload::Video(_)
            | Workload::OnOff(_) => Ok(()),
            _ => refused("bulk, transfer, web, page, video or onoff with it"),
        }
    }

    pub fn is_quic(&self) -> bool {
        self.transport == Transport::Quic
    }

    /// Connections of one load of a page: with HTTP/3 (RFC 9114) one to each server.
    pub fn page_connections(&self, page: &Page) -> u64 {
        if self.is_quic() { page.page.host_count().into() } else { page.load_connections() }
    }

    /// The workload as a plan has it. Over QUIC a page's requests all are on one connection to its server, whose
    /// handshake is QUIC's.
    pub fn workload_json(&self) -> Json {
        let mut plan = self.workload.checked().plan();
        if let Some(keys) = plan.as_object_mut().filter(|_| self.is_quic()) {
            keys.entry("handshake").and_modify(|handshake| *handshake = json!([0, 0]));
            if keys.contains_key("objects") {
                keys.insert("multiplexed".into(), true.into());
                keys.entry("per_host").and_modify(|connections| *connections = 1.into());
            }
        }
        plan
    }

    /// Single flows.
    pub fn instances(&self) -> u64 {
        u64::from(self.count.0) * self.repeat.as_ref().map_or(1, |repeat| repeat.times.0.into())
    }

    /// Connections, or datagram streams, of all single flows.
    pub fn connections(&self) -> u64 {
        let of_one = match &self.workload {
            Workload::Web(web) if self.is_spread() => u64::from(web.jobs.0) * (1 + u64::from(web.answers.0)),
            Workload::Page(page) => self.page_connections(page),
            _ => 1,
        };
        self.instances().saturating_mul(of_one)
    }

    /// The end that sends the data.
    pub fn sending_end(&self) -> End {
        if self.direction == Direction::Down { End::Server } else { End::Client }
    }

    pub fn is_udp(&self) -> bool {
        self.data_bytes().is_some()
    }

    /// Real hosts send and receive it.
    pub fn is_live(&self) -> bool {
        matches!(self.workload, Workload::Live(_))
    }

    /// A workload of several connections: web with one for each request and answer, and a page.
    pub fn is_spread(&self) -> bool {
        match &self.workload {
            // Over QUIC the answers are on one connection.
            Workload::Web(web) => !web.persistent && !self.is_quic(),
            Workload::Page(_) => true,
            _ => false,
        }
    }

    /// Both ends send packets of their own: all but datagrams in one direction.
    pub fn is_bidirectional(&self) -> bool {
        !matches!(self.workload, Workload::ConstantRate(_) | Workload::OnOff(_) | Workload::Live(_))
    }

    /// IP size of a data packet, if the workload defines it (UDP).
    pub fn data_bytes(&self) -> Option<u16> {
        match &self.workload {
            Workload::ConstantRate(stream) => Some(stream.packet.0),
            Workload::OnOff(_) if self.is_quic() => None,
            Workload::OnOff(stream) => Some(stream.packet.0),
            Workload::Call(call) => Some(call.packet()),
            Workload::Conference(conference) => Some(conference.packet()),
            Workload::Game(game) => Some(game.packet.0),
            Workload::Probe(probe) => Some(probe.last.0),
            Workload::Live(_) => Some(LIVE_BYTES),
            Workload::Bulk(_) | Workload::Transfer(_) | Workload::Web(_) | Workload::Page(_) | Workload::Video(_) => None,
        }
    }

    fn derived(&self, name: &str) -> Option<Attribute> {
        let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        Some(Attribute::Value(match name {
            "instances" => int(self.instances()),
            "connections" => int(self.connections()),
            "sending_end" => self.sending_end().name().into(),
            "is_udp" => self.is_udp().into(),
            "is_live" => self.is_live().into(),
            "is_spread" => self.is_spread().into(),
            "data_bytes" => self.data_bytes().map_or(Value::Absent, |bytes| int(bytes.into())),
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: &str, value: impl Into<Value>) -> Read<Flow> {
        Flow::read(&Value::table([("workload", table!("kind" => "bulk")), (key, value.into())]), &Bounds::NONE)
    }

    #[test]
    fn flow_needs_a_workload() {
        let missing = Flow::read(&table!("count" => 2), &Bounds::NONE).expect_err("no workload");
        assert_eq!(missing.found, "no \"workload\"");
        let kinds = Workload::kinds().join(", ");
        assert_eq!(missing.allowed, format!("workload = {{ kind = \"bulk\" }} is required here; kinds: {kinds}"));
    }

    #[test]
    fn flow_stops_after_its_start_and_web_by_itself() {
        assert_eq!(read("stop", "0 s").expect_err("zero").allowed, "a time above zero");
        assert!(read("stop", "1 s").is_ok());
        let web = Value::table([("workload", table!("kind" => "web")), ("stop", "1 s".into())]);
        assert!(Flow::read(&web, &Bounds::NONE).expect_err("web").allowed.starts_with("no stop with web"));
        for (key, value) in [("stop", "1 s"), ("direction", "up")] {
            let page = Value::table([("workload", table!("kind" => "page")), (key, value.into())]);
            assert!(Flow::read(&page, &Bounds::NONE).expect_err(key).allowed.contains("with page"));
        }
        let video = |key: &'static str, value: &str| Value::table([("workload", table!("kind" => "video")), (key, value.into())]);
        assert!(Flow::read(&video("stop", "1 s"), &Bounds::NONE).is_ok());
        let up = Flow::read(&video("direction", "up"), &Bounds::NONE).expect_err("up");
        assert!(up.allowed.ends_with("the client has the player"));
    }

    #[test]
    fn tcp_keys_stand_in_a_flow_and_are_read_first() {
        let flow = read("max_burst", 3).expect("a flow");
        assert_eq!(flow.tcp.both.max_burst, Some(Count(3)));
        let wrong = Value::table([("workload", table!("kind" => "bulk")), ("count", 0.into()), ("max_burst", 0.into())]);
        assert_eq!(Flow::read(&wrong, &Bounds::NONE).expect_err("two").path, [crate::invalid::Step::Key("max_burst".into())]);
    }

    #[test]
    fn connections_are_those_of_all_pages() {
        let web = table!("kind" => "web", "jobs" => 3, "answers" => 4);
        let flow = Flow::read(&table!("workload" => web, "count" => 2), &Bounds::NONE).expect("a flow");
        let connections = crate::keys::Checked::attribute(&flow, "connections");
        assert!(matches!(connections, Some(Attribute::Value(Value::Int(30)))), "{connections:?}");
    }

    #[test]
    fn hop_names_are_a_list_of_at_least_one() {
        for wrong in [Value::Array(Vec::new()), "core".into(), vec![Value::Int(1)].into()] {
            assert_eq!(read("over", wrong).expect_err("names").allowed, HOP_NAMES);
        }
        for wrong in ["a.b", " ", "a/b"] {
            assert_eq!(read("name", wrong).expect_err(wrong).allowed, "a name without dots or slashes");
        }
    }
}
