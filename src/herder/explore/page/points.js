// Points herded from a sample, beside random ones.

import { chart, colours, counted, decades, disc, Picture, Plane } from "./chart.js";

const MOST_BYTES = 4_000_000, MOST_DABS = 2_000;

export class PointsView {
  speeds = [1, 2, 5, 10, 20, 50, 100];
  speed = 3;
  most = 20;
  unit = "points";

  constructor(host) {
    this.host = host;
    const el = (id) => document.getElementById(id);
    this.left = new Picture("herded", () => this.draw());
    this.right = new Picture("random", () => this.draw());
    this.errors = new Picture("points-error", () => this.draw());
    this.pictures = [this.left, this.right, this.errors];
    [this.source, this.file, this.better, this.wipe] = ["source", "upload", "better", "clear-drawing"].map(el);
    this.hint = el("draw-hint");
    this.source.onchange = () => {
      this.host.say("");
      this.mode();
      if (this.source.value === "csv" && !this.table) this.file.click();
      else this.host.restart();
    };
    this.file.onchange = () => this.upload();
    this.wipe.onclick = () => { this.dabs = []; this.host.restart(); };
    const pad = this.left.element;
    pad.onpointerdown = (event) => {
      if (!this.drawing) return;
      this.held = true;
      pad.setPointerCapture(event.pointerId);
      this.paint(event);
    };
    pad.onpointermove = (event) => { if (this.held) this.paint(event); };
    pad.onpointerup = pad.onpointercancel = () => {
      if (!this.held) return;
      this.held = false;
      this.host.restart();
    };
    pad.onkeydown = (event) => this.key(event);
    this.dabs = [];
    this.brush = [0.5, 0.5];
    this.clear();
    this.mode();
  }

  get drawing() { return this.source.value === "drawn"; }

  mode() {
    document.getElementById("upload-label").hidden = this.source.value !== "csv";
    this.wipe.hidden = this.hint.hidden = !this.drawing;
    this.left.element.classList.toggle("pad", this.drawing);
  }

  async upload() {
    const [file] = this.file.files;
    if (!file) return;
    this.source.value = "csv";
    this.mode();
    if (file.size > MOST_BYTES) {
      const [found, most] = [file.size, MOST_BYTES].map(counted);
      return this.host.say(`${file.name} has ${found} bytes; at most ${most} can be read.`);
    }
    this.table = { text: await file.text(), name: file.name };
    this.host.restart();
  }

  paint(event) {
    this.dab(this.pad().back(this.left.at(event)));
    this.draw();
  }

  dab(place) {
    if (this.dabs.length < MOST_DABS) this.dabs.push(place.map((v) => Math.min(1, Math.max(0, Number(v.toFixed(3))))));
  }

  key(event) {
    if (!this.drawing) return;
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (ways) this.brush = this.brush.map((v, k) => Math.min(1, Math.max(0, v + 0.04 * ways[k])));
    else if (event.key === " ") { this.dab(this.brush); this.host.restart(); } else return;
    event.preventDefault();
    this.draw();
  }

  settings() {
    const source = this.source.value;
    if (source === "drawn") return this.dabs.length ? { source, dabs: this.dabs } : null;
    if (source === "csv") return this.table ? { source, ...this.table } : null;
    return { source };
  }

  clear() {
    this.t = 0;
    this.rows = new Float32Array();
    this.herded = []; this.random = []; this.herdedMmd = []; this.randomMmd = [];
    this.better?.replaceChildren();
  }

  started(frame) {
    this.clear();
    const { rows, names, limit, n_rows: nRows, n_columns: nColumns } = frame;
    Object.assign(this, { rows, names, limit, nRows, nColumns });
    this.low = [Infinity, Infinity];
    this.high = [-Infinity, -Infinity];
    for (let i = 0; i < this.rows.length; i++) {
      this.low[i % 2] = Math.min(this.low[i % 2], this.rows[i]);
      this.high[i % 2] = Math.max(this.high[i % 2], this.rows[i]);
    }
    if (this.drawing) [this.low, this.high] = [[0, 0], [1, 1]];
  }

  advanced(frame) {
    this.t = frame.t;
    this.herded.push(...frame.herded); this.random.push(...frame.random);
    this.herdedMmd.push(...frame.herded_mmd); this.randomMmd.push(...frame.random_mmd);
    const times = this.randomMmd.at(-1) / this.herdedMmd.at(-1);
    this.better.value = Number.isFinite(times) ? `${this.t} points: ${times.toPrecision(2)} times closer` : "";
  }

