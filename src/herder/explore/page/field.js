// An Ising field by three samplers.

import { chart, colours, counted, Picture } from "./chart.js";

const SIDE = 64, KEPT = 400, CRITICAL = 2.269;
const NAMES = ["Gibbs", "herded Gibbs", "Swendsen-Wang"], DASHES = [[7, 4], [], [2, 3]];

export class FieldView {
  speeds = [1, 5, 20, 60, 240, 960];
  speed = 3;
  most = 64;
  unit = "sweeps";

  constructor(host) {
    this.host = host;
    const el = (id) => document.getElementById(id);
    this.spins = NAMES.map((_, k) => new Picture(`spins-${k}`, () => this.draw()));
    this.m = new Picture("magnetisation", () => this.draw());
    this.e = new Picture("energy", () => this.draw());
    this.pictures = [...this.spins, this.m, this.e];
    this.small = document.createElement("canvas");
    this.small.width = this.small.height = SIDE;
    [this.heat, this.text] = ["ising", "ising-text"].map(el);
    this.heat.oninput = () => this.set(this.heat.valueAsNumber);
    el("to-critical").onclick = () => this.set(CRITICAL);
    this.show(CRITICAL);
    this.clear();
  }

  show(T) { this.T = T; this.heat.value = T; this.text.value = T.toFixed(3); }

  set(T) { this.show(T); this.host.changed(); }

  settings() { return { temperature: this.T }; }

  clear() { this.t = 0; this.base = 0; this.history = []; }

  started(frame, kept) {
    if (kept) this.base = this.t;
    else this.clear();
    this.limit = frame.limit;
    this.keep(frame);
  }

  advanced(frame) { this.keep(frame); }

  keep(frame) {
    this.states = frame.spins;
    this.t = this.base + frame.t;
    this.history.push({ t: this.t, m: [...frame.magnetisation], e: [...frame.energy] });
    this.history = this.history.slice(-KEPT);
  }

  draw() {
    if (!this.states || (!this.m.width && !this.m.fit())) return;
    const found = colours(), parts = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
    const shades = [parts(found.down), parts(found.up)], small = this.small.getContext("2d");
    const image = small.createImageData(SIDE, SIDE);
    this.spins.forEach((picture, k) => {
      for (let i = 0; i < SIDE * SIDE; i++) {
        image.data.set(shades[this.states[k * SIDE * SIDE + i]], 4 * i);
        image.data[4 * i + 3] = 255;
      }
      small.putImageData(image, 0, 0);
      const c = picture.begin(found.card);
      c.imageSmoothingEnabled = false;
      c.drawImage(this.small, 0, 0, picture.width, picture.height);
    });
    const x = this.history.map((h) => h.t), ends = [x[0], Math.max(x.at(-1), x[0] + 50)];
    const colour = [found.other, found.herd, found.third];
    const lines = (of) => NAMES.map((label, k) => (
      { x, y: this.history.map((h) => h[of][k]), colour: colour[k], dash: DASHES[k], label }));
    chart(this.m, { x: ends, y: [-1, 1], xLabel: "sweeps", lines: lines("m") });
    chart(this.e, { x: ends, y: [-2, 0], xLabel: "sweeps", lines: lines("e") });
  }

  view() { return { T: this.T }; }

  open(view) {
    const T = Number(view.get("T"));
    this.show(T >= 1 && T <= 4 ? T : CRITICAL);
  }

  csv() {
    const names = ["gibbs", "herded_gibbs", "swendsen_wang"];
    const head = ["sweep", ...names.map((n) => `magnetisation_${n}`), ...names.map((n) => `energy_${n}`)];
    return [head.join(), ...this.history.map((h) => [h.t, ...h.m, ...h.e].join())];
  }

  status() { return `${counted(this.t)} sweeps`; }
}
