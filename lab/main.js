// The page: settings, the worker that runs them, and what it shows.

import { CaptureView } from "./capture_view.js";
import { Controls } from "./controls.js";
import { linkFile, pythonLines, scenarioFile } from "./files.js";
import { Form } from "./form.js";
import { PacketView } from "./packet_view.js";
import { linesOf, Results } from "./results.js";
import { durationOf, fromHash, linkOf, sampleOf, scenarioOf, toHash } from "./settings.js";

const byId = (id) => document.getElementById(id);
const HASH_MS = 300;

class Lab {
  constructor(catalogue, form) {
    this.catalogue = catalogue;
    this.form = form;
    this.settings = fromHash(catalogue, form, location.hash);
    this.id = 0;
    this.running = new Map();
    this.results = new Results(document, form);
    this.worker = new Worker("worker.js", { type: "module" });
    this.worker.onmessage = ({ data }) => this.received(data);
    this.worker.onerror = (event) => this.status(`The engine does not run here: ${event.message}`, true);
    this.controls = new Controls(document, catalogue, form, (settings) => this.changed(settings));
    this.packets = new PacketView(document, (from, to) => this.ask("packets", { plan: this.plan, from, to }));
    this.capture = new CaptureView(document, form);
    this.controls.show(this.settings);
    byId("version").textContent = `ackclock ${catalogue.version}; host stack ${catalogue.host}; figures of one seed.`;
    byId("copy").addEventListener("click", () => this.copyAddress());
    for (const button of document.querySelectorAll("[data-file]")) {
      button.addEventListener("click", () => this.download(button.dataset.file));
    }
    byId("downloads").addEventListener("toggle", () => this.showFile());
    addEventListener("hashchange", () => {
      if (location.hash === this.hash) return;
      this.settings = fromHash(catalogue, form, location.hash);
      this.controls.show(this.settings);
      this.run();
    });
    for (const view of ["link", "capture"]) {
      byId(`tab-${view}`).addEventListener("click", () => this.showView(view));
    }
    this.run();
  }

  showView(name) {
    for (const view of ["link", "capture"]) {
      byId(`view-${view}`).hidden = view !== name;
      byId(`tab-${view}`).setAttribute("aria-pressed", String(view === name));
    }
  }

  changed(settings) {
    this.settings = settings;
    clearTimeout(this.hashTimer);
    this.hashTimer = setTimeout(() => {
      this.hash = toHash(this.catalogue, this.form, this.settings);
      history.replaceState(null, "", this.hash);
      this.showFile();
    }, HASH_MS);
    this.run();
  }

  ask(kind, message) {
    const id = ++this.id;
    this.running.set(kind, id);
    this.worker.postMessage({ kind, id, ...message });
    return id;
  }

  run() {
    this.asked = performance.now();
    try {
      const scenario = scenarioOf(this.catalogue, this.form, this.settings);
      this.plan = this.form.plan(scenario, this.settings.seed);
      this.lines = linesOf(scenario, JSON.parse(this.plan));
      this.ask("run", { plan: this.plan, duration: this.durationS() });
    } catch (error) {
      this.running.delete("run");
      this.failed(error.message);
      return;
    }
    document.body.dataset.state = "running";
    this.status("Running …");
  }

  failed(message) {
    document.body.dataset.state = "failed";
    this.status(message, true);
  }

  received(data) {
    if (data.kind === "error") {
      if (this.running.get(data.of) === data.id) this.failed(data.message);
      return;
    }
    if (data.kind === "series" && this.running.get("run") === data.id) this.showRun(data);
    if (data.kind === "packets" && this.running.get("packets") === data.id) this.packets.show(data);
  }

  durationS() {
    return durationOf(this.catalogue, this.settings) / 1e12;
  }

  showRun({ series, summary, summaryText, limits, felt, isPreview, ms }) {
    const plan = {
      ...this.lines,
      hops: linkOf(this.catalogue, this.settings).hops.map((hop) => hop.name),
      duration_s: this.durationS(),
      sample_s: sampleOf(this.catalogue, this.settings) / 1e12,
    };
    this.results.showSeries(plan, series);
    if (isPreview) {
      this.status(`Running … ${series.now_s.toFixed(0)} s of ${plan.duration_s} s`);
      return;
    }
    this.summaryText = summaryText;
    this.results.showFelt(felt);
    this.results.showSummary(plan, summary);
    this.results.showLimits(plan, limits);
    this.packets.changed(plan);
    this.redrawMs = performance.now() - this.asked;
    document.body.dataset.state = "done";
    this.status(
      `${plan.duration_s} s simulated in ${ms.toFixed(0)} ms: ` +
      `${summary.engine.elements_called.toLocaleString("en")} events, ${summary.engine.data_packets.toLocaleString("en")} data packets.`);
  }

  status(text, isError = false) {
    byId("status").textContent = text;
    byId("status").classList.toggle("error", isError);
  }

  // The files of the setting; a hop that is invalid stands there as it was changed.
  files() {
    const setting = [this.catalogue, this.form, this.settings];
    return { link: linkFile(...setting), scenario: scenarioFile(...setting), python: pythonLines(...setting) };
  }

  showFile() {
    if (byId("downloads").open) byId("file-text").textContent = this.files().scenario;
  }

  download(kind) {
    const ending = { link: "-lab.toml", scenario: "-scenario.toml", python: ".py" }[kind];
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob([this.files()[kind]], { type: "text/plain" }));
    anchor.download = `${this.settings.link}${ending}`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
  }

  async copyAddress() {
    history.replaceState(null, "", toHash(this.catalogue, this.form, this.settings));
    try {
      await navigator.clipboard.writeText(location.href);
      this.status("The address of this setting is in the clipboard.");
    } catch {
      this.status("The address bar has the address of this setting.");
    }
  }
}

async function begin() {
  const response = await fetch("catalogue.json");
  if (!response.ok) throw new Error(`catalogue.json: ${response.status} ${response.statusText}`);
  const catalogue = await response.json();
  window.lab = new Lab(catalogue, await Form.load(catalogue));
}

begin().catch((error) => {
  byId("status").textContent = `The page cannot start: ${error.message}`;
  byId("status").classList.add("error");
  document.body.dataset.state = "failed";
});
