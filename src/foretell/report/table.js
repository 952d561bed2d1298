// The table of episodes. Only the rows in sight are in the document, so that twenty thousand open and scroll at once.

const FILTERS = { run: "runs", task: "tasks", policy: "policies", clock: "clocks", arm: "arms", outcome: "outcomes" };
const COLUMNS = [
  { name: "outcome", title: "Outcome", width: "7.2rem" },
  { name: "run", title: "Run", width: "minmax(5rem, 1fr)", several: true },
  { name: "task", title: "Task", width: "minmax(3.5rem, .8fr)", several: true },
  { name: "policy", title: "Policy", width: "minmax(5rem, 1.2fr)" },
  { name: "clock", title: "Clock", width: "minmax(4.5rem, 1.2fr)", several: true },
  { name: "arm", title: "Arm", width: "minmax(4.5rem, 1fr)", several: true },
  { name: "scenario", title: "Scenario", width: "5.5rem" },
  { name: "trial", title: "Trial", width: "2.6rem", several: true, right: true },
  { name: "sim_s", title: "Time", width: "3.6rem", right: true },
  { name: "why", title: "Why", width: "minmax(4.5rem, 1.6fr)" },
  { name: "video", title: "Video", width: "2.8rem" },
];
const PRINTED = 100; // rows on paper
const narrow = window.matchMedia("(max-width: 40rem)");

