// The page: what `foretell.report.contents` gave, drawn. `window.foretell.update(contents)` draws newer contents in its place.

const at = (id) => document.getElementById(id);
const table = new EpisodeTable();
const drawn = new Map(); // section id -> { text, node, blocks: block key -> { text, node } }
const expanded = new Set(); // sheets of which all rows are shown

// Text with `code` in it.
function prose(text) {
  return String(text).split(/`([^`]+)`/).map((piece, i) => (i % 2 ? el("code", {}, piece) : piece));
}

function paragraphs(text) {
  return String(text).split(/\n\s*\n/).map((piece) => el("p", {}, ...prose(piece)));
}

function cell(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? number.format(value) : String(+value.toPrecision(3));
}

// What a spreadsheet would carry out, where a name begins like that; a number may.
const FORMULA = /^[=+\-@\t\r](?![\d.]+%?$)/;

function csv(rows, columns) {
  const quote = (v) => {
    let text = v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);
    if (typeof v !== "number" && FORMULA.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [columns, ...rows].map((row) => row.map(quote).join(",")).join("\r\n") + "\r\n";
}

function save(name, href) {
  const link = el("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

function saveText(name, text, type) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  save(name, href);
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

function chartBlock(chart) {
  const plot = el("div", { class: "plot", role: "img", "aria-label": chart.title });
  const columns = [...new Set(chart.rows.flatMap((row) => Object.keys(row)))];
  const picture = async (make) => {
    const off = el("div", { style: "position:absolute;left:-9999px;width:720px" });
    document.body.append(off);
    const spec = fitted(chart.spec, 720);
    spec.title ??= chart.title;
    const { view } = await window.vegaEmbed(off, spec, themed("paper"));
    await make(view);
    view.finalize();
    off.remove();
  };
  const saves = [
    ["SVG", () => picture(async (view) => saveText(`${chart.name}.svg`, await view.toSVG(), "image/svg+xml"))],
    ["PNG", () => picture(async (view) => save(`${chart.name}.png`, await view.toImageURL("png", 2)))],
    ["CSV", () => saveText(`${chart.name}.csv`, csv(chart.rows.map((row) => columns.map((c) => row[c])), columns), "text/csv")],
  ];
  const buttons = saves.map(([kind, act]) => el("button", { type: "button", onclick: act, "data-save": kind, title: `Save as ${kind}` }, kind));
  const node = el("figure", { class: "block", "data-chart": chart.name },
    el("figcaption", {}, el("h3", {}, chart.title), el("div", { class: "saves" }, ...buttons)),
    plot,
    chart.about ? el("p", { class: "about" }, ...prose(chart.about)) : null);
  return { node, after: () => draw(plot, chart) };
}

function sheetBlock(sheet) {
  const right = new Set(sheet.right);
  const side = (i) => (right.has(sheet.columns[i]) ? "right" : "");
  const wide = sheet.columns.map((_, i) => longest(sheet.rows.map((row) => cell(row[i]))));
  const fit = (i) => (wide[i] <= 32 ? "short" : wide[i] > 40 ? "wordy" : "");
  const body = sheet.rows.map((row) => el("tr", {}, ...row.map((value, i) => el("td", { class: `${side(i)} ${fit(i)}` }, ...prose(cell(value))))));
  const holder = el("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": sheet.title || sheet.name },
    el("table", {}, el("thead", {}, el("tr", {}, ...sheet.columns.map((c, i) => el("th", { class: side(i), scope: "col" }, c)))), el("tbody", {}, ...body)));
  if (sheet.rows.length > 16 && !expanded.has(sheet.name)) {
    holder.classList.add("long");
    const more = el("button", { type: "button", class: "quiet more", onclick: () => {
      expanded.add(sheet.name);
      holder.classList.remove("long");
      more.remove();
    } }, `Show all ${number.format(sheet.rows.length)} rows`);
    holder.append(more);
  }
  const download = el("div", { class: "saves" }, el("button", { type: "button", "data-save": "CSV", title: "Save as CSV",
    onclick: () => saveText(`${sheet.name}.csv`, csv(sheet.rows, sheet.columns), "text/csv") }, "CSV"));
  return { node: el("div", { class: "block", "data-sheet": sheet.name },
    el("div", { class: "titled" }, el("h3", {}, sheet.title), download), holder,
    sheet.about ? el("p", { class: "about" }, ...prose(sheet.about)) : null) };
}

// Films at a glance; choosing one opens its row in the table below.
function stripsBlock(given) {
  const films = given.films.map((film) => el("button", { type: "button", class: "film", onclick: () => table.show(film.run, film.episode) },
    el("span", { class: `outcome ${film.outcome}` }, film.said),
    el("img", { src: film.picture, alt: `Five pictures of an episode: ${film.said}`, loading: "lazy" })));
  return { node: el("div", { class: "block strips" }, ...films, given.about ? el("p", { class: "about" }, ...prose(given.about)) : null) };
}

function block(given) {
  if (given.kind === "strips") return stripsBlock(given);
  if (given.kind === "compared") return comparedBlock(given, prose);
  if (given.kind === "chart") return chartBlock(given);
  if (given.kind === "sheet") return sheetBlock(given);
  if (given.tone === "code") return { node: el("details", { class: "block code" }, el("summary", {}, given.title), el("pre", {}, given.text)) };
  return { node: el("div", { class: `block words ${given.tone}` }, given.title ? el("h3", {}, given.title) : null, ...paragraphs(given.text)) };
}

// Draws a section, or what has changed in it since; blocks that are the same stay as they are.
function section(given) {
  const old = drawn.get(given.id);
  const node = old?.node ?? el("section", { id: given.id }, el("h2"), el("p", { class: "says" }), el("div", { class: "blocks" }));
  node.children[0].textContent = given.title;
  node.children[1].replaceChildren(...prose(given.says));
  const blocks = new Map(), after = [], nodes = [];
  given.blocks.forEach((one, i) => {
    const key = one.name || `${one.kind} ${i}`, text = JSON.stringify(one), before = old?.blocks.get(key);
    let entry = before;
    if (before?.text !== text) {
      const made = block(one);
      entry = { text, node: made.node };
      if (made.after) {
        const height = before?.node.querySelector(".plot")?.offsetHeight;
        if (height) made.node.querySelector(".plot").style.minHeight = `${height}px`;
        after.push(made.after);
      }
    }
    blocks.set(key, entry);
    nodes.push(entry.node);
  });
  const holder = node.children[2];
  if (nodes.length !== holder.children.length || nodes.some((n, i) => n !== holder.children[i])) holder.replaceChildren(...nodes);
  if (given.id === "episodes" && !node.contains(table.host)) node.append(table.host);
  drawn.set(given.id, { node, blocks });
  return { node, after };
}

function heading(contents) {
  const runs = contents.runs, total = runs.reduce((sum, run) => sum + run.episodes, 0);
  const count = `${number.format(total)} ${total === 1 ? "episode" : "episodes"}`;
  const parts = [el("h1", {}, contents.title), el("p", { class: "meta" }, [count, contents.when, `foretell ${contents.foretell}`].join(" · "))];
  const names = (list, most = 6) => (list.length > most ? `${list.slice(0, most).join(", ")} and ${list.length - most} more` : list.join(", "));
  const lines = (run) => [
    run.tasks.length ? `${names(run.policies)} on ${names(run.tasks)}` : "no episodes yet",
    `world ${run.world || "not known yet"}${run.real ? ", stands for reality" : ""}`,
    `${number.format(run.successes)} of ${number.format(run.judged)} judged episodes succeed`,
  ];
  if (!runs.length) parts[1].textContent = [contents.when, `foretell ${contents.foretell}`].join(" · ");
  if (runs.length === 1) parts.push(el("p", { class: "meta" }, lines(runs[0]).join(" · ")));
  else parts.push(el("ul", { class: "runs" }, ...runs.map((run) => el("li", {}, el("b", {}, run.name), ...lines(run).map((line) => el("span", {}, line))))));
  at("heading").replaceChildren(...parts);
}

function notes(list) {
  const open = at("notes").querySelector("details")?.open;
  at("notes").replaceChildren(...(list.length ? [el("details", { open: open ?? list.length < 3 },
    el("summary", {}, list.length === 1 ? "One note" : `${list.length} things to know`),
    el("ul", {}, ...list.map((note) => el("li", {}, ...prose(note)))))] : []));
}

const seen = new Set();
const spy = new IntersectionObserver((entries) => {
  for (const entry of entries) entry.isIntersecting ? seen.add(entry.target.id) : seen.delete(entry.target.id);
  const first = [...drawn.keys()].find((id) => seen.has(id));
  for (const link of at("jump").children) {
    const mine = link.hash === `#${first}`;
    if (mine && !link.hasAttribute("aria-current")) at("jump").scrollTo({ left: link.offsetLeft - at("jump").offsetLeft - 12, behavior: "smooth" });
    link.toggleAttribute("aria-current", mine);
  }
}, { rootMargin: "-15% 0px -60% 0px" });

