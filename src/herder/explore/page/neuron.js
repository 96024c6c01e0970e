// One neuron and its word.

import { chart, colours, counted, disc, Picture } from "./chart.js";

const SHOWN = 300;

export class NeuronView {
  speeds = [1, 3, 10, 30, 100, 300, 1000, 3000];
  speed = 2;
  most = 500;
  unit = "terms";

  constructor(host) {
    this.host = host;
    const el = (id) => document.getElementById(id);
    this.circle = new Picture("circle", () => this.draw());
    this.word = new Picture("word", () => this.draw());
    this.errors = new Picture("discrepancy", () => this.draw());
    this.counts = new Picture("words", () => this.draw());
    this.pictures = [this.circle, this.word, this.errors, this.counts];
    const ids = ["rate-preset", "rate", "centred", "neuron-period"];
    [this.preset, this.text, this.centred, this.periodText] = ids.map(el);
    this.preset.onchange = () => {
      if (!this.preset.value) return this.text.focus();
      this.text.value = this.preset.value;
      this.host.restart();
    };
    this.text.onchange = () => { this.match(); this.host.restart(); };
    this.centred.onchange = () => this.host.restart();
    this.text.value = "golden";
    this.clear();
  }

  match() {
    const known = [...this.preset.options].some((o) => o.value === this.text.value.trim());
    this.preset.value = known ? this.text.value.trim() : "";
  }

  settings() { return { rate: this.text.value.trim(), centred: this.centred.checked }; }

  clear() { this.t = 0; this.states = []; this.steps = []; this.words = []; }

  started(frame) {
    this.clear();
    Object.assign(this, { rate: frame.rate, first: frame.weight, limit: frame.limit });
    this.periodText.value = frame.period ? `Period ${counted(frame.period)}` : "No period";
  }

  advanced(frame) {
    this.t = frame.t;
    this.states.push(...frame.states);
    this.steps.push(...frame.errors);
    this.words = [...frame.words];
  }

  draw() {
    if (!this.circle.width && !this.circle.fit()) return;
    if (this.rate === undefined) return;
    const { card, ink, soft, herd, other, line, down } = colours();
    this.drawCircle({ card, ink, soft, herd, line });
    const c = this.word.begin(card), columns = 34, size = (this.word.width - 8) / columns;
    const rows = Math.max(1, Math.floor((this.word.height - 8) / size)), total = rows * columns;
    const from = Math.max(0, Math.ceil((this.states.length - total) / columns) * columns);
    this.states.slice(from).forEach((s, k) => {
      c.fillStyle = s ? herd : down;
      c.fillRect(4 + (k % columns) * size, 4 + Math.floor(k / columns) * size, size - 1.5, size - 1.5);
    });
    const low = Math.max(0, this.steps.length - SHOWN), shown = this.steps.slice(low);
    const x = shown.map((_, k) => low + k + 1), ends = [low + 1, low + SHOWN];
    const bound = this.centred.checked ? 0.5 : 1;
    chart(this.errors, { x: ends, y: [-1.2, 1.2], xLabel: "terms", lines: [
      { x: ends, y: [bound, bound], colour: soft, dash: [4, 4], width: 1 },
      { x: ends, y: [-bound, -bound], colour: soft, dash: [4, 4], width: 1 },
      { x, y: shown, colour: herd, width: 1.5 },
    ] });
    const lengths = this.words.map((_, k) => k + 1), least = [1, 16];
    chart(this.counts, { x: least, y: [0, 18], xLabel: "length", lines: [
      { x: lengths, y: this.words, colour: herd, label: "words", width: 3 },
      { x: least, y: least.map((k) => k + 1), colour: other, dash: [6, 6], label: "length + 1" },
    ] });
  }

  drawCircle({ card, ink, soft, herd, line }) {
    const c = this.circle.begin(card), { width, height } = this.circle, radius = Math.min(width, height) / 2 - 26;
    const [x0, y0] = [width / 2, height / 2], angle = (w) => 2 * Math.PI * (w - this.rate + 1) - Math.PI / 2;
    c.lineWidth = 12;
    c.strokeStyle = line; c.beginPath(); c.arc(x0, y0, radius, 0, 2 * Math.PI); c.stroke();
    c.strokeStyle = herd; c.beginPath(); c.arc(x0, y0, radius, angle(0), angle(this.rate)); c.stroke();
    const weight = (t) => (t === 0 ? this.first : this.first - this.steps[t - 1]);
    const place = (w) => [x0 + radius * Math.cos(angle(w)), y0 + radius * Math.sin(angle(w))];
    c.lineWidth = 1; c.strokeStyle = soft; c.beginPath();
    for (let t = Math.max(0, this.t - 8); t <= this.t; t++) c.lineTo(...place(weight(t)));
    c.stroke();
    c.lineWidth = 2;
    disc(c, ...place(weight(this.t)), 8, ink, card);
    const fires = weight(this.t) > 1e-12;
    c.textAlign = "center"; c.textBaseline = "middle"; c.font = "600 15px system-ui, sans-serif";
    c.fillStyle = fires ? herd : soft;
    c.fillText(fires ? "will fire" : "rests", x0, y0);
  }

  view() { return { rate: this.text.value.trim(), ...(this.centred.checked ? { centred: 1 } : {}) }; }

  open(view) {
    if (view.get("rate")) this.text.value = view.get("rate").slice(0, 40);
    this.centred.checked = view.get("centred") === "1";
    this.match();
  }

  csv() { return ["term,spike,spikes_minus_expected", ...this.states.map((s, k) => [k + 1, s, this.steps[k]].join())]; }

  status() { return `${counted(this.t)} terms`; }
}
