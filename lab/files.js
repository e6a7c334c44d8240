// The link file, the scenario and the Python lines of a setting.

import { ackPolicy, activeFlows, linkOf, sampleOf } from "./settings.js";

export function linkFile(catalogue, form, settings) {
  return form.toml({ ...head(catalogue, settings), ...tablesOf(catalogue, form, settings) });
}

export function scenarioFile(catalogue, form, settings) {
  return form.toml({
    ...head(catalogue, settings),
    duration: form.written("time", settings.duration_ps),
    seeds: [settings.seed],
    sample: form.written("time", sampleOf(catalogue, settings)),
    ...tablesOf(catalogue, form, settings),
    flow: flowTables(catalogue, form, settings),
  });
}

export function pythonLines(catalogue, form, settings) {
  const isEdited = Object.keys(settings.edits).length > 0;
  const link = isEdited ? `${settings.link}-lab.toml` : settings.link;
  const flows = flowTables(catalogue, form, settings).map((flow) => `    ${python(flow)},`);
  return [
    "import ackclock",
    "",
    ...(isEdited ? [`# The link file of this setting, beside this script.`] : []),
    "flows = [",
    ...flows,
    "]",
    `run = ackclock.simulate(`,
    `    ${python(link)}, flows, duration=${python(form.written("time", settings.duration_ps))}, seed=${settings.seed},`,
    `    sample=${python(form.written("time", sampleOf(catalogue, settings)))},`,
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

function flowTables(catalogue, form, settings) {
  return activeFlows(settings).map((flow) => ({
    name: flow.name,
    direction: flow.direction,
    workload: { kind: "bulk" },
    start: form.written("time", flow.start_ps),
    variant: flow.variant,
    ...ackPolicy(catalogue, flow.ack).written,
  }));
}

// The hops, and the tunnels where there are some.
function tablesOf(catalogue, form, settings) {
  const link = linkOf(catalogue, settings);
  const tunnel = form.tunnels(link, settings.edits).map((one) => one.written);
  return { hop: form.hops(link, settings.edits).map((hop) => hop.written), ...(tunnel.length ? { tunnel } : {}) };
}

function python(value) {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return `{${Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${python(inner)}`).join(", ")}}`;
}
