// Draws a time-sequence graph on a canvas. Drag to look closer, double-click to go back. `colour` gives
// a colour of white paper in the page's scheme.
window.ackclockSequence = (canvas, data, from, to, colour) => {
  const left = 74, right = 8, top = 8, bottom = 34;
  const full = { from, to };
  let box = null, drag = null;

  const between = (rows, a, b) => rows.filter(r => r[0] >= a && r[0] <= b);
  const steps = [1, 2, 5];
  const step = (span, n) => {
    const raw = span / n, power = Math.pow(10, Math.floor(Math.log10(raw)));
    return (steps.find(s => s * power >= raw) || 10) * power;
  };
  const bytes = v => {
    const a = Math.abs(v);
    return a >= 1e6 ? (v / 1e6).toPrecision(4) * 1 + " MB" : a >= 1e3 ? (v / 1e3).toPrecision(4) * 1 + " KB" : v + " B";
  };

  const fit = (a, b) => {
    const data_ = between(data.data, a, b), acks = between(data.ack, a, b);
    let low = Infinity, high = -Infinity;
    for (const r of data_) { low = Math.min(low, r[1]); high = Math.max(high, r[2]); }
    for (const r of acks) { low = Math.min(low, r[1]); high = Math.max(high, r[1]); }
    if (low > high) { low = 0; high = 1; }
    // The window's edge counts as long as it does not press everything else to the ground.
    for (const r of between(data.window, a, b)) if (r[1] < high + 0.6 * (high - low)) high = Math.max(high, r[1]);
    const room = 0.03 * (high - low) || 1;
    return { a, b: b > a ? b : a + 1e-3, low: low - room, high: high + room };
  };

  const draw = (tone = colour, paper = null) => {
    const width = canvas.clientWidth, height = canvas.clientHeight, scale = window.devicePixelRatio || 1;
    canvas.width = width * scale; canvas.height = height * scale;
    const g = canvas.getContext("2d");
    g.scale(scale, scale);
    g.clearRect(0, 0, width, height);
    if (paper) { g.fillStyle = paper; g.fillRect(0, 0, width, height); }
    const tones = new Map();
    paint(g, width, height, plain => {
      if (!tones.has(plain)) tones.set(plain, tone(plain));
      return tones.get(plain);
    });
  };

  const paint = (g, width, height, tone) => {
    const X = t => left + (t - box.a) / (box.b - box.a) * (width - left - right);
    const Y = s => top + (box.high - s) / (box.high - box.low) * (height - top - bottom);
    g.font = "11px system-ui, sans-serif"; g.lineWidth = 1;
    g.strokeStyle = tone("#e4e7eb"); g.fillStyle = tone("#6b7785");
    const dy = step(box.high - box.low, 6), dx = step(box.b - box.a, 8);
    g.textAlign = "right"; g.textBaseline = "middle";
    for (let s = Math.ceil(box.low / dy) * dy; s <= box.high; s += dy) {
      g.beginPath(); g.moveTo(left, Y(s)); g.lineTo(width - right, Y(s)); g.stroke();
      g.fillText(bytes(s), left - 6, Y(s));
    }
    g.textAlign = "center"; g.textBaseline = "top";
    const digits = Math.max(0, -Math.floor(Math.log10(dx)));
    for (let t = Math.ceil(box.a / dx) * dx; t <= box.b; t += dx) {
      g.beginPath(); g.moveTo(X(t), height - bottom); g.lineTo(X(t), height - bottom + 4); g.strokeStyle = tone("#6b7785"); g.stroke();
      g.fillText(t.toFixed(digits), X(t), height - bottom + 6);
    }
    g.fillStyle = tone("#1f2933"); g.fillText("Time (s)", (left + width - right) / 2, height - 13);
    g.save();
    g.beginPath(); g.rect(left, top, width - left - right, height - top - bottom); g.clip();

    const stairs = (rows, colour, dash) => {
      g.strokeStyle = colour; g.lineWidth = 1.2; g.setLineDash(dash); g.beginPath();
      let last = null;
      for (const r of rows) {
        if (r[0] > box.b && last && last[0] > box.b) break;
        if (last) { g.lineTo(X(r[0]), Y(last[1])); g.lineTo(X(r[0]), Y(r[1])); } else g.moveTo(X(r[0]), Y(r[1]));
        last = r;
      }
      if (last) g.lineTo(X(Math.max(last[0], box.b)), Y(last[1]));
      g.stroke(); g.setLineDash([]);
    };
    const highest = rows => { let top_ = -Infinity; return rows.map(r => [r[0], top_ = Math.max(top_, r[1])]); };
    stairs(data.window, tone("#E69F00"), [5, 3]);
    g.strokeStyle = tone("#CC79A7"); g.lineWidth = 1.6;
    for (const r of between(data.sack, box.a, box.b)) { g.beginPath(); g.moveTo(X(r[0]), Y(r[1])); g.lineTo(X(r[0]), Y(r[2])); g.stroke(); }
    stairs(highest(data.ack), tone("#009E73"), []);

    const near = Math.max(2, (width - left - right) / Math.max(1, between(data.data, box.a, box.b).length));
    const mark = (r, big) => {
      const x = X(r[0]), y0 = Y(r[1]), y1 = Y(r[2]);
      g.strokeStyle = g.fillStyle = tone(data.colours[r[3]]);
      g.lineWidth = big ? 2 : 1.3;
      const reach = Math.max(Math.abs(y0 - y1), big ? 5 : 1.5), middle = (y0 + y1) / 2;
      g.beginPath(); g.moveTo(x, middle - reach / 2); g.lineTo(x, middle + reach / 2); g.stroke();
      if (big) { g.beginPath(); g.arc(x, middle, 2.6, 0, 7); g.fill(); }
      else if (near > 5 && Math.abs(y0 - y1) > 4) { g.beginPath(); g.moveTo(x - 2, y0); g.lineTo(x + 2, y0); g.moveTo(x - 2, y1); g.lineTo(x + 2, y1); g.stroke(); }
    };
    const shown = between(data.data, box.a, box.b);
    for (const r of shown) if (r[3] === 0) mark(r, false);
    for (const r of shown) if (r[3] !== 0) mark(r, true);
    g.strokeStyle = tone("#D00000"); g.lineWidth = 1.4;
    for (const r of between(data.lost, box.a, box.b)) {
      const x = X(r[0]), y = Y(r[1]);
      g.beginPath(); g.moveTo(x - 4, y - 4); g.lineTo(x + 4, y + 4); g.moveTo(x - 4, y + 4); g.lineTo(x + 4, y - 4); g.stroke();
    }
    g.restore();
    g.strokeStyle = tone("#6b7785"); g.lineWidth = 1;
    g.beginPath(); g.moveTo(left, top); g.lineTo(left, height - bottom); g.lineTo(width - right, height - bottom); g.stroke();
    if (drag && drag.x !== null) {
      g.fillStyle = "rgba(0,114,178,.12)"; g.fillRect(Math.min(drag.from, drag.x), top, Math.abs(drag.x - drag.from), height - top - bottom);
    }
  };

  const show = (a, b) => { box = fit(a, b); draw(); };
  const time = x => box.a + (x - left) / (canvas.clientWidth - left - right) * (box.b - box.a);
  canvas.addEventListener("mousedown", e => { drag = { from: e.offsetX, x: null }; });
  canvas.addEventListener("mousemove", e => { if (drag) { drag.x = e.offsetX; draw(); } });
  window.addEventListener("mouseup", e => {
    if (!drag) return;
    const { from: a, x: b } = drag;
    drag = null;
    if (b !== null && Math.abs(b - a) > 5) show(time(Math.min(a, b)), time(Math.max(a, b))); else draw();
  });
  canvas.addEventListener("dblclick", () => show(full.from, full.to));
  window.addEventListener("resize", () => draw());
  show(full.from, full.to);

  // The shown interval with title, conditions and legend, on white paper.
  const FILE_WIDTH = 900, PLOT_HEIGHT = 420, FONT = "system-ui, sans-serif";
  const drawFile = (g, title, conditions, legend) => {
    const plain = own => own, rows = [[]];
    let x = 8;
    for (const [name, own] of legend) {
      const room = 34 + 6.4 * name.length;
      if (x + room > FILE_WIDTH) { rows.push([]); x = 8; }
      rows[rows.length - 1].push([x, name, own]);
      x += room;
    }
    const from = 30 + 15 * conditions.length + 18 * rows.length;
    g.fillStyle = "#ffffff"; g.fillRect(0, 0, FILE_WIDTH, from + PLOT_HEIGHT);
    g.textAlign = "left"; g.textBaseline = "top"; g.fillStyle = "#1f2933";
    g.font = `600 14px ${FONT}`; g.fillText(title, 8, 6);
    g.font = `11px ${FONT}`;
    conditions.forEach((line, at) => g.fillText(line, 8, 26 + 15 * at));
    rows.forEach((row, at) => row.forEach(([left_, name, own]) => {
      const y = 30 + 15 * conditions.length + 18 * at;
      g.fillStyle = own; g.fillRect(left_, y + 5, 16, 3);
      g.fillStyle = "#1f2933"; g.fillText(name, left_ + 21, y);
    }));
    g.translate(0, from);
    paint(g, FILE_WIDTH, PLOT_HEIGHT, plain);
    return from + PLOT_HEIGHT;
  };
  return {
    draw,
    svg: (...texts) => { const g = new SvgContext(); return g.document(FILE_WIDTH, drawFile(g, ...texts)); },
    picture: (...texts) => {
      const made = document.createElement("canvas"), scale = 2;
      made.width = FILE_WIDTH * scale;
      made.height = drawFile(new SvgContext(), ...texts) * scale;
      const g = made.getContext("2d");
      g.scale(scale, scale);
      drawFile(g, ...texts);
      return made;
    },
  };
};

