// The controls: flows, and the keys of the link that the form lists.

import { activeFlows, hasDirection, hasProxy, isHousehold, isOfFlow, linkOf, workloadOf } from "./settings.js";

const STEPS = 1000;

// A slider's number with three significant digits, so that its text is short.
function rounded(unit, number) {
  const short = Number(number.toPrecision(3));
  return ["share", "number"].includes(unit) ? short : Math.round(short);
}

export class Controls {
  // `changed(settings)` is called with each new setting.
  constructor(document, catalogue, form, changed) {
    this.catalogue = catalogue;
    this.form = form;
    this.changed = changed;
    this.link = document.getElementById("link");
    this.title = document.getElementById("link-title");
    this.loads = document.getElementById("loads");
    this.flows = document.getElementById("flows");
    this.hops = document.getElementById("hops");
    this.link.append(...catalogue.links.map((link) => option(link.name, link.name)));
    const ofFlows = () => Object.fromEntries(Object.entries(this.settings.edits).filter(([key]) => isOfFlow(key)));
    this.link.addEventListener("change", () => {
      const link = this.link.value;
      const load = hasProxy(linkOf(catalogue, { link })) ? "flows" : this.settings.load;
      this.update({ link, load, edits: ofFlows() }, true);
    });
    document.getElementById("reset").addEventListener("click", () => this.update({ edits: ofFlows() }, true));
    this.open = new Set();
  }

  show(settings) {
    this.settings = settings;
    this.link.value = settings.link;
    this.title.textContent = linkOf(this.catalogue, settings).title;
    this.showFlows();
    this.showHops();
  }

  // Changes the settings; `rebuild` where other controls appear.
  update(change, rebuild = false) {
    this.settings = { ...this.settings, ...change };
    if (rebuild) {
      const focused = document.activeElement?.id;
      this.show(this.settings);
      if (focused) document.getElementById(focused)?.focus();
    }
    this.changed(this.settings);
  }

  showFlows() {
    const { load } = this.settings;
    const loads = [option("flows", "one or two flows"), option("household", "a household")];
    const choice = select("load", "What uses the link", loads, load, (name) => this.update({ load: name }, true));
    choice.classList.add("wide");
    this.loads.replaceChildren(choice, ...this.queues());
    const seed = this.slider("seed", "Seed", { unit: "count", min: 1, max: 100, log: false }, this.settings.seed,
      (number) => this.update({ seed: number }));
    const run = fieldset("Run");
    if (isHousehold(this.settings)) {
      choice.append(hint("A call, a game and a page every 10 s; from 10 s on beside a download and an upload."));
      const set = (variant) => this.update({ variant });
      run.append(select("variant", "Congestion control", this.variants(), this.settings.variant, set), seed);
      this.flows.replaceChildren(run);
      return;
    }
    run.append(
      this.slider("duration", "Duration", { unit: "time", min: 5e12, max: 120e12, log: false }, this.settings.duration_ps,
        (duration_ps) => this.update({ duration_ps: Math.max(1e12, Math.round(duration_ps / 1e12) * 1e12) })),
      seed,
    );
    this.flows.replaceChildren(...this.settings.flows.map((flow, index) => this.flowGroup(flow, index)), run);
  }

  // One menu for the queues of the slowest hop in both directions; none where it has no choice of queues.
  queues() {
    const hops = this.form.hops(linkOf(this.catalogue, this.settings), this.settings.edits);
    const choices = hops[slowest(hops)].choices.filter(({ path }) => path[0] === "queue" && path.at(-1) !== "ack");
    if (!choices.length) return [];
    const kinds = choices[0].options.filter((name) => choices.every(({ options }) => options.includes(name)));
    const common = COMMON_QUEUES.filter((name) => kinds.includes(name));
    const names = [AS_IT_IS, ...common, ...kinds.filter((name) => !common.includes(name))];
    const isAsItIs = choices.every(({ selected, current }) => selected === current);
    const isOne = choices.every(({ selected }) => selected === choices[0].selected);
    const options = names.map((name) => option(name, name));
    if (!isAsItIs && !isOne) options.unshift(option("", "another in each direction"));
    const menu = select("queues", "Queue in both directions", options, isAsItIs ? AS_IT_IS : isOne ? choices[0].selected : "", (name) => {
      const edits = { ...this.settings.edits };
      for (const { key } of choices) {
        if (name === AS_IT_IS) delete edits[key];
        else edits[key] = name;
      }
      this.update({ edits }, true);
    });
    menu.classList.add("wide");
    return [menu];
  }

