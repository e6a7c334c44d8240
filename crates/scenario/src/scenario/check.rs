//! Checks over several keys of a scenario, in this order: hops, flows, measured part, time series.

use super::values::Window;
use super::{Scenario, carries, instance_names, signed_ps, takes_time};
use crate::flow::Flow;
use crate::flow::workload::Workload;
use crate::invalid::{Invalid, Read, Step, choices, format_value};
use crate::keys::KeyValue;
use crate::link::hop::Hop;
use crate::tcp::keys::{End, TcpKeys};
use crate::tcp::names::VariantName;
use crate::tcp::resolution::Tcp;
use crate::units::show_time;
use crate::values::{Size, time_text};
use ackclock_core::Span;
use ackclock_core::medium::Direction;
use ackclock_core::tcp::{EcnMode, Variant};
use std::collections::HashSet;
use std::sync::Arc;

const MAX_FLOWS: u64 = 100_000;
/// Rows of a run's time series.
const MAX_ROWS: u128 = 100_000_000;
/// The length of an IP packet is a 16-bit field.
const MAX_PACKET: u128 = 65_535;

/// The place of a flow, or of a hop, and of a key of it.
fn place(table: &str, index: usize, key: &str) -> Vec<Step> {
    vec![Step::Key(table.into()), Step::Index(index), Step::Key(key.into())]
}

fn at(path: Vec<Step>, invalid: Invalid) -> Invalid {
    Invalid { path, ..invalid }
}

impl Scenario {
    pub(super) fn check(&self) -> Read<()> {
        check_hops(&self.hop)?;
        self.check_tunnels()?;
        self.check_flows()?;
        self.check_window()?;
        self.check_series()
    }

    fn check_tunnels(&self) -> Read<()> {
        let known: Vec<&str> = self.hop.iter().map(|hop| hop.name.0.as_str()).collect();
        let mut taken = HashSet::new();
        for (index, tunnel) in self.tunnel.iter().enumerate() {
            let here = |found: String, allowed: &str| at(place("tunnel", index, "over"), Invalid::new(found, allowed));
            if let Some((position, name)) = tunnel.over.0.iter().enumerate().find(|(_, name)| !known.contains(&name.as_str())) {
                let mut path = place("tunnel", index, "over");
                path.push(Step::Index(position));
                return Err(at(path, Invalid::value(&name.as_str().into(), format!("hops {}", choices(&known, Some(name))))));
            }
            let crossed = self.hops_under(tunnel);
            if crossed.is_empty() || crossed.windows(2).any(|pair| pair[0] + 1 != pair[1]) {
                return Err(here(format_value(&tunnel.over.write(None)), "consecutive hops of the link"));
            }
            if let Some(&twice) = crossed.iter().find(|&&hop| !taken.insert(hop)) {
                return Err(here(format!("a second tunnel over \"{}\"", known[twice]), "each hop in at most one tunnel"));
            }
            for (flow, name) in self.flow.iter().zip(self.flow_names()) {
                let own = self.hops_of(flow);
                let inside = crossed.iter().filter(|hop| own.contains(hop)).count();
                if inside != 0 && inside != crossed.len() {
                    let found = format!("a tunnel of which flow \"{name}\" crosses a part");
                    return Err(here(found, "hops of which each flow crosses all or none"));
                }
                if self.cuts(flow).iter().any(|cut| crossed[1..].contains(cut)) {
                    return Err(here("a proxy inside a tunnel".into(), "proxies outside of tunnels"));
                }
            }
        }
        Ok(())
    }