// The part of a canvas's drawing context that graphs use, written as SVG.
class SvgContext {
  constructor() { this.parts = []; this.path = ""; this.dash = []; this.groups = 0; this.clips = 0; this.lineWidth = 1; }
  static escaped(text) { return String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;"); }
  static short(value) { return Math.round(value * 10) / 10; }
  put(part) { this.parts.push(part); }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${SvgContext.short(x)} ${SvgContext.short(y)}`; }
  lineTo(x, y) { this.path += `L${SvgContext.short(x)} ${SvgContext.short(y)}`; }
  arc(x, y, r) { this.moveTo(x - r, y); this.path += `a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`; }
  rect(x, y, width, height) { this.moveTo(x, y); this.path += `h${width}v${height}h${-width}z`; }
  stroke() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    if (this.path) this.put(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dash}/>`);
  }
  fill() { this.put(`<path d="${this.path}" fill="${this.fillStyle}"/>`); }
  fillRect(x, y, width, height) { this.put(`<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${this.fillStyle}"/>`); }
  fillText(text, x, y) {
    const anchor = { right: "end", center: "middle" }[this.textAlign] || "start";
    const base = { middle: "central", top: "hanging" }[this.textBaseline] || "auto";
    this.put(`<text x="${SvgContext.short(x)}" y="${SvgContext.short(y)}" text-anchor="${anchor}" dominant-baseline="${base}" fill="${this.fillStyle}" style="font: ${SvgContext.escaped(this.font)}">${SvgContext.escaped(text)}</text>`);
  }
  setLineDash(dash) { this.dash = dash; }
  save() {}
  translate(x, y) { this.put(`<g transform="translate(${x} ${y})">`); this.groups += 1; }
  clip() { this.clips += 1; this.put(`<clipPath id="clip${this.clips}"><path d="${this.path}"/></clipPath><g clip-path="url(#clip${this.clips})">`); }
  restore() { this.put("</g>"); }
  document(width, height) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${this.parts.join("")}${"</g>".repeat(this.groups)}</svg>`;
  }
}
