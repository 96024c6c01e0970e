// Herding of a few states with two features.

import { chart, colours, counted, decades, disc, Picture, Plane } from "./chart.js";
import { cones, depth, hull, nearest } from "./geometry.js";

const round = (value) => Number(value.toFixed(4));
const ring = (n, turn = 0) => Array.from({ length: n }, (_, k) => {
  const angle = turn + (2 * Math.PI * k) / n;
  return [round(Math.cos(angle)), round(Math.sin(angle))];
});

const PRESETS = {
  doubling: { name: "the period doubles as it cools", T: 0.6, target: [-1.1039, -0.2869],
    states: [[-1.4241, 0.1935], [-2.1078, -0.745], [-0.0889, -0.4909], [0.1229, 0.1573]] },
  three: { name: "three states", T: 0, states: ring(3, Math.PI / 2), target: [0.1131, 0.0731] },
  six: { name: "six states: a fractal", T: 0, target: [0.1234, 0.0721],
    states: [[1.1, 0.2], [0.3, 0.9], [-0.7, 1.1], [-1.2, -0.1], [-0.4, -0.9], [0.8, -0.8]] },
  square: { name: "two coins", T: 0, states: [[0, 0], [1, 0], [0, 1], [1, 1]], target: [0.618, 0.414] },
};

// Errors below this are zero but for rounding.
const KEPT = 200_000, TRAIL = 12, MOST_STATES = 12, ROUNDING = 1e-10;

export class SystemView {
  speeds = [1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000];
  speed = 2;
  most = 20_000;
  unit = "steps";

  constructor(host) {
    this.host = host;
    const el = (id) => document.getElementById(id);
    this.plane = new Picture("plane", () => this.draw());
    this.weights = new Picture("weights", () => this.draw(true));
    this.errors = new Picture("system-error", () => this.draw());
    this.pictures = [this.plane, this.weights, this.errors];
    this.cloud = document.createElement("canvas");
    this.points = new Float32Array(2 * KEPT);
    this.labels = new Uint8Array(KEPT);
    [this.preset, this.heat, this.number, this.periodText] = ["system-preset", "heat", "heat-number", "period"].map(el);
    for (const [key, { name }] of Object.entries(PRESETS)) this.preset.add(new Option(name, key));
    this.preset.add(new Option("my own", ""));
    this.preset.onchange = () => { if (this.preset.value) this.take(PRESETS[this.preset.value]); };
    this.heat.oninput = () => this.setHeat(this.heat.valueAsNumber);
    this.number.onchange = () => this.setHeat(Math.max(0, this.number.valueAsNumber || 0));
    el("add-state").onclick = () => this.addState();
    el("remove-state").onclick = () => this.removeState();
    this.plane.element.onpointerdown = (event) => this.grab(event);
    this.plane.element.onpointermove = (event) => this.drag(event);
    this.plane.element.onpointerup = this.plane.element.onpointercancel = () => {
      this.held = null;
      this.frameStates();
      this.draw();
    };
    this.plane.element.onkeydown = (event) => this.key(event);
    this.selected = -1;
    this.clear();
    this.set(PRESETS.doubling);
    this.preset.value = "doubling";
  }

  set({ states, target, T }) {
    this.states = states.map((one) => [...one]);
    this.target = [...target];
    this.selected = Math.min(this.selected, states.length - 1);
    this.showHeat(T);
    this.shape();
    this.frameStates();
  }

  take(view) { this.set(view); this.host.restart(); }

  showHeat(T) {
    this.T = T;
    this.heat.value = T;
    this.number.value = Number(T.toFixed(4));
  }

  setHeat(T) { this.showHeat(T); this.host.changed(); }

  /** Corners and cones follow the states, the cross stays in their hull. */
  shape() {
    this.corners = hull(this.states);
    this.target = nearest(this.states, this.corners, this.target);
    this.cones = cones(this.states, this.corners);
  }

  frameStates() {
    const xs = this.states.map((s) => s[0]), ys = this.states.map((s) => s[1]);
    this.low = [Math.min(...xs), Math.min(...ys)];
    this.high = [Math.max(...xs), Math.max(...ys)];
  }