    fn check_flows(&self) -> Read<()> {
        if self.flow.is_empty() {
            return Err(Invalid::new("no flows", "at least one [[flow]]").at("flow"));
        }
        let mut names = HashSet::new();
        let mut connections = 0;
        for (index, (flow, base)) in self.flow.iter().zip(self.flow_names()).enumerate() {
            connections += flow.connections();
            if connections > MAX_FLOWS {
                let many = Invalid::new(format!("{connections} flows"), format!("at most {MAX_FLOWS} flows"));
                return Err(at(place("flow", index, "count"), many));
            }
            for name in instance_names(flow, &base) {
                let twice = Invalid::new(format!("a second flow \"{name}\""), "a different name for every flow");
                if !names.insert(name) {
                    return Err(at(place("flow", index, "name"), twice));
                }
            }
            self.check_hop_names(flow, index)?;
            self.check_route(flow, index)?;
            self.check_proxies(flow)?;
            if !flow.is_udp() {
                self.check_tcp(flow, index)?;
            }
            if flow.is_spread() && self.measure.window == Window::AllActive {
                let kind = if matches!(flow.workload, Workload::Page(_)) { "page" } else { "web" };
                let allowed = format!("another window with {kind}: its connections are never all active");
                return Err(Invalid::new("\"all-active\"", allowed).at("window").at("measure"));
            }
            self.check_start(flow, index)?;
        }
        Ok(())
    }

    fn check_hop_names(&self, flow: &Flow, index: usize) -> Read<()> {
        let known: Vec<&str> = self.hop.iter().map(|hop| hop.name.0.as_str()).collect();
        let names = flow.over.iter().flat_map(|names| &names.0);
        match names.enumerate().find(|(_, name)| !known.contains(&name.as_str())) {
            Some((position, name)) => {
                let unknown = Invalid::value(&name.as_str().into(), format!("hops {}", choices(&known, Some(name))));
                let mut path = place("flow", index, "over");
                path.push(Step::Index(position));
                Err(at(path, unknown))
            }
            None => Ok(()),
        }
    }

    fn check_route(&self, flow: &Flow, index: usize) -> Read<()> {
        let crossed = self.hops_of(flow);
        if crossed.windows(2).any(|pair| pair[0] + 1 != pair[1]) {
            let names = format_value(&flow.over.write(None));
            return Err(at(place("flow", index, "over"), Invalid::new(names, "consecutive hops of the link")));
        }
        let hops = || crossed.iter().map(|&hop| &self.hop[hop]);
        let is_unidirectional = !flow.is_bidirectional();
        let needed = Direction::BOTH.into_iter().filter(|&direction| !is_unidirectional || direction == flow.direction);
        for direction in needed {
            if !carries(hops(), direction) {
                let direction = direction.name();
                let allowed = format!("a path with at least one hop {direction} (TCP requires both directions, UDP its own)");
                let missing = Invalid::new(format!("no hop that carries packets {direction}"), allowed);
                return Err(at(place("flow", index, if flow.over.is_some() { "over" } else { "direction" }), missing));
            }
        }
        Ok(())
    }

    fn check_proxies(&self, flow: &Flow) -> Read<()> {
        for cut in self.cuts(flow) {
            let here = || place("hop", cut, "pep");
            if flow.is_live() || flow.is_spread() || flow.is_quic() || matches!(flow.workload, Workload::Video(_)) {
                let what = match &flow.workload {
                    _ if flow.is_quic() => "a flow over QUIC",
                    Workload::Live(_) => "a live flow",
                    Workload::Page(_) => "a page",
                    Workload::Video(_) => "a video",
                    _ => "web without persistent = true",
                };
                let allowed = "a proxy only for bulk, transfer and persistent web flows";
                return Err(at(here(), Invalid::new(format!("a proxy on the path of {what}"), allowed)));
            }
            let (near, far): (Vec<usize>, Vec<usize>) = self.hops_of(flow).into_iter().partition(|&hop| hop < cut);
            for side in [near, far] {
                let hops = || side.iter().map(|&hop| &self.hop[hop]);
                if !Direction::BOTH.into_iter().all(|direction| carries(hops(), direction)) || !takes_time(hops()) {
                    let allowed = "hops on both sides of it, in both directions, with some delay";
                    return Err(at(here(), Invalid::new("a proxy with no path", allowed)));
                }
            }
        }
        Ok(())
    }

    fn check_tcp(&self, flow: &Flow, index: usize) -> Read<()> {
        if !takes_time(self.hops_of(flow).iter().map(|&hop| &self.hop[hop])) {
            let allowed = "a rate, a medium or a delay on one of its hops";
            let path = vec![Step::Key("flow".into()), Step::Index(index)];
            return Err(at(path, Invalid::new("a path that takes no time", allowed)));
        }
        End::BOTH.into_iter().try_for_each(|end| self.check_end(flow, index, end))
    }

