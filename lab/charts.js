// Line charts over time, by uPlot. One cursor moves in all charts of a group.

import uPlot from "./vendor/uplot/uPlot.esm.js";

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2, 1, 2], [12, 4]];

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const lineColor = (index) => color(`--line-${(index % 7) + 1}`);

export class TimeChart {
  // `figure` gets a caption and the chart; `sync` is the name of its group.
  constructor(figure, { title, sync = null, zero = true, tall = 1 }) {
    this.figure = figure;
    this.title = title;
    this.sync = sync;
    this.tall = tall;
    this.zero = zero;
    this.caption = document.createElement("figcaption");
    this.caption.textContent = title;
    this.plotted = document.createElement("div");
    figure.replaceChildren(this.caption, this.plotted);
    this.labels = "";
    this.plot = null;
    this.data = null;
    new ResizeObserver(() => this.resize()).observe(figure);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  // `series`: label, values, and for points a color instead of a line.
  show(times, series, range = null) {
    this.last = [times, series, range];
    const data = [times, ...series.map((one) => one.values)];
    const labels = JSON.stringify(series.map((one) => [one.label, one.points, one.color]));
    this.range = range;
    if (this.plot && labels === this.labels) {
      this.plot.setData(data);
    } else {
      this.labels = labels;
      this.plot?.destroy();
      this.plot = new uPlot(this.options(series), data, this.plotted);
    }
    this.describe(series);
  }

  options(series) {
    const muted = color("--muted");
    const grid = { stroke: color("--grid"), width: 1 };
    const axis = { stroke: muted, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    return {
      width: this.width(),
      height: this.height(),
      padding: [8, 18, 0, 0],
      cursor: { sync: this.sync ? { key: this.sync } : undefined, points: { size: 6 }, drag: { x: true, y: false } },
      legend: {
        live: true,
        markers: { width: 2, fill: (_, index) => (series[index - 1]?.points ? color(series[index - 1].color) : null) },
      },
      scales: {
        x: { time: false, range: (_, low, high) => (this.range && high - low > 0 && low === this.range[0] ? this.range : [low ?? 0, high ?? 1]) },
        y: { range: (_, low, high) => (this.zero ? [0, high > 0 ? high * 1.08 : 1] : [low, high > low ? high : low + 1]) },
      },
      axes: [{ ...axis, size: 30, values: (_, ticks) => ticks.map((tick) => `${Number(tick.toPrecision(9))} s`) }, { ...axis, size: 58 }],
      series: [
        { label: "Time", value: (_, value) => (value === null ? "" : `${value.toFixed(3)} s`) },
        ...series.map((one, index) => ({
          label: one.label,
          stroke: one.color ? color(one.color) : lineColor(index),
          dash: one.points ? [] : DASHES[index % DASHES.length],
          width: one.points ? 0 : 1.6,
          paths: one.points ? () => null : undefined,
          points: one.points ? { show: true, size: one.size ?? 4, fill: color(one.color), width: 0 } : { show: false },
          value: (_, value) => (value === null || value === undefined ? "" : Number(value.toPrecision(4)).toLocaleString("en")),
          spanGaps: false,
        })),
      ],
    };
  }

  describe(series) {
    const parts = series.map(({ label, values }) => {
      const some = values.filter((value) => value !== null && value !== undefined);
      if (some.length === 0) return `${label}: no values`;
      const high = some.reduce((a, b) => Math.max(a, b), -Infinity);
      return `${label}: maximum ${Number(high.toPrecision(3))}, at the end ${Number(some.at(-1).toPrecision(3))}`;
    });
    this.plotted.setAttribute("role", "img");
    this.plotted.setAttribute("aria-label", `${this.title}. ${parts.join("; ")}.`);
  }

  width() {
    return Math.max(240, Math.floor(this.figure.clientWidth));
  }

  height() {
    return Math.round(this.tall * Math.min(300, Math.max(150, 0.36 * this.width())));
  }

  resize() {
    if (this.plot && this.plot.width !== this.width()) this.plot.setSize({ width: this.width(), height: this.height() });
  }

  redraw() {
    if (!this.last) return;
    this.labels = "";
    this.show(...this.last);
  }
}
