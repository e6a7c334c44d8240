// Charts and figures of a run.

import { TimeChart } from "./charts.js";
import { activeFlows } from "./settings.js";

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
    this.figures = document.getElementById("figures");
    this.limits = document.getElementById("limits");
  }

  showSeries(settings, plan, series) {
    const step = plan.sample_s;
    const count = Math.round(settings.duration_ps / 1e12 / step);
    const times = Array.from({ length: count }, (_, index) => (index + 1) * step);
    const blank = () => new Array(count).fill(null);
    const lines = plan.flows.map((flow) => ({ label: label(settings, flow), cwnd: blank(), rtt: blank(), delivered: blank() }));
    const { flows, hops } = series;
    flows.time_s.forEach((time, row) => {
      const line = lines[flows.flow[row]];
      const at = Math.round(time / step) - 1;
      line.cwnd[at] = flows.cwnd_bytes[row] / 1000;
      line.rtt[at] = flows.srtt_ms[row];
      line.delivered[at] = flows.delivered_bytes[row];
    });
    const range = [0, settings.duration_ps / 1e12];
    this.cwnd.show(times, lines.map(({ label, cwnd }) => ({ label, values: cwnd })), range);
    this.rtt.show(times, lines.map(({ label, rtt }) => ({ label, values: rtt })), range);
    this.goodput.show(times, lines.map(({ label, delivered }) => ({ label, values: goodput(delivered, step) })), range);
    this.queue.show(times, queues(hops, plan, count, step), range);
  }

  showSummary(settings, summary) {
    const active = activeFlows(settings);
    const head = ["Flow", "Goodput", "RTT, mean", "RTT, 95 %", "Retransmitted", "RTOs"];
    const rows = summary.flows.map((flow) => {
      const own = active.find((one) => one.name === flow.flow);
      return [
        own ? `${flow.flow}: ${own.variant} ${own.direction}` : flow.flow,
        flow.goodput_bps === null ? "-" : this.form.rate(flow.goodput_bps),
        milliseconds(flow.rtt_ms.mean),
        milliseconds(flow.rtt_ms.p95),
        `${flow.retransmitted_segments} (${percent(flow.retransmission_rate)})`,
        String(flow.timeouts),
      ];
    });
    table(this.figures, "Means of the run", head, rows);
  }

  showLimits(flows) {
    this.limits.replaceChildren(...flows.filter((flow) => flow.why).map((flow) => {
      const line = document.createElement("p");
      const name = document.createElement("strong");
      name.textContent = `${flow.flow}: `;
      line.append(name, ...withCode(flow.why));
      return line;
    }));
  }
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

function label(settings, flow) {
  const own = activeFlows(settings).find((one) => one.name === flow);
  return own ? `${own.name}: ${own.variant} ${own.direction}` : flow;
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