    /// The QUIC stack passes ECN on as one bit, has no timestamps, by which LP measures one-way delays, and asks for a
    /// control that is not in Python.
    fn check_quic_variant(index: usize, tcp: &Tcp) -> Read<()> {
        let name = match &tcp.keys.variant {
            Some(VariantName::Python(class)) => class.as_str(),
            Some(VariantName::Engine(Variant::Dctcp | Variant::Prague | Variant::Lp)) => tcp.config().variant.name(),
            _ => return Ok(()),
        };
        let found = Invalid::new(
            format!("variant = \"{name}\" with transport = \"quic\""),
            "another variant with it: not dctcp, prague, lp or python",
        );
        Err(at(place("flow", index, "transport"), found))
    }

    fn check_end(&self, flow: &Flow, index: usize, end: End) -> Read<()> {
        let tcp = self.tcp_of(flow, end)?;
        let config = tcp.config();
        if flow.is_quic() {
            Self::check_quic_variant(index, &tcp)?;
        }
        let size = |size: Option<Size>| size.map_or(0, |size| u128::from(size.0));
        let keys = &tcp.keys;
        let options = size(keys.timestamp_bytes) + size(keys.sack_base_bytes) + 4 * size(keys.sack_block_bytes);
        let header = keys.header.map_or(0, |header| u128::from(header.0));
        let longest = u128::from(config.segment) + header + options.max(size(keys.syn_option_bytes));
        if longest > MAX_PACKET {
            let found = format!("packets of up to {longest} B with headers and options");
            let long = Invalid::new(found, format!("at most {MAX_PACKET} B"));
            return Err(at(self.place_of(flow, index, end, "segment", |keys| keys.segment.is_some()), long));
        }
        if config.ack_control.is_some() && !(config.timestamps && config.ecn == EcnMode::Classic) {
            let allowed = "timestamps = true and ecn = true (not \"accecn\") with it";
            let is_on = |keys: &TcpKeys| keys.ack_congestion_control.as_ref().is_some_and(|rule| rule.table().is_some());
            let path = self.place_of(flow, index, end, "ack_congestion_control", is_on);
            return Err(at(path, Invalid::new("ACK congestion control", allowed)));
        }
        if config.rto_min > config.rto_max {
            let allowed = format!("at most rto_max, {}", time_text(config.rto_max));
            let path = self.place_of(flow, index, end, "rto_min", |keys| keys.rto_min.is_some());
            return Err(at(path, Invalid::new(time_text(config.rto_min), allowed)));
        }
        Ok(())
    }

    /// Where a key of an end is given: the last table that has it.
    fn place_of(&self, flow: &Flow, index: usize, end: End, key: &str, has: impl Fn(&TcpKeys) -> bool) -> Vec<Step> {
        let of_all = self.tcp.at(Some(end)).map(|keys| (vec![Step::Key("tcp".into())], keys));
        let of_flow = flow.tcp.at(Some(end)).map(|keys| (vec![Step::Key("flow".into()), Step::Index(index)], keys));
        let tables = of_all.enumerate().chain(of_flow.enumerate());
        let with_end = tables.map(|(number, (mut path, keys))| {
            path.extend((number > 0).then(|| Step::Key(end.name().into())));
            (path, keys)
        });
        let given = with_end.filter(|(_, keys)| has(keys)).last().map(|(path, _)| path);
        let mut path = given.unwrap_or_else(|| vec![Step::Key("tcp".into())]);
        path.push(Step::Key(key.into()));
        path
    }

    fn check_start(&self, flow: &Flow, index: usize) -> Read<()> {
        let (end, latest) = (self.duration.0.0, flow.start.0.high_ps);
        if latest >= end {
            let allowed = format!("a start before the end of the run, {}", time_text(self.duration.0));
            return Err(at(place("flow", index, "start"), Invalid::value(&flow.start.write(None), allowed)));
        }
        let Some(repeat) = &flow.repeat else { return Ok(()) };
        let last = u128::from(latest) + u128::from(repeat.every.0.0) * u128::from(repeat.times.0 - 1);
        if last < u128::from(end) {
            return Ok(());
        }
        let found = format!("{} times every {}", repeat.times.0, time_text(repeat.every.0));
        let allowed = format!("the last start before the end of the run, {}", time_text(self.duration.0));
        Err(at(place("flow", index, "repeat"), Invalid::new(found, allowed)))
    }

