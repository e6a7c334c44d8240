// Charts and figures of a run.

import { TimeChart } from "./charts.js";

const GOODPUT_S = 0.5;
const MAX_QUEUES = 4;
const MIN_QUEUE = 3; // packets; shorter ones are those of packets that arrive together

export class Results {
  constructor(document, form) {
    this.form = form;
    const chart = (id, title) => new TimeChart(document.getElementById(id), { title, sync: "run" });
    this.goodput = chart("chart-goodput", `Goodput, Mb/s, means of ${GOODPUT_S} s`);
    this.rtt = chart("chart-rtt", "Smoothed RTT, ms");
    this.cwnd = chart("chart-cwnd", "Congestion window, kB");
    this.queue = chart("chart-queue", "Queues, packets");
    this.verdict = document.getElementById("verdict");
    this.targets = document.getElementById("targets");
    this.each = document.getElementById("each");
    this.felt = document.getElementById("felt");
    this.figures = document.getElementById("figures");
    this.limits = document.getElementById("limits");
  }

  showSeries(plan, series) {
    const step = plan.sample_s;
    const count = Math.round(plan.duration_s / step);
    const times = Array.from({ length: count }, (_, index) => (index + 1) * step);
    const blank = () => new Array(count).fill(null);
    const lines = plan.lines.map((line) => ({ ...line, cwnd: blank(), rtt: blank(), delivered: blank(), flows: new Map() }));
    const { flows, hops } = series;
    flows.time_s.forEach((time, row) => {
      const number = flows.flow[row];
      const line = lines[plan.lineOfFlow[number]];
      const at = Math.round(time / step) - 1;
      line.cwnd[at] = flows.cwnd_bytes[row] / 1000;
      line.rtt[at] = flows.srtt_ms[row];
      // What a connection has delivered stays delivered after its end.
      if (!line.flows.has(number)) line.flows.set(number, blank());
      line.flows.get(number)[at] = flows.delivered_bytes[row];
    });
    const tcp = lines.filter((line) => line.flows.size);
    for (const line of tcp) line.delivered = together([...line.flows.values()], line.isOfSeveral);
    const single = tcp.filter((line) => !line.isOfSeveral);
    const range = [0, plan.duration_s];
    const shown = (some, values) => some.map((line) => ({ label: line.label, color: line.color, values: values(line) }));
    this.cwnd.show(times, shown(single, (line) => line.cwnd), range);
    this.rtt.show(times, shown(single, (line) => line.rtt), range);
    this.goodput.show(times, shown(tcp, (line) => goodput(line.delivered, step)), range);
    this.queue.show(times, queues(hops, plan, count, step), range);
  }

  // What people feel of the applications, and which targets of a household are met.
  showFelt({ rows, household }) {
    this.verdict.textContent = household?.verdict ?? "";
    this.verdict.hidden = !household;
    this.targets.hidden = !household;
    if (household) {
      const cells = household.targets.map(({ app, target, shown, met }) => [app, shown, target, met ? "met" : "missed"]);
      table(this.targets, "What people feel", ["Application", "Beside the transfers", "Target", "Target met"], cells,
        (line, index) => line.classList.toggle("missed", !household.targets[index].met));
    }
    this.each.hidden = rows.length === 0;
    if (this.isHousehold !== Boolean(household)) this.each.open = !household; // else as the user has left it
    this.isHousehold = Boolean(household);
    this.each.querySelector("summary").textContent = household ? "Each application" : "What people feel";
    const cells = rows.map(({ flow, kind, text }) => [flow, kind, text]);
    table(this.felt, "Each flow's application", ["Flow", "Application", "What people feel"], cells);
  }

  showSummary(plan, summary) {
    const flows = summary.flows.filter((flow) => plan.bulk.has(flow.flow));
    this.figures.hidden = flows.length === 0;
    const isTimed = flows.some((flow) => typeof flow.completed_s === "number");
    const head = ["Flow", "Goodput", "RTT, mean", "RTT, 95 %", "Retransmitted", "RTOs", ...(isTimed ? ["Complete after"] : [])];
    const rows = flows.map((flow) => [
      plan.bulk.get(flow.flow),
      flow.goodput_bps === null ? "-" : this.form.rate(flow.goodput_bps),
      milliseconds(flow.rtt_ms.mean),
      milliseconds(flow.rtt_ms.p95),
      flow.retransmission_rate === null ? "-" : `${flow.retransmitted_segments} (${percent(flow.retransmission_rate)})`,
      String(flow.timeouts ?? "-"),
      ...(isTimed ? [typeof flow.completed_s === "number" ? `${Number(flow.completed_s.toPrecision(3))} s` : "-"] : []),
    ]);
    table(this.figures, "Means of the run", head, rows);
  }

