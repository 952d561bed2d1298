"""Judge recorded episodes again, without running physics: after a task's rule changed, or by a rule of one's own.

The table is set as it was (`world.reset`), the slot is put into each recorded state in turn, and the task is asked as a
driver asks it. What was not recorded cannot be judged: an episode that ended when the old rule was met, and does not
meet the new one by then, is undecided.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from foretell.counting import counted
from foretell.episode import Episode, key
from foretell.episodes.blind import require_open
from foretell.episodes.cells import Cell
from foretell.episodes.count import METHOD_NAMES
from foretell.episodes.names import names_of
from foretell.episodes.parts import DamagedError, read_parquet
from foretell.episodes.read import read
from foretell.episodes.scenarios import read_scenarios
from foretell.episodes.units import by_unit, unit_of
from foretell.errors import UsageError
from foretell.factors import adopt
from foretell.factors.arms import targets
from foretell.files import inside
from foretell.judging.confirm import SHARE
from foretell.notebook import Displayed
from foretell.rollout.job import Outcome
from foretell.rollout.recorded import Recorded, judge_steps
from foretell.scenario import Scenario
from foretell.stats import ALPHA, bound
from foretell.study.config import Study, TaskEntry, load_study
from foretell.study.detect import Detected, detect, to_confirm
from foretell.study.films import steps as steps_of
from foretell.study.judged import write_judged
from foretell.study.plan import make_task
from foretell.study.second import SecondJudged, second_judge
from foretell.tasks.identity import task_hash
from foretell.tasks.task import Task
from foretell.world import Recordable, World
from foretell.world_file import controllers_of, make_world, world_hash

__all__ = ["Judged", "judge"]

SLOTS = 16
"""Episodes judged side by side."""
SHOWN = 20
"""Differences that the text lists."""
COMPARED = ("success", "success_any", "success_end", "score", "end", "failure_reason", "stages", "events")
"""What is compared, and what a verdict decides."""
NAMES = ("task", "policy", "clock", "arm")


@dataclass(frozen=True, kw_only=True)
class Judged(Displayed):
    """How episodes came out when they were judged again."""

    run: Path
    judged: int
    left_out: dict[str, int]
    """Why episodes could not be judged again -> how many."""
    differences: list[dict[str, Any]]
    """Episodes that come out differently: `episode`, `task`, `policy`, and `changes` (column -> then, now)."""
    rates: list[dict[str, Any]]
    """Of each task, policy, clock and arm, over the episodes judged again: n, successes then and now with exact
    intervals, and how many are undecided now."""
    out: Path | None = None
    alpha: float = field(default=ALPHA, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able form."""
        return {**asdict(self), "run": str(self.run), "out": str(self.out) if self.out else None}

    def text(self) -> str:
        """The answer as text."""
        undecided = sum(rate["undecided"] for rate in self.rates)
        lines = [f"{counted(self.judged, 'episode')} judged again, {len(self.differences)} with another result"]
        lines += [f"not judged again: {counted(n, 'episode')}: {why}" for why, n in self.left_out.items()]
        for difference in self.differences[:SHOWN]:
            shown = {
                name: pair for name, pair in difference["changes"].items() if name not in ("success_any", "success_end")
            }
            shown = shown or difference["changes"]
            changes = "; ".join(f"{n} {_in_words(n, then)} -> {_in_words(n, now)}" for n, (then, now) in shown.items())
            lines.append(f"  {difference['episode']} ({difference['task']}, {difference['policy']}): {changes}")
        if len(self.differences) > SHOWN:
            lines.append(f"  and {len(self.differences) - SHOWN} more; --json lists all")
        for rate in self.rates:
            names = ", ".join(rate[c] for c in NAMES)
            now = _share(rate["successes"], rate["low"], rate["high"], rate["n"])
            then = _share(rate["successes_then"], rate["low_then"], rate["high_then"], rate["n_then"])
            more = f", {rate['undecided']} undecided" if rate["undecided"] else ""
            lines.append(f"{names}: {then} then, {now} now{more}")
        if self.rates:
            methods = dict.fromkeys(
                METHOD_NAMES.get(rate["method"], rate["method"]) for rate in self.rates if rate["method"]
            )
            lines.append(f"Intervals, {1 - self.alpha:.0%}: {'; '.join(methods)}.")
        if undecided:
            lines.append(
                f"undecided: {counted(undecided, 'episode')} ended by the old rule before the new rule could decide. "
                "They are left out of the new rates, so these rates can mislead: run the episodes again"
            )
        return "\n".join([*lines, f"new rows: {self.out}"] if self.out else lines)