    fn check_window(&self) -> Read<()> {
        let Some([from, to]) = self.measured_ps() else { return Ok(()) };
        if 0 <= from && from < to && to <= signed_ps(self.duration.0) {
            return Ok(());
        }
        let allowed = format!("a start before the end, both within the duration of {}", time_text(self.duration.0));
        let found = format!("{} to {}", show_time(from), show_time(to));
        Err(Invalid::new(found, allowed).at("window").at("measure"))
    }

    /// The rows of the time series fit into memory.
    fn check_series(&self) -> Read<()> {
        let copies = |hop: &Hop| if hop.has_stations() { u128::from(self.clients.0) } else { 1 };
        let flows: u128 = self.flow.iter().map(|flow| u128::from(flow.connections())).sum();
        let each = flows + 2 * self.hop.iter().map(|hop| copies(hop)).sum::<u128>();
        let (duration, sample) = (u128::from(self.duration.0.0), u128::from(self.sample.0.0));
        if duration.checked_div(sample).unwrap_or(0) * each <= MAX_ROWS {
            return Ok(());
        }
        let shortest = u64::try_from((duration * each).div_ceil(MAX_ROWS)).unwrap_or(u64::MAX);
        let allowed = format!("\"0 s\" (no series), or {} and more here", time_text(Span(shortest)));
        Err(Invalid::value(&self.sample.write(None), allowed).at("sample"))
    }
}

