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

// Lines of at most so many letters.
function wrapped(text, letters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines.at(-1) && `${lines.at(-1)} ${word}`.length > letters) lines.push(word);
    else lines[lines.length - 1] = `${lines.at(-1)} ${word}`.trim();
  }
  return lines.length > 1 ? lines : text;
}

// On a narrow page: legends in fewer columns, titles in more lines, fewer ticks, and room for words beside the marks.
function squeezed(spec, width) {
  const room = width - 110; // without what stands left of the axis
  for (const channel of having(spec, "legend")) {
    const names = channel.scale?.domain;
    if (!Array.isArray(names)) continue;
    const columns = Math.floor(room / (longest(names) * LETTER + 30));
    channel.legend.columns = Math.max(1, Math.min(channel.legend.columns ?? names.length, columns));
  }
  if (width >= 520) return;
  for (const layer of having(spec, "encoding")) {
    const { x } = layer.encoding;
    if (!x) continue;
    if (typeof x.title === "string") x.title = wrapped(x.title, Math.floor(room / LETTER));
    if (x.axis?.tickCount) x.axis.tickCount = Math.min(x.axis.tickCount, Math.floor(room / 60));
    if (x.type === "nominal" && Array.isArray(x.sort) && 32 * x.sort.length > room) spec.width = 32 * x.sort.length + 130;
  }
  const words = [...having(spec, "mark")].filter((layer) => layer.mark.type === "text" && layer.mark.align === "left" && layer.encoding?.text?.field);
  const beside = Math.max(0, ...words.map((layer) => longest((layer.data?.values ?? spec.data?.values ?? []).map((row) => row[layer.encoding.text.field]))));
  if (beside > 10) spec.width = 460; // too long for any margin: this chart scrolls within its frame
  else if (beside) spec.padding = { left: 5, top: 5, bottom: 5, right: 10 + beside * LETTER };
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
