// The live part of the page: asks the server where the runs stand, and for newer contents when there are any.
// STYLE is live.css. The token is in the address's fragment once, and then kept by this tab alone.

const { el } = window.foretell;
const host = document.getElementById("live");
const number = new Intl.NumberFormat("en");
const PERIOD = 1000, HIDDEN = 5000, MANY = 14;
const STATES = {
  absent: "there is no such folder yet", removed: "removed", empty: "nothing in it yet", unbegun: "no episodes yet",
  unreadable: "cannot be read", running: "running", stopping: "stopping…", stopped: "stopped", complete: "complete",
};
const RUNNING = "While a study runs, figures cover the leading complete scenarios, and their intervals hold at any time; " +
  "a line with all its episodes has the same interval as in the report.";

document.head.append(el("style", {}, STYLE));

const key = token();

const percent = (value) => `${Math.round(100 * value)}%`;
function speed(pace) {
  if (!pace) return "";
  return pace >= 100 ? `${Math.round(pace)} a second` : pace >= 0.2 ? `${pace.toFixed(1)} a second` : `${(60 * pace).toFixed(1)} a minute`;
}
function lasting(seconds) {
  const whole = Math.ceil(seconds), two = (n) => String(n).padStart(2, "0");
  const h = Math.floor(whole / 3600), m = Math.floor(whole / 60) % 60, s = whole % 60;
  return h ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`;
}

class Line {
  constructor() {
    this.name = el("span", { class: "name" });
    this.band = el("i");
    this.dot = el("u");
    this.bounds = el("span", { class: "bounds" });
    this.count = el("span", { class: "count" });
    this.track = el("span", { class: "track" }, this.band, this.dot);
    this.node = el("div", { class: "cell" }, this.name, this.track, this.bounds, this.count);
  }

  show(row, names) {
    const known = row.rate !== null;
    this.node.classList.toggle("running", row.running);
    this.name.replaceChildren(...names.flatMap((n, i) => (i ? [el("small", {}, " · "), row[n]] : [row[n]])));
    this.name.title = names.map((n) => row[n]).join(" · ");
    this.band.hidden = this.dot.hidden = !known;
    if (known) {
      this.band.style.left = percent(row.low);
      this.band.style.width = `${100 * (row.high - row.low)}%`;
      this.dot.style.left = percent(row.rate);
      const n = `${row.running ? "running, first" : row.retired ? "retired, first" : "n"} ${number.format(row.n)}`;
      this.bounds.replaceChildren(`${percent(row.rate)}, ${percent(row.low)} to ${percent(row.high)}`, el("small", {}, n));
    } else {
      this.bounds.replaceChildren(el("small", {}, row.running ? "none counted yet" : "none judged"));
    }
    this.count.textContent = `${number.format(row.finished)}/${number.format(row.planned)}`;
  }
}

class Card {
  constructor(index) {
    this.index = index;
    this.title = el("b");
    this.state = el("span", { class: "state" });
    this.button = el("button", { type: "button", onclick: () => this.press() }, "Stop");
    this.person = el("a", { href: "person" }, "Beside the robot");
    this.fill = el("div");
    this.bar = el("div", { class: "bar", role: "progressbar", "aria-valuemin": 0 }, this.fill);
    this.pace = el("p", { class: "pace" });
    this.problem = el("p", { class: "problem", role: "alert", hidden: true });
    this.cells = el("div", { class: "cells" });
    this.waiting = el("p", { class: "waiting" });
    this.foot = el("p", { class: "foot" }, RUNNING);
    this.summary = el("summary");
    this.details = el("details", {}, this.summary, this.cells, this.waiting, this.foot);
    this.lines = new Map();
    this.wrong = "";
    this.node = el("div", { class: "run", "data-run": index }, el("div", { class: "first" }, this.title, this.state, this.person, this.button),
      this.bar, this.pace, this.problem, this.details);
  }

  show(run) {
    if (this.was !== run.state) {
      this.details.open = run.state !== "complete";
      this.summary.textContent = run.state === "complete" ? "Success" : "Success so far";
      this.rest();
    }
    this.was = run.state;
    this.node.dataset.state = run.state;
    this.title.textContent = run.name;
    this.state.textContent = run.state === "unreadable" && run.finished ? "not all can be read" : STATES[run.state];
    this.title.title = run.path;
    const running = run.state === "running";
    this.button.hidden = !running;
    this.person.hidden = !(running && run.attended);
    this.button.disabled = !key;
    this.button.title = key ? "Ends the study; everything finished is kept" : "To stop the study, open the link that foretell view printed";
    this.bar.hidden = !run.planned;
    this.bar.setAttribute("aria-valuemax", run.planned);
    this.bar.setAttribute("aria-valuenow", run.finished);
    this.fill.style.width = `${run.planned ? (100 * run.finished) / run.planned : 0}%`;
    this.pace.textContent = this.words(run);
    if (run.problem !== this.wrong) this.say(run.problem);
    this.wrong = run.problem;
    this.rows(run.figures);
  }

  words(run) {
    if (run.state === "absent") return `Waiting for ${run.path}. foretell run makes it.`;
    if (run.state === "empty") return `${run.path} is not a run folder yet: it has no study and no episodes.`;
    if (run.state === "removed") return `${run.path} was removed since this page was opened. foretell run makes it again.`;
    if (run.state === "unbegun") return `${run.path} has no episodes. foretell run makes them.`;
    if (run.state === "unreadable" && !run.finished) return "";
    if (!run.planned) return "Getting ready.";
    const done = `${number.format(run.finished)} of ${number.format(run.planned)} episodes`;
    if (run.state === "unreadable") return run.finished < run.planned ? `${done} can be read.` : `${number.format(run.finished)} episodes can be read.`;
    if (run.state === "stopped") return `${done}. The same command goes on from there.`;
    if (run.state === "complete") return `${number.format(run.finished)} episodes.`;
    return [done, speed(run.pace), run.left === null ? "" : `about ${lasting(run.left)} left`].filter(Boolean).join(" · ");
  }

  rows(figures) {
    const several = (name) => new Set(figures.map((row) => row[name])).size > 1;
    const names = ["world", "task", "policy", "clock", "arm"].filter((n) => n === "policy" || several(n));
    const begun = figures.filter((row) => row.finished), going = begun.filter((row) => row.running);
    const first = [...going, ...begun.filter((row) => !row.running)];
    const kept = new Set(this.all ? first : first.slice(0, MANY));
    const shown = begun.filter((row) => kept.has(row)), waiting = figures.length - begun.length;
    const nodes = shown.map((row) => {
      const id = names.map((n) => row[n]).join("\n");
      if (!this.lines.has(id)) this.lines.set(id, new Line());
      this.lines.get(id).show(row, names);
      return this.lines.get(id).node;
    });
    if (shown.length < begun.length) {
      this.more ??= el("button", { type: "button", class: "plain cell", onclick: () => { this.all = true; tick(); } });
      this.more.textContent = `Show all ${begun.length} lines`;
      nodes.push(this.more);
    }
    const now = this.cells.children;
    if (nodes.length !== now.length || nodes.some((node, i) => node !== now[i])) this.cells.replaceChildren(...nodes);
    this.waiting.textContent = waiting ? `${waiting} more ${waiting === 1 ? "waits its" : "wait their"} turn.` : "";
    this.waiting.hidden = !waiting;
    this.details.hidden = !begun.length;
    this.foot.hidden = !going.length;
  }

  say(text) {
    this.problem.textContent = text;
    this.problem.hidden = !text;
  }

  rest() {
    clearTimeout(this.timer);
    this.sure = false;
    this.button.textContent = "Stop";
    this.button.classList.remove("sure");
  }

  // A second press within a few seconds, on a button that says so, stops the study.
  async press() {
    if (!this.sure) {
      this.sure = true;
      this.button.textContent = "Really stop?";
      this.button.classList.add("sure");
      this.timer = setTimeout(() => this.rest(), 4000);
      return;
    }
    this.rest();
    this.button.disabled = true;
    try {
      const answer = await fetch(`stop/${this.index}`, { method: "POST", headers: { "X-Foretell-Token": key } });
      this.say(answer.ok ? "" : (await answer.json()).error);
    } catch (error) {
      this.say(`The study could not be stopped: ${error.message}`);
    }
    tick();
  }
}

const cards = window.foretell.live.runs.map((_, i) => new Card(i));
const gone = el("p", { class: "gone", role: "status", hidden: true }, "The server does not answer: foretell view was ended, or its machine is busy. The figures stay as they were.");
const making = el("p", { class: "making", role: "status", hidden: true }, "Making the report …");
host.replaceChildren(gone, ...cards.map((card) => card.node), making);
document.documentElement.dataset.live = "waiting"; // for the first contents
let version = 0, timer, asking = false;

async function tick() {
  if (asking) return;
  asking = true;
  clearTimeout(timer);
  try {
    const found = await (await fetch("progress", { cache: "no-store" })).json();
    found.runs.forEach((run, i) => cards[i].show(run));
    making.hidden = found.contents > 0 || !found.runs.some((run) => run.rows);
    if (found.contents !== version) {
      const newer = await (await fetch("contents", { cache: "no-store" })).json();
      if (newer) await window.foretell.update(newer);
      version = found.contents;
      document.documentElement.dataset.live = "shown";
      document.getElementById("foot").textContent = `foretell ${newer.foretell}. The report is of ${newer.when}, and made again while its runs are written.`;
    }
    gone.hidden = true;
  } catch {
    gone.hidden = false;
  }
  asking = false;
  timer = setTimeout(tick, document.hidden ? HIDDEN : PERIOD);
}

document.addEventListener("visibilitychange", () => document.hidden || tick());
tick();
