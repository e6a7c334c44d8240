// Runs plans in the engine of the lab page, for benches/commands.py.
//
// usage: node wasm_runs.mjs FOLDER     FOLDER has engine.js and engine.wasm
// A line of stdin is a plan, a line of stdout its CPU seconds and its summary.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const folder = process.argv[2];
// engine.js is a module for browsers: without a package.json, Node would take it for CommonJS.
const source = readFileSync(`${folder}/engine.js`, "utf8");
const { Engine } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const module = readFileSync(`${folder}/engine.wasm`).toString("base64");
const engine = await Engine.load(`data:application/wasm;base64,${module}`);

for await (const plan of createInterface({ input: process.stdin })) {
  const start = process.cpuUsage();
  engine.input(plan);
  engine.call("run_open");
  while (engine.exports.run_advance(1e9) !== 1);
  const summary = engine.call("run_summary");
  const { user, system } = process.cpuUsage(start);
  process.stdout.write(`${JSON.stringify({ cpu_s: (user + system) / 1e6, summary })}\n`);
}
