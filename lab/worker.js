// Runs plans and reads captures beside the page. A newer request of the same kind replaces an older one.

import { Engine } from "./engine.js";

const SLICE_MS = 25;
const PREVIEW_MS = 120;
const PACKETS_READ = 200_000;
const MAX_FLOWS_LISTED = 200;

let engine = null;
let reader = null;
// A module is loaded for its first task; one that failed or panicked is loaded again.
const simulator = () => engine ??= Engine.load("engine.wasm").catch((error) => { engine = null; throw error; });
const analyzer = () => reader ??= Engine.load("capture.wasm").catch((error) => { reader = null; throw error; });
const latest = {};

const pause = (() => {
  const { port1, port2 } = new MessageChannel();
  const waiting = [];
  port1.onmessage = () => waiting.shift()();
  return () => new Promise((resolve) => {
    waiting.push(resolve);
    port2.postMessage(0);
  });
})();

onmessage = async ({ data }) => {
  latest[data.kind] = data.id;
  await pause(); // newer requests that wait come first
  if (latest[data.kind] !== data.id) return;
  try {
    await tasks[data.kind](data);
  } catch (error) {
    postMessage({ kind: "error", of: data.kind, id: data.id, message: error.message });
    // A panic has ended the instance.
    if (error.isFatal && ["capture", "sequence"].includes(data.kind)) reader = null;
    else if (error.isFatal) engine = null;
  }
};

const tasks = {
  async run({ id, plan, duration }) {
    const engine = await simulator();
    if (latest.run !== id) return;
    const begin = performance.now();
    engine.input(plan);
    engine.call("run_open");
    let step = duration / 200;
    let until = 0;
    let sliceBegin = begin;
    let shown = begin;
    for (let ended = false; !ended;) {
      until += step;
      ended = engine.exports.run_advance(until) === 1;
      const now = performance.now();
      if (!ended && now - sliceBegin > SLICE_MS) {
        if (now - shown > PREVIEW_MS) {
          postMessage({ kind: "series", id, isPreview: true, ms: now - begin, series: JSON.parse(engine.call("run_series", 0, 0)) });
          shown = performance.now();
        }
        await pause();
        if (latest.run !== id) return;
        sliceBegin = performance.now();
      }
    }
    const series = JSON.parse(engine.call("run_series", 0, 0));
    const summaryText = engine.call("run_summary");
    const summary = JSON.parse(summaryText);
    engine.input(`[${summaryText},${plan}]`);
    const limits = JSON.parse(engine.call("limits"));
    engine.input(summaryText);
    const felt = JSON.parse(engine.call("felt"));
    postMessage({ kind: "series", id, isPreview: false, ms: performance.now() - begin, series, summary, summaryText, limits, felt });
  },

  async packets({ id, plan, from, to }) {
    const engine = await simulator();
    engine.input(plan);
    const log = JSON.parse(engine.call("packets", from, to));
    postMessage({ kind: "packets", id, from, to, log });
  },

  async capture({ id, bytes }) {
    const analyzing = await analyzer();
    analyzing.input(new Uint8Array(bytes));
    analyzing.call("capture_open");
    let packets = 0;
    for (;;) {
      const read = JSON.parse(analyzing.call("capture_advance", PACKETS_READ));
      packets += read;
      postMessage({ kind: "capture-progress", id, packets });
      if (read < PACKETS_READ) break;
      await pause();
      if (latest.capture !== id) return;
    }
    postMessage({ kind: "capture", id, report: JSON.parse(analyzing.call("capture_report", MAX_FLOWS_LISTED)) });
  },

  async sequence({ id, flow }) {
    const analyzing = await analyzer();
    postMessage({ kind: "sequence", id, flow, columns: JSON.parse(analyzing.call("capture_packets", flow)) });
  },
};
