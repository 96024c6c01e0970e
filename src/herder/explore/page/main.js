// Tabs, the run, the view in the address, and what can be saved.

import { colours, counted } from "./chart.js";
import { FieldView } from "./field.js";
import { Link } from "./link.js";
import { NeuronView } from "./neuron.js";
import { PointsView } from "./points.js";
import { SystemView } from "./system.js";

const el = (id) => document.getElementById(id);
const tabs = ["system", "points", "neuron", "field"];
const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

let running = false, turn = 0, current = "system", asking = false, wanted = null;

function say(text) {
  el("message").textContent = text;
  el("message").hidden = !text;
}

const host = { say, changed: () => begin(true), restart: () => begin(false) };
const views = {
  system: new SystemView(host), points: new PointsView(host),
  neuron: new NeuronView(host), field: new FieldView(host),
};
const view = () => views[current];
const link = new Link((reason) => {
  running = false;
  showRun();
  for (const id of ["run", "step", "restart"]) el(id).disabled = true;
  const ended = "The explorer has ended. Start it again with: herder explore";
  say(reason ? `The connection was refused: ${reason}.` : ended);
});

/** Start the scene with its settings; while one start is on its way, only the last other waits. */
async function begin(keep) {
  wanted = { own: view(), name: current, keep: wanted ? wanted.keep && keep : keep };
  writeView();
  if (asking) return;
  asking = true;
  while (wanted) {
    const { own, name, keep: kept } = wanted;
    wanted = null;
    const settings = own.settings();
    try {
      if (settings) {
        own.started(await link.ask(name, "start", { ...settings, keep: kept }), kept);
        own.ready = true;
        say("");
      } else { own.clear(); own.ready = false; }
    } catch (error) {
      own.ready = false;
      if (!kept) own.clear();
      say(error.message);
    }
    own.draw();
  }
  asking = false;
  showStatus();
}

async function advance(n) {
  const own = view();
  if (asking || !own.ready) return false;
  if (own.t >= own.limit) { stop(); return false; }
  try {
    const frame = await link.ask(current, "advance", { n });
    if (asking || own !== view()) return false;  // of a scene that is no more
    own.advanced(frame);
  } catch (error) {
    stop();
    say(error.message);
    return false;
  }
  own.draw();
  return true;
}

async function run() {
  if (running) return;
  if (view().ready && view().t >= view().limit) await begin(false);
  running = true;
  const mine = ++turn;  // a pause and a new run may come while this one waits
  showRun();
  let due = 1, last = performance.now();
  let since = last, frames = 0, steps = 0;
  while (running && mine === turn) {
    await nextFrame();
    const scene = view(), now = performance.now();
    due = Math.min(due + ((now - last) / 1000) * scene.speeds[scene.speed], scene.most);
    last = now;
    const n = Math.floor(due), before = scene.t;
    if (n >= 1 && (await advance(n))) {
      due -= n;
      frames += 1;
      steps += scene.t - before;
    }
    if (now - since > 500) {
      const seconds = (now - since) / 1000;
      const [speed, pace] = [steps, frames].map((n) => counted(Math.round(n / seconds)));
      showStatus(`${speed} ${scene.unit} and ${pace} frames a second`);
      [since, frames, steps] = [now, 0, 0];
    }
  }
  showStatus();  // the last frame may have come after the pause
}

function stop() {
  running = false;
  showRun();
  showStatus();
}

function showRun() {
  el("run").textContent = running ? "Pause" : "Run";
  el("run").setAttribute("aria-pressed", running);
}

function showStatus(more = "") {
  const own = view();
  const note = more || (own.t >= own.limit ? "the end of the run" : "");
  el("status").textContent = own.status() + (note ? ` – ${note}` : "");
}

function showSpeed() {
  const own = view();
  el("speed").max = own.speeds.length - 1;
  el("speed").value = own.speed;
  el("speed-text").value = `${counted(own.speeds[own.speed])} ${own.unit} a second`;
}

function show(name) {
  if (running) stop();
  current = name;
  say("");
  for (const one of tabs) {
    const here = one === name;
    el(one).hidden = !here;
    el(`tab-${one}`).setAttribute("aria-selected", here);
    el(`tab-${one}`).tabIndex = here ? 0 : -1;
  }
  showSpeed();
  if (view().ready) { view().draw(); writeView(); showStatus(); } else begin(false);
}

function fragment() {
  const parts = Object.entries({ tab: current, ...view().view(), speed: view().speeds[view().speed] });
  const plain = (text) => text.replaceAll("%2C", ",").replaceAll("%3B", ";").replaceAll("%2F", "/");
  return parts.map(([key, value]) => `${key}=${plain(encodeURIComponent(value))}`).join("&");
}

function writeView() { history.replaceState(null, "", `#${fragment()}`); }

/** Show the view that the address names. */
function readView() {
  const found = new URLSearchParams(location.hash.slice(1)), name = found.get("tab");
  const own = views[tabs.includes(name) ? name : "system"];
  if ([...found.keys()].length) own.open(found);
  const speed = own.speeds.indexOf(Number(found.get("speed")));
  if (speed >= 0) own.speed = speed;
  own.ready = false;
  show(tabs.includes(name) ? name : "system");
}

function save(blob, name) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}

/** All pictures of the tab as one, with their captions, where they stand on the page. */
function savePicture() {
  const figures = view().pictures.map((picture) => picture.element), scale = window.devicePixelRatio || 1;
  const area = el(current).querySelector(".figures").getBoundingClientRect();
  const whole = document.createElement("canvas"), c = whole.getContext("2d"), { card, ink } = colours();
  [whole.width, whole.height] = [area.width * scale, area.height * scale];
  c.scale(scale, scale);
  c.fillStyle = card;
  c.fillRect(0, 0, area.width, area.height);
  c.fillStyle = ink;
  c.textBaseline = "top";
  c.font = "600 14px system-ui, sans-serif";
  for (const figure of figures) {
    const box = figure.getBoundingClientRect(), caption = figure.closest("figure").querySelector("figcaption");
    const head = caption.getBoundingClientRect();
    c.drawImage(figure, box.left - area.left, box.top - area.top, box.width, box.height);
    c.fillText(caption.innerText, head.left - area.left, head.top - area.top, head.width);
  }
  whole.toBlob((blob) => save(blob, `herder-${current}.png`));
}

async function share() {
  const command = `herder explore '${fragment().replaceAll("'", "%27")}'`;
  try {
    await navigator.clipboard.writeText(command);
    say(`Copied. Type it on another machine: ${command}`);
  } catch {
    say(`Type it on another machine: ${command}`);
  }
}

tabs.forEach((name, k) => {
  el(`tab-${name}`).onclick = () => show(name);
  el(`tab-${name}`).onkeydown = (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const next = tabs[(k + way + tabs.length) % tabs.length];
    show(next);
    el(`tab-${next}`).focus();
  };
});
el("run").onclick = () => (running ? stop() : run());
el("step").onclick = async () => { stop(); await advance(1); showStatus(); };
el("restart").onclick = () => begin(false);
el("speed").oninput = () => { view().speed = el("speed").valueAsNumber; showSpeed(); writeView(); };
el("save-png").onclick = savePicture;
el("save-csv").onclick = () => {
  const text = `${view().csv().join("\n")}\n`;
  save(new Blob([text], { type: "text/csv" }), `herder-${current}.csv`);
};
el("share").onclick = share;
window.onhashchange = readView;
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view().draw(true));

await link.open();
readView();
document.body.dataset.ready = "true";