  edited() { this.preset.value = ""; this.shape(); this.host.changed(); }

  move(to) {
    const inside = to.map((v) => round(Math.max(-1000, Math.min(1000, v))));
    if (this.selected < 0) this.target = inside;
    else this.states[this.selected] = inside;
    this.edited();
  }

  addState() {
    if (this.states.length >= MOST_STATES) return this.host.say(`At most ${MOST_STATES} states.`);
    const { low, high } = this;
    this.states.push([0, 1].map((k) => round(low[k] + (high[k] - low[k]) * Math.random())));
    this.selected = this.states.length - 1;
    this.edited();
  }

  removeState() {
    if (this.states.length < 3) return this.host.say("At least two states.");
    this.states.splice(this.selected < 0 ? this.states.length - 1 : this.selected, 1);
    this.selected = -1;
    this.edited();
  }

  grab(event) {
    const map = this.map(), [x, y] = this.plane.at(event);
    const far = [this.target, ...this.states].map(([a, b]) => Math.hypot(map.x(a) - x, map.y(b) - y));
    const least = Math.min(...far);
    if (least > 26) return;
    this.selected = far.indexOf(least) - 1;
    this.held = map;
    this.plane.element.setPointerCapture(event.pointerId);
    this.draw();
  }

  drag(event) {
    if (this.held) this.move(this.held.back(this.plane.at(event)));
  }