fn check_hops(hops: &[Arc<Hop>]) -> Read<()> {
    let Some(first) = hops.first() else {
        return Err(Invalid::new("no hops", "a link or at least one [[hop]]").at("hop"));
    };
    if first.pep.is_some() {
        let allowed = "a pep on a later hop: the server is before the first one";
        return Err(at(place("hop", 0, "pep"), Invalid::new("a proxy before the first hop", allowed)));
    }
    let mut names = HashSet::new();
    for (index, hop) in hops.iter().enumerate() {
        if !names.insert(hop.name.0.as_str()) {
            let twice = Invalid::new(format!("a second hop \"{}\"", hop.name.0), "a different name for every hop");
            return Err(at(place("hop", index, "name"), twice));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Bounds;
    use crate::table;
    use crate::value::Value;

    fn hop(name: &str) -> Value {
        table!("name" => name, "rate" => "1 Mb/s", "delay" => "5 ms")
    }

    fn flow<const N: usize>(keys: [(&str, Value); N]) -> Value {
        let Value::Table(mut flow) = Value::table(keys) else { unreachable!("a table") };
        flow.push(("workload".into(), table!("kind" => "bulk")));
        Value::Table(flow)
    }

    /// Place and words of the error in a scenario of 10 s.
    fn error<const N: usize>(keys: [(&str, Value); N]) -> (String, String) {
        let Value::Table(mut data) = Value::table(keys) else { unreachable!("a table") };
        let usual = [("hop", vec![hop("a"), hop("b")].into()), ("duration", "10 s".into()), ("flow", vec![flow([])].into())];
        for (key, value) in usual {
            if !data.iter().any(|(name, _)| name == key) {
                data.push((key.into(), value));
            }
        }
        let invalid = Scenario::read(&Value::Table(data), &Bounds::NONE).expect_err("an error");
        let step = |step: &Step| match step {
            Step::Key(key) => key.clone(),
            Step::Index(index) => index.to_string(),
        };
        (invalid.path.iter().map(step).collect::<Vec<_>>().join("."), invalid.found)
    }

    #[test]
    fn first_error_is_that_of_hops_then_flows_then_window_then_series() {
        let wrong_window = || ("measure", table!("window" => vec![Value::from("5 s"), "-6 s".into()]));
        let wrong_sample = || ("sample", Value::from("1 ns"));
        let late = || ("flow", vec![flow([("start", "10 s".into())])].into());
        let twice = ("hop", vec![hop("a"), hop("a")].into());
        assert_eq!(error([wrong_sample(), wrong_window(), late(), twice]).0, "hop.1.name");
        assert_eq!(error([wrong_sample(), wrong_window(), late()]), ("flow.0.start".into(), "\"10 s\"".into()));
        assert_eq!(error([wrong_sample(), wrong_window()]), ("measure.window".into(), "5 s to 4 s".into()));
        assert_eq!(error([wrong_sample()]), ("sample".into(), "\"1 ns\"".into()));
    }

    #[test]
    fn flow_crosses_known_consecutive_hops_in_both_directions() {
        let over = |names: &[&str]| {
            let names: Vec<Value> = names.iter().map(|&name| name.into()).collect();
            ("flow", vec![flow([("over", names.into())])].into())
        };
        let hops = || ("hop", vec![hop("a"), hop("b"), hop("c")].into());
        assert_eq!(error([hops(), over(&["a", "x"])]), ("flow.0.over.1".into(), "\"x\"".into()));
        assert_eq!(error([hops(), over(&["a", "c"])]), ("flow.0.over".into(), "[\"a\", \"c\"]".into()));
        let down = ("hop", vec![table!("name" => "a", "only" => "down", "delay" => "1 ms")].into());
        assert_eq!(error([down]), ("flow.0.direction".into(), "no hop that carries packets up".into()));
        let instant = ("hop", vec![table!("name" => "a")].into());
        assert_eq!(error([instant]), ("flow.0".into(), "a path that takes no time".into()));
    }

    #[test]
    fn names_are_different_and_flows_at_most_100_000() {
        let named = |name: &str, count: i64| flow([("name", name.into()), ("count", count.into())]);
        let same = ("flow", vec![named("x", 2), named("x-2", 1)].into());
        assert_eq!(error([same]), ("flow.1.name".into(), "a second flow \"x-2\"".into()));
        let many = ("flow", vec![named("x", 60_000), named("y", 40_001)].into());
        assert_eq!(error([many]), ("flow.1.count".into(), "100001 flows".into()));
    }

    #[test]
    fn error_over_several_tcp_keys_is_at_the_last_table_that_has_the_key() {
        let wrong = || Value::from("300 s");
        let own = table!("rto_min" => wrong());
        let of_flow = ("flow", vec![flow([("rto_min", wrong()), ("client", own.clone())])].into());
        assert_eq!(error([("tcp", table!("server" => own.clone()))]).0, "tcp.server.rto_min");
        assert_eq!(error([("tcp", table!("rto_max" => "1 us"))]).0, "tcp.rto_min");
        assert_eq!(error([("tcp", own), of_flow]).0, "flow.0.rto_min");
        let header = ("tcp", table!("header" => "99 GB"));
        assert_eq!(error([header]).0, "tcp.segment");
    }

    #[test]
    fn proxy_has_hops_on_both_sides_and_no_live_flow() {
        let with_pep = |name: &str| {
            let Value::Table(mut keys) = hop(name) else { unreachable!("a table") };
            keys.push(("pep".into(), Value::Table(Vec::new())));
            Value::Table(keys)
        };
        assert_eq!(error([("hop", vec![with_pep("a")].into())]).0, "hop.0.pep");
        let live = || ("flow", vec![table!("workload" => table!("kind" => "live"))].into());
        let hops = || ("hop", vec![hop("a"), with_pep("b")].into());
        // A live flow is UDP to the engine, which no proxy splits.
        let web = ("flow", vec![table!("workload" => table!("kind" => "web"))].into());
        assert_eq!(error([hops(), web]), ("hop.1.pep".into(), "a proxy on the path of web without persistent = true".into()));
        assert_eq!(error([hops(), live(), ("sample", "1 ns".into())]).0, "sample");
        let instant = ("hop", vec![table!("name" => "a"), with_pep("b")].into());
        assert_eq!(error([instant]), ("hop.1.pep".into(), "a proxy with no path".into()));
    }

    #[test]
    fn seeds_are_a_count_or_different_whole_numbers() {
        let list = |seeds: &[i64]| Value::from(seeds.iter().map(|&seed| Value::Int(seed)).collect::<Vec<_>>());
        for (seeds, place) in [(0.into(), "seeds"), (list(&[1, 1]), "seeds"), (list(&[3, -1]), "seeds.1"), (list(&[]), "seeds")] {
            assert_eq!(error([("seeds", seeds)]).0, place);
        }
    }
}
