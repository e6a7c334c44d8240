// The form of a link: its keys, their values and texts, and the plan of its hops, read as those of a
// link file are (crates/web/src/link_form.rs).

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

  // The hops and the tunnels.
  tables(link, edits) {
    return [...this.hops(link, edits), ...this.tunnels(link, edits)];
  }

  // The hops and tunnels of the plan of a changed link, and the rate limits of the hops.
  plan(link, edits) {
    return this.ask("link_plan", { hops: link.hops, tunnels: link.tunnels, edits });
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

  // Maximum delay of a packet in its sending host, in ps; a rate of 0 is none.
  maxOverhead(packetBytes, slowestBps, isAlone) {
    return this.engine.exports.max_overhead_ps(packetBytes, slowestBps, isAlone ? 1 : 0);
  }
}