  flowGroup(flow, index) {
    const seconds = this.settings.duration_ps / 1e12;
    const name = `flow${index + 1}`;
    const set = (change, rebuild) => {
      const flows = this.settings.flows.map((one, at) => (at === index ? { ...one, ...change } : one));
      this.update({ flows }, rebuild);
    };
    const id = (key) => `${name}-${key}`;
    const group = fieldset(`Flow ${index + 1}`);
    if (index > 0) group.append(checkbox(id("on"), "on", flow.on, (on) => set({ on }, true)));
    if (!flow.on) return group;
    const workloads = this.catalogue.workloads.map((one) => option(one.name, one.name));
    const workload = select(id("workload"), "Workload", workloads, flow.workload, (kind) => set({ workload: kind }, true));
    const { text, tcp } = workloadOf(this.catalogue, flow.workload);
    workload.append(hint(text));
    group.append(workload);
    if (tcp) {
      const describe = hint(this.summary(flow.variant));
      const variants = select(id("variant"), "Congestion control", this.variants(), flow.variant, (variant) => {
        set({ variant });
        describe.textContent = this.summary(variant);
      });
      variants.append(describe);
      group.append(variants);
    }
    if (hasDirection(flow.workload)) {
      group.append(select(id("direction"), "Direction of the data", [option("down", "down"), option("up", "up")], flow.direction,
        (direction) => set({ direction })));
    }
    if (tcp) {
      group.append(select(id("ack"), "ACKs of its receiver", this.catalogue.ack_policies.map(({ name }) => option(name, name)),
        flow.ack, (ack) => set({ ack })));
    }
    group.append(this.slider(id("start"), "Start", { unit: "time", min: 0, max: (seconds / 2) * 1e12, log: false }, flow.start_ps,
      (start_ps) => set({ start_ps: Math.min(start_ps, this.settings.duration_ps - 1e9) })));
    const [active] = activeFlows(this.settings).filter((one) => one.index === index);
    const keys = this.details(`${name}.workload`, "Keys of the workload");
    for (const element of this.keyControls(this.form.workload(active, this.settings.edits))) keys.append(element);
    if (keys.childElementCount > 1) group.append(keys);
    return group;
  }

  // The controls of a table's choices and numbers.
  keyControls({ choices, sliders }) {
    const edit = (key, value, rebuild) => this.update({ edits: { ...this.settings.edits, [key]: value } }, rebuild);
    const ofChoice = (choice) => {
      const options = choice.options.map((name) => option(name, name));
      const element = select(choice.key, title(choice.path), options, choice.selected, (name) => edit(choice.key, name, true));
      element.title = choice.text;
      return element;
    };
    const ofNumber = (control) => {
      const value = this.settings.edits[control.key] ?? control.value;
      const element = this.slider(control.key, title(control.path), control, value, (number) => edit(control.key, number));
      element.title = control.text;
      return element;
    };
    return [...choices.map(ofChoice), ...sliders.map(ofNumber)];
  }

  variants() {
    const group = (title, variants) => {
      const of = document.createElement("optgroup");
      of.label = title;
      of.append(...variants.map(({ name }) => option(name, name)));
      return of;
    };
    const { variants } = this.catalogue;
    return [group("Linux", variants.filter((one) => one.common)), group("Others", variants.filter((one) => !one.common))];
  }

  summary(name) {
    return this.catalogue.variants.find((one) => one.name === name)?.summary ?? "";
  }

  showHops() {
    const hops = this.form.hops(linkOf(this.catalogue, this.settings), this.settings.edits);
    const bottleneck = slowest(hops);
    const groups = hops.map((form, index) => {
      const { name: hop, choices, sliders } = form;
      const group = index === bottleneck ? fieldset(`Hop ${hop}`) : this.foldable(`Hop ${hop}`);
      const more = this.details(hop, "More keys");
      const isShaped = choices.some((choice) => choice.path[0] === "queue");
      const isFirst = [
        ...choices.map((choice) => isShaped && choice.path.at(-1) !== "ack"),
        ...sliders.map((control) => isMain(control, isShaped)),
      ];
      this.keyControls(form).forEach((element, at) => (isFirst[at] ? group : more).append(element));
      sort(group);
      sort(more);
      if (more.childElementCount > 1) group.append(more);
      return group;
    });
    // The slowest hop first: it is what a user changes.
    this.hops.replaceChildren(...groups.splice(bottleneck, 1), ...groups, ...this.tunnels());
  }

  tunnels() {
    return this.form.tunnels(linkOf(this.catalogue, this.settings), this.settings.edits).map((form) => {
      const group = this.foldable(`Tunnel ${form.number} over ${form.over.join(", ")}`);
      group.append(...this.keyControls(form));
      return group;
    });
  }

  // A group that is closed until the user opens it.
  foldable(name) {
    const group = this.details(name, name);
    group.className = "hop";
    return group;
  }

