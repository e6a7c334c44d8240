// The state of the page, its address, and the scenario of its run. What the page changes in a link and in its
// workloads is read by the form.

export const MAX_FLOWS = 2;
// Loads of the link: flows of the user, or the packaged household.
export const LOADS = ["flows", "household"];

export function defaults(catalogue) {
  const flow = (variant, on) => ({
    on, workload: "bulk", variant, direction: "down", start_ps: 0, ack: catalogue.ack_policies[0].name,
  });
  const has = (name) => catalogue.links.some((link) => link.name === name);
  return {
    link: [catalogue.first, "cable-100m"].find(has) ?? catalogue.links[0].name,
    edits: {},
    load: "household",
    variant: "cubic",
    duration_ps: catalogue.scenario.duration_ps,
    seed: catalogue.scenario.seed,
    flows: [flow("cubic", true), flow("bbr", true)],
  };
}

export const linkOf = (catalogue, settings) => catalogue.links.find((link) => link.name === settings.link);

// A household has no run over a proxy.
export const hasProxy = (link) => link.hops.some((hop) => hop.pep);

export const isHousehold = (settings) => settings.load === "household";

export const workloadOf = (catalogue, name) => catalogue.workloads.find((workload) => workload.name === name);

// What has a direction of its data; in a page and a video the client receives, in a call and a game both ends send.
export const hasDirection = (workload) => !["page", "video", "call", "game"].includes(workload);

// The scenario of a setting as a file has it.
export function scenarioOf(catalogue, form, settings) {
  const link = linkOf(catalogue, settings);
  const { edits } = settings;
  const tunnel = form.tunnels(link, edits).map((one) => one.written);
  const isEdited = Object.keys(edits).some((key) => !isOfFlow(key));
  return {
    title: `${link.title}${isEdited ? ", changed in the lab" : ""}`,
    source: link.source,
    ...loadOf(catalogue, form, settings),
    seeds: [settings.seed],
    sample: form.written("time", sampleOf(catalogue, settings)),
    hop: form.hops(link, edits).map((hop) => hop.written),
    ...(tunnel.length ? { tunnel } : {}),
  };
}

// Its keys beside those of the link: duration and flows.
export function loadOf(catalogue, form, settings) {
  if (isHousehold(settings)) return { ...catalogue.household, tcp: { variant: settings.variant } };
  const flow = activeFlows(settings).map((one) => ({
    name: one.name,
    ...(hasDirection(one.workload) ? { direction: one.direction } : {}),
    workload: form.workload(one, settings.edits).written,
    start: form.written("time", one.start_ps),
    ...(workloadOf(catalogue, one.workload).tcp ? { variant: one.variant, ...ackPolicy(catalogue, one.ack).written } : {}),
  }));
  return { duration: form.written("time", settings.duration_ps), flow };
}

// Whether an edit is one of a flow's workload, not of the link.
export const isOfFlow = (key) => /^flow\d+\./.test(key);

// The duration of a run in ps.
export const durationOf = (catalogue, settings) =>
  isHousehold(settings) ? catalogue.scenario.household_ps : settings.duration_ps;

export function sampleOf(catalogue, settings) {
  const { sample_ps, duration_ps } = catalogue.scenario;
  return Math.max(1e9, Math.round((sample_ps * durationOf(catalogue, settings)) / duration_ps / 1e9) * 1e9);
}

// The flows that are on, with their names.
export const activeFlows = (settings) =>
  settings.flows.map((flow, index) => ({ ...flow, name: `flow${index + 1}`, index })).filter((flow) => flow.on);

export const ackPolicy = (catalogue, name) =>
  catalogue.ack_policies.find((policy) => policy.name === name) ?? catalogue.ack_policies[0];

