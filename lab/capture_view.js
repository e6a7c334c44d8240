// A capture that the user drops: what is wrong with it, its flows, the causes of retransmissions, and a
// time-sequence plot.

import { TimeChart } from "./charts.js";
import { milliseconds, percent, table } from "./results.js";

const MAX_BYTES = 1 << 30;
const MAX_POINTS = 60_000;
const KINDS = {
  new: { label: "new data", color: "--line-1", size: 3 },
  ack: { label: "ACK number", color: "--muted", size: 2 },
  sack: { label: "SACK", color: "--line-3", size: 3 },
  retransmission: { label: "retransmission", color: "--bad", size: 6 },
  other: { label: "other data", color: "--line-5", size: 5 },
};

// What was not decoded and carries data; everything that was not, in a capture without a flow.
function notDecoded({ not_decoded: kinds, flow_count: flows, udp }) {
  const listed = kinds.filter((kind) => kind.carries_data || (flows === 0 && udp.flows === 0));
  if (listed.length === 0) return "";
  return `not decoded: ${listed.map((kind) => `${kind.kind} (${kind.packets.toLocaleString("en")})`).join(", ")}`;
}

export class CaptureView {
  constructor(document, form) {
    this.form = form;
    const byId = (id) => document.getElementById(id);
    this.drop = byId("drop");
    this.file = byId("capture-file");
    this.status = byId("capture-status");
    this.verdict = byId("capture-verdict");
    this.failures = byId("capture-failures");
    this.findings = byId("capture-findings");
    this.flows = byId("capture-flows");
    this.flow = byId("capture-flow");
    this.title = byId("capture-flow-title");
    this.causes = byId("capture-causes");
    this.sequence = new TimeChart(byId("chart-sequence"), { title: "Time and sequence number, kB", sync: "capture", zero: false, tall: 1.6 });
    this.rtt = new TimeChart(byId("chart-capture-rtt"), { title: "RTT samples, ms", sync: "capture" });
    this.file.addEventListener("change", () => this.file.files[0] && this.read(this.file.files[0]));
    document.addEventListener("dragover", (event) => {
      event.preventDefault();
      this.drop.classList.add("over");
    });
    document.addEventListener("dragleave", () => this.drop.classList.remove("over"));
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      this.drop.classList.remove("over");
      const file = event.dataTransfer.files[0];
      if (!file) return;
      byId("tab-capture").click();
      this.read(file);
    });
    this.id = 0;
  }

  async read(file) {
    for (const part of [this.verdict, this.failures, this.flows, this.flow]) part.hidden = true;
    if (file.size > MAX_BYTES) {
      this.say(`${file.name} has ${(file.size / 2 ** 20).toFixed(0)} MiB; the page takes up to 1 GiB: run \`ackclock analyze\`.`, true);
      return;
    }
    this.name = file.name;
    this.say(`Reading ${file.name} …`);
    const bytes = await file.arrayBuffer();
    if (!this.worker) {
      this.worker = new Worker("worker.js", { type: "module" });
      this.worker.onmessage = ({ data }) => this.received(data);
    }
    this.latest = ++this.id;
    this.worker.postMessage({ kind: "capture", id: this.latest, bytes }, [bytes]);
  }

  say(text, isError = false) {
    this.status.textContent = text;
    this.status.classList.toggle("error", isError);
  }

  received(data) {
    if (data.kind === "error") this.say(`${this.name}: ${data.message}`, true);
    if (data.kind === "capture-progress") this.say(`${this.name}: ${data.packets.toLocaleString("en")} packets …`);
    if (data.kind === "capture" && data.id === this.latest) this.showFlows(data.report);
    if (data.kind === "sequence" && data.flow === this.selected) this.showSequence(data.columns);
  }

  showFlows(report) {
    const notes = [
      `${report.packets.toLocaleString("en")} packets in ${report.duration_s.toFixed(1)} s, ${report.flow_count.toLocaleString("en")} TCP flow${report.flow_count === 1 ? "" : "s"}`,
      report.malformed ? `${report.malformed} malformed` : "",
      report.truncated ? "the file is cut off" : "",
      report.cut_short ? `${report.cut_short.toLocaleString("en")} packets captured in part` : "",
      report.tunnels.length ? `in ${report.tunnels.map((tunnel) => tunnel.kind).join(", ")}` : "",
      notDecoded(report),
      report.udp.flows ? `${report.udp.flows.toLocaleString("en")} UDP flows, which are not shown` : "",
    ];
    this.say(`${this.name}: ${notes.filter(Boolean).join("; ")}.`);
    this.report = report;
    this.showVerdict(report);
    const head = ["Flow", "Client", "Server", "Data", "Goodput", "RTT, median", "Retransmitted"];
    const rows = report.largest.map((flow, index) => {
      const data = larger(flow);
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = String(flow.flow);
      button.setAttribute("aria-label", `Show flow ${flow.flow}`);
      button.addEventListener("click", () => this.select(index));
      return [
        button, flow.client, flow.server,
        bytes(data.unique_bytes),
        data.goodput_bps === null ? "-" : this.form.rate(data.goodput_bps),
        milliseconds(data.rtt_ms.p50 ?? data.timestamp_rtt_ms.p50),
        `${data.retransmitted_segments} (${percent(data.retransmission_rate)})`,
      ];
    });
    table(this.flows, "Flows with most bytes", head, rows);
    this.flows.hidden = rows.length === 0;
    if (rows.length) this.select(0);
  }

  showVerdict({ summary, failures, failure_count: count }) {
    const { verdict, evidence } = summary.verdict;
    this.verdict.textContent = `Verdict: ${verdict.replaceAll("_", " ")}. ${evidence}`;
    this.verdict.hidden = false;
    const title = `Connections that fail or wait${count > failures.length ? `: the first ${failures.length} of ${count.toLocaleString("en")}` : ""}`;
    const rows = failures.map((one) => [String(one.flow), one.client, one.server, ...described(one)]);
    table(this.failures, title, ["Flow", "Client", "Server", "Finding", "Evidence and advice"], rows);
    this.failures.hidden = rows.length === 0;
  }

  showFindings(flow) {
    const rows = flow.diagnosis.map((one) => {
      const [finding, text] = described(one);
      return [finding, one.direction === "a2b" ? "client" : "server", one.share === null ? "" : percent(one.share), text];
    });
    table(this.findings, "Findings", ["Finding", "Data from", "Share of time", "Evidence and advice"], rows);
    this.findings.hidden = rows.length === 0;
  }

  select(index) {
    const flow = this.report.largest[index];
    this.selected = flow.flow - 1;
    this.isUpload = flow.a2b.unique_bytes > flow.b2a.unique_bytes;
    this.title.textContent = `Flow ${flow.flow}: ${flow.client} to ${flow.server}, data of the ${this.isUpload ? "client" : "server"}`;
    this.showFindings(flow);
    this.showCauses(larger(flow));
    this.flow.hidden = false;
    this.worker.postMessage({ kind: "sequence", id: ++this.id, flow: this.selected });
  }

  showCauses(data) {
    const rows = Object.entries(data.causes).filter(([, of]) => of.count > 0)
      .map(([kind, of]) => [kind.replaceAll("_", " "), String(of.count), percent(of.confidence)]);
    const limited = Object.entries(data.limited ?? {}).filter(([, share]) => typeof share === "number" && share > 0.005)
      .sort(([, a], [, b]) => b - a).map(([kind, share]) => `${kind.replaceAll("_", " ")} ${percent(share)}`);
    const causes = document.createElement("table");
    table(causes, "Retransmissions and duplicates by cause", ["Cause", "Segments", "Confidence"], rows);
    const note = document.createElement("p");
    note.textContent = limited.length ? `What limits the sender, share of the time: ${limited.join(", ")}.`
      : "The capture does not show what limits the sender.";
    this.causes.replaceChildren(note, ...(rows.length ? [causes] : []));
  }

  showSequence(columns) {
    const points = { new: [], ack: [], sack: [], retransmission: [], other: [] };
    const rtt = [];
    columns.time_s.forEach((time, row) => {
      const isData = columns.from_client[row] === this.isUpload;
      if (isData && columns.payload[row] > 0) points[kindOf(columns.kind[row])].push([time, columns.seq[row] + columns.payload[row]]);
      if (!isData && columns.ack[row] !== null) points.ack.push([time, columns.ack[row]]);
      if (!isData && columns.rtt_ms[row] !== null) rtt.push([time, columns.rtt_ms[row]]);
    });
    for (const [row, , right] of columns.sacks) {
      if (columns.from_client[row] !== this.isUpload) points.sack.push([columns.time_s[row], right]);
    }
    const total = Object.values(points).reduce((sum, of) => sum + of.length, 0);
    const keep = Math.ceil(total / MAX_POINTS);
    const series = Object.entries(points).filter(([, of]) => of.length > 0).map(([kind, of]) => ({
      ...KINDS[kind], points: true,
      of: keep > 1 && ["new", "ack", "sack"].includes(kind) ? of.filter((_, index) => index % keep === 0) : of,
    }));
    this.plot(this.sequence, series, 1e-3);
    this.plot(this.rtt, [{ label: "RTT", color: "--line-1", size: 3, points: true, of: rtt }], 1);
  }

  plot(chart, series, factor) {
    const times = [...new Set(series.flatMap(({ of }) => of.map(([time]) => time)))].sort((a, b) => a - b);
    const place = new Map(times.map((time, index) => [time, index]));
    chart.show(times, series.map((one) => {
      const values = new Array(times.length).fill(null);
      for (const [time, value] of one.of) values[place.get(time)] = value * factor;
      return { ...one, values };
    }));
  }
}

// The name of a finding, and its sentences.
function described({ finding, evidence, advice }) {
  const text = document.createElement("span");
  text.textContent = evidence;
  if (advice) {
    const remedy = document.createElement("span");
    remedy.className = "advice";
    remedy.textContent = advice;
    text.append(remedy);
  }
  return [finding.replaceAll("_", " "), text];
}

const larger = (flow) => (flow.a2b.unique_bytes > flow.b2a.unique_bytes ? flow.a2b : flow.b2a);

const bytes = (count) => (count >= 1e6 ? `${Number((count / 1e6).toPrecision(3))} MB` : `${Number((count / 1e3).toPrecision(3))} kB`);

const ORDINARY = new Set(["new", "syn"]);
const OTHER = new Set(["after_hole", "reordered", "out_of_order", "network_duplicate", "zero_window_probe", "keep_alive"]);

function kindOf(kind) {
  if (ORDINARY.has(kind)) return "new";
  return OTHER.has(kind) ? "other" : "retransmission";
}