  // Alike, inside a group; `name` is that of its state.
  details(name, text) {
    const group = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = text;
    group.append(summary);
    group.open = this.open.has(name);
    group.addEventListener("toggle", () => (group.open ? this.open.add(name) : this.open.delete(name)));
    return group;
  }

  // A slider and a box for the exact value.
  slider(id, name, { unit, min, max, log }, value, changed) {
    const { form } = this;
    const range = document.createElement("input");
    range.type = "range";
    range.id = id;
    range.min = 0;
    range.max = STEPS;
    range.step = 1;
    const toNumber = (place) => rounded(unit, log ? min * (max / min) ** (place / STEPS) : min + ((max - min) * place) / STEPS);
    const toPlace = (number) => STEPS * (log ? Math.log(number / min) / Math.log(max / min) : (number - min) / (max - min));
    const box = document.createElement("input");
    box.type = "text";
    box.className = "exact";
    box.setAttribute("aria-label", `${name}, exact value`);
    box.inputMode = "text";
    const show = (number) => {
      const text = form.shown(unit, number);
      range.setAttribute("aria-valuetext", text);
      box.value = text;
      box.removeAttribute("aria-invalid");
      box.removeAttribute("title");
    };
    const put = (number) => {
      range.value = Math.round(toPlace(number));
      show(number);
    };
    const refuse = (message) => {
      box.setAttribute("aria-invalid", "true");
      box.title = message;
    };
    put(value);
    range.addEventListener("input", () => {
      const number = toNumber(Number(range.value));
      show(number);
      changed(number);
    });
    box.addEventListener("change", () => {
      let number;
      try {
        number = form.parsed(unit, box.value);
      } catch (error) {
        refuse(error.message);
        return;
      }
      if (number < min || number > max) {
        refuse(`from ${form.shown(unit, min)} to ${form.shown(unit, max)}`);
        return;
      }
      put(number);
      changed(number);
    });
    return field(id, name, box, range);
  }
}

const AS_IT_IS = "as it is";
// The queues that stand first in the menu.
const COMMON_QUEUES = ["fq-codel", "cake", "codel", "droptail"];

// The place of the hop with the smallest rate.
function slowest(hops) {
  const rates = hops.map(({ slowest_bps: { down = Infinity, up = Infinity } }) => Math.min(down, up));
  return rates.indexOf(Math.min(...rates));
}

const MAIN = ["rate", "delay", "queue", "loss"];
const MAIN_NUMBERS = ["bytes", "packets", "mean", "down", "up", "rate", "delay", "target"];

const isMain = (control, isShaped) =>
  isShaped && MAIN.includes(control.path[0]) && MAIN_NUMBERS.includes(control.path.at(-1));

// rate, delay, queue, loss, in this order; each queue beside its limit.
function sort(group) {
  const place = (element) => {
    const path = (element.dataset.key ?? "").split(".").slice(2);
    return path.length ? MAIN.indexOf(path[0]) * 10 + (path[1] === "up" ? 5 : 0) + (path.length > 2 ? 1 : 0) : -1;
  };
  const elements = [...group.children].filter((element) => element.dataset.key);
  elements.sort((a, b) => place(a) - place(b)).forEach((element) => group.append(element));
}

// The path of a key without its hop: `queue.down.bytes` is "queue down: bytes".
function title(path) {
  const [first, ...rest] = path;
  const direction = ["down", "up"].includes(rest[0]) ? ` ${rest.shift()}` : "";
  return `${first}${direction}${rest.length ? `: ${rest.join(" ")}` : ""}`;
}

function fieldset(name) {
  const group = document.createElement("fieldset");
  const legend = document.createElement("legend");
  legend.textContent = name;
  group.append(legend);
  return group;
}

function field(id, name, ...inner) {
  const element = document.createElement("div");
  element.className = "field";
  element.dataset.key = id;
  const label = document.createElement("label");
  label.htmlFor = id;
  label.textContent = name;
  element.append(label, ...inner);
  return element;
}

function hint(text) {
  const element = document.createElement("p");
  element.className = "hint";
  element.textContent = text;
  return element;
}

function option(value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  return element;
}

function select(id, name, options, value, changed) {
  const element = document.createElement("select");
  element.id = id;
  element.append(...options);
  element.value = value;
  element.addEventListener("change", () => changed(element.value));
  return field(id, name, element);
}

function checkbox(id, name, on, changed) {
  const element = document.createElement("input");
  element.type = "checkbox";
  element.id = id;
  element.checked = on;
  element.addEventListener("change", () => changed(element.checked));
  const of = field(id, name, element);
  of.classList.add("check");
  return of;
}
