// The page: settings, the worker that runs them, and what it shows.

import { CaptureView } from "./capture_view.js";
import { Controls } from "./controls.js";
import { PacketView } from "./packet_view.js";
import { Results } from "./results.js";
import { activeFlows, fromHash, linkOf, sampleOf, toHash } from "./settings.js";

const byId = (id) => document.getElementById(id);
const HASH_MS = 300;

class Lab {
  constructor(catalogue) {
    this.catalogue = catalogue;
    this.settings = fromHash(catalogue, location.hash);
    this.id = 0;
    this.running = new Map();
    this.waiting = new Map();
    this.results = new Results(document);
    this.worker = new Worker("worker.js", { type: "module" });
    this.worker.onmessage = ({ data }) => this.received(data);
    this.worker.onerror = (event) => this.status(`The engine does not run here: ${event.message}`, true);
    this.ask("init", { catalogue });
    this.controls = new Controls(document, catalogue, (settings) => this.changed(settings));
    this.packets = new PacketView(document, (from, to) => this.ask("packets", { settings: this.settings, from, to }));
    this.capture = new CaptureView(document);
    this.controls.show(this.settings);
    byId("version").textContent = `ackclock ${catalogue.version}; host stack ${catalogue.host}; figures of one seed.`;
    byId("copy").addEventListener("click", () => this.copyAddress());
    for (const button of document.querySelectorAll("[data-file]")) {
      button.addEventListener("click", () => this.download(button.dataset.file));
    }
    byId("downloads").addEventListener("toggle", () => this.showFile());
    addEventListener("hashchange", () => {
      if (location.hash === this.hash) return;
      this.settings = fromHash(catalogue, location.hash);
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
      this.hash = toHash(this.catalogue, this.settings);
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

  // The answer of the worker to a request; for tests and for the console.
  answer(kind, message) {
    const id = this.ask(kind, message);
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  run() {
    this.asked = performance.now();
    this.ask("run", { settings: this.settings });
    document.body.dataset.state = "running";
    this.status("Running …");
  }

  received(data) {
    this.waiting.get(data.id)?.(data);
    if (data.kind !== "series" || !data.isPreview) this.waiting.delete(data.id);
    if (data.kind === "error") {
      if (this.running.get(data.of) !== data.id) return;
      document.body.dataset.state = "failed";
      this.status(data.message, true);
      return;
    }
    if (data.kind === "series" && this.running.get("run") === data.id) this.showRun(data);
    if (data.kind === "packets" && this.running.get("packets") === data.id) this.packets.show(data);
  }

  showRun({ series, summary, summaryText, limits, isPreview, ms }) {
    const link = linkOf(this.catalogue, this.settings);
    const flows = activeFlows(this.settings).flatMap((flow) =>
      link.parts[flow.direction].flows.map((part) => part.name.replace(/^flow/, flow.name)));
    const plan = { flows, hops: link.hops.map((hop) => hop.name), sample_s: sampleOf(this.catalogue, this.settings) / 1e12 };
    this.results.showSeries(this.settings, plan, series);
    if (isPreview) {
      this.status(`Running … ${series.now_s.toFixed(0)} s of ${this.settings.duration_ps / 1e12} s`);
      return;
    }
    this.summaryText = summaryText;
    this.results.showSummary(this.settings, summary);
    this.results.showLimits(limits);
    this.packets.changed(this.settings, plan);
    this.redrawMs = performance.now() - this.asked;
    document.body.dataset.state = "done";
    this.status(
      `${this.settings.duration_ps / 1e12} s simulated in ${ms.toFixed(0)} ms: ` +
      `${summary.engine.elements_called.toLocaleString("en")} events, ${summary.engine.data_packets.toLocaleString("en")} data packets.`);
  }

  status(text, isError = false) {
    byId("status").textContent = text;
    byId("status").classList.toggle("error", isError);
  }

  async showFile() {
    if (!byId("downloads").open) return;
    const { scenario } = await this.answer("files", { settings: this.settings });
    byId("file-text").textContent = scenario;
  }

  async download(kind) {
    const files = await this.answer("files", { settings: this.settings });
    const ending = { link: "-lab.toml", scenario: "-scenario.toml", python: ".py" }[kind];
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob([files[kind]], { type: "text/plain" }));
    anchor.download = `${this.settings.link}${ending}`;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
  }

  async copyAddress() {
    history.replaceState(null, "", toHash(this.catalogue, this.settings));
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
  window.lab = new Lab(await response.json());
}

begin().catch((error) => {
  byId("status").textContent = `The page cannot start: ${error.message}`;
  byId("status").classList.add("error");
  document.body.dataset.state = "failed";
});