class EpisodeTable {
  constructor() {
    this.filters = { text: "" };
    this.sort = { by: null, down: false };
    this.open = new Map(); // run and episode -> height of what is open below the row
    this.details = new Map(); // run and episode -> its element, so that a video goes on playing
    this.tally = el("span", { class: "tally", "aria-live": "polite" });
    this.bar = el("div", { class: "filters", role: "search" });
    this.head = el("div", { class: "head", role: "row" });
    this.space = el("div", { class: "space" });
    this.scroll = el("div", { class: "scroll", tabindex: "0", role: "rowgroup", "aria-label": "Episodes" }, this.space);
    this.rest = el("div", { class: "rest" });
    this.grid = el("div", { class: "grid", role: "table" }, this.head, this.scroll, this.rest);
    this.host = el("div", { class: "episodes" }, this.bar, this.grid);
    this.items = new Map(); // run and episode -> its element, of the rows in sight
    this.scroll.addEventListener("scroll", () => this.draw(), { passive: true });
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.toggle(+row.dataset.index);
    });
    this.space.addEventListener("keydown", (event) => {
      if ((event.key === "Enter" || event.key === " ") && event.target.classList.contains("row")) {
        event.preventDefault();
        this.toggle(+event.target.dataset.index);
      }
    });
    this.watcher = new ResizeObserver((entries) => {
      for (const { target } of entries) if (target.isConnected) this.open.set(target.dataset.key, target.offsetHeight);
      this.place();
      this.draw();
      this.reveal();
    });
    new ResizeObserver(() => this.draw()).observe(this.scroll);
    narrow.addEventListener("change", () => this.restyle());
    window.addEventListener("beforeprint", () => this.draw(PRINTED));
    window.addEventListener("afterprint", () => this.draw());
  }

  // Takes new episodes; filters, order, open rows and the place scrolled to stay.
  set(data, runs) {
    const top = this.scroll.scrollTop;
    this.data = data;
    this.runs = new Map(runs.map((run) => [run.name, run]));
    this.shown = COLUMNS.filter((c) => {
      const values = data.names[c.name];
      if (c.name === "video") return values.some(Boolean);
      if (!c.several) return true;
      return values ? values.length > 1 : new Set(data.numbers[c.name]).size > 1;
    });
    this.controls();
    this.restyle();
    this.scroll.scrollTop = top;
    this.draw();
  }

  value(name, i) {
    return this.data.codes[name] ? this.data.names[name][this.data.codes[name][i]] : this.data.numbers[name][i];
  }

  key(i) {
    return `${this.value("run", i)}\n${this.data.episode[i]}`;
  }

  controls() {
    const choices = JSON.stringify([...Object.keys(FILTERS), "video"].map((name) => this.data.names[name]));
    if (choices === this.choices) return; // nobody's open list is closed
    this.choices = choices;
    const selects = [];
    for (const [name, many] of Object.entries(FILTERS)) {
      const values = [...this.data.names[name]].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
      if (values.length < 2) continue;
      const chosen = values.includes(this.filters[name]) ? this.filters[name] : "";
      const options = values.map((v) => el("option", { value: v, selected: v === chosen }, v || "(none)"));
      selects.push(
        el("select", { "aria-label": `Filter by ${name}`, name, class: chosen ? "on" : "",
          onchange: (event) => this.filter(name, event.target.value) },
          el("option", { value: "", selected: !chosen }, `All ${many}`), ...options),
      );
    }
    if (!this.search) {
      this.search = el("input", { type: "search", name: "text", placeholder: "Search: key, scenario, reason …", "aria-label": "Search episodes",
        oninput: (event) => this.filter("text", event.target.value) });
      this.reset = el("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.clear() }, "Clear");
    }
    if (this.data.names.video.filter(Boolean).length) {
      const chosen = this.filters.video === "yes";
      selects.push(el("select", { "aria-label": "Filter by video", name: "video", class: chosen ? "on" : "",
        onchange: (event) => this.filter("video", event.target.value) },
        el("option", { value: "", selected: !chosen }, "With or without video"), el("option", { value: "yes", selected: chosen }, "With video")));
    }
    const typing = document.activeElement === this.search;
    const inside = this.bar.contains(document.activeElement) ? document.activeElement.name : null;
    this.bar.replaceChildren(...selects, this.search, this.reset, this.tally);
    if (typing) this.search.focus();
    else if (inside) this.bar.querySelector(`[name="${inside}"]`)?.focus();
  }

  // Opens the row of an episode, and brings it into sight.
  show(run, episode) {
    const i = this.data.episode.findIndex((key, at) => key === episode && this.value("run", at) === run);
    if (i < 0) return;
    this.clear();
    if (!this.open.has(this.key(i))) this.toggle(i);
    this.host.scrollIntoView({ block: "start" });
    this.scroll.scrollTop = this.top(this.rows.indexOf(i));
  }

  clear() {
    this.filters = { text: "" };
    this.search.value = "";
    this.choices = null;
    this.controls();
    this.choose();
  }

  filter(name, value) {
    this.filters[name] = value;
    this.bar.querySelector(`select[name="${name}"]`)?.classList.toggle("on", Boolean(value));
    this.scroll.scrollTop = 0;
    this.choose();
  }

  // Which rows are listed, and in what order.
  choose() {
    const { data, filters } = this;
    const tests = [];
    for (const name of Object.keys(FILTERS)) {
      const code = filters[name] ? data.names[name].indexOf(filters[name]) : -1;
      if (code >= 0) tests.push((i) => data.codes[name][i] === code);
    }
    if (filters.video) tests.push((i) => data.names.video[data.codes.video[i]] !== "");
    for (const word of filters.text.toLowerCase().split(/\s+/).filter(Boolean)) {
      const hits = ["run", "task", "policy", "clock", "arm", "scenario", "outcome", "why", "error"].map((name) => [
        data.codes[name],
        data.names[name].map((text) => text.toLowerCase().includes(word)),
      ]);
      tests.push((i) => hits.some(([codes, hit]) => hit[codes[i]]) || data.episode[i].includes(word));
    }
    const rows = [];
    for (let i = 0; i < data.count; i++) if (tests.every((test) => test(i))) rows.push(i);
    const by = this.sort.by;
    if (by) {
      let rank = data.numbers[by];
      if (data.codes[by]) {
        const sorted = [...data.names[by]].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
        const of = new Map(sorted.map((text, place) => [text, place]));
        const ranks = data.names[by].map((text) => of.get(text));
        rank = data.codes[by].map((code) => ranks[code]);
      }
      rows.sort((a, b) => (rank[a] ?? Infinity) - (rank[b] ?? Infinity) || a - b);
      if (this.sort.down) rows.reverse();
    }
    this.rows = rows;
    this.reset.hidden = tests.length === 0;
    this.tally.textContent = rows.length === data.count ? `${number.format(data.count)} episodes` : `${number.format(rows.length)} of ${number.format(data.count)}`;
    this.grid.setAttribute("aria-rowcount", rows.length);
    this.place();
    this.draw();
  }

  restyle() {
    if (!this.data) return;
    const style = JSON.stringify([narrow.matches, this.shown]);
    if (style !== this.style) {
      this.items.forEach((item) => item.remove());
      this.items.clear();
    }
    this.style = style;
    this.narrow = narrow.matches;
    this.height = this.narrow ? 60 : 36;
    this.grid.classList.toggle("narrow", this.narrow);
    this.grid.style.setProperty("--columns", this.shown.map((c) => c.width).join(" "));
    this.head.hidden = this.narrow;
    this.head.style.display = this.narrow ? "none" : "";
    this.titles();
    this.choose();
  }

  titles() {
    this.head.replaceChildren(...this.shown.map((c) => {
      const mine = this.sort.by === c.name;
      const arrow = mine ? (this.sort.down ? " ↓" : " ↑") : "";
      return el("button", { type: "button", role: "columnheader", class: c.right ? "right" : "",
        "aria-sort": mine ? (this.sort.down ? "descending" : "ascending") : "none",
        onclick: () => {
          this.sort = mine && this.sort.down ? { by: null, down: false } : { by: c.name, down: mine };
          this.titles();
          this.choose();
        } }, c.title + arrow);
    }));
  }

  // Where open rows push the others down: [place in the list, height], in order.
  place() {
    this.pushed = [];
    if (this.open.size) {
      this.rows.forEach((i, at) => {
        const height = this.open.get(this.key(i));
        if (height !== undefined) this.pushed.push([at, height]);
      });
    }
    const extra = this.pushed.reduce((sum, [, height]) => sum + height, 0);
    this.space.style.height = `${this.rows.length * this.height + extra}px`;
    this.scroll.style.height = this.rows.length ? "" : "6rem";
    this.head.style.setProperty("--bar", `${this.scroll.offsetWidth - this.scroll.clientWidth}px`);
  }

  top(at) {
    let y = at * this.height;
    for (const [place, height] of this.pushed) if (place < at) y += height;
    return y;
  }

  draw(printed = 0) {
    if (!this.rows) return;
    const from = this.scroll.scrollTop - 300, to = this.scroll.scrollTop + this.scroll.clientHeight + 300;
    let low = 0, high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.top(middle + 1) <= from) low = middle + 1;
      else high = middle;
    }
    if (printed) low = 0;
    const wanted = new Map();
    for (let at = low; at < this.rows.length && (printed ? at < printed : this.top(at) < to); at++) wanted.set(this.key(this.rows[at]), at);
    for (const [key, item] of this.items) {
      const again = wanted.has(key) && item.outcome !== this.value("outcome", this.rows[wanted.get(key)]);
      if (again) this.details.delete(key); // the machine had failed it, and it was tried again
      if (again || !wanted.has(key)) {
        item.remove();
        this.items.delete(key);
      }
    }
    let next = this.space.firstChild; // in the document in the order seen, and moved only if need be: a video stops when it is
    for (const [key, at] of wanted) {
      const i = this.rows[at];
      let item = this.items.get(key);
      if (!item) {
        item = el("div", { class: "item", role: "presentation" }, this.row(i));
        item.outcome = this.value("outcome", i);
        this.items.set(key, item);
      }
      if (item === next) next = next.nextSibling;
      else this.space.insertBefore(item, next);
      item.firstChild.dataset.index = i;
      item.style.transform = `translateY(${this.top(at)}px)`;
      this.unfold(item, i, key);
    }
    this.rest.textContent = printed && printed < this.rows.length ? `… and ${number.format(this.rows.length - printed)} more, in the page itself` : "";
    this.empty ||= el("div", { class: "nothing" }, "No episode matches.");
    if (this.rows.length) this.empty.remove();
    else this.space.append(this.empty);
  }

  unfold(item, i, key) {
    const open = this.open.has(key);
    item.classList.toggle("open", open);
    item.firstChild.setAttribute("aria-expanded", open);
    if (open && item.childNodes.length === 1) {
      if (!this.details.has(key)) this.details.set(key, opened(this, i, key));
      const detail = this.details.get(key);
      item.append(detail);
      this.watcher.observe(detail);
    } else if (!open && item.childNodes.length > 1) item.lastChild.remove();
  }

  toggle(i) {
    const key = this.key(i);
    if (this.open.delete(key)) {
      this.details.get(key)?.querySelector("video")?.pause();
      this.watcher.unobserve(this.details.get(key));
      this.details.delete(key);
    } else {
      this.open.set(key, 0);
      this.opened = i; // to be brought into sight as soon as its height is known
    }
    this.place();
    this.draw();
  }

  reveal() {
    const at = this.rows.indexOf(this.opened);
    if (at >= 0) {
      const top = this.top(at), bottom = this.top(at + 1);
      const { scrollTop, clientHeight } = this.scroll;
      if (bottom > scrollTop + clientHeight) this.scroll.scrollTop = Math.min(top, bottom - clientHeight);
    }
    this.opened = -1;
  }

  row(i) {
    const cell = (c) => {
      const value = this.value(c.name, i);
      if (c.name === "outcome") return el("span", { class: `outcome ${value.split(":")[0]}`, role: "cell" }, value);
      if (c.name === "scenario") return el("span", { class: "mono weak", role: "cell" }, value.slice(0, 8));
      if (c.name === "sim_s") return el("span", { class: "right", role: "cell" }, seconds(value));
      if (c.name === "why") return el("span", { role: "cell", title: value }, value || this.value("error", i).split("\n")[0]);
      if (c.name === "video") return el("span", { role: "cell", class: "weak" }, value ? "▶" : "");
      return el("span", { class: c.right ? "right" : "", role: "cell", title: value }, String(value ?? ""));
    };
    const attributes = { class: "row", role: "row", tabindex: "0" };
    if (!this.narrow) return el("div", attributes, ...this.shown.map(cell));
    const shown = new Set(this.shown.map((c) => c.name));
    const second = ["task", "run", "clock", "arm"].filter((n) => shown.has(n)).map((n) => this.value(n, i));
    const why = this.value("why", i) || this.value("error", i).split("\n")[0];
    return el("div", attributes,
      el("div", {}, cell(COLUMNS[0]), el("span", { class: "weak" }, this.value("policy", i))),
      el("span", { class: "second" }, [...second, why, seconds(this.value("sim_s", i))].filter(Boolean).join(" · ")));
  }
}