def judge(
    run: str | Path,
    *,
    task: str | None = None,
    out: str | Path | None = None,
    by: str | None = None,
    detector: Any = None,
    confirm: float = SHARE,
    seed: int = 0,
    alpha: float = ALPHA,
    notify: Callable[[str], None] = lambda text: None,
) -> Judged | SecondJudged | Detected:
    """Judge the episodes of a run folder again from their recorded steps (`record: {steps: all}`).

    Each episode is judged by its own task, in its present version. `task` (a name, or `file.py:Class`) judges by
    another task: it takes the episodes whose task has the same name, or is a base class of this task. `out` writes a
    new run folder with the new rows.

    `by` is the name of a second judge, a person at this terminal. They see the films of the run one by one, in random
    order, without the policy's name or the first verdict. Their verdicts go to `RUN/verdicts/NAME.jsonl`, and
    `foretell show` tells how far they agree. Rows do not change. Call it again to go on.

    `detector` (`file.py:Class`, an .onnx file, or an object with `judge`) judges the films, and writes its proposals
    into `RUN/verdicts`. A person confirms the share `confirm` of the scenarios, drawn by `seed`: `by` together with the
    name of the detector shows only these films. Then `foretell.bound(run, detector=NAME)` bounds the success rate
    whatever the detector's errors are. `notify` is called with a message about slow steps.
    """
    if by is not None or detector is not None:
        if task is not None or out is not None:
            raise UsageError("by, detector: they judge films, and a task judges steps: leave out task and out")
        if by is None:
            return detect(run, detector, confirm=confirm, seed=seed, notify=notify)
        return second_judge(run, by, only=None if detector is None else to_confirm(run, str(detector)))
    run = Path(run)
    target = None if out is None else _free(Path(out))
    require_open(run, "judging by another rule")
    table = read(run)
    study = load_study(run / "study.yaml")
    chosen, uses = _chosen(run, study, table, task)
    left_out: dict[str, int] = {}
    for code in targets(study.arms):
        adopt(code)
    scenarios = {s.id: s for s in read_scenarios(run)}
    before: list[dict[str, Any]] = []
    after: list[Episode] = []
    for (use, controller, time_limit), rows in chosen.items():
        ready = list(_recorded(run, rows, scenarios, left_out))
        if not ready:
            continue
        made = make_task(use, time_limit)
        world = make_world(study.world, made, slots=min(SLOTS, len(ready)), threads=1, controller=controller)
        try:
            _same_world(ready[0].row, world)
            source = task_hash(made, controllers_of(world))
            for at in range(0, len(ready), world.slots):
                some = ready[at : at + world.slots]
                for recorded, outcome in zip(some, judge_steps(world, some), strict=True):
                    before.append(recorded.row)
                    after.append(_row(recorded.row, made, source, outcome))
        finally:
            world.close()
    if not before:
        why = "; ".join(f"{counted(n, 'episode')}: {why}" for why, n in left_out.items())
        raise UsageError(f"{run}: no episode can be judged again: {why or 'the run has no episode'}")
    if target is not None:
        write_judged(target, run, study, uses, [row["episode"] for row in before], after, list(scenarios.values()))
    differences = [d for then, now in zip(before, after, strict=True) if (d := _difference(then, now))]
    return Judged(
        run=run,
        judged=len(before),
        left_out=left_out,
        differences=differences,
        rates=_rates(before, after, alpha),
        out=target,
        alpha=alpha,
    )


