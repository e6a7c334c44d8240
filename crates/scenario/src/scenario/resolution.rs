//! A scenario with all defaults resolved, as plain values that run again.

use super::{Scenario, values::Window};
use crate::flow::Flow;
use crate::invalid::Read;
use crate::keys::{Checked, KeySet, KeyValue};
use crate::tcp::keys::{End, TcpEnds, TcpKeys};
use crate::tcp::resolution::{Tcp, resolve};
use crate::value::Value;

type Keys = Vec<(String, Value)>;

/// Keys that set others.
const BRINGING: [&str; 3] = ["host", "variant", "recovery"];

/// Values of keys that a host may lack.
fn absent() -> [(&'static str, Value); 9] {
    [
        ("push", "every".into()),
        ("first_climb", 0.0.into()),
        ("app_limited_growth", false.into()),
        ("syn_linear_timeouts", 0.into()),
        ("ecn_packets", "data".into()),
        ("accecn_option", "changes".into()),
        ("processing_jitter", false.into()),
        ("gro", false.into()),
        ("tsq", false.into()),
    ]
}

/// The keys of a table that have a value.
fn entries(table: Value) -> Keys {
    match table {
        Value::Table(entries) => entries.into_iter().filter(|(_, value)| *value != Value::Absent).collect(),
        _ => Vec::new(),
    }
}

fn get<'a>(keys: &'a Keys, name: &str) -> Option<&'a Value> {
    keys.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// Sets a key where it stands, or adds it.
fn set(keys: &mut Keys, name: &str, value: Value) {
    match keys.iter_mut().find(|(key, _)| key == name) {
        Some((_, place)) => *place = value,
        None => keys.push((name.to_owned(), value)),
    }
}

fn set_all(keys: &mut Keys, others: Keys) {
    for (name, value) in others {
        set(keys, &name, value);
    }
}

fn resolved_keys(tcp: &Tcp) -> Keys {
    entries(tcp.written(None))
}

/// The explicit TCP keys, and the host.
fn explicit(table: &TcpEnds) -> Read<Keys> {
    let host = resolve(table.at(None))?.host;
    let mut keys = vec![("host".to_owned(), host.into())];
    let is_left_out = |key: &str| key == "overhead" || End::BOTH.iter().any(|end| end.name() == key);
    set_all(&mut keys, entries(KeyValue::write(table, None)).into_iter().filter(|(key, _)| !is_left_out(key)).collect());
    Ok(keys)
}

/// The keys that differ from the known ones, and those that a host lacks.
fn differing(mut keys: Keys, known: &Keys) -> Keys {
    if get(&keys, "host").is_some() {
        for (key, value) in absent() {
            if get(known, key).is_some() && get(&keys, key).is_none() {
                keys.push((key.to_owned(), value));
            }
        }
    }
    keys.into_iter().filter(|(key, value)| get(known, key) != Some(value)).collect()
}

/// What an end's own table says: its keys as given, or those of `all_keys` that differ from the ones
/// that it has without the table.
fn own_of_end(table: Option<&TcpKeys>, all_keys: Option<Keys>, known: &Keys) -> Keys {
    let mut own = match all_keys {
        None => table.map_or_else(Keys::new, |table| entries(KeyValue::write(table, None))),
        Some(all_keys) => differing(all_keys, known),
    };
    set_overhead(&mut own, table);
    own
}

/// The key `overhead`, which a resolved TCP does not have.
fn set_overhead(keys: &mut Keys, table: Option<&TcpKeys>) {
    if let Some(overhead) = table.and_then(|table| table.overhead) {
        set(keys, "overhead", overhead.write(None));
    }
}

impl Scenario {
    /// The scenario as plain values of a file.
    ///
    /// If a sweep varies a key that sets others, such as the variant, TCP keys are written as given: a
    /// resolved value would override the one that each variant sets. `swept`: the varied paths.
    pub fn resolved(&self, swept: &[String]) -> Read<Value> {
        let keeps_explicit = swept.iter().any(|path| BRINGING.contains(&path.rsplit('.').next().unwrap_or_default()));
        let shared = self.shared_tcp(keeps_explicit)?;
        let names = self.flow_names();
        let flow = |(flow, name): (&std::sync::Arc<Flow>, String)| self.resolved_flow(flow, name, &shared, keeps_explicit);
        let flows: Vec<Value> = self.flow.iter().zip(names).map(flow).collect::<Read<_>>()?;
        let window = Value::table([("window", Window::write(&self.measure.window, None))]);
        let mut resolved = Value::table([
            ("title", self.title.as_str().into()),
            ("source", self.source.as_str().into()),
            ("duration", self.duration.write(None)),
            ("seeds", self.seeds.write(None)),
            ("clients", self.clients.write(None)),
            ("sample", self.sample.write(None)),
            ("phase_jitter", self.phase_jitter.into()),
            ("tcp", Value::Table(shared)),
            ("measure", window),
            ("hop", self.hop.write(None)),
            ("flow", flows.into()),
        ]);
        if let (false, Value::Table(keys)) = (self.tunnel.is_empty(), &mut resolved) {
            keys.insert(keys.len() - 1, ("tunnel".into(), self.tunnel.write(None)));
        }
        Ok(resolved)
    }

