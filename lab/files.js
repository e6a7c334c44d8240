// The link file, the scenario and the Python lines of a setting.

import { isHousehold, isOfFlow, loadOf, sampleOf, scenarioOf } from "./settings.js";

export function linkFile(catalogue, form, settings) {
  const { title, source, hop, tunnel } = scenarioOf(catalogue, form, settings);
  return form.toml({ title, source, hop, ...(tunnel ? { tunnel } : {}) });
}

export function scenarioFile(catalogue, form, settings) {
  return form.toml(scenarioOf(catalogue, form, settings));
}

export function pythonLines(catalogue, form, settings) {
  const isEdited = Object.keys(settings.edits).some((key) => !isOfFlow(key));
  const link = isEdited ? `${settings.link}-lab.toml` : settings.link;
  const sample = form.written("time", sampleOf(catalogue, settings));
  const load = loadOf(catalogue, form, settings);
  const flows = load.flow.map((flow) => `    ${python(flow)},`);
  const { flow: _, ...others } = load;
  const run = isHousehold(settings)
    ? [`scenario = {**${python({ link, ...others, sample })}, "flow": flows}`, `run = ackclock.simulate(scenario, seed=${settings.seed})`]
    : [
        `run = ackclock.simulate(`,
        `    ${python(link)}, flows, duration=${python(load.duration)}, seed=${settings.seed},`,
        `    sample=${python(sample)},`,
        ")",
      ];
  return [
    "import ackclock",
    "",
    ...(isEdited ? [`# The link file of this setting, beside this script.`] : []),
    "flows = [",
    ...flows,
    "]",
    ...run,
    "print(run)",
    "",
  ].join("\n");
}

function python(value) {
  if (value === true) return "True";
  if (value === false) return "False";
  if (value === null) return "None";
  if (typeof value !== "object") return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return `{${Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)}: ${python(inner)}`).join(", ")}}`;
}