def _free(out: Path) -> Path:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"out: {out} is not empty; give the name of a new folder")
    return out


def _chosen(
    run: Path, study: Study, table: pa.Table, task: str | None
) -> tuple[dict[tuple[str, str, float | None], list[dict[str, Any]]], dict[str, str]]:
    """(Task, controller, time limit) -> the rows to judge by it; and what of the study's tasks is judged by which."""
    entries = {
        (made.name, e.controller or made.controller): (e, made) for e in study.tasks for made in [make_task(e.use)]
    }
    wanted = None if task is None else make_task(task)
    groups: dict[tuple[str, str, float | None], list[dict[str, Any]]] = {}
    uses: dict[str, str] = {}
    for row in table.to_pylist():
        entry, made = entries.get((row["task"], row["controller"]), (None, None))
        if wanted is not None and not _judges(wanted, row["task"], made):
            continue
        if entry is None and wanted is None:
            raise UsageError(
                f"{run}/study.yaml has no task {row['task']!r} with controller {row['controller']!r}, and rows of the "
                "run have: restore that file, or choose a task with --task"
            )
        use = task if task is not None else _use(entry)
        if entry is not None:
            uses[entry.use] = use
        groups.setdefault((use, row["controller"], None if entry is None else entry.time_limit), []).append(row)
    if wanted is not None and not groups:
        names = sorted(set(table["task"].to_pylist()))
        raise UsageError(
            f"task: {wanted.name!r} cannot judge this run, whose tasks are {', '.join(names)}: use a task with the "
            "same `name`, or a subclass of one of them"
        )
    return groups, uses


def _use(entry: TaskEntry | None) -> str:
    assert entry is not None
    return entry.use


def _judges(task: Task, name: str, own: Task | None) -> bool:
    """Whether a task may judge episodes of the task of this name."""
    return task.name == name or (own is not None and isinstance(task, type(own)))


def _recorded(
    run: Path, rows: Sequence[dict[str, Any]], scenarios: dict[str, Scenario], left_out: dict[str, int]
) -> Iterator[Recorded]:
    """The rows that can be judged again. The others are counted."""
    for row in rows:
        why, recorded = _steps(run, row, scenarios)
        if recorded is None:
            left_out[why] = left_out.get(why, 0) + 1
        else:
            yield recorded


def _steps(run: Path, row: dict[str, Any], scenarios: dict[str, Scenario]) -> tuple[str, Recorded | None]:
    if row["blame"] not in (None, "policy"):
        return f"they ended in an error of the {row['blame']}", None
    if row["judge"] != "task":
        return f"a {row['judge']} judged them", None
    if row["scenario"] not in scenarios:
        return "their scenario is not in scenarios.parquet", None
    path = inside(run, steps_of(row["episode"]))
    if path is None:
        return "they have no recorded steps (record: {steps: all} keeps them)", None
    try:
        table = read_parquet(path, ["tick", "judged", "state"])
        ticks, judged = (table[name].to_numpy() for name in ("tick", "judged"))
        states = np.array(table["state"].to_pylist(), dtype=float)
    except (DamagedError, OSError, KeyError, ValueError, pa.ArrowException):
        return "their steps are damaged, or were written without the true state", None
    if states.ndim != 2 or not len(states) or not np.isfinite(states).all():
        return "their steps are damaged, or were written without the true state", None
    return "", Recorded(
        row=row, scenario=scenarios[row["scenario"]], ticks=ticks, judged=judged.astype(bool), states=states
    )


