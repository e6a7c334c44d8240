// The packets between server and client at one instant, from the engine's own events.

import { color, lineColor } from "./charts.js";

const LOADED_S = 1.5; // played before the next part is loaded
const BEFORE_S = 3; // packets in a queue or in transit were sent up to so long before
const FLASH_S = 0.15;
const LANE = 46;
const MAX_DRAWN = 60;

export class PacketView {
  // `load(from, to)` asks for the packets of an interval.
  constructor(document, load) {
    const byId = (id) => document.getElementById(id);
    this.load = load;
    this.canvas = byId("packet-canvas");
    this.time = byId("packet-time");
    this.clock = byId("packet-clock");
    this.speed = byId("packet-speed");
    this.button = byId("play");
    this.text = byId("packet-text");
    this.section = byId("packets");
    this.log = null;
    this.isPlaying = false;
    this.now = 1;
    this.button.addEventListener("click", () => this.play(!this.isPlaying));
    this.time.addEventListener("input", () => this.seek(Number(this.time.value)));
    new ResizeObserver(() => this.draw()).observe(this.section);
    new IntersectionObserver(([entry]) => {
      this.isVisible = entry.isIntersecting;
      if (this.isVisible && !this.log && this.plan) this.request();
    }).observe(this.section);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // Another run: its packets are loaded when they are looked at.
  changed(plan) {
    this.plan = plan;
    this.end = plan.duration_s;
    this.time.max = this.end;
    this.log = null;
    this.seek(Math.min(this.now, this.end));
  }

  play(on) {
    this.isPlaying = on;
    this.button.textContent = on ? "Pause" : "Play";
    this.button.setAttribute("aria-pressed", String(on));
    if (!on) return;
    this.last = performance.now();
    requestAnimationFrame((at) => this.step(at));
  }

  step(at) {
    if (!this.isPlaying) return;
    const passed = Math.min(0.1, (at - this.last) / 1000) * Number(this.speed.value);
    this.last = at;
    if (this.log && this.covers(this.now)) this.now += passed;
    if (this.now >= this.end) {
      this.now = this.end;
      this.play(false);
    }
    this.seek(this.now);
    requestAnimationFrame((next) => this.step(next));
  }

  seek(time) {
    this.now = time;
    this.time.value = time;
    this.clock.textContent = `${time.toFixed(4)} s`;
    this.time.setAttribute("aria-valuetext", `${time.toFixed(3)} seconds`);
    if (!this.covers(time)) this.request();
    this.draw();
  }

  covers(time) {
    return this.log && time >= this.from && time <= this.to;
  }

  request() {
    if (!this.plan || !(this.isVisible || this.isPlaying)) return;
    if (this.asked !== undefined && this.now >= this.asked && this.now <= this.asked + LOADED_S && !this.stale) return;
    this.asked = this.now;
    this.stale = false;
    this.load(Math.max(0, this.now - BEFORE_S), Math.min(this.end, this.now + LOADED_S));
  }

  // The engine's answer.
  show({ from, to, log }) {
    this.log = log;
    this.from = from === 0 ? 0 : from + BEFORE_S;
    this.to = to;
    this.asked = undefined;
    for (const packet of log.packets) {
      packet.hops.forEach((hop, index) => {
        hop.until = packet.hops[index + 1]?.entered_s ?? packet.received_s ?? packet.dropped_s ?? Infinity;
      });
    }
    this.draw();
  }

  // Where each packet is now: in the queue of a side, between two hops, or dropped.
  places() {
    const queues = this.log.sides.map(() => []);
    const moving = [];
    const dropped = [];
    for (const packet of this.log.packets) {
      if (packet.sent_s > this.now) break;
      if (packet.dropped_s !== null && this.now >= packet.dropped_s) {
        const at = packet.hops.at(-1);
        if (this.now < packet.dropped_s + FLASH_S * Math.min(1, 20 * Number(this.speed.value)) && at) dropped.push([packet, at.side]);
        continue;
      }
      if (packet.received_s !== null && this.now >= packet.received_s) continue;
      const hop = packet.hops.findLast((one) => one.entered_s <= this.now);
      if (!hop) continue;
      if (hop.left_s === null || this.now < hop.left_s) queues[hop.side].push([packet, hop]);
      else {
        const until = Number.isFinite(hop.until) ? hop.until : hop.left_s + this.log.sides[hop.side].delay_s;
        const part = until > hop.left_s ? (this.now - hop.left_s) / (until - hop.left_s) : 1;
        moving.push([packet, hop.side, Math.min(1, part)]);
      }
    }
    for (const queue of queues) queue.sort(([, a], [, b]) => (a.left_s ?? Infinity) - (b.left_s ?? Infinity) || a.entered_s - b.entered_s);
    return { queues, moving, dropped };
  }

  draw() {
    if (!this.plan) return;
    const ratio = devicePixelRatio || 1;
    const width = Math.max(280, this.section.clientWidth);
    const height = 2 * LANE + 70;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const left = 56;
    const right = width - 56;
    const step = (right - left) / this.plan.hops.length;
    const lanes = { down: 40, up: 40 + LANE + 20 };
    this.drawPath(context, { left, right, step, lanes, height });
    if (!this.log) return;
    const { queues, moving, dropped } = this.places();
    const start = (side) => (side.direction === "down" ? left + side.hop * step : left + (side.hop + 1) * step);
    const sign = (side) => (side.direction === "down" ? 1 : -1);
    queues.forEach((queue, index) => {
      const side = this.log.sides[index];
      this.drawQueue(context, queue, start(side) + sign(side) * 6, lanes[side.direction], sign(side));
    });
    for (const [packet, index, part] of moving) {
      const side = this.log.sides[index];
      const begin = start(side) + sign(side) * 22;
      this.drawPacket(context, packet, begin + sign(side) * part * (step - 24), lanes[side.direction]);
    }
    context.strokeStyle = color("--bad");
    context.lineWidth = 2;
    for (const [, index] of dropped) {
      const side = this.log.sides[index];
      const x = start(side) + sign(side) * 6;
      const y = lanes[side.direction] - LANE / 2 - 6;
      context.beginPath();
      context.moveTo(x - 4, y - 4);
      context.lineTo(x + 4, y + 4);
      context.moveTo(x + 4, y - 4);
      context.lineTo(x - 4, y + 4);
      context.stroke();
    }
    this.describe(queues, moving);
  }

  drawPath(context, { left, right, step, lanes, height }) {
    context.strokeStyle = color("--grid");
    context.fillStyle = color("--muted");
    context.lineWidth = 1;
    for (const y of Object.values(lanes)) {
      context.beginPath();
      context.moveTo(left, y + 8);
      context.lineTo(right, y + 8);
      context.stroke();
    }
    context.textAlign = "center";
    context.fillText("server", 28, (lanes.down + lanes.up) / 2 + 8);
    context.fillText("client", right + 28, (lanes.down + lanes.up) / 2 + 8);
    this.plan.hops.forEach((name, index) => {
      const x = left + index * step;
      for (const at of [x, x + step]) {
        context.beginPath();
        context.moveTo(at, lanes.down - LANE / 2);
        context.lineTo(at, lanes.up + 14);
        context.stroke();
      }
      context.fillText(name, x + step / 2, height - 8, step - 8);
    });
  }

  // The first of a queue is being sent; further ones stand above it, smaller if there are many.
  drawQueue(context, queue, x, y, sign) {
    const size = queue.length > 8 ? Math.max(1, (LANE - 6) / Math.min(queue.length, MAX_DRAWN)) : 5;
    queue.slice(0, MAX_DRAWN).forEach(([packet], index) => {
      context.fillStyle = lineColor(this.plan.lineOfFlow[packet.flow]);
      context.fillRect(x - 4, y - index * size - size, 8, Math.max(1, size - (size > 2 ? 1 : 0)));
    });
    if (queue.length > 3) {
      context.fillStyle = color("--ink");
      context.textAlign = sign > 0 ? "left" : "right";
      context.fillText(String(queue.length), x + sign * 10, y - LANE / 2 + 4);
    }
  }

  drawPacket(context, packet, x, y) {
    context.fillStyle = lineColor(this.plan.lineOfFlow[packet.flow]);
    if (packet.data) context.fillRect(x - 4, y - 2, 8, 8);
    else {
      context.beginPath();
      context.arc(x, y + 2, 2.5, 0, 2 * Math.PI);
      context.fill();
    }
    if (packet.retransmission) {
      context.strokeStyle = color("--bad");
      context.strokeRect(x - 5.5, y - 3.5, 11, 11);
    }
  }

  describe(queues, moving) {
    const parts = queues.map((queue, index) => [queue.length, this.log.sides[index]]).filter(([count]) => count > 0)
      .map(([count, side]) => `${count} in ${this.plan.hops[side.hop]} ${side.direction}`);
    const data = moving.filter(([packet]) => packet.data).length;
    this.text.textContent =
      `Squares are data, dots ACKs, framed ones retransmissions, crosses drops; colors are those of the flows. ` +
      `In queues and in transmission: ${parts.join(", ") || "none"}. In transit: ${data} data packets, ${moving.length - data} ACKs.` +
      (this.log.left_out ? ` ${this.log.left_out} later packets of this interval are left out.` : "");
  }
}
