// The link file, the scenario and the Python lines of a setting.

import { written } from "./quantity.js";
import { ackPolicy, activeFlows, editedHops, editsMedium, linkOf, overheads, sampleOf } from "./settings.js";

const DIRECTIONS = ["down", "up"];
const BARE = /^[A-Za-z0-9_-]+$/;

export function linkFile(catalogue, settings) {
  return toml({ ...head(catalogue, settings), hop: writtenHops(catalogue, settings) });
}

export function scenarioFile(catalogue, settings, maxOverhead) {
  return toml({
    ...head(catalogue, settings),
    duration: written("time", settings.duration_ps),
    seeds: [settings.seed],
    sample: written("time", sampleOf(catalogue, settings)),
    hop: writtenHops(catalogue, settings),
    flow: flowTables(catalogue, settings, maxOverhead),
  });
}

export function pythonLines(catalogue, settings, maxOverhead) {
  const isEdited = Object.keys(settings.edits).length > 0;
  const link = isEdited ? `${settings.link}-lab.toml` : settings.link;
  const flows = flowTables(catalogue, settings, maxOverhead).map((flow) => `    ${python(flow)},`);
  return [
    "import ackclock",
    "",
    ...(isEdited ? [`# The link file of this setting, beside this script.`] : []),
    "flows = [",
    ...flows,
    "]",
    `run = ackclock.simulate(`,
    `    ${python(link)}, flows, duration=${python(written("time", settings.duration_ps))}, seed=${settings.seed},`,
    `    sample=${python(written("time", sampleOf(catalogue, settings)))},`,
    ")",
    "print(run)",
    "",
  ].join("\n");
}

function head(catalogue, settings) {
  const link = linkOf(catalogue, settings);
  const changed = Object.keys(settings.edits).length ? ", changed in the lab" : "";
  return { title: `${link.title}${changed}`, source: link.source };
}

// With keys of a medium changed, the delay of packets in their hosts is stated: see `planned` in
// python/ackclock/lab/controls.py.
function flowTables(catalogue, settings, maxOverhead) {
  const isMedium = editsMedium(settings);
  const ofFlows = isMedium ? overheads(catalogue, settings, maxOverhead) : [];
  return activeFlows(settings).map((flow, index) => ({
    name: flow.name,
    direction: flow.direction,
    workload: { kind: "bulk" },
    start: written("time", flow.start_ps),
    variant: flow.variant,
    ...ackPolicy(catalogue, flow.ack).written,
    ...(isMedium ? { overhead: written("time", ofFlows[index].overhead_ps) } : {}),
  }));
}

// A key with one value for both directions stands once.
function writtenHops(catalogue, settings) {
  const { hops } = editedHops(linkOf(catalogue, settings), settings.edits);
  return hops.map((hop) => {
    const of = {};
    for (const [key, value] of Object.entries(hop)) {
      const isBoth = value && typeof value === "object" && DIRECTIONS.every((direction) => direction in value)
        && Object.keys(value).length === 2;
      of[key] = isBoth && toml(value.down) === toml(value.up) ? value.down : value;
    }
    return of;
  });
}

export function toml(data) {
  if (data === null || typeof data !== "object") return inline(data);
  const isTables = (value) => Array.isArray(value) && value.length > 0 && value.every((one) => one && typeof one === "object");
  const lines = Object.entries(data).filter(([, value]) => value !== null && !isTables(value))
    .map(([key, value]) => `${name(key)} = ${inline(value)}`);
  for (const [key, tables] of Object.entries(data).filter(([, value]) => isTables(value))) {
    for (const table of tables) {
      lines.push("", `[[${name(key)}]]`);
      for (const [inner, value] of Object.entries(table)) {
        if (value !== null) lines.push(`${name(inner)} = ${inline(value)}`);
      }
    }
  }
  return `${lines.join("\n")}\n`;
}

const name = (key) => (BARE.test(key) ? key : JSON.stringify(key));

function inline(value) {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return number(value);
  if (typeof value === "string") return JSON.stringify(value).replaceAll("\u007f", "\\u007f");
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  const pairs = Object.entries(value).filter(([, inner]) => inner !== null);
  return `{ ${pairs.map(([key, inner]) => `${name(key)} = ${inline(inner)}`).join(", ")} }`;
}

const number = (value) => String(value);

function python(value) {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return `{${Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${python(inner)}`).join(", ")}}`;
}