function update(contents) {
  const topmost = [...at("sections").children].find((node) => node.getBoundingClientRect().bottom > 80);
  const before = topmost?.getBoundingClientRect().top;
  window.foretell.contents = contents;
  document.title = `${contents.title} · foretell`;
  heading(contents);
  notes(contents.notes);
  const made = contents.sections.map(section);
  for (const id of [...drawn.keys()]) if (!contents.sections.some((s) => s.id === id)) drawn.delete(id);
  const nodes = made.map((one) => one.node), now = at("sections").children;
  if (nodes.length !== now.length || nodes.some((n, i) => n !== now[i])) {
    at("sections").replaceChildren(...nodes);
    at("jump").replaceChildren(...contents.sections.map((s) => el("a", { href: `#${s.id}` }, s.title)));
    spy.disconnect();
    nodes.forEach((node) => spy.observe(node));
  }
  if (contents.episodes.count) table.set(contents.episodes, contents.runs);
  at("foot").replaceChildren(`Made by foretell ${contents.foretell}, ${contents.when}. Everything shown is in this file.`);
  if (topmost?.isConnected && window.scrollY > 0) window.scrollBy(0, topmost.getBoundingClientRect().top - before);
  made.flatMap((one) => one.after).forEach((go) => go());
  window.foretell.ready = queue.then(() => {
    document.documentElement.dataset.ready = "true";
    document.dispatchEvent(new CustomEvent("foretell:updated"));
  });
  return window.foretell.ready;
}

function retheme() {
  document.documentElement.dataset.drawn = dark() ? "dark" : "light";
  for (const [plot, { chart }] of [...views]) plot.isConnected ? draw(plot, chart) : views.delete(plot);
  return queue;
}

try {
  const kept = localStorage.getItem("foretell-theme");
  if (kept) document.documentElement.dataset.theme = kept;
} catch { /* a page from disk may not be allowed to keep anything */ }
at("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  try {
    localStorage.setItem("foretell-theme", document.documentElement.dataset.theme);
  } catch { /* as above */ }
  window.foretell.ready = retheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
document.documentElement.dataset.drawn = dark() ? "dark" : "light";
window.foretell = { live: read("data-live"), update, table, el };
update(read("data-contents"));
