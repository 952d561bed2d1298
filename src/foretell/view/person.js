// The page of the person beside a robot. It asks the server what is asked, shows it, and sends what is pressed.
// The token is in the address's fragment once, and then kept by this tab alone.

const $ = (id) => document.getElementById(id);
const PERIOD = 250, PICTURE = 500, LOST = 3000;
const NAMES = { "\n": "Enter", "\u001b": "Esc", " ": "" };

const headers = { "x-foretell-token": token() || "" };
let now = { question: null }, scene = null, heard = Date.now(), mix = 0.5;

async function load(path) {
  const answer = await fetch(path, { headers, cache: "no-store" });
  if (!answer.ok) throw new Error((await answer.json()).error);
  return answer;
}

async function send(body) {
  for (const button of document.querySelectorAll("footer button:not(.stop)")) button.disabled = true;
  $("problem").textContent = "";
  try {
    const answer = await fetch("person/answer", {
      method: "POST", headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ question: now.question, ...body }),
    });
    if (!answer.ok) throw new Error((await answer.json()).error);
  } catch (error) {
    $("problem").textContent = error.message;
    for (const button of document.querySelectorAll("footer button")) button.disabled = false;
  }
}

function button([key, words]) {
  const node = document.createElement("button");
  node.type = "button";
  const name = key in NAMES ? NAMES[key] : key;
  if (name) {
    const mark = document.createElement("kbd");
    mark.textContent = name;
    node.append(mark);
  }
  node.append(words);
  if (key === "\n") node.className = "first";
  if ((now.chosen || []).includes(key)) node.setAttribute("aria-pressed", "true");
  if (now.state === "run" && key === " ") node.className = "stop";
  node.addEventListener("click", () => send({ key }));
  return node;
}

function show() {
  document.body.dataset.state = now.state;
  $("head").textContent = now.head || "";
  $("words").textContent = now.words || "";
  $("card").hidden = !now.words;
  $("text").textContent = (now.text || "").replace(/ \([^)]*\):? *$/, "");  // what keys do is on the buttons
  $("typing").hidden = !now.typing;
  if (now.typing) {
    $("note").value = now.typed || "";
    $("note").focus();
  }
  for (const id of ["keep", "drop"]) $(id).disabled = false;
  $("options").classList.toggle("long", (now.options || []).some(([, words]) => words.length > 45));
  $("options").replaceChildren(...(now.typing ? [] : now.options || []).map(button));
  $("problem").textContent = "";
}

const shown = new Map();
async function picture(image, path) {
  const url = URL.createObjectURL(await (await load(path)).blob());
  const old = shown.get(image);
  image.src = url;
  shown.set(image, url);
  if (old) URL.revokeObjectURL(old);
}

function fileOf(kind, camera) {
  return `person/desk/${kind}-${camera.replace(/[^A-Za-z0-9_-]+/g, "_")}.png`;
}

async function films() {
  const names = now.films || [];
  for (const old of document.querySelectorAll("#films video")) URL.revokeObjectURL(old.src);
  $("films").replaceChildren();
  $("films").hidden = !names.length;
  $("what").textContent = names.length ? "The robot was asked" : "Set the scene";
  for (const name of names) {
    const film = document.createElement("video");
    Object.assign(film, { controls: true, muted: true, autoplay: true, loop: true, playsInline: true });
    film.src = URL.createObjectURL(await (await load(`person/desk/films/${encodeURIComponent(name)}`)).blob());
    $("films").append(film);
  }
}

function frames() {
  const nodes = (now.cameras || []).map((camera) => {
    const figure = document.createElement("figure"), stack = document.createElement("div");
    const [live, sim] = ["live", "sim"].map((kind) => Object.assign(new Image(), { className: kind, alt: "" }));
    live.alt = `what ${camera} sees`;
    const caption = document.createElement("figcaption"), row = document.createElement("label");
    const slider = Object.assign(document.createElement("input"), { type: "range", min: 0, max: 100, value: 100 * mix });
    slider.setAttribute("aria-label", `how much of the simulated view of ${camera} is seen`);
    slider.addEventListener("input", () => { mix = slider.value / 100; sim.style.opacity = mix; });
    sim.style.opacity = mix;
    sim.hidden = true;
    figure.className = "camera"; stack.className = "stack"; row.className = "mix"; row.hidden = true;
    row.append("camera", slider, "simulation");
    stack.append(live, sim);
    figure.append(stack, row, caption);
    figure.dataset.camera = camera;
    return figure;
  });
  $("cameras").replaceChildren($("cameras").querySelector("h2"), ...nodes);
  $("cameras").hidden = !nodes.length;
}

async function simulated() {
  for (const figure of document.querySelectorAll("figure.camera")) {
    const camera = figure.dataset.camera, why = (now.simulated || {})[camera], sim = figure.querySelector("img.sim");
    const caption = figure.querySelector("figcaption");
    if (why === undefined) caption.textContent = `${camera}: the simulated view is being drawn`;
    else if (why) caption.textContent = `${camera}: no simulated view (${why})`;
    else if (sim.hidden) {
      await picture(sim, fileOf("sim", camera));
      sim.hidden = figure.querySelector(".mix").hidden = false;
      caption.textContent = `${camera}: move the objects until both views agree`;
    }
  }
}

async function look() {
  try {
    const next = await (await load("person/now")).json();
    heard = Date.now();
    const asked = next.question !== now.question, set = next.scene !== scene;
    now = next;
    if (asked) show();
    if (set) {
      scene = now.scene;
      frames();
      await films();
      $("above").hidden = !now.svg;
      if (now.svg) {
        const text = await (await load("person/desk/scene.svg")).text();
        $("drawing").src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
      }
    }
    $("above").hidden = !now.svg || !now.words;
    $("cameras").hidden = !(now.cameras || []).length || !now.words;
    await simulated();
    $("link").textContent = now.state === "closed" ? "" : "connected";
    delete document.body.dataset.lost;
  } catch (error) {
    if (Date.now() - heard > LOST || error.message.includes("token")) {
      document.body.dataset.lost = "";
      $("link").textContent = error.message.includes("token") ? error.message : "No connection: use the terminal";
    }
  }
  setTimeout(look, document.hidden ? 4 * PERIOD : PERIOD);
}

async function cameras() {
  if (now.state === "ask" && now.words && !document.hidden) {
    for (const figure of document.querySelectorAll("figure.camera")) {
      try {
        await picture(figure.querySelector("img.live"), fileOf("live", figure.dataset.camera));
      } catch { /* there is none yet */ }
    }
  }
  setTimeout(cameras, PICTURE);
}

$("keep").addEventListener("click", () => send({ text: $("note").value }));
$("drop").addEventListener("click", () => send({ key: "\u001b" }));
document.addEventListener("keydown", (event) => {
  if (now.typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const key = event.key === "Enter" ? "\n" : event.key === "Escape" ? "\u001b" : event.key;
  if ((now.options || []).some(([known]) => known === key)) {
    event.preventDefault();
    send({ key });
  }
});
look();
cameras();