// The address: only what differs from the defaults.
export function toHash(catalogue, form, settings) {
  const usual = defaults(catalogue);
  const pairs = new URLSearchParams();
  pairs.set("link", settings.link);
  if (settings.duration_ps !== usual.duration_ps) pairs.set("duration", form.shown("time", settings.duration_ps));
  if (settings.seed !== usual.seed) pairs.set("seed", settings.seed);
  for (const key of ["load", "variant"]) {
    if (settings[key] !== usual[key]) pairs.set(key, settings[key]);
  }
  settings.flows.forEach((flow, index) => {
    const before = usual.flows[index];
    const name = `flow${index + 1}`;
    if (flow.on !== before.on) pairs.set(name, flow.on ? "on" : "off");
    for (const key of ["workload", "variant", "direction", "ack"]) {
      if (flow[key] !== before[key]) pairs.set(`${name}.${key}`, flow[key]);
    }
    if (flow.start_ps !== before.start_ps) pairs.set(`${name}.start`, form.shown("time", flow.start_ps));
  });
  for (const { sliders, choices } of form.tables(linkOf(catalogue, settings), activeFlows(settings), settings.edits)) {
    for (const { key, selected, current } of choices) {
      if (selected !== current) pairs.set(key, selected);
    }
    for (const { key, unit, value } of sliders) {
      const number = settings.edits[key];
      if (number !== undefined && number !== value) pairs.set(key, String(form.written(unit, number)));
    }
  }
  return `#${pairs}`;
}

// The settings of an address. What it cannot mean is left out.
export function fromHash(catalogue, form, hash) {
  const settings = defaults(catalogue);
  const pairs = new URLSearchParams(hash.replace(/^#/, ""));
  // Null: the address does not have the key, or its text is no number of the unit.
  const number = (unit, key) => {
    try {
      return pairs.has(key) ? form.parsed(unit, pairs.get(key)) : null;
    } catch {
      return null;
    }
  };
  if (catalogue.links.some((link) => link.name === pairs.get("link"))) settings.link = pairs.get("link");
  const duration = number("time", "duration");
  if (duration !== null && duration >= 1e12 && duration <= 600e12) settings.duration_ps = duration;
  const seed = Number(pairs.get("seed") ?? NaN);
  if (Number.isSafeInteger(seed) && seed >= 0) settings.seed = seed;
  const variants = catalogue.variants.map((one) => one.name);
  if (LOADS.includes(pairs.get("load"))) settings.load = pairs.get("load");
  else if (hasProxy(linkOf(catalogue, settings)) || [...pairs.keys()].some((key) => /^(flow\d|duration$)/.test(key))) settings.load = "flows";
  if (variants.includes(pairs.get("variant"))) settings.variant = pairs.get("variant");
  settings.flows.forEach((flow, index) => {
    const name = `flow${index + 1}`;
    if (pairs.has(name)) flow.on = pairs.get(name) === "on";
    const workload = pairs.get(`${name}.workload`);
    if (workloadOf(catalogue, workload)) flow.workload = workload;
    const variant = pairs.get(`${name}.variant`);
    if (variants.includes(variant)) flow.variant = variant;
    if (["down", "up"].includes(pairs.get(`${name}.direction`))) flow.direction = pairs.get(`${name}.direction`);
    const ack = pairs.get(`${name}.ack`);
    if (catalogue.ack_policies.some((one) => one.name === ack)) flow.ack = ack;
    const start = number("time", `${name}.start`);
    if (start !== null && start >= 0 && start < settings.duration_ps) flow.start_ps = start;
  });
  const tables = () => form.tables(linkOf(catalogue, settings), activeFlows(settings), settings.edits);
  // A queue that is exchanged has other choices.
  for (let pass = 0; pass < 2; pass += 1) {
    for (const { key, options } of tables().flatMap((table) => table.choices)) {
      if (options.includes(pairs.get(key))) settings.edits[key] = pairs.get(key);
    }
  }
  for (const { key, unit, min, max } of tables().flatMap((table) => table.sliders)) {
    const edited = number(unit, key);
    if (edited !== null && edited >= min && edited <= max) settings.edits[key] = edited;
  }
  return settings;
}
