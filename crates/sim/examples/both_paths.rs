//! Runs plans by the engine's shortcuts and without them, and compares what the endpoints send: a plan as a line of
//! JSON on standard input, an answer as a line of JSON on standard output.
//!
//! `cargo run --release --example both_paths --features slow-path`
//!
//! An answer is a list of forms, each with the first packet that it sends differently; null where none is.

use ackclock_core::network::EndpointId;
use ackclock_core::packet::{Body, Packet};
use ackclock_core::probe::Probe;
use ackclock_core::{Time, shortcuts};
use ackclock_sim::build::{BuiltNetwork, build, build_unfused};
use ackclock_sim::run::SteppedRun;
use ackclock_sim::{Plan, run};
use serde_json::{Value, json};
use std::io::{BufRead, Write};

/// What each endpoint sent, in order: the times of packets that two endpoints send at one instant have no order.
#[derive(Default)]
struct Sent(Vec<Vec<SentPacket>>);

#[derive(PartialEq)]
struct SentPacket {
    at: Time,
    len: u16,
    body: Body,
}

impl Probe for Sent {
    fn sent(&mut self, now: Time, by: EndpointId, packet: &Packet, body: &Body) {
        let by = by.0 as usize;
        if self.0.len() <= by {
            self.0.resize_with(by + 1, Vec::new);
        }
        self.0[by].push(SentPacket { at: now, len: packet.len, body: body.clone() });
    }
}

/// A run of a plan in one form: what was sent, and its flows' part of the summary.
struct Form {
    sent: Sent,
    flows: Value,
}

impl Form {
    fn of(plan: &Plan, build: fn(&Plan) -> BuiltNetwork, allowed: bool) -> Result<Form, String> {
        shortcuts::allow(allowed);
        let mut run = SteppedRun::new(plan, build).map_err(|error| error.to_string())?;
        let mut sent = Sent::default();
        run.advance(plan, Time(plan.duration_ps), &mut sent);
        let result = run.finish(plan).map_err(|error| error.to_string())?;
        Ok(Form { sent, flows: flows_of(&json!(result.summary)) })
    }

    /// The first packet in time that another form does not send.
    fn first_difference(&self, other: &Form) -> Value {
        let empty = Vec::new();
        let endpoints = self.sent.0.len().max(other.sent.0.len());
        let differing = (0..endpoints).filter_map(|endpoint| {
            let one = self.sent.0.get(endpoint).unwrap_or(&empty);
            let two = other.sent.0.get(endpoint).unwrap_or(&empty);
            let index = (0..one.len().max(two.len())).find(|&index| one.get(index) != two.get(index))?;
            let (fast, slow) = (one.get(index), two.get(index));
            let at = [fast, slow].into_iter().flatten().map(|packet| packet.at).min()?;
            Some((at, json!({"endpoint": endpoint, "index": index, "of": one.len(), "fast": text(fast), "slow": text(slow)})))
        });
        differing.min_by_key(|(at, _)| *at).map_or(Value::Null, |(_, first)| first)
    }
}

fn text(packet: Option<&SentPacket>) -> String {
    packet.map_or_else(
        || "nothing".to_string(),
        |SentPacket { at, len, body }| format!("{:.9} s {len} B {body:?}", at.0 as f64 / 1e12),
    )
}

fn flows_of(summary: &Value) -> Value {
    summary["flows"].clone()
}

fn answer(text: &str) -> Result<Value, String> {
    let plan = Plan::from_json(text).map_err(|error| error.to_string())?;
    let fast = Form::of(&plan, build, true)?;
    let taken = shortcuts::taken();
    let packets: usize = fast.sent.0.iter().map(Vec::len).sum();
    let mut forms = Vec::new();
    for (name, build, allowed) in [
        ("without shortcuts", build as fn(&Plan) -> BuiltNetwork, false),
        ("links not fused", build_unfused, true),
        ("links not fused, without shortcuts", build_unfused, false),
    ] {
        let first = fast.first_difference(&Form::of(&plan, build, allowed)?);
        forms.push(json!({"form": name, "first": first}));
    }
    shortcuts::allow(true);
    let unwatched = flows_of(&json!(run(&plan).map_err(|error| error.to_string())?.summary));
    let first = if unwatched == fast.flows { Value::Null } else { json!({"fast": unwatched, "slow": fast.flows}) };
    forms.push(json!({"form": "watched by a probe", "first": first}));
    Ok(json!({"packets": packets, "shortcuts": taken, "forms": forms}))
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let found = answer(&line?).unwrap_or_else(|error| json!({"error": error}));
        writeln!(out, "{found}")?;
        out.flush()?;
    }
    Ok(())
}
