// What a row of the table opens: the episode's video, scenario, events, error, and the command that runs it again.

// Makes an element. Children are elements or text; text stays text, whatever is in it.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// What an object has of its own under a name: a policy may be called `constructor`.
const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);
const number = new Intl.NumberFormat("en");
const seconds = (value) => (value === null ? "" : `${value.toFixed(1)} s`);
const TRACKS = { frame: "frames", look: "observations", think: "inference", chunk: "actions", action: "actions", hold: "actions", starve: "starvation", seam: "seams" };

// What stands below a row of the table that is open.
function opened(table, i, key) {
  const { data } = table, scenario = table.value("scenario", i), error = table.value("error", i), address = table.value("video", i);
  const part = (title, ...body) => el("div", { class: "part" }, el("h4", {}, title), ...body);
  const card = (own(data.cards, scenario) || []).map((line) => data.lines[line]).join("\n");
  const stages = [];
  for (let s = 0; s < data.stages[i].length; s += 2) stages.push(`${data.stage_names[data.stages[i][s]]} at ${data.stages[i][s + 1].toFixed(2)} s`);
  const world = table.data.names.world.length > 1 ? [`world ${table.value("world", i)}`] : [];
  const facts = [...world, table.value("task", i), table.value("policy", i), table.value("clock", i), `arm ${table.value("arm", i)}`, `trial ${table.value("trial", i)}`];
  const ended = [table.value("end", i).replace("_", " "), data.numbers.steps[i] ? `${number.format(data.numbers.steps[i])} actions` : null, data.numbers.score[i] === null ? null : `score ${data.numbers.score[i]}`];
  const right = el("div", {},
    part("What", el("div", {}, facts.join(" · "))),
    part("How it ended", el("div", {}, [...ended, table.value("why", i)].filter(Boolean).join(" · "))),
    stages.length ? part("Stages", el("div", {}, stages.join(", "))) : null,
    error ? part("Error", el("pre", { class: "wrong" }, error)) : null,
    part(`Scenario ${scenario}`, card ? el("pre", {}, card) : el("span", { class: "weak" }, "not stored in this run")),
    own(data.events, data.episode[i]) ? part("Events, in simulated time", timeline(own(data.events, data.episode[i]))) : null,
    again(table, i, part));
  const detail = el("div", { class: address ? "detail filmed" : "detail", "data-key": key });
  if (address) {
    const shown = film(address, data.absent), steps = own(data.steps, data.episode[i]);
    detail.append(el("div", {}, shown, steps ? plots(steps, shown.querySelector("video")) : null));
  }
  detail.append(right);
  return detail;
}

// A word of a command, as a shell takes it: a name is one word, whatever is in it, and never a flag.
function quoted(word) {
  const safe = word.startsWith("-") ? `./${word}` : word;
  return /^[\w@%+=:,./-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'"'"'`)}'`;
}

// The command that runs it again, or why there is none.
function again(table, i, part) {
  if (table.value("judge", i) === "person") return part("Run it again", "A real trial, judged by a person: it cannot be run again here.");
  if (table.value("clock", i).startsWith("realtime")) return part("Run it again", "It ran in real time, so it cannot be run again exactly.");
  const run = table.runs.get(table.value("run", i)).path, episode = table.data.episode[i];
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(run + episode)) return part("Run it again", "Its name has characters that a command cannot hold.");
  const command = ["foretell", "replay", run, episode].map(quoted).join(" ");
  const copy = el("button", { type: "button", class: "quiet", onclick: async () => {
    try {
      await navigator.clipboard.writeText(command);
      copy.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
      copy.textContent = "selected";
    }
  } }, "copy");
  const code = el("pre", {}, command);
  return part("Run it again", el("div", { class: "command" }, code, copy));
}

