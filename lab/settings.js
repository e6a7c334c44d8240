// The state of the page, its address, and what it changes in a link file and in a plan.

import { parsed, shown, written } from "./quantity.js";

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

const keyOf = (hop, path) => ["hop", hop.name, ...path].join(".");

// The controls and choices of a link that are in force with these edits, hop by hop.
export function activeControls(link, edits) {
  return link.controls.map(({ controls, choices }, index) => {
    const hop = link.hops[index];
    const named = (control) => ({ ...control, hop: index, key: keyOf(hop, control.path) });
    const found = [];
    const of = choices.map((choice) => {
      const key = keyOf(hop, choice.path);
      const name = choice.options.some((option) => option.name === edits[key]) ? edits[key] : choice.current;
      const option = choice.options.find((one) => one.name === name);
      found.push(...option.controls.map(named));
      return { ...choice, hop: index, key, name, option };
    });
    return { hop, choices: of, controls: [...controls.map(named), ...found] };
  });
}

// The hops as a link file has them, their plan, and their rate limits.
export function editedHops(link, edits) {
  const hops = structuredClone(link.hops);
  const plan = structuredClone(link.plan);
  activeControls(link, edits).forEach(({ choices, controls }, index) => {
    const replaced = new Set();
    for (const choice of choices) {
      const isAck = choice.path.at(-1) === "ack";
      const queue = choice.path.slice(0, -1).join(".");
      const direction = choice.plan[0];
      if (isAck && !get(hops[index], choice.path.slice(0, -1))) {
        delete plan[index][direction].acks;
        continue;
      }
      const isOwn = choice.name === choice.current && !replaced.has(queue);
      if (isOwn) continue;
      const option = isAck && replaced.has(queue) && edits[choice.key] === undefined
        ? choice.options.find((one) => one.written === null) : choice.option;
      if (!isAck) replaced.add(choice.path.join("."));
      put(hops[index], choice.path, structuredClone(option?.written ?? null));
      put(plan[index], choice.plan, structuredClone(option?.plan ?? null));
      if (isAck && !option?.plan) delete plan[index][direction].acks;
    }
    for (const control of controls) {
      const raw = edits[control.key];
      if (raw === undefined || raw === control.value) continue;
      put(hops[index], control.path, written(control.unit, raw));
      for (const place of control.plan) put(plan[index], place, raw);
    }
  });
  const slowest = plan.map((hop) => hop.slowest_bps);
  for (const hop of plan) delete hop.slowest_bps;
  return { hops, plan, slowest };
}

// A key of a medium is changed.
export function editsMedium(settings) {
  return Object.keys(settings.edits).some((key) => /^hop\.[^.]+\.medium\./.test(key));
}

// Maximum delay of a packet in its host of each active flow, in ps: alone, and beside other flows. A
// file states one of them where a medium is changed. `maxOverhead` is the engine's.
export function overheads(catalogue, settings, maxOverhead) {
  const { slowest } = editedHops(linkOf(catalogue, settings), settings.edits);
  const active = activeFlows(settings);
  return active.map((flow) => {
    const tcp = tcpOf(catalogue, flow.variant, flow.ack);
    const rates = slowest.map((of) => of[flow.direction]).filter((bps) => bps !== null);
    const of = (isAlone) => maxOverhead(tcp.segment + tcp.header, rates.length ? Math.min(...rates) : 0, isAlone);
    if (active.length === 1) return { overhead_ps: of(true) };
    return { overhead_ps: of(false), ...(editsMedium(settings) ? {} : { overhead_alone_ps: of(true) }) };
  });
}

// The plan of a setting.
export function makePlan(catalogue, settings, maxOverhead) {
  const link = linkOf(catalogue, settings);
  const { plan: hops } = editedHops(link, settings.edits);
  const active = activeFlows(settings);
  const ofFlows = overheads(catalogue, settings, maxOverhead);
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

export function get(document, path) {
  return path.reduce((of, part) => of?.[part], document);
}

// Sets a value at a path; null removes the key of a link file, and tables that it leaves empty.
function put(document, path, value) {
  const [part, ...rest] = path;
  if (rest.length === 0) {
    if (value === null && !(part in document)) return;
    if (value === null && !isPlanKey(part)) delete document[part];
    else document[part] = value;
    return;
  }
  document[part] ??= {};
  put(document[part], rest, value);
  if (value === null && Object.keys(document[part]).length === 0) delete document[part];
}

const PLAN_DIRECTIONS = new Set(["queue", "rate", "loss"]);
// In a plan a part that is absent is null; in a link file its key is left out.
const isPlanKey = (part) => PLAN_DIRECTIONS.has(part);

// The address: only what differs from the defaults.
export function toHash(catalogue, settings) {
  const usual = defaults(catalogue);
  const pairs = new URLSearchParams();
  pairs.set("link", settings.link);
  if (settings.duration_ps !== usual.duration_ps) pairs.set("duration", shown("time", settings.duration_ps));
  if (settings.seed !== usual.seed) pairs.set("seed", settings.seed);
  settings.flows.forEach((flow, index) => {
    const before = usual.flows[index];
    const name = `flow${index + 1}`;
    if (flow.on !== before.on) pairs.set(name, flow.on ? "on" : "off");
    for (const key of ["variant", "direction", "ack"]) {
      if (flow[key] !== before[key]) pairs.set(`${name}.${key}`, flow[key]);
    }
    if (flow.start_ps !== before.start_ps) pairs.set(`${name}.start`, shown("time", flow.start_ps));
  });
  const link = linkOf(catalogue, settings);
  for (const { controls, choices } of activeControls(link, settings.edits)) {
    for (const choice of choices) {
      if (choice.name !== choice.current) pairs.set(choice.key, choice.name);
    }
    for (const control of controls) {
      const raw = settings.edits[control.key];
      if (raw !== undefined && raw !== control.value) pairs.set(control.key, String(written(control.unit, raw)));
    }
  }
  return `#${pairs}`;
}

// The settings of an address. What it cannot mean is left out.
export function fromHash(catalogue, hash) {
  const settings = defaults(catalogue);
  const pairs = new URLSearchParams(hash.replace(/^#/, ""));
  if (catalogue.links.some((link) => link.name === pairs.get("link"))) settings.link = pairs.get("link");
  const duration = parsed("time", pairs.get("duration") ?? "");
  if (duration >= 1e12 && duration <= 600e12) settings.duration_ps = duration;
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
    const start = parsed("time", pairs.get(`${name}.start`) ?? "");
    if (start !== null && start < settings.duration_ps) flow.start_ps = start;
  });
  const link = linkOf(catalogue, settings);
  for (const { choices } of activeControls(link, {})) {
    for (const choice of choices) {
      if (choice.options.some((option) => option.name === pairs.get(choice.key))) {
        settings.edits[choice.key] = pairs.get(choice.key);
      }
    }
  }
  for (const { controls } of activeControls(link, settings.edits)) {
    for (const control of controls) {
      const raw = pairs.has(control.key) ? parsed(control.unit, pairs.get(control.key)) : null;
      if (raw !== null && raw >= control.min && raw <= control.max) settings.edits[control.key] = raw;
    }
  }
  return settings;
}
