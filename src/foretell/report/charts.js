// Charts: Vega-Lite specifications, fitted to the page and drawn in its colours.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const themes = read("data-theme");
const views = new Map(); // chart's element -> { chart, view }
let queue = Promise.resolve();

const dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

// Every part of a specification that has this key.
function* having(spec, key) {
  if (Array.isArray(spec)) for (const part of spec) yield* having(part, key);
  else if (spec && typeof spec === "object") {
    if (spec[key]) yield spec;
    for (const [name, part] of Object.entries(spec)) if (name !== "data") yield* having(part, key);
  }
}

const longest = (texts) => Math.max(0, ...texts.map((text) => String(text ?? "").length));
const LETTER = 6.4; // pixels, about

const pen = document.createElement("canvas").getContext("2d");

// Pixels of a text in the page's theme.
function wide(text, weight = 400) {
  pen.font = `${weight} ${themes.light.text.fontSize}px ${themes.light.font}`;
  return Math.ceil(pen.measureText(text).width);
}

// Lines of at most so many letters.
function wrapped(text, letters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && `${lines.at(-1)} ${word}`.length > letters) lines.push(word);
    else lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  return lines.length > 1 ? lines : text;
}

// Room right of the plot for words beside its marks: as much as they need, but at most a share of the width. Where that
// is too little they get more lines, if their mark says how those are broken, and are cut in the end.
function margin(spec, width) {
  const most = 0.35 * width;
  let need = 0;
  for (const { mark, encoding, data } of having(spec, "mark")) {
    if (mark.style !== "beside") continue;
    const { field } = encoding.text, rows = (data ?? spec.data).values;
    const size = () => Math.max(0, ...rows.flatMap((row) => String(row[field] ?? "").split("\n")).map((text) => wide(text, mark.fontWeight)));
    if (mark.lineBreak && mark.dx + size() > most) {
      const letters = Math.floor((most - mark.dx) / LETTER);
      for (const row of rows) row[field] = [wrapped(String(row[field] ?? ""), letters)].flat().join(mark.lineBreak);
    }
    mark.limit = most - mark.dx;
    need = Math.max(need, Math.min(most, mark.dx + size()));
  }
  // Vega fits once, to what is drawn before it shrinks the plot: a line that nobody sees holds the room. Padding would add
  // to what words take by themselves.
  if (need) spec.layer.push({ data: { values: [{}] }, mark: { type: "rule", opacity: 0, x2Offset: need, tooltip: null },
    encoding: { x: { value: "width" }, x2: { value: "width" }, y: { value: 0 } } });
  return need;
}

// A radar's names: smaller on a narrow page, and cut where the page ends. What they need is measured, where Python guesses.
function around(spec, width) {
  const words = [...having(spec, "mark")].filter(({ mark }) => mark.style === "around");
  if (!words.length) return;
  const narrow = width < 520, usual = themes.light.text.fontSize, size = narrow ? 10 : usual;
  const besides = []; // pixels of a name, and its place in radii from the middle
  for (const { mark, data } of words) {
    if (narrow) mark.fontSize = size;
    mark.limit = { expr: mark.align === "center" ? "width" : "width / 2 - abs(datum.x) * radius" };
    if (mark.align !== "center") for (const { said, x } of data.values) besides.push([4 + (wide(said) * size) / usual, Math.abs(x)]);
  }
  const room = besides.map(([pixels, x]) => `(width / 2 - ${pixels}) / ${x}`);
  spec.params[0].expr = `max(min(0.2 * width, height / 2.6), min(${["height / 2.6", ...room]}))`;
  const reach = Math.max(0.2 * width, Math.min(...besides.map(([pixels, x]) => (width / 2 - pixels) / x)));
  if (narrow) spec.height = Math.round(Math.min(0.85 * width, 2.7 * reach));
}

// Legends in as many columns as fit; on a narrow page also titles in more lines, fewer ticks, and names that are cut
// before they take the plot's room.
function squeezed(spec, width) {
  const room = Math.max(120, width - 110 - margin(spec, width)); // without what stands left of the axis and beside
  for (const channel of having(spec, "legend")) {
    channel.legend.labelLimit = Math.min(channel.legend.labelLimit ?? width, 0.65 * width - 55); // it begins where the plot does
    const names = channel.scale?.domain;
    if (!Array.isArray(names)) continue;
    const columns = Math.floor(room / (longest(names) * LETTER + 30));
    channel.legend.columns = Math.max(1, Math.min(channel.legend.columns ?? names.length, columns));
  }
  around(spec, width);
  if (width >= 520) return;
  const names = Math.round(0.35 * width);
  for (const { encoding, mark } of having(spec, "encoding")) {
    const { x, y } = encoding;
    for (const channel of [x, y]) if (channel?.type === "nominal" && channel.axis !== null) channel.axis = { ...channel.axis, labelLimit: names };
    if (mark?.limit > 0) mark.limit = Math.min(mark.limit, width / 2 - 40);
    if (!x) continue;
    if (typeof x.title === "string") x.title = wrapped(x.title, Math.floor(room / LETTER));
    if (x.axis?.tickCount) x.axis.tickCount = Math.min(x.axis.tickCount, Math.max(3, Math.floor(room / 60)));
    if (x.type === "nominal" && Array.isArray(x.sort) && 32 * x.sort.length > room) spec.width = 32 * x.sort.length + 130;
  }
}

// Single charts take the width there is; composed ones keep theirs.
function fitted(spec, width) {
  const composed = ["facet", "repeat", "concat", "hconcat", "vconcat"].some((k) => k in spec) ||
    ["row", "column", "facet"].some((k) => k in (spec.encoding || {}));
  const copy = structuredClone(spec);
  if (!composed && (copy.width === undefined || copy.width === "container")) {
    copy.width = "container";
    copy.autosize = { type: "fit-x", contains: "padding" };
    squeezed(copy, width);
  }
  return copy;
}

function themed(name) {
  return { mode: "vega-lite", renderer: "svg", actions: false, config: themes[name], tooltip: { theme: "custom" }, logLevel: 1 };
}

// Charts are drawn one after the other, so that the page answers meanwhile.
function draw(plot, chart) {
  queue = queue.then(async () => {
    if (!plot.isConnected) return;
    plot.style.minHeight = `${plot.offsetHeight}px`; // nothing below jumps while it is redrawn
    const inner = el("div");
    try {
      views.get(plot)?.view?.finalize();
      plot.replaceChildren(inner);
      const { view } = await window.vegaEmbed(inner, fitted(chart.spec, plot.clientWidth), themed(dark() ? "dark" : "light"));
      views.set(plot, { chart, view });
      plot.dataset.state = "drawn";
    } catch (error) {
      plot.dataset.state = "failed";
      plot.replaceChildren(el("p", { class: "about" }, `This chart could not be drawn: ${error.message}. Its figures are in the CSV.`));
      console.error(error);
    }
    plot.style.minHeight = "";
    await new Promise((resolve) => setTimeout(resolve));
  });
}