  pad() { return new Plane(this.left, [0, 0], [1, 1], 12); }

  draw() {
    if (!this.left.width && !this.left.fit()) return;
    const { herd, other, soft, ink } = colours();
    this.scatter(this.left, this.herded, herd);
    this.scatter(this.right, this.random, other);
    if (this.drawing) {
      const c = this.left.context, pad = this.pad();
      if (this.held || !this.rows.length) for (const [x, y] of this.dabs) disc(c, pad.x(x), pad.y(y), 5, soft);
      c.lineWidth = 1;
      disc(c, pad.x(this.brush[0]), pad.y(this.brush[1]), 7, null, ink);
    }
    const x = this.herded.map((_, k) => k + 1);
    const both = [...this.herdedMmd, ...this.randomMmd];
    chart(this.errors, { log: true, x: [1, Math.max(this.limit ?? 0, 100)], y: decades(both), xLabel: "points", lines: [
      { x, y: this.randomMmd, colour: other, dash: [7, 4], label: "random" },
      { x, y: this.herdedMmd, colour: herd, label: "herded" },
    ] });
  }

  /** Columns have units of their own: each is stretched over the picture. */
  scatter(picture, picks, colour) {
    const { card, soft } = colours(), c = picture.begin(card);
    if (!this.rows.length) {
      c.fillStyle = soft; c.textAlign = "center";
      const text = { drawn: "Draw where points should be", csv: "Choose a CSV file" }[this.source.value] ?? "";
      if (picture === this.left) c.fillText(text, picture.width / 2, picture.height / 2);
      return;
    }
    const pad = this.pad(), margin = 16;
    const place = (k, size, i) => {
      const share = (this.rows[2 * i + k] - this.low[k]) / (this.high[k] - this.low[k] || 1);
      return margin + share * (size - 2 * margin);
    };
    const { width, height } = picture;
    const x = (i) => (this.drawing ? pad.x(this.rows[2 * i]) : place(0, width, i));
    const y = (i) => (this.drawing ? pad.y(this.rows[2 * i + 1]) : height - place(1, height, i));
    c.fillStyle = soft;
    c.globalAlpha = 0.4;
    for (let i = 0; i < this.rows.length / 2; i++) c.fillRect(x(i) - 1, y(i) - 1, 2, 2);
    c.globalAlpha = 1;
    c.lineWidth = 1.5;
    picks.forEach((i, k) => disc(c, x(i), y(i), k === picks.length - 1 ? 8 : 5, colour, card));
    c.fillStyle = soft;
    c.textAlign = "right"; c.textBaseline = "bottom";
    c.fillText(this.names[0] ?? "", picture.width - 4, picture.height - 2);
    c.textAlign = "left"; c.textBaseline = "top";
    c.fillText(this.names[1] ?? "", 4, 2);
  }

  view() {
    const found = { source: this.source.value };
    if (this.drawing) found.dabs = this.dabs.slice(0, 400).map((d) => d.join(",")).join(";");
    return found;
  }

  open(view) {
    const parts = (view.get("dabs") ?? "").split(";").filter(Boolean);
    const dabs = parts.map((part) => part.split(",").map(Number));
    if (dabs.every((d) => d.length === 2 && d.every((v) => v >= 0 && v <= 1))) this.dabs = dabs;
    const wanted = view.get("source");
    if ([...this.source.options].some((o) => o.value === wanted)) this.source.value = wanted;
    this.mode();
  }

  csv() {
    const name = (k) => `"${String(this.names?.[k] ?? "").replaceAll('"', '""')}"`;
    const lines = [`order,set,row,${name(0)},${name(1)},mmd`];
    for (const [set, picks, mmd] of [["herded", this.herded, this.herdedMmd], ["random", this.random, this.randomMmd]]) {
      picks.forEach((i, k) => lines.push([k + 1, set, i, this.rows[2 * i], this.rows[2 * i + 1], mmd[k]].join()));
    }
    return lines;
  }

  status() {
    if (!this.rows.length) return "no points yet";
    const used = this.rows.length / 2, part = used < this.nRows ? `, ${counted(used)} of them used` : "";
    const columns = this.nColumns > 2 ? `; compared over ${this.nColumns} columns, two are shown` : "";
    return `${this.t} points of ${counted(this.nRows)}${part}${columns}`;
  }
}
