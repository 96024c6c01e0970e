// Drawing: colours of the page, canvases as sharp as the screen, and axes.

/** The colours of the style sheet, light or dark. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ink", "soft", "line", "card", "herd", "other", "third", "fourth", "up", "down"];
  const found = Object.fromEntries(names.map((name) => [name, read(name)]));
  return { ...found, series: [found.herd, found.other, found.third, found.fourth], states: read("states").split(/\s+/) };
}

export const short = (number, digits = 3) =>
  Math.abs(number) >= 1e5 || (number !== 0 && Math.abs(number) < 1e-3)
    ? number.toExponential(digits - 1) : String(Number(number.toPrecision(digits)));

export const counted = (number) => number.toLocaleString("en-GB");

/** A canvas in pixels of the page; `changed` is called when its size is another. */
export class Picture {
  constructor(id, changed = () => {}) {
    this.element = document.getElementById(id);
    this.context = this.element.getContext("2d");
    this.width = this.height = 0;
    new ResizeObserver(() => { if (this.fit()) changed(); }).observe(this.element);
  }

  fit() {
    const { clientWidth, clientHeight } = this.element;
    const scale = window.devicePixelRatio || 1;
    const size = [Math.round(clientWidth * scale), Math.round(clientHeight * scale)];
    if (!size[0] || (this.element.width === size[0] && this.element.height === size[1])) return false;
    [this.element.width, this.element.height] = size;
    [this.width, this.height, this.scale] = [clientWidth, clientHeight, scale];
    return true;
  }

  /** Clear and return the context. */
  begin(fill) {
    if (!this.width) this.fit();
    const c = this.context;
    c.setTransform(this.scale || 1, 0, 0, this.scale || 1, 0, 0);
    c.fillStyle = fill;
    c.fillRect(0, 0, this.width, this.height);
    c.lineJoin = "round";
    c.font = "12px system-ui, sans-serif";
    return c;
  }

  /** Where a pointer is, in pixels of the page. */
  at(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }
}

/** A part of the plane on a picture, with equal units on both axes. */
export class Plane {
  constructor(picture, low, high, margin = 24) {
    const { width, height } = picture;
    const spans = [high[0] - low[0] || 1, high[1] - low[1] || 1];
    this.unit = Math.max(1e-9, Math.min((width - 2 * margin) / spans[0], (height - 2 * margin) / spans[1]));
    this.middle = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.centre = [width / 2, height / 2];
  }
  x(value) { return this.centre[0] + (value - this.middle[0]) * this.unit; }
  y(value) { return this.centre[1] - (value - this.middle[1]) * this.unit; }
  back([x, y]) {
    return [this.middle[0] + (x - this.centre[0]) / this.unit, this.middle[1] - (y - this.centre[1]) / this.unit];
  }
}

/** Steps of an axis: powers of ten, or about five round numbers. */
function ticks(low, high, log) {
  const found = [];
  if (log) {
    const every = Math.max(1, Math.ceil(Math.log10(high / low) / 6));
    for (let k = Math.ceil(Math.log10(low) - 1e-9); k <= Math.log10(high) + 1e-9; k += every) found.push(10 ** k);
    return found;
  }
  const raw = (high - low) / 5, size = 10 ** Math.floor(Math.log10(raw));
  const step = size * [1, 2, 5, 10].find((k) => k * size >= raw);
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

const SUPERS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = (value) => {
  const k = Math.round(Math.log10(value));
  if (k >= -2 && k <= 3) return counted(value);
  return `10${k < 0 ? "⁻" : ""}${[...String(Math.abs(k))].map((digit) => SUPERS[digit]).join("")}`;
};

/**
 * Draw axes and lines. A line is {x, y, colour, dash, label}; y may be logarithmic, and x with it.
 * Labels stand at the ends of lines, apart from each other.
 */
export function chart(picture, { lines, x: [x0, x1], y: [y0, y1], log = false, xLabel = "" }) {
  const c = picture.begin(colours().card), { ink, soft, line } = colours();
  const box = { left: 46, right: picture.width - 10, top: 10, bottom: picture.height - 34 };
  const f = log ? Math.log10 : (v) => v;
  const px = (v) => box.left + ((f(v) - f(x0)) / (f(x1) - f(x0))) * (box.right - box.left);
  const py = (v) => box.bottom - ((f(v) - f(y0)) / (f(y1) - f(y0))) * (box.bottom - box.top);
  c.strokeStyle = line;
  c.fillStyle = soft;
  c.lineWidth = 1;
  c.textBaseline = "middle";
  for (const v of ticks(y0, y1, log)) {
    c.beginPath(); c.moveTo(box.left, py(v)); c.lineTo(box.right, py(v)); c.stroke();
    c.textAlign = "right";
    c.fillText(log ? power(v) : short(v), box.left - 6, py(v));
  }
  c.textBaseline = "top";
  c.textAlign = "center";
  for (const v of ticks(x0, x1, log)) {
    c.beginPath(); c.moveTo(px(v), box.bottom); c.lineTo(px(v), box.bottom + 4); c.stroke();
    c.fillText(log ? power(v) : counted(v + 0), px(v), box.bottom + 6);
  }
  c.textAlign = "right";
  c.fillText(xLabel, box.right, box.bottom + 19);
  const labels = [];
  for (const { x, y, colour, dash = [], label, width = 2 } of lines) {
    c.save();
    c.beginPath(); c.rect(box.left, 0, box.right - box.left + 2, box.bottom + 1); c.clip();
    c.beginPath();
    let last = null;
    for (let i = 0; i < x.length; i++) {
      if (log && !(y[i] > 0 && x[i] > 0)) continue;
      last = [px(x[i]), py(y[i])];
      c.lineTo(...last);
    }
    c.strokeStyle = colour; c.lineWidth = width; c.setLineDash(dash); c.stroke();
    c.restore();
    if (label && last) labels.push({ label, colour, x: last[0], y: last[1] });
  }
  labels.sort((a, b) => a.y - b.y);
  c.textBaseline = "middle";
  c.font = "600 12px system-ui, sans-serif";
  let under = -Infinity;
  for (const one of labels) {
    const wide = c.measureText(one.label).width + 6;
    const left = Math.min(one.x + 6, box.right - wide);
    const top = Math.min(Math.max(one.y - (left < one.x ? 12 : 0), under + 15, box.top + 6), box.bottom - 8);
    under = top;
    c.textAlign = "left";
    c.fillStyle = colours().card;
    c.globalAlpha = 0.8; c.fillRect(left - 2, top - 8, wide, 16); c.globalAlpha = 1;
    c.fillStyle = one.colour ?? ink;
    c.fillText(one.label, left, top);
  }
}

/** Range of values that a logarithmic axis shows: whole powers of ten. */
export function decades(values, least = 1) {
  const seen = values.filter((v) => v > 0 && Number.isFinite(v));
  if (!seen.length) return [0.1, 1];
  const low = Math.floor(Math.log10(Math.min(...seen)) + 1e-9);
  const high = Math.ceil(Math.log10(Math.max(...seen)) - 1e-9);
  return [10 ** low, 10 ** Math.max(high, low + least)];
}

export function disc(c, x, y, radius, fill, ring) {
  c.beginPath();
  c.arc(x, y, radius, 0, 2 * Math.PI);
  if (fill) { c.fillStyle = fill; c.fill(); }
  if (ring) { c.strokeStyle = ring; c.stroke(); }
}
