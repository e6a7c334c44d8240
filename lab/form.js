// The form of a link and its flows: keys, their values and texts, and the plan of a scenario, read as those of
// files are (crates/web/src/link_form.rs, scenario_form.rs).

import { Engine } from "./engine.js";

export class Form {
  static async load(catalogue) {
    const form = new Form(await Engine.load("form.wasm"));
    const recordings = Object.assign({}, ...catalogue.links.map((link) => link.recordings));
    form.engine.input(JSON.stringify({ hosts: catalogue.hosts, recordings }));
    form.engine.call("names");
    return form;
  }

  constructor(engine) {
    this.engine = engine;
  }

  // The answer to a call, both as JSON.
  ask(name, question) {
    this.engine.input(JSON.stringify(question));
    return JSON.parse(this.engine.call(name));
  }

  // The hops of a changed link: tables as a file has them, choices and sliders.
  hops(link, edits) {
    return this.ask("link_form", { hops: link.hops, edits });
  }

  // The tunnels of a changed link, alike.
  tunnels(link, edits) {
    return link.tunnels.length ? this.ask("tunnel_form", { hops: link.hops, tunnels: link.tunnels, edits }) : [];
  }

  // The workload of a flow, alike.
  workload(flow, edits) {
    return this.ask("workload_form", { place: `${flow.name}.workload`, kind: flow.workload, edits });
  }

  // All that has controls: hops, tunnels and the workloads of these flows.
  tables(link, flows, edits) {
    const workloads = flows.map((flow) => this.workload(flow, edits));
    return [...this.hops(link, edits), ...this.tunnels(link, edits), ...workloads];
  }

  // The plan of a scenario as JSON.
  plan(scenario, seed) {
    this.engine.input(JSON.stringify({ scenario, seed }));
    return this.engine.call("scenario_plan");
  }

  // A number as a link file has it; units are those of the sliders.
  written(unit, number) {
    this.engine.input(unit);
    return JSON.parse(this.engine.call("number_written", number));
  }

  // A number as people read it.
  shown(unit, number) {
    this.engine.input(unit);
    return this.engine.call("number_shown", number);
  }

  // The number of a text; an EngineError says what is allowed.
  parsed(unit, text) {
    return this.ask("number_parsed", [unit, text]);
  }

  // Bit/s with three digits, for figures that need not be exact.
  rate(bps) {
    const rounded = Math.round(Number(bps.toPrecision(3)));
    return rounded > 0 ? this.shown("rate", rounded) : "0 b/s";
  }

  toml(document) {
    this.engine.input(JSON.stringify(document));
    return this.engine.call("toml");
  }
}