  key(event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key === " ") {
      this.selected = this.selected + 2 > this.states.length ? -1 : this.selected + 1;
      this.draw();
    } else if (ways[event.key]) {
      const size = Math.max(this.high[0] - this.low[0], this.high[1] - this.low[1]) * (event.shiftKey ? 0.002 : 0.02);
      const from = this.selected < 0 ? this.target : this.states[this.selected];
      this.move([0, 1].map((k) => from[k] + size * ways[event.key][k]));
    } else return;
    event.preventDefault();
  }

  settings() { return { states: this.states, target: [this.target], temperature: this.T }; }

  clear() {
    this.t = this.stored = this.painted = 0;
    this.trail = [[0, 0]];
    this.span = { low: [0, 0], high: [0, 0] };
    this.times = []; this.herded = []; this.random = [];
  }

  started(frame, kept) {
    const last = this.trail.at(-1);
    this.clear();
    if (kept) this.trail = [last];
    this.reach(this.trail[0]);
    this.cycle = frame.cycle;
    this.period = frame.period;
    this.limit = frame.limit;
    for (let i = 0; i < this.cycle.length; i += 2) this.reach([this.cycle[i], this.cycle[i + 1]]);
    this.settle = this.T > 0 ? 300 : 10;
    this.periodText.value = this.period ? `Period ${this.period}` : "No period found";
  }

  /** Show a place, and the cones on the other side of their top as well. */
  reach([x, y]) { this.grow([x, y]); this.grow([-x / 2, -y / 2]); }

  grow([x, y]) {
    const { low, high } = this.span;
    if (x >= low[0] && x <= high[0] && y >= low[1] && y <= high[1]) return;
    // further than needed, so that the picture is not redrawn at every step
    const pad = 0.1 * Math.max(high[0] - low[0], high[1] - low[1], Math.abs(x), Math.abs(y));
    if (x < low[0]) low[0] = x - pad;
    if (x > high[0]) high[0] = x + pad;
    if (y < low[1]) low[1] = y - pad;
    if (y > high[1]) high[1] = y + pad;
    this.painted = 0;
  }

  advanced(frame) {
    const { points, states, times, herded, random } = frame;
    const n = states.length, before = frame.t - n;
    for (let i = 0; i < n; i++) {
      const x = points[2 * i], y = points[2 * i + 1];
      this.grow([x, y]);
      if (before + i < this.settle) continue;
      const place = this.stored++ % KEPT;
      this.points[2 * place] = x;
      this.points[2 * place + 1] = y;
      this.labels[place] = states[i];
    }
    for (let i = Math.max(0, n - TRAIL); i < n; i++) this.trail.push([points[2 * i], points[2 * i + 1]]);
    this.trail = this.trail.slice(-TRAIL);
    this.times.push(...times); this.herded.push(...herded); this.random.push(...random);
    this.t = frame.t;
    this.last = states[n - 1];
  }

  map() { return new Plane(this.plane, this.low, this.high, 40); }

  draw(repaint = false) {
    if (repaint) this.painted = 0;
    if (!this.plane.width && !this.plane.fit()) return;
    this.drawStates();
    this.drawWeights();
    const slope = (from, k) => [1, 10 ** 7].map((t) => from * t ** k);
    const { herd, other, soft } = colours();
    const all = [...this.herded, ...this.random].filter((v) => v > ROUNDING);
    const [low, high] = decades(all, 2), last = Math.max(10, 10 ** Math.ceil(Math.log10(Math.max(this.t, 1)) - 1e-9));
    const top = this.random[0] ?? 1;
    chart(this.errors, { log: true, x: [1, last], y: [low, high], xLabel: "steps t", lines: [
      { x: [1, 1e7], y: slope(top, -1), colour: soft, dash: [2, 4], width: 1 },
      { x: [1, 1e7], y: slope(top, -0.5), colour: soft, dash: [2, 4], width: 1 },
      { x: this.times, y: this.random, colour: other, dash: [7, 4], label: "random, 1/√t" },
      { x: this.times, y: this.herded.map((v) => (v > ROUNDING ? v : 0)), colour: herd, label: "herded, 1/t" },
    ] });
  }

  drawStates() {
    const { card, ink, line, soft, states, herd } = colours(), c = this.plane.begin(card), map = this.held || this.map();
    c.beginPath();
    for (const i of this.corners) c.lineTo(map.x(this.states[i][0]), map.y(this.states[i][1]));
    c.closePath();
    c.fillStyle = herd; c.globalAlpha = 0.08; c.fill(); c.globalAlpha = 1;
    c.strokeStyle = soft; c.lineWidth = 1.5; c.stroke();
    c.textAlign = "center"; c.textBaseline = "middle"; c.font = "600 13px system-ui, sans-serif";
    this.states.forEach(([x, y], i) => {
      c.lineWidth = i === this.selected ? 4 : i === this.last ? 2.5 : 1;
      disc(c, map.x(x), map.y(y), 13, states[i], i === this.selected || i === this.last ? ink : line);
      c.fillStyle = card;
      c.fillText(i + 1, map.x(x), map.y(y));
    });
    const [x, y] = [map.x(this.target[0]), map.y(this.target[1])];
    for (const [colour, width] of [[card, 7], [ink, this.selected < 0 ? 4 : 2.5]]) {
      c.strokeStyle = colour; c.lineWidth = width;
      c.beginPath(); c.moveTo(x - 10, y); c.lineTo(x + 10, y); c.moveTo(x, y - 10); c.lineTo(x, y + 10); c.stroke();
    }
  }

  drawWeights() {
    const { card, ink, soft, states } = colours(), c = this.weights.begin(card);
    const map = new Plane(this.weights, this.span.low, this.span.high, 22);
    const [x0, y0] = [map.x(0), map.y(0)], far = 2 * (this.weights.width + this.weights.height);
    for (const { state, from, to } of this.cones) {
      c.beginPath(); c.moveTo(x0, y0); c.arc(x0, y0, far, -from, -to, true); c.closePath();
      c.globalAlpha = state === this.last && this.T === 0 ? 0.3 : 0.17;
      c.fillStyle = states[state]; c.fill(); c.globalAlpha = 1;
      c.strokeStyle = card; c.lineWidth = 2; c.stroke();
    }
    this.drawTipi(c, map, soft);
    this.paintCloud(map, states);
    c.drawImage(this.cloud, 0, 0, this.weights.width, this.weights.height);
    c.strokeStyle = ink; c.lineWidth = 1; c.globalAlpha = 0.55;
    c.beginPath();
    for (const [x, y] of this.trail) c.lineTo(map.x(x), map.y(y));
    c.stroke(); c.globalAlpha = 1;
    c.lineWidth = 2;
    for (let i = 0; i < this.cycle?.length; i += 2) disc(c, map.x(this.cycle[i]), map.y(this.cycle[i + 1]), 6, null, ink);
    const [x, y] = this.trail.at(-1);
    c.lineWidth = 2;
    disc(c, map.x(x), map.y(y), 5, ink, card);
    c.textAlign = "center"; c.textBaseline = "middle"; c.font = "600 13px system-ui, sans-serif";
    const reach = 0.46 * Math.min(this.weights.width, this.weights.height);
    for (const { state, from, to } of this.cones) {
      const angle = (from + to) / 2, place = [x0 + reach * Math.cos(angle), y0 - reach * Math.sin(angle)];
      const inside = place.map((v, k) => Math.max(14, Math.min([this.weights.width, this.weights.height][k] - 14, v)));
      c.lineWidth = 1;
      disc(c, ...inside, 10, states[state], card);
      c.fillStyle = card;
      c.fillText(state + 1, ...inside);
    }
  }

  drawTipi(c, map, colour) {
    const rays = this.cones.flatMap(({ from, to }) => [from, (from + to) / 2]).map((angle) => [Math.cos(angle), Math.sin(angle)]);
    const slopes = rays.map((ray) => Math.max(depth(this.states, this.target, ray), 1e-3));
    const size = Math.max(...[this.span.low, this.span.high].flat().map(Math.abs), 1e-9);
    const step = (size / 5) * Math.max(...slopes);
    c.strokeStyle = colour; c.lineWidth = 1;
    for (let level = 1; level <= 12; level++) {
      c.globalAlpha = 0.6;
      c.beginPath();
      rays.forEach(([x, y], k) => c.lineTo(map.x((x * level * step) / slopes[k]), map.y((y * level * step) / slopes[k])));
      c.closePath(); c.stroke();
    }
    c.globalAlpha = 1;
  }

  /** Points of the attractor lie on a picture of their own: only new ones are painted. */
  paintCloud(map, palette) {
    const { element, scale } = this.weights;
    if (!this.painted || this.cloud.width !== element.width || this.cloud.height !== element.height) {
      [this.cloud.width, this.cloud.height] = [element.width, element.height];
      this.painted = Math.max(0, this.stored - KEPT);
    }
    const c = this.cloud.getContext("2d"), size = this.stored > 20_000 ? 1 : 1.6;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    for (; this.painted < this.stored; this.painted++) {
      const place = this.painted % KEPT;
      c.fillStyle = palette[this.labels[place]];
      c.fillRect(map.x(this.points[2 * place]) - size / 2, map.y(this.points[2 * place + 1]) - size / 2, size, size);
    }
  }

  view() {
    const text = (point) => point.map(round).join(",");
    return { states: this.states.map(text).join(";"), target: text(this.target), T: round(this.T) };
  }

  open(view) {
    const read = (text) => text.split(",").map(Number);
    const states = (view.get("states") ?? "").split(";").map(read), target = read(view.get("target") ?? "");
    const fit = (p) => p.length === 2 && p.every((v) => Number.isFinite(v) && Math.abs(v) <= 1000);
    const own = states.length > 1 && states.length <= MOST_STATES && states.every(fit) && fit(target);
    const T = Number(view.get("T") ?? this.T);
    const start = PRESETS[view.get("preset")] ?? PRESETS.doubling;
    this.set({ ...(own ? { states, target } : start), T: T >= 0 && T <= 1000 ? T : 0 });
    const same = Object.entries(PRESETS).find(([, p]) => p.states.join() === this.states.join());
    this.preset.value = same ? same[0] : "";
  }

  csv() {
    const lines = ["step,weight_1,weight_2,best_state"], n = Math.min(this.stored, KEPT);
    for (let k = this.stored - n; k < this.stored; k++) {
      const i = k % KEPT;
      lines.push([this.t - this.stored + k + 1, this.points[2 * i], this.points[2 * i + 1], this.labels[i] + 1].join());
    }
    return lines;
  }

  status() { return `${counted(this.t)} steps`; }
}