  showLimits(plan, flows) {
    this.limits.hidden = plan.bulk.size === 0;
    this.limits.replaceChildren(...flows.filter((flow) => flow.why && plan.bulk.has(flow.flow)).map((flow) => {
      const line = document.createElement("p");
      const name = document.createElement("strong");
      name.textContent = `${flow.flow}: `;
      line.append(name, ...withCode(flow.why));
      return line;
    }));
  }
}

const SCORED = ["call", "game", "page", "video", "conference"];

// The lines of the charts from a scenario and its plan: one for each flow, and one for the connections of a page.
// `bulk`: the flows without an application, with their labels.
export function linesOf(scenario, { flows }) {
  const names = scenario.flow.map((flow) => flow.name);
  const lines = [];
  const bulk = new Map();
  const lineOfFlow = flows.map((flow) => {
    const table = names.find((name) => flow.name === name || ["-", ".", "@"].some((mark) => flow.name.startsWith(name + mark)));
    const isOfSeveral = flow.workload.kind === "page" || Boolean(flow.job);
    const name = isOfSeveral ? table : flow.name;
    const { kind } = flow.workload;
    const isScored = SCORED.includes(kind);
    let label = name;
    if (isScored && name !== kind) label = `${name}: ${kind}`;
    if (!isScored && name === table) label = `${name}: ${flow.tcp?.variant ?? kind} ${flow.direction}`;
    if (!isScored && !isOfSeveral) bulk.set(flow.name, label);
    const known = lines.findIndex((line) => line.name === name);
    if (known >= 0) return known;
    lines.push({ name, label, isOfSeveral, color: `--line-${(lines.length % 7) + 1}` });
    return lines.length - 1;
  });
  return { lines, lineOfFlow, bulk };
}

// Bytes delivered by all connections of a line. Before the first one there are none.
function together(connections, isOfSeveral) {
  if (!isOfSeveral) return connections[0];
  const last = connections.map(() => 0);
  return connections[0].map((_, at) => {
    connections.forEach((delivered, index) => { last[index] = delivered[at] ?? last[index]; });
    return last.reduce((sum, bytes) => sum + bytes, 0);
  });
}

// Text with `names` as code.
function withCode(text) {
  return text.split("`").map((part, index) => {
    if (index % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}

export function table(element, title, head, rows, act = null) {
  const caption = document.createElement("caption");
  caption.textContent = title;
  const row = (cells, kind) => {
    const line = document.createElement("tr");
    line.append(...cells.map((text, index) => {
      const cell = document.createElement(kind === "th" || index === 0 ? "th" : "td");
      cell.scope = kind === "th" ? "col" : "row";
      if (cell.tagName === "TD") {
        cell.removeAttribute("scope");
        cell.dataset.head = head[index];
      }
      if (text instanceof Node) cell.append(text);
      else cell.textContent = text;
      return cell;
    }));
    return line;
  };
  const thead = document.createElement("thead");
  thead.append(row(head, "th"));
  const tbody = document.createElement("tbody");
  tbody.append(...rows.map((cells, index) => {
    const line = row(cells, "td");
    act?.(line, index);
    return line;
  }));
  element.replaceChildren(caption, thead, tbody);
}

function goodput(delivered, step) {
  const back = Math.max(1, Math.round(GOODPUT_S / step));
  return delivered.map((bytes, at) => {
    if (bytes === null) return null;
    const before = at >= back ? delivered[at - back] ?? 0 : 0;
    return ((bytes - before) * 8) / (Math.min(back, at + 1) * step) / 1e6;
  });
}

// The queues that packets waited in, largest first.
function queues(hops, plan, count, step) {
  const found = new Map();
  hops.time_s.forEach((time, row) => {
    const name = `${plan.hops[hops.hop[row]]} ${hops.direction[row]}`;
    if (!found.has(name)) found.set(name, { label: name, values: new Array(count).fill(null), max: 0 });
    const line = found.get(name);
    const at = Math.round(time / step) - 1;
    line.values[at] = (line.values[at] ?? 0) + hops.queue_packets[row];
    line.max = Math.max(line.max, line.values[at]);
  });
  const sorted = [...found.values()].sort((a, b) => b.max - a.max);
  const used = sorted.filter((line) => line.max >= MIN_QUEUE).slice(0, MAX_QUEUES);
  return used.length ? used : sorted.slice(0, 1);
}

export const milliseconds = (value) => (value === null || value === undefined ? "-" : `${Number(value.toPrecision(3))} ms`);
export const percent = (share) => (share === null || share === undefined ? "-" : `${Number((100 * share).toPrecision(3))} %`);