function film(address, absent) {
  const inside = document.querySelector(`script[data-video="${CSS.escape(address)}"]`);
  if (!inside && absent.includes(address)) return el("p", { class: "weak" }, `Its video, ${decodeURIComponent(address)}, was not on the disk when this page was made.`);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const video = el("video", { controls: true, loop: true, playsinline: true, preload: "auto", autoplay: !still });
  video.muted = true; // or no browser begins by itself
  if (inside) video.src = URL.createObjectURL(new Blob([Uint8Array.from(atob(inside.textContent), (c) => c.charCodeAt(0))], { type: "video/mp4" }));
  else video.src = address;
  const said = el("p", { class: "about" });
  if (!inside && !window.foretell.live) said.append("Not in this page, but beside it: ", el("a", { href: address }, decodeURIComponent(address)));
  video.addEventListener("error", () => {
    video.remove();
    said.replaceChildren(inside ? "This browser cannot play the video." : `Its video is not where this page expects it: ${decodeURIComponent(address)}. Keep page and run folder together.`);
  });
  return el("div", {}, video, said);
}

// What was where while the film runs: a plot for heights, one for grippers, one for actions. A line marks the film's moment.
function plots({ time, series }, video) {
  const SVG = "http://www.w3.org/2000/svg", names = Object.keys(series), end = Math.max(0.001, time.at(-1));
  const make = (tag, attributes) => {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const kinds = [
    ["Height, m", names.filter((n) => n.endsWith("/z")), (n) => n.slice(0, -2)],
    ["Gripper opening, m", names.filter((n) => n.endsWith("/gripper")), (n) => n.slice(0, -8)],
    ["Actions", names.filter((n) => n.startsWith("action/")), (n) => n.slice(7).replace(/^\d+ /, "")],
  ];
  const marks = [], figures = [];
  for (const [title, mine, label] of kinds) {
    if (!mine.length) continue;
    const values = mine.flatMap((n) => series[n]), low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
    const svg = make("svg", { viewBox: "0 0 300 60", preserveAspectRatio: "none", role: "img", "aria-label": `${title} over ${end.toFixed(1)} s` });
    mine.forEach((name, k) => {
      const points = series[name].map((v, i) => `${((300 * time[i]) / end).toFixed(1)},${(57 - (54 * (v - low)) / span).toFixed(1)}`);
      svg.append(make("polyline", { points: points.join(" "), class: `line${k % 4}` }));
    });
    const mark = make("line", { x1: 0, x2: 0, y1: 0, y2: 60, class: "now" });
    svg.append(mark);
    marks.push(mark);
    const labels = [...new Set(mine.map(label))], keys = labels.length === mine.length;
    const legend = labels.slice(0, 4).map((text, k) => el("span", { class: keys ? `key line${k % 4}` : "" }, text));
    figures.push(el("div", { class: "steps" },
      el("div", { class: "axis" }, el("span", {}, title), el("span", { class: "legend" }, ...(labels.length > 1 || keys ? legend : []))), svg,
      el("div", { class: "axis" }, el("span", {}, `${+low.toPrecision(2)} to ${+high.toPrecision(2)}`), el("span", {}, `${end.toFixed(1)} s`))));
  }
  const follow = () => {
    for (const mark of marks) for (const x of ["x1", "x2"]) mark.setAttribute(x, Math.min(300, (300 * video.currentTime) / end));
  };
  video?.addEventListener("timeupdate", follow);
  return el("div", {}, ...figures);
}

// When it looked, thought and acted: a line for each kind of event.
function timeline(events) {
  const SVG = "http://www.w3.org/2000/svg";
  const end = Math.max(0.001, ...events.start.map((start, i) => events.stop[i] ?? start));
  const tracks = new Map();
  events.kind.forEach((kind, i) => {
    const name = events.kinds[kind], track = own(TRACKS, name) || name;
    if (!tracks.has(track)) tracks.set(track, []);
    tracks.get(track).push([events.start[i], events.stop[i] ?? events.start[i], name]);
  });
  const rows = [];
  for (const [track, spans] of tracks) {
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 1000 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", spans[0][2]);
    for (const [start, stop] of spans) {
      const rect = document.createElementNS(SVG, "rect");
      rect.setAttribute("x", (1000 * start) / end);
      rect.setAttribute("width", Math.max(1.2, (1000 * (stop - start)) / end - 0.8));
      rect.setAttribute("height", 10);
      svg.append(rect);
    }
    rows.push(el("span", {}, track), svg);
  }
  return el("div", { class: "tracks" }, ...rows, el("span"), el("div", { class: "axis" }, el("span", {}, "0 s"), el("span", {}, `${end.toFixed(1)} s`)));
}