def _same_world(row: dict[str, Any], world: World) -> None:
    if not isinstance(world, Recordable):
        raise UsageError(
            f"world {world.name!r} has no `state`, `restore` and `trace`, so its episodes cannot be judged again"
        )
    if (now := world_hash(world)) != row["world_hash"]:
        raise UsageError(
            f"world {row['world']!r} (its parameters, or its source) has changed since the run: {row['world_hash']} "
            f"then, {now} now; restore the old version"
        )


def _row(row: dict[str, Any], task: Task, source: str, outcome: Outcome) -> Episode:
    """The new row: all but the verdict, and what names the task, is as it was."""
    named = {"task": task.name, "task_version": task.version, "task_hash": source}
    judged = {k: v for k, v in asdict(outcome).items() if k not in ("trace", "film") and not k.startswith("wall_")}
    name = key(
        world_hash=row["world_hash"],
        task=f"{task.name}/{row['controller']}",
        task_version=task.version,
        policy=row["policy"],
        policy_hash=row["policy_hash"],
        policy_options=json.loads(row["policy_options"]),
        scenario=row["scenario"],
        arm=row["arm"],
        trial=row["trial"],
        clock=json.loads(row["clock"]),
        task_hash=source,
    )
    return Episode.from_dict(
        {**row, **judged, **named, "episode": name, "success_rule": task.success_rule, "video": None}
    )


def _difference(then: dict[str, Any], now: Episode) -> dict[str, Any] | None:
    changes = {}
    for name in COMPARED:
        old, new = then[name], getattr(now, name)
        if name in ("stages", "events"):
            if old is None:  # the row is older than this column
                continue
            old, new = dict(old), dict(new)
        if old != new:
            changes[name] = (old, new)
    if not changes:
        return None
    return {"episode": then["episode"], "task": then["task"], "policy": then["policy"], "changes": changes}


def _rates(before: Sequence[dict[str, Any]], after: Sequence[Episode], alpha: float) -> list[dict[str, Any]]:
    known = [Cell.of(then) for then in before]
    distinct = list(dict.fromkeys(known))
    names_by = dict(zip(distinct, names_of(distinct), strict=True))
    cells: dict[tuple[str, ...], list[tuple[dict[str, Any], Episode]]] = {}
    for cell, then, now in zip(known, before, after, strict=True):
        cells.setdefault(tuple(getattr(names_by[cell], c) for c in NAMES), []).append((then, now))
    rates = []
    for names, pairs in cells.items():
        units = [str(unit_of(then["parent"], then["scenario"], then["episode"])) for then, _ in pairs]
        old, new = [then["success"] for then, _ in pairs], [now.success for _, now in pairs]
        rates.append(
            {
                **dict(zip(NAMES, names, strict=True)),
                **_interval(units, new, alpha, ""),
                **_interval(units, old, alpha, "_then"),
                "undecided": sum(now.end == "stopped" for _, now in pairs),
                "alpha": alpha,
            }
        )
    return rates


def _interval(units: Sequence[str], outcomes: Sequence[bool | None], alpha: float, suffix: str) -> dict[str, Any]:
    """Trials of one scenario are no independent draws, and enter as their mean, as in `foretell show`."""
    judged = [(unit, success) for unit, success in zip(units, outcomes, strict=True) if success is not None]
    n, k = len(judged), sum(success for _, success in judged)
    means = by_unit([unit for unit, _ in judged]).means([success for _, success in judged])
    made = bound(means, alpha=alpha) if n else None
    ends = (
        {"low": made.low, "high": made.high, "method": made.method}
        if made
        else dict.fromkeys(("low", "high", "method"))
    )
    return {f"{name}{suffix}": value for name, value in {"n": n, "successes": k, **ends}.items()}


def _share(successes: int, low: float | None, high: float | None, n: int) -> str:
    return f"{successes}/{n} ({low:.0%} to {high:.0%})" if low is not None and high is not None else "none decided"


def _in_words(column: str, value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} {number:g}" for name, number in value.items()) + "}"
    if value is None:
        return "undecided" if column.startswith("success") else "none"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
