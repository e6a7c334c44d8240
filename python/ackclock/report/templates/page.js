"use strict";
// A report's behaviour: charts in the width and the colours of the page, files of figures and tables,
// tables to sort and filter. Nothing is fetched.
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const known = new Set(page.colours.map(colour => colour.toLowerCase()));
  const every = (selector, of = document) => [...of.querySelectorAll(selector)];
  const copied = value => JSON.parse(JSON.stringify(value));

  // Colours

  // A chart's colour as the page's variable of it: the scheme changes without another drawing.
  const schemed = spec => JSON.parse(JSON.stringify(spec), (key, value) =>
    typeof value === "string" && known.has(value.toLowerCase()) ? `var(--c-${value.slice(1).toLowerCase()})` : value);

  // Charts

  const NARROW = 620, SIDE = 66, EDGE = 14, SYMBOL = 34, LETTER = 6.6, CATEGORY = 0.42, FILE_WIDTH = 900, PANEL = 110, GAP = 18;
  const units = spec => spec.vconcat ? spec.vconcat.flatMap(units) : spec.facet ? [spec, ...units(spec.spec)] : spec.layer ? [spec, ...spec.layer.flatMap(units)] : [spec];

  // Names of categories in lines that fit: a line ends at a comma, or at a space.
  const lined = (name, letters) => name.split(/(?<=,) /).flatMap(part => part.length > letters ? wrapped(part, letters) : [part]).reduce((lines, part) =>
    lines.length && `${lines.at(-1)} ${part}`.length <= letters ? [...lines.slice(0, -1), `${lines.at(-1)} ${part}`] : [...lines, part], []);
  const categories = (spec, width) => {
    const of = units(spec).map(unit => unit.encoding && unit.encoding.y).filter(y => y && y.type === "nominal" && Array.isArray(y.sort));
    const letters = Math.floor(CATEGORY * width / LETTER);
    if (!of.length || !of[0].sort.some(name => name.length > letters)) return;
    const names = Object.fromEntries(of[0].sort.map(name => [name, lined(name, letters)]));
    for (const y of of) y.axis = { ...y.axis, labelExpr: `${JSON.stringify(names)}[datum.value]`, labelLimit: 0, labelFontSize: 10, labelLineHeight: 11 };
    spec.height = Math.max(spec.height, of[0].sort.length * (6 + 11 * Math.max(...Object.values(names).map(lines => lines.length))));
  };

  // The specification in a width: names at the ends of lines become a legend on narrow paper.
  const fitted = (chart, width) => {
    const spec = copied(chart), narrow = width < NARROW;
    delete spec.padding;
    if (spec.facet) {
      if (narrow) spec.columns = spec.columns > 1 && width >= 2 * PANEL + SIDE ? 2 : 1;
      spec.spec.width = Math.max(PANEL, Math.floor((width - SIDE - EDGE) / spec.columns) - GAP);
    } else if (spec.vconcat) for (const part of spec.vconcat) part.width = Math.max(120, width - SIDE - EDGE);
    else { spec.width = width; spec.autosize = { type: "fit-x", contains: "padding" }; }
    if (narrow) categories(spec, width);
    const labelled = spec.layer && spec.layer.some(layer => layer.name === page.labels);
    if (labelled && narrow) spec.layer = spec.layer.filter(layer => layer.name !== page.labels);
    for (const unit of units(spec)) {
      const colour = unit.encoding && unit.encoding.color, others = unit.encoding ? [unit.encoding.strokeDash, unit.encoding.shape].filter(Boolean) : [];
      if (unit.name === page.labels) { unit.mark.limit = Math.min(unit.mark.limit, 0.28 * width); continue; }
      if (!colour || !colour.scale) continue;
      if (labelled && narrow) {
        colour.legend = { title: null, orient: "top", symbolType: "stroke" };
        for (const other of others) other.legend = colour.legend;
      }
      if (!colour.legend) continue;
      const names = (colour.scale.domain || []).map(String), longest = Math.max(4, ...names.map(name => name.length));
      const limit = Math.min(320, width - SIDE - SYMBOL);
      colour.legend.labelLimit = limit;
      colour.legend.columns = Math.max(1, Math.floor((width - SIDE) / (SYMBOL + Math.min(limit, LETTER * longest))));
      for (const other of others) if (other.legend) other.legend = colour.legend;
    }
    return spec;
  };
  const styled = width => {
    const config = copied(page.config);
    config.axis.labelLimit = Math.min(config.axis.labelLimit, Math.round(0.38 * width));
    return config;
  };

  const drawn = new WeakMap();
  const draw = async box => {
    const width = Math.floor(box.clientWidth);
    const before = drawn.get(box);
    if (!width || (before && before.width === width)) return;
    const spec = schemed(fitted(page.charts[box.dataset.chart], width));
    const view = await window.ackclockEmbed(box, spec, { actions: false, renderer: "svg", config: schemed({ ...styled(width), background: "transparent" }) });
    if (before) before.view.finalize();
    drawn.set(box, { width, view });
  };
  const pause = () => new Promise(done => setTimeout(done, 0));
  const drawAll = async () => {
    const seen = box => { const at = box.getBoundingClientRect(); return at.bottom < -200 || at.top > innerHeight + 200; };
    // What is on the screen first.
    for (const box of every(".chart").sort((a, b) => seen(a) - seen(b))) { await draw(box); await pause(); }
    document.documentElement.dataset.drawn = "yes";
  };

  // Time-sequence graphs

  const computed = colour => known.has(colour.toLowerCase())
    ? getComputedStyle(document.documentElement).getPropertyValue(`--c-${colour.slice(1).toLowerCase()}`).trim() || colour : colour;
  const canvases = every("canvas.sequence").map(canvas => {
    const graph = page.graphs[canvas.dataset.graph], [from, to] = graph.views[Number(canvas.dataset.view)];
    return { canvas, graph, ...window.ackclockSequence(canvas, graph.data, from, to, computed) };
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => canvases.forEach(one => one.draw()));
  // Paper is white, whatever the screen is.
  addEventListener("beforeprint", () => canvases.forEach(one => one.draw(colour => colour)));
  addEventListener("afterprint", () => canvases.forEach(one => one.draw()));

  // Files

  const download = (name, blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const quoted = value => /[",\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value;
  const csv = rows => rows.map(row => row.map(value => quoted(value === null || value === undefined ? "" : String(value))).join(",")).join("\n") + "\n";
  // Rows of CSV without line breaks in cells.
  const parsed = text => {
    const cells = line => [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(found => found[1] === undefined ? found[2] : found[1].replace(/""/g, '"'));
    const [head, ...rows] = text.split("\n").map(cells);
    return rows.map(row => Object.fromEntries(head.map((name, at) => [name, row[at]])));
  };
  const wrapped = (text, columns) => text.split(" ").reduce((lines, word) =>
    (lines[lines.length - 1] + " " + word).length > columns ? [...lines, word] : [...lines.slice(0, -1), (lines[lines.length - 1] + " " + word).trim()], [""]);
  const titleOf = name => document.querySelector(`#${CSS.escape(name)} figcaption strong`).textContent;

  const chartFile = async name => {
    const spec = fitted(page.charts[name], FILE_WIDTH);
    spec.title = { text: titleOf(name), subtitle: wrapped(page.conditions, 130) };
    spec.background = "white";
    const { view } = await window.ackclockEmbed(document.createElement("div"), spec, { actions: false, renderer: "svg", config: styled(FILE_WIDTH) });
    return view;
  };
  const chartRows = name => {
    const spec = page.charts[name], seen = new Set(), rows = [];
    for (const unit of units(spec)) {
      const key = unit.data && JSON.stringify(unit.data);
      if (!key || unit.name === page.labels || seen.has(key)) continue;
      seen.add(key);
      const values = unit.data.name ? spec.datasets[unit.data.name] : unit.data.values;
      rows.push(...(typeof values === "string" ? parsed(values) : values));
    }
    const fields = [...new Set(rows.flatMap(Object.keys))];
    return csv([fields, ...rows.map(row => fields.map(field => row[field]))]);
  };
  const graphRows = ({ data }) => csv([
    ["what", "time_s", "from_byte", "to_byte"],
    ...data.data.map(row => [data.kinds[row[3]], row[0], row[1], row[2]]),
    ...["ack", "window", "sack", "lost"].flatMap(what => data[what].map(row => [what, ...row])),
  ]);
  const tableRows = table => csv([...table.tHead.rows, ...table.tBodies[0].rows].map(row => [...row.cells].map(cell => {
    const note = cell.querySelector("small"), text = cell.textContent.trim();
    return note ? `${text.slice(0, text.length - note.textContent.trim().length).trim()} (${note.textContent.trim()})` : text;
  })));
  const png = canvas => new Promise(done => canvas.toBlob(done, "image/png"));
  const text = (content, type) => new Blob([content], { type: `${type};charset=utf-8` });

  const graphOf = name => canvases.find(one => one.canvas.dataset.graph === name);
  const textsOf = name => [titleOf(name), wrapped(page.conditions, 130), page.graphs[name].legend];

  const makers = {
    chart: {
      svg: async name => text(await (await chartFile(name)).toSVG(), "image/svg+xml"),
      png: async name => png(await (await chartFile(name)).toCanvas(2)),
      csv: async name => text(chartRows(name), "text/csv"),
    },
    graph: {
      svg: async name => text(graphOf(name).svg(...textsOf(name)), "image/svg+xml"),
      png: async name => png(graphOf(name).picture(...textsOf(name))),
      csv: async name => text(graphRows(page.graphs[name]), "text/csv"),
    },
    table: { csv: async name => text(tableRows(document.querySelector(`#${CSS.escape(name)} table`)), "text/csv") },
  };
  window.ackclockFile = (name, format) => makers[page.charts[name] ? "chart" : page.graphs[name] ? "graph" : "table"][format](name);
  document.addEventListener("click", async event => {
    const button = event.target.closest("button[data-save]");
    for (const menu of every("details.menu[open]")) if (button ? menu.contains(button) : !menu.contains(event.target)) menu.open = false;
    if (button) download(`${button.dataset.name}.${button.dataset.save}`, await window.ackclockFile(button.dataset.name, button.dataset.save));
  });
  document.addEventListener("keydown", event => { if (event.key === "Escape") for (const menu of every("details.menu[open]")) menu.open = false; });
  for (const button of every("button.copy")) button.addEventListener("click", async () => {
    const pre = button.parentElement.querySelector("pre");
    try { await navigator.clipboard.writeText(pre.textContent); button.textContent = "Copied"; } catch { getSelection().selectAllChildren(pre); }
  });

  // Tables

  const SHOWN = 12, FILTERED = 8, TALL = 30;
  const SCALE = { k: 1e3, K: 1e3, Ki: 1024, M: 1e6, Mi: 1048576, G: 1e9, Gi: 1073741824, m: 1e-3, "µ": 1e-6, u: 1e-6, n: 1e-9 };
  // The number that a cell begins with, in the base unit; null without one.
  const number = cell => {
    const found = /^(?:at least |<|>|≥|≤|±)?\s*([+\-−]?\d[\d,]*(?:\.\d+)?(?:e[+\-]?\d+)?)\s*([kKMG]i?|[mµun])?(b\/s|B|s|Hz)?/.exec(cell.firstChild ? cell.firstChild.textContent.trim() : "");
    return found ? Number(found[1].replace("−", "-").replace(/,/g, "")) * (found[3] && SCALE[found[2]] || 1) : null;
  };
  for (const table of every(".table table")) {
    const box = table.closest(".table"), tools = box.querySelector(".tools"), body = table.tBodies[0];
    const order = [...body.rows], heads = [...table.tHead.rows[0].cells];
    let wanted = "", all = order.length <= SHOWN + 3, count = null, more = null;
    const show = () => {
      let shown = 0, fit = 0;
      for (const row of body.rows) {
        const fits = !wanted || row.textContent.toLowerCase().includes(wanted);
        fit += fits;
        row.hidden = !(fits && (all || wanted || shown < SHOWN));
        shown += !row.hidden;
      }
      if (count) count.textContent = shown === order.length ? `${shown} rows` : `${shown} of ${wanted ? `${fit} found, ` : ""}${order.length} rows`;
      if (more) more.hidden = all || Boolean(wanted);
      box.querySelector(".scroll").classList.toggle("tall", shown > TALL);
    };
    if (order.length > 2) heads.forEach((head, at) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      if (!button.textContent) return;
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "ascending", down = head.getAttribute("aria-sort") === "descending";
        const first = head.classList.contains("num") ? "descending" : "ascending", second = first === "descending" ? "ascending" : "descending";
        const next = up || down ? ((up ? "ascending" : "descending") === first ? second : "") : first;
        for (const other of heads) other.removeAttribute("aria-sort");
        if (next) head.setAttribute("aria-sort", next);
        const sign = next === "ascending" ? 1 : -1, numeric = head.classList.contains("num");
        const key = row => { const value = number(row.cells[at]); return numeric || value !== null && !/[a-z]{3}/i.test(row.cells[at].textContent) ? value : row.cells[at].textContent.trim(); };
        const keyed = order.map((row, place) => ({ row, place, key: key(row) }));
        if (next) keyed.sort((a, b) => (a.key === null) - (b.key === null) || sign * (typeof a.key === "number" && typeof b.key === "number"
          ? a.key - b.key : String(a.key).localeCompare(String(b.key), undefined, { numeric: true })) || a.place - b.place);
        body.append(...keyed.map(one => one.row));
        show();
      });
    });
    if (order.length > FILTERED) {
      const input = document.createElement("input");
      Object.assign(input, { type: "search", placeholder: "Filter rows" });
      input.setAttribute("aria-label", "Filter the rows of this table");
      input.addEventListener("input", () => { wanted = input.value.trim().toLowerCase(); show(); });
      count = document.createElement("span");
      count.setAttribute("aria-live", "polite");
      tools.append(input, count);
    }
    if (!all) {
      more = document.createElement("button");
      Object.assign(more, { type: "button", className: "more", textContent: `Show all ${order.length} rows` });
      more.addEventListener("click", () => { all = true; show(); });
      box.append(more);
    }
    show();
  }
  for (const box of every(".scroll")) box.addEventListener("scroll", () => box.classList.toggle("scrolled", box.scrollLeft > 0), { passive: true });

  // The section that is read

  const links = new Map(every("nav a").map(link => [link.getAttribute("href").slice(1), link]));
  if (links.size) {
    const seen = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => {
      for (const link of links.values()) link.classList.toggle("here", link === links.get(entry.target.id));
    }), { rootMargin: "-10% 0px -75% 0px" });
    for (const id of links.keys()) seen.observe(document.getElementById(id));
  }

  if (window.ackclockEmbed) {
    drawAll();
    let timer = 0;
    addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(drawAll, 150); });
  } else document.documentElement.dataset.drawn = "yes";
})();
