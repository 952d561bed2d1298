"""Where episodes die: the last stage that each of them reached."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from foretell.answers.words import listed
from foretell.episodes.columns import by_name, cells, codes, grouped, spread
from foretell.errors import ForetellError
from foretell.report.bars import bars
from foretell.report.charts import slug
from foretell.report.runs import Runs, place
from foretell.report.section import Block, Chart, Section, Sheet

__all__ = ["section"]

LINES = 24
"""Bars in a chart, at most."""
NONE = "no stage"
DONE = "success"
NAMES = ("task", "policy", "world", "run", "clock", "declared")
"""`task` is the name on the page, `declared` that of the task itself."""


@dataclass(frozen=True)
class Ended:
    """Episodes that were judged: n rows, and the stages that any of them reached."""

    table: pa.Table
    """Columns `NAMES`."""
    success: np.ndarray
    """(n,) bool"""
    times: np.ndarray
    """(n, stages): simulated seconds at which each was reached; NaN where it was not."""
    stages: list[str]

    def __len__(self) -> int:
        return len(self.success)

    def take(self, rows: np.ndarray) -> Ended:
        """The same with these rows, in this order."""
        return Ended(self.table.take(pa.array(rows, pa.int64())), self.success[rows], self.times[rows], self.stages)

    def several(self, column: str) -> bool:
        return len(grouped([self.table[column]])[1]) > 1

    def of(self, stage: str) -> np.ndarray:
        """When the rows reached a stage, of those that did."""
        if stage not in self.stages:
            return np.zeros(0)
        times: np.ndarray = self.times[:, self.stages.index(stage)]
        reached: np.ndarray = times[~np.isnan(times)]
        return reached

    def ends(self, order: Sequence[str]) -> Counter[str]:
        """How many rows ended at each stage of this order: success, or the last one that they reached."""
        place = [self.stages.index(stage) for stage in order if stage in self.stages]
        names = [NONE, *(stage for stage in order if stage in self.stages), DONE]
        reached = ~np.isnan(self.times[:, place])
        last = np.where(reached, np.arange(1, len(place) + 1), 0).max(axis=1, initial=0)
        counts = np.bincount(np.where(self.success, len(place) + 1, last), minlength=len(names)).tolist()
        return Counter({name: count for name, count in zip(names, counts, strict=True) if count})


def section(runs: Runs) -> Section | None:
    """The section on all tasks that have stages."""
    every = _ended(runs)
    blocks: list[Block] = []
    deaths: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    shown: list[Ended] = []
    task_of, names = codes(every.table["task"])
    policy_of, policies = codes(every.table["policy"])
    order = np.array([place(policy, runs.policies) for policy in policies], dtype=np.int64)
    one_task = len(names) == 1
    for task in sorted(names, key=lambda name: place(name, runs.tasks)):
        mine = np.flatnonzero(task_of == names.index(task))
        rows = every.take(mine[np.argsort(order[policy_of[mine]], kind="stable")])
        stages = _order(rows, runs)
        if not stages:
            continue
        shown.append(rows)
        for world, rows_ in _split(rows.take(np.flatnonzero(~rows.success)), ["world"]):
            deaths[world] += Counter({(task, stage): count for stage, count in rows_.ends(stages).items()})
        name, where = slug("stages", "" if one_task else task), "" if one_task else f" on {task}"
        lines, together = _lines(rows)
        blocks += [_chart(lines, stages, name, where, together), _sheet(lines, stages, f"{name}-table", where)]
    if not blocks:
        return None
    worlds, clocks = (len({n for rows in shown for n in cells(rows.table[c])}) > 1 for c in ("world", "clock"))
    return Section("stages", "Stages", _says(deaths, not one_task, worlds, clocks), blocks)


def _ended(runs: Runs) -> Ended:
    """All episodes that were judged and are not perturbed."""
    tables, successes, parts = [], [], []
    stages: dict[str, int] = {}
    for run in runs.each:
        table = runs.named(run).append_column("declared", run.table["task"])
        table = table.append_column("run", spread([run.name], np.zeros(len(table), dtype=np.int64)))
        reached = by_name(table["stages"])
        some = np.zeros(len(table), dtype=bool)
        for at in reached.values():
            some |= ~np.isnan(at)
        person = pc.equal(table["judge"], "person").fill_null(False).to_numpy()
        known = some | ~person  # a person may have noted the outcome only
        clean = pc.equal(table["arm"], "none").fill_null(False).to_numpy()
        kept = np.flatnonzero(known & clean & table["success"].is_valid().to_numpy())
        for name in reached:
            stages.setdefault(name, len(stages))
        times = np.full((len(table), len(stages)), np.nan)
        for name, at in reached.items():
            times[:, stages[name]] = at
        tables.append(table.select(list(NAMES)).take(pa.array(kept, pa.int64())))
        successes.append(table["success"].take(pa.array(kept, pa.int64())).to_numpy().astype(bool))
        parts.append(times[kept])
    wide = [np.column_stack([p, np.full((len(p), len(stages) - p.shape[1]), np.nan)]) for p in parts]
    table = pa.concat_tables(tables).unify_dictionaries()
    return Ended(table, np.concatenate(successes), np.concatenate(wide), list(stages))


def _says(deaths: Mapping[str, Counter[tuple[str, str]]], tasks: bool, worlds: bool, clocks: bool) -> str:
    """Where most get stuck, world by world; the flags say of what there are several."""
    if not deaths:
        return "No episode failed, so none stopped short of the last stage."
    parts = []
    for world, counts in deaths.items():
        (task, stage), count = counts.most_common(1)[0]
        after = "before the first stage" if stage == NONE else f"after “{stage}”"
        after += (f" of {task}" if tasks else "") + (f" in {world}" if worlds else "")
        parts.append((after, count, counts.total()))
    together = "; clocks are counted together" if clocks else ""
    if all(count == failed for _, count, failed in parts):
        return f"Every failed episode gets stuck {listed([after for after, *_ in parts])}{together}."
    places = [f"{after} ({count:,} of {failed:,})" for after, count, failed in parts]
    return f"Failed episodes most often get stuck {listed(places)}{together}."


def _order(rows: Ended, runs: Runs) -> list[str]:
    """Stages in the order of the task; if the task is not available, in the order in which they are reached."""
    times = {stage: rows.of(stage) for stage in rows.stages}
    first = {
        stage: int(np.argmax(~np.isnan(rows.times[:, i]))) for i, stage in enumerate(rows.stages) if len(times[stage])
    }
    declared = _declared(cells(rows.table["declared"])[0], runs)
    order = sorted(first, key=lambda name: (float(np.median(times[name])), first[name]))
    return [*declared, *(name for name in order if name not in declared)]


def _declared(task: str, runs: Runs) -> list[str]:
    from foretell.study.plan import make_task

    kept: dict[str, list[str]] = vars(runs).setdefault("_stages", {})
    if task not in kept:
        kept[task] = []
        uses = [
            entry.get("use") for run in runs.each for entry in run.study.get("tasks") or () if isinstance(entry, dict)
        ]
        for use in dict.fromkeys(u for u in uses if isinstance(u, str) and ":" not in u):  # built in: no file is run
            try:
                made = make_task(use)
            except ForetellError:  # not here, or of another version
                continue
            if made.name == task:
                kept[task] = [stage.name for stage in made.stages]
    return kept[task]


def _split(rows: Ended, columns: Sequence[str]) -> list[tuple[str, Ended]]:
    """What the columns say, and the rows of which they say it; by first row."""
    group, names = grouped([rows.table[c] for c in columns])
    return [(" · ".join(name), rows.take(np.flatnonzero(group == i))) for i, name in enumerate(names)]


def _lines(rows: Ended) -> tuple[dict[str, Ended], str]:
    """Policy (with run and clock, if there are several) -> its episodes, and what is counted together if that makes
    too many lines. Worlds never are."""
    several = [c for c in ("run", "clock") if rows.several(c)]
    worlds = ["world"] if rows.several("world") else []
    pairs = grouped([rows.table["run"], rows.table["world"]])[1]
    alone = len(pairs) == len({run for run, _ in pairs})
    made: dict[str, Ended] = {}
    together = ""
    for split in (several, [c for c in several if c == "run"], []):
        names = split if "run" in split and alone else [*worlds, *split]  # a run has one world, mostly
        made = dict(_split(rows, ["policy", *names]))
        left = [f"{c}s" for c in several if c not in split]
        together = f" {listed(left).capitalize()} are counted together." if left else ""
        if len(made) <= LINES:
            break
    return made, together


def _chart(lines: Mapping[str, Ended], stages: Sequence[str], name: str, where: str, together: str) -> Chart:
    counted = {line: mine.ends(stages) for line, mine in list(lines.items())[:LINES]}
    last = any(ends[stages[-1]] for ends in counted.values())  # mostly it is success itself
    order = [_label(stage) for stage in (NONE, *stages[: None if last else -1])] + [DONE]
    rows = []
    for line, ends in counted.items():
        n = ends.total()
        for stage in (NONE, *stages, DONE):
            if ends[stage] or stage == DONE:
                row = {"policy": line, "ended": _label(stage), "share": ends[stage] / n, "count": ends[stage], "n": n}
                rows.append(row)
    tips = {"policy": ("policy", ""), "ended": ("ended", ""), "count": ("episodes", "d"), "n": ("of", "d")}
    tips |= {"share": ("share", ".1%")}
    spec = bars(rows, y="policy", x="share", title="share of episodes", tips=tips, parts="ended", order=order,
                ordered=True, share=True)  # fmt: skip
    about = "Each failed episode counts at the last stage it reached, in the order " + " → ".join(stages) + "."
    return Chart(name=name, title=f"Where episodes end{where}", spec=spec, rows=rows, about=about + together)


def _label(stage: str) -> str:
    return stage if stage == DONE else "before the first stage" if stage == NONE else f"stuck after {stage}"


def _sheet(ended: Mapping[str, Ended], stages: Sequence[str], name: str, where: str) -> Sheet:
    lines = []
    for policy, mine in ended.items():
        line: list[Any] = [policy, len(mine)]
        for stage in stages:
            times = mine.of(stage)
            line.append(f"{len(times) / len(mine):.0%}, {np.median(times):.1f} s" if len(times) else "0%")
        lines.append(line)
    about = "Share of episodes that reach the stage, and the median of the simulated seconds it took them."
    title = f"How many reach each stage{where}, and when"
    return Sheet(
        name=name, title=title, columns=["policy", "n", *stages], rows=lines, right=("n", *stages), about=about
    )
