// The state of the page, its address, and the plan of its run. What the page changes in a link is read
// by the form.

export const MAX_FLOWS = 2;

export function defaults(catalogue) {
  const flow = (variant, on) => ({ on, variant, direction: "down", start_ps: 0, ack: catalogue.ack_policies[0].name });
  const has = (name) => catalogue.links.some((link) => link.name === name);
  return {
    link: [catalogue.first, "dsl-16m"].find(has) ?? catalogue.links[0].name,
    edits: {},
    duration_ps: catalogue.scenario.duration_ps,
    seed: catalogue.scenario.seed,
    flows: [flow("cubic", true), flow("bbr", true)],
  };
}

export const linkOf = (catalogue, settings) => catalogue.links.find((link) => link.name === settings.link);

// Maximum delay of a packet in its host of each active flow, in ps: alone, and beside other flows.
function overheads(catalogue, form, settings, slowest) {
  const active = activeFlows(settings);
  return active.map((flow) => {
    const tcp = tcpOf(catalogue, flow.variant, flow.ack);
    const rates = slowest.map((rate) => rate[flow.direction]).filter((bps) => bps !== undefined);
    const delay = (isAlone) => form.maxOverhead(tcp.segment + tcp.header, rates.length ? Math.min(...rates) : 0, isAlone);
    return active.length === 1 ? { overhead_ps: delay(true) } : { overhead_ps: delay(false), overhead_alone_ps: delay(true) };
  });
}

// The plan of a setting.
export function makePlan(catalogue, form, settings) {
  const link = linkOf(catalogue, settings);
  const { hops, tunnels, slowest_bps: slowest } = form.plan(link, settings.edits);
  const active = activeFlows(settings);
  const ofFlows = overheads(catalogue, form, settings, slowest);
  const flows = [];
  const proxies = [];
  for (const [index, flow] of active.entries()) {
    const tcp = tcpOf(catalogue, flow.variant, flow.ack);
    const overhead = ofFlows[index];
    const parts = link.parts[flow.direction];
    const first = flows.length;
    for (const part of parts.flows) {
      flows.push({
        ...part,
        name: part.name.replace(/^flow/, flow.name),
        ...overhead,
        start: { low_ps: flow.start_ps, high_ps: startEnd(catalogue, settings, flow) },
        tcp,
      });
    }
    for (const proxy of parts.proxies) {
      const own = { ...proxy.tcp[flow.variant], ...ackPolicy(catalogue, flow.ack).tcp };
      proxies.push({ ...proxy, near: first + proxy.near, far: first + proxy.far, tcp: own });
    }
  }
  return {
    seed: settings.seed,
    duration_ps: settings.duration_ps,
    sample_ps: sampleOf(catalogue, settings),
    clients: 1,
    measure: { kind: "all" },
    hops,
    flows,
    ...(proxies.length ? { proxies } : {}),
    ...(tunnels ? { tunnels } : {}),
    captures: [],
  };
}

export function sampleOf(catalogue, settings) {
  const { sample_ps, duration_ps } = catalogue.scenario;
  return Math.max(1e9, Math.round((sample_ps * settings.duration_ps) / duration_ps / 1e9) * 1e9);
}

// The flows that are on, with their names.
export const activeFlows = (settings) =>
  settings.flows.map((flow, index) => ({ ...flow, name: `flow${index + 1}`, index })).filter((flow) => flow.on);

const startEnd = (catalogue, settings, flow) =>
  Math.min(flow.start_ps + catalogue.scenario.phase_start_ps, settings.duration_ps - 1);

export const ackPolicy = (catalogue, name) =>
  catalogue.ack_policies.find((policy) => policy.name === name) ?? catalogue.ack_policies[0];

function tcpOf(catalogue, variant, ack) {
  const { tcp } = catalogue.variants.find((one) => one.name === variant);
  return { ...tcp, ...ackPolicy(catalogue, ack).tcp };
}

// The address: only what differs from the defaults.
export function toHash(catalogue, form, settings) {
  const usual = defaults(catalogue);
  const pairs = new URLSearchParams();
  pairs.set("link", settings.link);
  if (settings.duration_ps !== usual.duration_ps) pairs.set("duration", form.shown("time", settings.duration_ps));
  if (settings.seed !== usual.seed) pairs.set("seed", settings.seed);
  settings.flows.forEach((flow, index) => {
    const before = usual.flows[index];
    const name = `flow${index + 1}`;
    if (flow.on !== before.on) pairs.set(name, flow.on ? "on" : "off");
    for (const key of ["variant", "direction", "ack"]) {
      if (flow[key] !== before[key]) pairs.set(`${name}.${key}`, flow[key]);
    }
    if (flow.start_ps !== before.start_ps) pairs.set(`${name}.start`, form.shown("time", flow.start_ps));
  });
  for (const { sliders, choices } of form.tables(linkOf(catalogue, settings), settings.edits)) {
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
  settings.flows.forEach((flow, index) => {
    const name = `flow${index + 1}`;
    if (pairs.has(name)) flow.on = pairs.get(name) === "on";
    const variant = pairs.get(`${name}.variant`);
    if (catalogue.variants.some((one) => one.name === variant)) flow.variant = variant;
    if (["down", "up"].includes(pairs.get(`${name}.direction`))) flow.direction = pairs.get(`${name}.direction`);
    const ack = pairs.get(`${name}.ack`);
    if (catalogue.ack_policies.some((one) => one.name === ack)) flow.ack = ack;
    const start = number("time", `${name}.start`);
    if (start !== null && start >= 0 && start < settings.duration_ps) flow.start_ps = start;
  });
  const link = linkOf(catalogue, settings);
  // A queue that is exchanged has other choices.
  for (let pass = 0; pass < 2; pass += 1) {
    for (const { key, options } of form.tables(link, settings.edits).flatMap((table) => table.choices)) {
      if (options.includes(pairs.get(key))) settings.edits[key] = pairs.get(key);
    }
  }
  for (const { key, unit, min, max } of form.tables(link, settings.edits).flatMap((table) => table.sliders)) {
    const edited = number(unit, key);
    if (edited !== null && edited >= min && edited <= max) settings.edits[key] = edited;
  }
  return settings;
}