    fn shared_tcp(&self, keeps_explicit: bool) -> Read<Keys> {
        let mut shared = if keeps_explicit { explicit(&self.tcp)? } else { resolved_keys(&resolve(self.tcp.at(None))?) };
        set_overhead(&mut shared, Some(&self.tcp.both));
        for end in End::BOTH {
            if let Some(own) = self.tcp.own(end) {
                let all_keys = if keeps_explicit { None } else { Some(resolved_keys(&resolve(self.tcp.at(Some(end)))?)) };
                let of_end = own_of_end(Some(own), all_keys, &shared);
                set(&mut shared, end.name(), Value::Table(of_end));
            }
        }
        Ok(shared)
    }

    fn resolved_flow(&self, flow: &Flow, name: String, shared: &Keys, keeps_explicit: bool) -> Read<Value> {
        let given = entries(flow.write(None));
        let tcp = if flow.is_udp() { Keys::new() } else { resolved_keys(&resolve(self.tcp.at(None).chain(flow.tcp.at(None)))?) };
        let mut own: Keys = if keeps_explicit {
            given.iter().filter_map(|(key, _)| Some((key.clone(), get(&tcp, key)?.clone()))).collect()
        } else {
            tcp
        };
        set_overhead(&mut own, Some(&flow.tcp.both));
        let mut differing = differing(own, shared);
        let ends = if flow.is_udp() { [].as_slice() } else { End::BOTH.as_slice() };
        for &end in ends {
            let mut known = shared.clone();
            if let Some(Value::Table(of_end)) = get(shared, end.name()) {
                set_all(&mut known, of_end.clone());
            }
            set_all(&mut known, differing.clone());
            let all_keys = if keeps_explicit { None } else { Some(resolved_keys(&self.tcp_of(flow, end)?)) };
            let of_end = own_of_end(flow.tcp.own(end), all_keys, &known);
            if !of_end.is_empty() {
                set(&mut differing, end.name(), Value::Table(of_end));
            }
        }
        let mut keys = vec![("name".to_owned(), name.into())];
        let tcp_keys = TcpEnds::names();
        set_all(&mut keys, given.into_iter().filter(|(key, _)| !tcp_keys.contains(&key.as_str())).collect());
        set_all(&mut keys, differing);
        Ok(Value::Table(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Bounds;
    use crate::table;

    fn scenario(tcp: Value, flow: Value) -> Scenario {
        let hop = table!("name" => "a", "rate" => "1 Mb/s", "delay" => "5 ms");
        let data = table!("hop" => vec![hop], "duration" => "10 s", "tcp" => tcp, "flow" => vec![flow]);
        Scenario::read(&data, &Bounds::NONE).expect("a scenario")
    }

    fn bulk<const N: usize>(keys: [(&str, Value); N]) -> Value {
        let Value::Table(mut flow) = Value::table(keys) else { unreachable!("a table") };
        flow.push(("workload".into(), table!("kind" => "bulk")));
        Value::Table(flow)
    }

    #[test]
    fn resolved_scenario_has_the_same_plan() {
        let tcp = table!("variant" => "reno", "overhead" => "1 ms", "server" => table!("sack" => false));
        let first = scenario(tcp, bulk([("client", table!("host" => "windows-xp", "max_burst" => 3)), ("sack", true.into())]));
        let written = first.resolved(&[]).expect("values");
        let again = Scenario::read(&written, &Bounds::NONE).expect("the same");
        let digest = |scenario: &Scenario| scenario.plan(Default::default()).expect("a plan").digest();
        assert_eq!(digest(&again), digest(&first));
        assert_eq!(again.resolved(&[]), Ok(written));
    }

    #[test]
    fn tcp_keys_are_as_given_when_a_sweep_varies_one_that_sets_others() {
        let swept = scenario(table!("variant" => "reno"), bulk([("max_burst", 3.into())]));
        let written = swept.resolved(&["tcp.variant".into()]).expect("values");
        let tcp = written.get("tcp").expect("keys");
        assert_eq!(tcp.to_toml(), "{ host = \"linux-6\", variant = \"reno\" }");
        let Some(Value::Array(flows)) = written.get("flow") else { panic!("no flows") };
        assert_eq!(flows[0].get("max_burst"), Some(&3.into()));
        assert!(swept.resolved(&["hop.a.rate".into()]).expect("values").get("tcp").is_some_and(|tcp| tcp.get("sack").is_some()));
    }
}
